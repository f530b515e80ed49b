// What a walker knows of a floor. Without a fog all of it is known.

import { type Floor, type Item, type Lock, type Room, Terrain } from "./floor";
import { indexOf } from "./paths";
import type { Scene, Thing } from "./scene";

export interface Fog {
  /** The locks whose key the walker has. */
  readonly keys: ReadonlySet<number>;
  /** Rises when more is known. */
  readonly revision: number;
  sees(index: number): boolean;
  knows(index: number): boolean;
  /** Whether a lock is open. */
  isOpen(lock: number): boolean;
  /** Whether the walker has taken what lay there. */
  took(index: number): boolean;
  found(index: number): boolean;
}

/** The terrain of a cell as the walker knows it; 0: not seen yet. A secret door looks like a wall until it is found. */
export function knownTerrain(floor: Floor, index: number, fog?: Fog): number {
  const terrain = floor.terrain[index];
  if (!fog) return terrain;
  if (!fog.knows(index)) return 0;
  return terrain === Terrain.SecretDoor && !fog.found(index) ? Terrain.Wall : terrain;
}

/** What lies or stands on a cell. A walker remembers the ground, and things only while they are in sight. */
export const visibleThing = (scene: Scene, index: number, fog?: Fog): Thing | undefined =>
  fog && (fog.took(index) || !fog.sees(index)) ? undefined : scene.things.get(index);

/** The locks whose doors are known. */
export const knownLocks = (floor: Floor, fog?: Fog): Lock[] =>
  floor.locks.filter(({ at }) => knownTerrain(floor, indexOf(floor, at), fog));

/** The key of a lock, if it lies in sight. */
export const visibleKey = (scene: Scene, lock: number, fog?: Fog): Item | undefined =>
  scene.floor.items.find(({ opens, at }) => opens === lock && visibleThing(scene, indexOf(scene.floor, at), fog));

/** The rooms that are known in part, each with a cell of its own that is known: its center if possible. */
export function knownRooms(floor: Floor, fog?: Fog): { room: Room; place: number }[] {
  const rooms = floor.rooms.map((room) => ({ room, place: indexOf(floor, room.center) }));
  if (!fog) return rooms;
  const first = new Map<number, number>();
  floor.region.forEach((id, index) => {
    if (id && fog.knows(index) && !first.has(id - 1)) first.set(id - 1, index);
  });
  return rooms.flatMap(({ room, place }) => {
    const known = first.get(room.id);
    return known === undefined ? [] : [{ room, place: fog.knows(place) ? place : known }];
  });
}
