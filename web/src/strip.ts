// The strip below the map: 20 floors of the tower, as small pictures.

import { element } from "./element";
import type { Host as Tiles } from "./tile";
import { tile } from "./tile";
import type { Spec } from "./generator";

const FLOORS = 20;
const LAST = 1_000_000;
/** Side of a picture, in CSS pixels. */
const SIDE = 72;

export interface Host extends Tiles {
  readonly specs: Spec[];
  readonly active: number;
}

export class Strip {
  /** What is on the strip. */
  #shown = "";

  constructor(readonly host: Host) {
    element("floors").addEventListener("click", () => {
      const strip = element("strip");
      strip.hidden = !strip.hidden;
      element("floors").setAttribute("aria-pressed", String(!strip.hidden));
      this.#shown = "";
      this.refresh();
    });
  }

  /** Shows the floors around the one that is shown. */
  refresh(): void {
    const strip = element("strip");
    if (strip.hidden) return;
    const spec = this.host.specs[this.host.active];
    const first = Math.min(spec.number - ((spec.number - 1) % FLOORS), LAST - FLOORS + 1);
    const shown = [spec.seed, first, spec.width, spec.height, spec.kind, this.host.mode, this.host.generator.revision].join();
    if (shown !== this.#shown) this.#fill(strip, spec, first);
    this.#shown = shown;
    strip.querySelectorAll("button").forEach((button, at) => {
      const isCurrent = first + at === spec.number;
      if (isCurrent && !button.hasAttribute("aria-current")) strip.scrollLeft = button.offsetLeft - strip.clientWidth / 2;
      if (isCurrent) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    });
  }

  #fill(strip: HTMLElement, spec: Spec, first: number): void {
    strip.replaceChildren(...Array.from({ length: FLOORS }, (_, at) => {
      const item = document.createElement("li");
      item.append(tile(this.host, { ...spec, number: first + at }, SIDE, String(first + at)));
      return item;
    }));
  }
}
