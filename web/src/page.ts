// The page: what is shown, and what changes it.

import { Address } from "./address";
import { Camera } from "./camera";
import { describeFloor, several, titleOf } from "./describe";
import { Description } from "./description";
import { element } from "./element";
import { decode } from "./floor";
import { FloorForm } from "./floor-form";
import { Generator, type Spec } from "./generator";
import { LayerBoxes } from "./layer-boxes";
import { stops } from "./legend";
import * as link from "./link";
import { announce, showAlert } from "./notices";
import { type Mode, type Palette, paletteOf } from "./palette";
import type { Panels } from "./panels";
import { type Layer, LAYERS, Scene } from "./scene";
import { Comparison } from "./server";
import { showTab } from "./tabs";
import { View } from "./view";
import { MAX_MOVES, type Move, Walk, type Walker } from "./walk";

/** Least side of a cell at the start of a walk, in CSS pixels. */
const WALK_SIDE = 20;
const ARROWS: Record<string, Move> = { ArrowUp: "n", ArrowRight: "e", ArrowDown: "s", ArrowLeft: "w" };

/** What other parts use of the page. */
export class Page {
  readonly camera = new Camera();
  readonly generator: Generator;
  readonly #form = new FloorForm();
  readonly #address = new Address(() => this.#linkState);
  /** What the first floor does not need, once it is loaded. */
  panels?: Panels;
  views: View[] = [];
  active = 0;
  specs: Spec[] = [];
  scenes: Scene[] = [];
  layers = new Set<Layer>();
  isMap = true;
  #theme: "dark" | "light" = "dark";
  /** The search of the link, until the panel of the search is there. */
  #linked?: link.SearchForm;
  /** Whether the link is to the tower of the day. */
  #isDaily = false;
  readonly #comparison = new Comparison();
  readonly #description = new Description();
  readonly #boxes = new LayerBoxes((key) => this.#toggleLayer(key));

  constructor(module: WebAssembly.Module) {
    this.generator = new Generator(module);
    this.setTheme(localStorage.getItem("theme") ?? (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark"));
    this.#address.onArrival(() => this.readLink());
    this.readLink();
  }

  /** Loads what the first floor does not need. */
  async loadPanels(): Promise<void> {
    const { Panels } = await import("./panels");
    this.panels = new Panels(this);
    this.panels.search.fill(this.#linked);
    this.refresh();
    if (this.#isDaily) this.panels.daily.open();
  }

  get theme(): "dark" | "light" {
    return this.#theme;
  }

  get mode(): Mode {
    return this.isMap ? "paper" : this.#theme;
  }

  palette(scene: Scene): Palette {
    return paletteOf(this.mode, this.generator.look(scene.floor.theme));
  }

  announce = announce;

  // What is shown.

  /** Shows what the address says. */
  readLink(): void {
    this.panels?.packs.showSheet(false);
    const { state, errors } = link.parse(location.hash);
    this.layers = new Set(state.layers);
    this.isMap = state.isMap;
    this.specs = [];
    this.scenes = [];
    for (const spec of state.floors) {
      try {
        this.scenes.push(this.#scene(spec));
        this.specs.push(spec);
      } catch (error) {
        errors.push((error as Error).message);
      }
    }
    this.active = 0;
    this.#layOut();
    const { walk } = state;
    if (walk !== undefined) {
      try {
        this.views[0].walk = Walk.replay(this.scenes[0], walk);
      } catch (error) {
        errors.push(`walk: ${(error as Error).message}`);
      }
    }
    if (state.view) this.camera.set(state.view.x, state.view.y, state.view.side * (devicePixelRatio || 1));
    else if (this.views[0].walk) this.#center(this.views[0].walk.at);
    else this.camera.fit();
    this.#linked = state.search;
    this.panels?.search.fill(state.search);
    if (state.search) showTab("tab-search");
    this.#address.arrive();
    showAlert(errors.length ? `This link is not right: ${errors.join("; ")}. The rest of it is shown.` : "");
    this.refresh();
    this.#isDaily = !!state.isDaily;
    if (this.#isDaily) this.panels?.daily.open();
  }

  #scene(spec: Spec): Scene {
    return new Scene(decode(this.generator.floor(spec)));
  }

  /** Shows another floor in the active view, after a question if that ends a walk. Whether it is shown. */
  open(spec: Spec, isAsked = true): boolean {
    const view = this.views[this.active];
    if (isAsked && view.walk?.steps && !view.walk.isClimb && !confirm(`This ends the walk after ${several(view.walk.steps, "step")}. Leave the floor?`)) return false;
    let scene: Scene;
    try {
      scene = this.#scene(spec);
    } catch (error) {
      showAlert((error as Error).message);
      return false;
    }
    this.flushLink();
    this.scenes[this.active] = scene;
    this.specs[this.active] = spec;
    view.walk = undefined;
    this.panels?.packs.showSheet(false);
    this.camera.fit();
    showAlert("");
    this.refresh();
    const { floor } = this.scenes[this.active];
    const called = floor.name ? `${floor.name.text}. ` : "";
    announce(`${called}${titleOf(floor)}. ${several(floor.rooms.length, "room")}, ${several(floor.metrics.criticalPath, "step")} to the exit.`);
    return true;
  }

  /** Shows what the pack, which has changed, makes of a floor that is shown. */
  replace(at: number, bytes: Uint8Array<ArrayBuffer>): void {
    const before = this.scenes[at]?.floor.bytes;
    if (!before || (before.length === bytes.length && before.every((byte, index) => byte === bytes[index]))) return;
    this.scenes[at] = new Scene(decode(bytes));
    this.#endWalk(at);
    this.refresh();
  }

  /** Shows the floors again after another pack was opened or the pack was closed. */
  reload(): void {
    try {
      this.scenes = this.specs.map((spec) => this.#scene(spec));
    } catch (error) {
      return showAlert((error as Error).message);
    }
    this.specs.forEach((_, at) => this.#endWalk(at));
    this.panels?.search.showNames();
    this.refresh();
  }

  #endWalk(at: number): void {
    if (!this.views[at].walk) return;
    this.views[at].walk = undefined;
    announce("The floor has changed, and the walk ends.");
  }

  /** Shows the floor above or below the one that is typed, which is the one shown unless another was typed. */
  step(by: number): boolean {
    const spec = this.#typed();
    return spec !== undefined && this.#openBeside(spec, by);
  }

  #openBeside(spec: Spec, by: number, isAsked = true): boolean {
    const number = spec.number + by;
    if (number >= 1 && number <= 1_000_000) return this.open({ ...spec, number }, isAsked);
    announce("There is no such floor.");
    return false;
  }

  /** As many views as floors. */
  #layOut(): void {
    const root = element("views");
    while (this.views.length > this.specs.length) this.views.pop()?.root.remove();
    while (this.views.length < this.specs.length) {
      const view = new View(this.camera, this, "words");
      this.views.push(view);
      root.append(view.root);
    }
    root.classList.toggle("two", this.views.length === 2);
    for (const view of this.views) view.walk = undefined;
    element("compare").setAttribute("aria-pressed", String(this.views.length === 2));
  }

  toggleCompare(): void {
    this.#endClimb();
    if (this.specs.length === 2) {
      const keep = this.active;
      this.specs = [this.specs[keep]];
      this.scenes = [this.scenes[keep]];
      this.active = 0;
    } else {
      const { number } = this.specs[0];
      this.specs.push({ ...this.specs[0], number: number < 1_000_000 ? number + 1 : number - 1 });
      this.scenes.push(this.#scene(this.specs[1]));
      this.active = 1;
    }
    this.#layOut();
    this.camera.fit();
    this.refresh();
    announce(this.specs.length === 2 ? `Two floors. The second is floor ${this.specs[1].number}.` : "One floor.");
  }

  /** Brings everything on the page up to date. */
  refresh(): void {
    this.views.forEach((view, at) => {
      view.root.classList.toggle("active", at === this.active);
      view.show(this.scenes[at], this.layers, this.palette(this.scenes[at]));
    });
    element("data").setAttribute("aria-pressed", String(!this.isMap));
    this.#boxes.check(this.layers, this.isMap);
    this.#form.fill(this.specs[this.active]);
    this.#describe();
    this.#refreshWalk();
    this.panels?.refresh();
    this.writeLink();
    this.#comparison.of(this.scenes[this.active], this.panels?.packs.name);
  }

  #describe(): void {
    const scene = this.scenes[this.active];
    const view = this.views[this.active];
    this.#description.show(scene, this.palette(scene), (index) => view.moveCursor(index), view.walk);
  }

  /** What the address says of the page. */
  get #linkState(): link.LinkState {
    const [view] = this.views;
    const { x, y, side } = this.camera.on(view.canvas, this.scenes[0]);
    const tenth = (value: number): number => Math.round(value * 10) / 10;
    const inPixels = Math.round((side / (devicePixelRatio || 1)) * 100) / 100;
    return {
      floors: this.specs,
      layers: this.layers,
      isMap: this.isMap,
      view: this.camera.isFree ? { x: tenth(x), y: tenth(y), side: inPixels } : undefined,
      isDaily: view.walk?.isClimb,
      walk: view.walk?.toString(),
      search: this.panels ? this.panels.search.form : this.#linked,
    };
  }

  /** Writes what is shown into the address, at rest. */
  writeLink(): void {
    this.#address.writeLater();
  }

  /** Writes it now. */
  flushLink(): void {
    this.#address.write();
  }

  // The walk.

  toggleWalk(): void {
    const view = this.views[this.active];
    if (view.walk) {
      announce(view.walk.isClimb ? "You put the climb aside." : "The walk ends. The whole floor is shown.");
      this.#endClimb();
      view.walk = undefined;
      this.camera.fit();
      this.refresh();
    } else {
      // A link holds one walk, on the first floor.
      if (this.specs.length === 2) this.toggleCompare();
      this.#begin(new Walk(this.scenes[0]));
    }
  }

  #begin(walk: Walker): void {
    const [view] = this.views;
    [view.walk, view.cursor] = [walk, undefined];
    this.#center(walk.at);
    announce(walk.steps ? "You go on." : "You stand on the stairs up. Walk with the arrow keys. Find the stairs down.");
    view.canvas.focus();
    this.refresh();
  }

  /** Shows a floor of a climb in place of the first floor. */
  climb(climb: Walker): void {
    this.panels?.packs.showSheet(false);
    if (this.specs.length === 2) this.toggleCompare();
    this.scenes[0] = climb.scene;
    this.#begin(climb);
  }

  /** Shows the floor from before a climb again. */
  #endClimb(): void {
    const [view] = this.views;
    if (!view.walk?.isClimb) return;
    view.walk = undefined;
    this.scenes[0] = this.#scene(this.specs[0]);
  }

  /** Shows a cell of the first floor in the middle, and large enough to walk. */
  #center(index: number): void {
    const [scene] = this.scenes;
    const { width } = scene.floor;
    const side = Math.max(WALK_SIDE * (devicePixelRatio || 1), this.camera.on(this.views[0].canvas, scene).side);
    this.camera.set((index % width) + 0.5, Math.floor(index / width) + 0.5, side);
  }

  move(moves: Move[]): void {
    const [view] = this.views;
    const { walk } = view;
    if (!walk) return;
    let news = "";
    for (const move of moves) {
      if (walk.steps >= MAX_MOVES) return announce("The walk is too long to go on.");
      news = walk.move(move);
      // A walk to a distant cell stops where there is news.
      if (news && moves.length > 1) break;
    }
    const { width } = this.scenes[0].floor;
    const [x, y] = [walk.at % width, Math.floor(walk.at / width)];
    this.camera.follow(view.canvas, this.scenes[0], x, y);
    element("walked").dataset.news = news;
    announce(news || `${x}, ${y}`);
    view.cursor = undefined;
    view.show(this.scenes[0], this.layers, this.palette(this.scenes[0]));
    this.#describe();
    this.#refreshWalk(news);
    this.writeLink();
  }

  #refreshWalk(news = ""): void {
    const { walk } = this.views[0];
    element("walk").setAttribute("aria-pressed", String(!!walk));
    element("daily").setAttribute("aria-pressed", String(!!walk?.isClimb));
    element("pad").hidden = !walk;
    document.body.classList.toggle("walking", !!walk);
    document.body.classList.toggle("climbing", !!walk?.isClimb);
    if (walk) element("walked").textContent = `${walk.status} ${news}`;
  }

  // What views report.

  moved(): void {
    this.views.forEach((view) => view.redraw());
    this.writeLink();
  }

  focused(view: View): void {
    const at = this.views.indexOf(view);
    if (at === this.active) return;
    this.active = at;
    this.refresh();
  }

  chosen(view: View, index: number): void {
    if (!view.walk) {
      view.canvas.focus();
    } else if (index === view.walk.at && view.walk.isAtExit) {
      this.#descend();
    } else {
      const way = view.walk.wayTo(index);
      if (way) this.move(way);
      else announce("You know no way there.");
    }
  }

  /** Walks on, on the next floor. */
  #descend(): void {
    const { walk } = this.views[0];
    if (walk?.descend) walk.descend();
    else if (this.#openBeside(this.specs[this.active], 1, false)) this.toggleWalk();
  }

  key(view: View, event: KeyboardEvent): boolean {
    const move = ARROWS[event.key];
    if (view.walk && move && !event.shiftKey) this.move([move]);
    else if (view.walk?.keyed.includes(event.key)) this.move([event.key as Move]);
    else if (view.walk && event.key === "Enter" && view.cursor === undefined && view.walk.isAtExit) this.#descend();
    else if (event.key === "n") this.step(1);
    else if (event.key === "p") this.step(-1);
    else if (event.key === "w") this.toggleWalk();
    else if (event.key === "c") this.toggleCompare();
    else if (event.key === "m") this.toggleMap();
    else if (event.key === "e" || event.key === "E") this.#visit(view, event.key === "e" ? 1 : -1);
    else if (event.key === "?") announce(describeFloor(this.scenes[this.active], view.walk));
    else if (/^[1-9]$/.test(event.key)) this.#toggleLayer(LAYERS[Number(event.key) - 1][0]);
    else return false;
    return true;
  }

  /** Puts the cursor on the next thing of the floor. */
  #visit(view: View, by: number): void {
    if (!view.scene) return;
    const known = stops(view.scene, view.walk);
    const at = view.cursor ?? -1;
    const next = by > 0 ? known.find((index) => index > at) ?? known[0] : known.findLast((index) => index < at) ?? known.at(-1);
    if (next !== undefined) view.moveCursor(next);
  }

  // The controls.

  #toggleLayer(key: Layer): void {
    if (!this.layers.delete(key)) this.layers.add(key);
    const name = LAYERS.find(([other]) => other === key)?.[1];
    announce(`${name}: ${this.layers.has(key) ? "on" : "off"}.`);
    this.refresh();
  }

  setTheme(name: string): void {
    this.#theme = name === "light" ? "light" : "dark";
    document.documentElement.dataset.theme = this.#theme;
    element("theme").textContent = this.#theme === "light" ? "Dark" : "Light";
    this.#redraw();
  }

  toggleMap(): void {
    this.panels?.packs.showSheet(false);
    this.isMap = !this.isMap;
    announce(this.isMap ? "A map in ink on paper." : "Data: the colour of each cell says what it is.");
    this.#redraw();
  }

  #redraw(): void {
    if (this.views.length) this.refresh();
    this.panels?.packs.redraw();
  }

  /** The floor that is typed; undefined if it is none, which an alert says. */
  #typed(): Spec | undefined {
    try {
      return this.#form.typed;
    } catch (error) {
      showAlert(`${(error as Error).message}.`);
      return undefined;
    }
  }

  submit(): void {
    const spec = this.#typed();
    // The kind that is chosen stays what it was if the floor stays.
    if (spec && !this.open(spec)) this.#form.fill({ ...this.specs[this.active] });
  }
}
