// The address of the page: it holds what is shown, and each floor is a step in the browser's history.

import { format, formatSpec, type LinkState } from "./link";

/** From the last change until the address is written, in milliseconds. */
const REST = 200;

export class Address {
  #timer = 0;
  #written = "";
  /** The floors of the address. With others begins a new step. */
  #floors = "";

  constructor(readonly state: () => LinkState) {}

  /** Calls `read` when the browser leads to another address of the page. */
  onArrival(read: () => void): void {
    window.addEventListener("popstate", () => {
      if (location.hash !== this.#written) read();
    });
  }

  /** The page shows what the address says. */
  arrive(): void {
    this.#floors = this.#floorsOf(this.state());
  }

  writeLater(): void {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.write(), REST);
  }

  write(): void {
    clearTimeout(this.#timer);
    const state = this.state();
    const floors = this.#floorsOf(state);
    // Back leads to the floors that were shown before.
    if (floors === this.#floors) history.replaceState(null, "", format(state));
    else history.pushState(null, "", format(state));
    this.#floors = floors;
    this.#written = location.hash;
  }

  #floorsOf({ isDaily, floors }: LinkState): string {
    return isDaily ? "" : floors.map(formatSpec).join(" ");
  }
}
