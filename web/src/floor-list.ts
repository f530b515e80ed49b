// Favourites and history, which the browser keeps.

import { element } from "./element";
import type { Spec } from "./generator";
import { formatSpec, parseSpec } from "./link";
import { type Host as Tiles, tile } from "./tile";

/** The most floors of each list. The oldest leave it. */
const MOST = { favourites: 200, history: 50 };
type Name = keyof typeof MOST;
/** Side of a picture, in CSS pixels. */
const SIDE = 48;

export interface Host extends Tiles {
  readonly specs: Spec[];
  readonly active: number;
  announce(text: string): void;
}

/** What the browser kept, without what is no floor. */
function read(name: Name): string[] {
  const isFloor = (text: string): boolean => {
    try {
      return formatSpec(parseSpec(text)) === text;
    } catch {
      return false;
    }
  };
  return (localStorage.getItem(name) ?? "").split("\n").filter(isFloor).slice(0, MOST[name]);
}

export class FloorList {
  #lists = { favourites: read("favourites"), history: read("history") };
  #shown = "";

  constructor(readonly host: Host) {
    element("favourite").addEventListener("click", () => this.#toggle());
    element("forget").addEventListener("click", () => {
      this.#keep("history", []);
      this.refresh();
    });
    element("tab-saved").addEventListener("click", () => this.refresh());
  }

  get #floor(): string {
    return formatSpec(this.host.specs[this.host.active]);
  }

  #keep(name: Name, floors: string[]): void {
    this.#lists[name] = floors.slice(0, MOST[name]);
    try {
      localStorage.setItem(name, this.#lists[name].join("\n"));
    } catch {
      // The browser keeps nothing; the list lasts as long as the page.
    }
  }

  #toggle(): void {
    const { favourites } = this.#lists;
    const isOne = favourites.includes(this.#floor);
    const others = favourites.filter((floor) => floor !== this.#floor);
    this.#keep("favourites", isOne ? others : [this.#floor, ...others]);
    this.host.announce(isOne ? "No favourite any more." : "A favourite.");
    this.refresh();
  }

  refresh(): void {
    const { favourites, history } = this.#lists;
    // A floor of a pack is another one without the pack.
    if (!this.host.generator.pack && history[0] !== this.#floor) this.#keep("history", [this.#floor, ...history.filter((floor) => floor !== this.#floor)]);
    const isOne = favourites.includes(this.#floor);
    element("favourite").setAttribute("aria-pressed", String(isOne));
    element("favourite").textContent = isOne ? "★ Favourite" : "☆ Favourite";
    const shown = JSON.stringify([this.#lists, this.host.mode, this.host.generator.revision]);
    if (element("panel-saved").hidden || shown === this.#shown) return;
    this.#shown = shown;
    for (const name of ["favourites", "history"] as const) {
      element(name).replaceChildren(...this.#lists[name].map((floor) => {
        const item = document.createElement("li");
        item.append(tile(this.host, parseSpec(floor), SIDE, floor));
        return item;
      }));
    }
  }
}
