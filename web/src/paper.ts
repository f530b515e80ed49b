// The printed page: the map, and for the game master the key of its rooms. It fits A4 and Letter. The key of a floor with
// a hundred rooms and more takes pages of its own.

import { nameOfFloor, several, titleOf } from "./describe";
import { draw } from "./drawing";
import { element } from "./element";
import { View, decode, plain } from "./floor";
import type { Fog } from "./fog";
import type { Generator } from "./generator";
import type { Look } from "./look";
import { paletteOf } from "./palette";
import { type Entry, roomKey, roomOf } from "./room-key";
import { type Layers, Scene } from "./scene";

/** Pixels of the map for a CSS pixel: 288 to the inch. */
const DENSITY = 3;
/** Sizes of the letters of the key, in points, with its columns. */
const SIZES = [[9, 2], [8, 2], [7.5, 3], [7, 3], [6.5, 3], [6, 4], [5.5, 4], [5, 4], [4.5, 5]] as const;
/** Parts of the page that the map should have, and the least size of letters for each: the first that fits is taken. */
const SHARES = [[0.62, 7], [0.52, 6], [0.42, 4.5]] as const;
const MASTERS_LAYERS: Layers = new Set(["terrain", "names", "locks", "monsters", "loot", "traps"]);
const PLAYERS_LAYERS: Layers = new Set(["terrain"]);
const WALKERS_LAYERS: Layers = new Set([...MASTERS_LAYERS].filter((layer) => layer !== "names"));

/** The page around the paper. */
export interface Host {
  readonly generator: Generator;
  readonly scenes: Scene[];
  readonly active: number;
  readonly views: { walk?: Fog }[];
}

/** For whom the page is: the walker gets what is known of the floor. */
type Reader = "master" | "players" | "walker";

export class Paper {
  readonly #dialog = element<HTMLDialogElement>("paper-view");
  #wasOpen = false;

  constructor(readonly host: Host) {
    element("print").addEventListener("click", () => {
      this.#show();
    });
    element("paper-close").addEventListener("click", () => this.#dialog.close());
    element("paper-form").addEventListener("change", () => this.#fill());
    element("paper-form").addEventListener("submit", (event) => {
      event.preventDefault();
      window.print();
    });
    window.addEventListener("beforeprint", () => {
      this.#wasOpen = this.#dialog.open;
      if (!this.#wasOpen) this.#show();
      else this.#fill();
    });
    window.addEventListener("afterprint", () => {
      if (!this.#wasOpen) this.#dialog.close();
    });
  }

  get #walk(): Fog | undefined {
    return this.host.views[this.host.active].walk;
  }

  get #readers(): RadioNodeList {
    return element<HTMLFormElement>("paper-form").elements.namedItem("reader") as RadioNodeList;
  }

  /** Who walks does not see the secrets of the floor unasked. */
  #show(): void {
    element("paper-walker").hidden = !this.#walk;
    if (this.#walk) this.#readers.value = "walker";
    else if (this.#readers.value === "walker") this.#readers.value = "master";
    this.#dialog.show();
    this.#fill();
  }

  #fill(): void {
    const reader = this.#readers.value as Reader;
    const whole = this.host.scenes[this.host.active];
    const { generator } = this.host;
    const scene = reader === "players" ? new Scene(decode(generator.floor(whole.floor.spec, View.Player))) : whole;
    const { floor } = scene;
    const paper = element("paper");
    const canvas = document.createElement("canvas");
    const title = Object.assign(document.createElement("h1"), { textContent: nameOfFloor(floor) });
    const note = document.createElement("p");
    const key = document.createElement("ol");
    paper.replaceChildren(title, note, canvas, key);
    const fog = reader === "walker" ? this.#walk : undefined;
    const called = floor.name ? `${floor.hook?.text ?? ""} ${titleOf(floor)}. `.trimStart() : "";
    note.textContent = called + (reader !== "master"
      ? `The ${plain(floor.theme)}. A square is 5 ft.`
      : `The ${plain(floor.theme)}. In: room ${roomOf(floor, floor.entry)}; out: room ${roomOf(floor, floor.exit)}. ` +
        `${several(floor.rooms.length, "room")}, ${several(floor.locks.length, "lock")}. A square is 5 ft.`);
    paper.classList.remove("long");
    if (reader === "master") fit(paper, key, roomKey(scene));
    const layers = { master: MASTERS_LAYERS, players: PLAYERS_LAYERS, walker: WALKERS_LAYERS }[reader];
    drawOn(canvas, scene, generator.look(floor.theme), layers, fog);
  }
}

/** Writes the key in the largest letters that leave the map its share of the page. */
function fit(paper: HTMLElement, key: HTMLElement, entries: Entry[]): void {
  key.replaceChildren(...entries.map(({ number, name, contents }) => {
    const item = document.createElement("li");
    const strong = document.createElement("strong");
    strong.textContent = `${number ? `${number}. ` : ""}${name}`;
    item.append(strong, contents ? `: ${contents}` : "");
    return item;
  }));
  for (const [share, least] of SHARES) {
    for (const [points, columns] of SIZES) {
      if (points < least) break;
      setSize(key, points, columns);
      if (key.scrollHeight <= paper.clientHeight * (1 - share)) return;
    }
  }
  paper.classList.add("long");
  setSize(key, 7, 3);
}

function setSize(key: HTMLElement, points: number, columns: number): void {
  key.style.fontSize = `${points}pt`;
  key.style.columnCount = String(columns);
}

/** Draws the map as large as its place on the page. */
function drawOn(canvas: HTMLCanvasElement, scene: Scene, look: Look, layers: Layers, fog?: Fog): void {
  const [width, height] = [canvas.clientWidth * DENSITY, canvas.clientHeight * DENSITY];
  Object.assign(canvas, { width, height });
  const ctx = canvas.getContext("2d", { alpha: false });
  if (!ctx) return;
  const { left, top, right, bottom } = scene.bounds;
  const [columns, rows] = [right - left + 5, bottom - top + 5];
  const side = Math.min(width / columns, height / rows);
  const frame = {
    left: Math.round((width - (right + left + 1) * side) / 2), top: Math.round((height - (bottom + top + 1) * side) / 2), side, ratio: DENSITY,
  };
  draw(ctx, scene, frame, layers, paletteOf("paper", look), fog);
}
