// The form that names a floor.

import { KINDS } from "./floor";
import type { Spec } from "./generator";
import { parseNumber, parseSide } from "./link";
import { towerOf } from "./seed";

const element = <E extends HTMLElement = HTMLInputElement>(id: string): E => document.getElementById(id) as E;

export class FloorForm {
  #filled?: Spec;
  /** The last tower that a text named. */
  #named?: { seed: bigint; name?: string };

  constructor() {
    element<HTMLSelectElement>("kind").append(...KINDS.map((name, value) => new Option(name, String(value))));
  }

  /** Shows a floor. What was typed stays while the floor is the same. */
  fill(spec: Spec): void {
    if (spec === this.#filled) return;
    this.#filled = spec;
    for (const name of ["seed", "number", "width", "height", "kind"] as const) element(name).value = String(spec[name]);
    const name = this.#named?.seed === spec.seed ? this.#named.name : undefined;
    element("named").hidden = name === undefined;
    element("named").textContent = name === undefined ? "" : `“${name}” is tower ${spec.seed}.`;
  }

  /** The floor that is typed. Throws what is wrong with it. */
  get typed(): Spec {
    const tower = towerOf(element("seed").value);
    if (tower.name !== undefined) this.#named = tower;
    return {
      seed: tower.seed,
      number: parseNumber(element("number").value),
      width: parseSide(element("width").value, "width"),
      height: parseSide(element("height").value, "height"),
      kind: Number(element("kind").value),
    };
  }
}
