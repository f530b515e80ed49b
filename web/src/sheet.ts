// A sheet of small floors: each is a button that opens the floor.

import { several } from "./describe";
import { KINDS } from "./floor";
import type { Spec } from "./generator";
import type { Pixels } from "./thumbnail";

const element = <E extends HTMLElement = HTMLInputElement>(id: string): E => document.getElementById(id) as E;

/** Floors on the sheet. */
export const TILES = 16;
/** Width and height in cells. 0 is what the pack says. */
const SIZES = [[0, 0], [32, 32], [64, 48], [100, 100], [160, 120], [256, 256], [512, 512]];

interface Tile { button: HTMLButtonElement; canvas: HTMLCanvasElement; caption: HTMLElement; spec?: Spec }

export class Sheet {
  readonly #tiles: Tile[];

  /** `open` gets the floor of the tile that is clicked; `changed` is called when other floors are wanted. */
  constructor(readonly parse: { seed(text: string): bigint; number(text: string): number }, open: (spec: Spec) => void, changed: () => void) {
    element<HTMLSelectElement>("sheet-kind").append(...KINDS.map((name, value) => new Option(name, String(value))));
    element<HTMLSelectElement>("sheet-size").append(...SIZES.map(([width, height], at) =>
      new Option(width ? `${width}x${height}` : "as the pack says", String(at))));
    for (const name of ["sheet-seed", "sheet-first", "sheet-kind", "sheet-size"]) element(name).addEventListener("input", changed);
    element("sheet-form").addEventListener("submit", (event) => event.preventDefault());
    this.#tiles = Array.from({ length: TILES }, () => {
      const [button, canvas, caption] = [document.createElement("button"), document.createElement("canvas"), document.createElement("span")];
      const tile: Tile = { button, canvas, caption };
      button.type = "button";
      button.disabled = true;
      canvas.setAttribute("aria-hidden", "true");
      caption.textContent = "…";
      button.append(canvas, caption);
      button.addEventListener("click", () => tile.spec && open(tile.spec));
      return tile;
    });
    element("sheet").append(...this.#tiles.map(({ button }) => {
      const item = document.createElement("li");
      item.append(button);
      return item;
    }));
  }

  /** The floors that the controls ask for; undefined if they ask for none, which the sheet says. */
  specs(): Spec[] | undefined {
    try {
      const seed = this.parse.seed(element("sheet-seed").value);
      const first = Math.min(this.parse.number(element("sheet-first").value), 1_000_001 - TILES);
      const kind = Number(element("sheet-kind").value);
      const [width, height] = SIZES[Number(element("sheet-size").value)];
      element("sheet-problem").textContent = "";
      return this.#tiles.map((_, at) => ({ seed, number: first + at, width, height, kind }));
    } catch (error) {
      element("sheet-problem").textContent = (error as Error).message;
      return undefined;
    }
  }

  /** The side that a picture has on the screen, in pixels. */
  get side(): number {
    const { clientWidth, clientHeight } = this.#tiles[0].canvas;
    return Math.max(clientWidth, clientHeight) * (devicePixelRatio || 1);
  }

  /** Shows a floor. `asked` has the kind that was asked for, `spec` the one that the floor has. */
  show(at: number, asked: Spec, spec: Spec, { width, height, data }: Pixels): void {
    const tile = this.#tiles[at];
    Object.assign(tile.canvas, { width, height });
    tile.canvas.getContext("2d")?.putImageData(new ImageData(data, width, height), 0, 0);
    tile.caption.textContent = `${spec.number} ${KINDS[spec.kind]}`;
    tile.button.setAttribute("aria-label", `Floor ${spec.number}: ${KINDS[spec.kind]}, ${several(spec.width, "column")}, ${several(spec.height, "row")}`);
    tile.button.disabled = false;
    tile.spec = { ...spec, kind: asked.kind };
  }

  clear(): void {
    for (const tile of this.#tiles) {
      tile.button.disabled = true;
      tile.button.removeAttribute("aria-label");
      tile.caption.textContent = "…";
      tile.canvas.width = tile.canvas.width;
      tile.spec = undefined;
    }
  }
}
