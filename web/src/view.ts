// A floor on the page: its canvas, what pointers and keys do there, and the note on the cell under the cursor.

import type { Camera } from "./camera";
import { describeCell, nameOfFloor, titleOf } from "./describe";
import { draw } from "./drawing";
import { css, mix, type Palette, PLAYER } from "./palette";
import type { Layers, Scene } from "./scene";
import { drawSprite } from "./sprites";
import type { Walker } from "./walk";

/** What the page does when something happens in a view. */
export interface Handlers {
  /** The camera moved. */
  moved(): void;
  /** A cell was chosen by a click, a tap or Enter. */
  chosen(view: View, index: number): void;
  /** The view got the focus. */
  focused(view: View): void;
  /** A key that the view does not use. Whether the page does. */
  key(view: View, event: KeyboardEvent): boolean;
  announce(text: string): void;
}

/** Movement in pixels up to which a pointer clicks. */
const CLICK = 5;
const ARROWS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
};

export class View {
  readonly root = document.createElement("section");
  readonly canvas = document.createElement("canvas");
  readonly #marks = document.createElement("canvas");
  readonly #note = document.createElement("div");
  readonly #caption = document.createElement("p");
  scene?: Scene;
  walk?: Walker;
  /** The cell under the cursor. */
  cursor?: number;
  #palette?: Palette;
  /** The pointers that are down. `span` is the distance of two of them when the second one came, at `side`. */
  #drag?: { points: Map<number, [number, number]>; moved: number; span: number; side: number };

  constructor(readonly camera: Camera, readonly handlers: Handlers, describedBy: string) {
    this.root.className = "view";
    this.#caption.className = "caption";
    this.#note.className = "note";
    this.#note.hidden = true;
    this.#note.setAttribute("aria-hidden", "true");
    this.#marks.className = "marks";
    this.#marks.setAttribute("aria-hidden", "true");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-roledescription", "map");
    this.canvas.setAttribute("aria-describedby", describedBy);
    this.root.append(this.#caption, this.canvas, this.#marks, this.#note);
    this.#listen();
    new ResizeObserver(() => this.#resize()).observe(this.canvas);
  }

  show(scene: Scene, layers: Layers, palette: Palette): void {
    if (scene !== this.scene) this.cursor = undefined;
    this.scene = scene;
    this.#palette = palette;
    this.#layers = layers;
    const title = nameOfFloor(scene.floor);
    this.#fillCaption(title, this.walk?.title ?? scene.floor.hook?.text ?? "", palette);
    this.canvas.setAttribute("aria-label", scene.floor.name ? `${title}: ${titleOf(scene.floor)}` : title);
    this.redraw();
  }

  /** The title over the floor, on a map as a part of its paper. */
  #fillCaption(title: string, below: string, palette: Palette): void {
    const isMap = palette.name === "paper";
    this.root.classList.toggle("map", isMap);
    this.root.style.setProperty("--paper", css(palette.rock));
    this.root.style.setProperty("--ink", css(palette.ink));
    this.#caption.title = below;
    const [name, sentence] = ["strong", "span"].map((tag) => document.createElement(tag));
    [name.textContent, sentence.textContent] = [title, below];
    this.#caption.replaceChildren(name, " ", sentence);
  }

  #layers?: Layers;
  #frame = 0;

  /** Draws in the next frame. */
  redraw(): void {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#paint();
    });
  }

  get #ratio(): number {
    return window.devicePixelRatio || 1;
  }

  #resize(): void {
    for (const canvas of [this.canvas, this.#marks]) {
      canvas.width = Math.max(1, Math.round(canvas.clientWidth * this.#ratio));
      canvas.height = Math.max(1, Math.round(canvas.clientHeight * this.#ratio));
    }
    if (this.#frame) cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#paint();
  }

  #paint(): void {
    const { scene } = this;
    if (!scene || !this.#palette || !this.#layers) return;
    const frame = this.camera.frame(this.canvas, scene);
    const ctx = this.canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
    draw(ctx, scene, frame, this.#layers, this.#palette, this.walk);
    this.#paintMarks();
  }

  /** The cursor and the walker, on a canvas of their own, so that moving them does not draw the floor again. */
  #paintMarks(): void {
    const { scene } = this;
    if (!scene || !this.#palette) return;
    const ctx = this.#marks.getContext("2d") as CanvasRenderingContext2D;
    ctx.clearRect(0, 0, this.#marks.width, this.#marks.height);
    const { left, top, side } = this.camera.frame(this.canvas, scene);
    const corner = (index: number): [number, number] =>
      [left + (index % scene.floor.width) * side, top + Math.floor(index / scene.floor.width) * side];
    if (this.walk) {
      const [x, y] = corner(this.walk.at);
      ctx.fillStyle = css(PLAYER, 0.22);
      ctx.beginPath();
      ctx.arc(x + side / 2, y + side / 2, side * 1.2, 0, 2 * Math.PI);
      ctx.fill();
      drawSprite(ctx, this.#palette, "player", x, y, side);
    }
    if (this.cursor === undefined) {
      this.#note.hidden = true;
      return;
    }
    const [x, y] = corner(this.cursor);
    const width = Math.max(2, Math.round(this.#ratio));
    ctx.lineWidth = 3 * width;
    ctx.strokeStyle = css(this.#palette.ink);
    ctx.strokeRect(x - width / 2, y - width / 2, side + width, side + width);
    ctx.lineWidth = width;
    ctx.strokeStyle = css(mix(PLAYER, [255, 255, 255], 128));
    ctx.strokeRect(x - width / 2, y - width / 2, side + width, side + width);
    this.#placeNote(x, y, side, describeCell(scene, this.cursor, this.walk));
  }

  #placeNote(x: number, y: number, side: number, [first, ...rest]: string[]): void {
    const note = this.#note;
    const at = this.cursor ?? 0;
    const width = this.scene?.floor.width ?? 1;
    const strong = document.createElement("strong");
    strong.textContent = first;
    note.replaceChildren(strong, ...[...rest, `${at % width}, ${Math.floor(at / width)}`].map((part) => {
      const line = document.createElement("span");
      line.textContent = part;
      return line;
    }));
    note.hidden = false;
    const [left, top] = [(x + side) / this.#ratio + 8, (y + side) / this.#ratio + 8];
    const fits = left + note.offsetWidth < this.root.clientWidth;
    const below = top + note.offsetHeight < this.canvas.clientHeight;
    note.style.left = `${Math.max(4, fits ? left : x / this.#ratio - note.offsetWidth - 8)}px`;
    const fromTop = this.canvas.offsetTop + (below ? top : y / this.#ratio - note.offsetHeight - 8);
    note.style.top = `${Math.max(4, fromTop)}px`;
  }

  /** Puts the cursor on a cell and says what is there. */
  moveCursor(index: number | undefined, say = true): void {
    if (index === this.cursor || !this.scene) return;
    this.cursor = index;
    if (index !== undefined && say) {
      const { width } = this.scene.floor;
      this.camera.follow(this.canvas, this.scene, index % width, Math.floor(index / width));
      this.redraw();
      this.handlers.moved();
      const at = `${index % width}, ${Math.floor(index / width)}`;
      this.handlers.announce(`${describeCell(this.scene, index, this.walk).join(", ")}; ${at}`);
    } else {
      this.#paintMarks();
    }
  }

  #cellAt([x, y]: [number, number]): number | undefined {
    if (!this.scene) return undefined;
    const { left, top, side } = this.camera.frame(this.canvas, this.scene);
    const [cx, cy] = [Math.floor((x - left) / side), Math.floor((y - top) / side)];
    const { width, height } = this.scene.floor;
    return cx >= 0 && cy >= 0 && cx < width && cy < height ? cy * width + cx : undefined;
  }

  #point(event: PointerEvent | WheelEvent): [number, number] {
    const box = this.canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * this.#ratio, (event.clientY - box.top) * this.#ratio];
  }

  #listen(): void {
    const { canvas } = this;
    canvas.addEventListener("focus", () => this.handlers.focused(this));
    canvas.addEventListener("keydown", (event) => this.#key(event));
    canvas.addEventListener("wheel", (event) => {
      if (!this.scene || !event.deltaY) return;
      event.preventDefault();
      this.camera.zoom(canvas, this.scene, event.deltaY < 0, ...this.#point(event));
      this.#changed();
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      if (!this.scene) return;
      this.#drag ??= { points: new Map(), moved: 0, span: 0, side: 0 };
      this.#drag.points.set(event.pointerId, this.#point(event));
      this.#drag.span = span(this.#drag.points);
      this.#drag.side = this.camera.on(canvas, this.scene).side;
    });
    canvas.addEventListener("pointermove", (event) => this.#pointerMove(event));
    canvas.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse" && !this.#drag) this.moveCursor(undefined, false);
    });
    canvas.addEventListener("pointercancel", () => (this.#drag = undefined));
    canvas.addEventListener("pointerup", (event) => {
      const drag = this.#drag;
      drag?.points.delete(event.pointerId);
      if (!drag || drag.points.size) return;
      this.#drag = undefined;
      const cell = this.#cellAt(this.#point(event));
      if (drag.moved <= CLICK * this.#ratio && cell !== undefined) {
        this.moveCursor(cell, false);
        this.handlers.chosen(this, cell);
      }
    });
  }

  #pointerMove(event: PointerEvent): void {
    const { scene } = this;
    if (!scene) return;
    const now = this.#point(event);
    const drag = this.#drag;
    const before = drag?.points.get(event.pointerId);
    if (!drag || !before) {
      if (event.pointerType === "mouse") this.moveCursor(this.#cellAt(now), false);
      return;
    }
    drag.points.set(event.pointerId, now);
    const [dx, dy] = [now[0] - before[0], now[1] - before[1]];
    drag.moved += Math.hypot(dx, dy);
    if (drag.moved <= CLICK * this.#ratio) return;
    this.camera.pan(this.canvas, scene, dx / drag.points.size, dy / drag.points.size);
    if (drag.points.size === 2) {
      const [one, other] = [...drag.points.values()];
      const wanted = drag.side * span(drag.points) / drag.span;
      this.camera.scale(this.canvas, scene, wanted, (one[0] + other[0]) / 2, (one[1] + other[1]) / 2);
    }
    this.#changed();
  }

  #key(event: KeyboardEvent): void {
    const { scene } = this;
    if (!scene || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!this.handlers.key(this, event)) {
      const arrow = ARROWS[event.key];
      if (arrow) {
        const { width, height, entry } = scene.floor;
        const at = this.cursor ?? entry.y * width + entry.x;
        const far = event.shiftKey ? 5 : 1;
        const clamp = (value: number, cells: number): number => Math.min(Math.max(value, 0), cells - 1);
        const x = clamp((at % width) + arrow[0] * far, width);
        const y = clamp(Math.floor(at / width) + arrow[1] * far, height);
        this.moveCursor(this.cursor === undefined ? at : y * width + x);
      } else if (event.key === "Enter" && this.cursor !== undefined) {
        this.handlers.chosen(this, this.cursor);
      } else if (event.key === "+" || event.key === "=" || event.key === "-") {
        this.camera.zoom(this.canvas, scene, event.key !== "-");
        this.#changed();
      } else if (event.key === "0") {
        this.camera.fit();
        this.#changed();
      } else if (event.key === "Escape") {
        this.moveCursor(undefined, false);
      } else {
        return;
      }
    }
    event.preventDefault();
  }

  #changed(): void {
    this.redraw();
    this.handlers.moved();
  }
}

/** The distance between two pointers. */
function span(points: Map<number, [number, number]>): number {
  const [one, other] = [...points.values()];
  return other ? Math.hypot(one[0] - other[0], one[1] - other[1]) : 0;
}
