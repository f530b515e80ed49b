// What players may know of a floor before they play it: its ground, without what only a search finds.

import { type Floor, Terrain } from "./floor";
import type { Fog } from "./fog";
import { around, indexOf } from "./paths";
import type { Layers, Scene } from "./scene";

/** What is drawn for players: no roles, no locks, no things. */
export const PLAYERS_LAYERS: Layers = new Set(["terrain"]);

export class PlayersFog implements Fog {
  readonly keys = new Set<number>();
  readonly revision = 0;
  readonly #known: Uint8Array;

  constructor({ floor }: Scene) {
    this.#known = reached(floor);
  }

  knows = (index: number): boolean => this.#known[index] === 1;
  sees = (): boolean => true;
  isOpen = (): boolean => false;
  took = (): boolean => true;
  found = (): boolean => false;
}

/** The cells that hang together with the entry other than through secret doors, and the walls beside them. */
function reached(floor: Floor): Uint8Array {
  const known = new Uint8Array(floor.terrain.length);
  const queue = [indexOf(floor, floor.entry)];
  known[queue[0]] = 1;
  for (let next = 0; next < queue.length; next++) {
    for (const beside of around(floor, queue[next])) {
      if (known[beside]) continue;
      known[beside] = 1;
      const terrain = floor.terrain[beside];
      if (terrain !== Terrain.Wall && terrain !== Terrain.SecretDoor) queue.push(beside);
    }
  }
  return known;
}
