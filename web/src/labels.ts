// Where the labels of rooms stand: as near to the middle of the room as they cover nothing.

import { ROLES, type Room, Terrain } from "./floor";
import { indexOf } from "./paths";
import type { Scene } from "./scene";

/** A label with its middle and its size, in cells. */
export interface Label { room: Room; text: string; x: number; y: number; width: number; height: number }

/** A label for each room: with its role if there is place for it. `measure` gives the width of a text in cells. */
export function placeLabels(scene: Scene, height: number, withRoles: boolean, measure: (text: string) => number): Label[] {
  const { floor } = scene;
  const taken = new Set([...scene.things.keys(), ...scene.locks.keys(), indexOf(floor, floor.entry), indexOf(floor, floor.exit)]);
  const cells: number[][] = floor.rooms.map(() => []);
  floor.region.forEach((id, index) => id && cells[id - 1].push(index));
  return floor.rooms.map((room) => {
    const texts = [...(withRoles ? [`${room.id} ${ROLES[room.role]}`] : []), String(room.id)];
    const label = first(texts, (text) => place(scene, taken, room, cells[room.id], text, measure(text), height));
    for (const index of covered(scene, label)) taken.add(index);
    return label;
  });
}

/** The first text that has a place; else the last one, in the middle of the room. */
function first(texts: string[], find: (text: string) => { label: Label; isFree: boolean }): Label {
  const found = texts.map(find);
  return (found.find(({ isFree }) => isFree) ?? found[found.length - 1]).label;
}

function place(
  scene: Scene, taken: Set<number>, room: Room, cells: number[], text: string, width: number, height: number,
): { label: Label; isFree: boolean } {
  const floorWidth = scene.floor.width;
  const at = (index: number): Label =>
    ({ room, text, x: (index % floorWidth) + 0.5, y: Math.floor(index / floorWidth) + 0.5, width, height });
  const middle = indexOf(scene.floor, room.center);
  const distance = (index: number): number => {
    const { x, y } = at(index);
    return Math.hypot(x - room.center.x - 0.5, y - room.center.y - 0.5);
  };
  const byDistance = (cells: number[]): number[] => [...new Set(cells)].sort((a, b) => distance(a) - distance(b));
  const isFree = (index: number): boolean => covered(scene, at(index)).every((cell) => !taken.has(cell));
  const withRole = text !== String(room.id);
  const fits = room.max.x - room.min.x + 3 >= width;
  // A room that is full has its label in the rock beside it.
  const isBeside = (index: number): boolean =>
    covered(scene, at(index)).every((cell) => !taken.has(cell) && scene.floor.terrain[cell] === Terrain.Wall);
  const free = (fits ? byDistance([middle, ...cells]) : [middle]).find(isFree) ?? (withRole ? undefined : byDistance(around(scene, room, width, height)).find(isBeside));
  // A monster may be covered sooner than a key or a door.
  const last = (): number => byDistance([middle, ...cells, ...around(scene, room, width, height)])
    .find((index) => !covered(scene, at(index)).some((cell) => isVital(scene, cell))) ?? middle;
  return { label: at(free ?? last()), isFree: free !== undefined };
}

function isVital({ floor, locks, things }: Scene, cell: number): boolean {
  const terrain = floor.terrain[cell];
  return locks.has(cell) || things.get(cell)?.layer === "locks" || terrain === Terrain.StairsUp || terrain === Terrain.StairsDown;
}

/** The cells around a room. */
function around({ floor }: Scene, { min, max }: Room, width: number, height: number): number[] {
  const cells: number[] = [];
  for (let y = Math.max(0, Math.floor(min.y - height - 2)); y <= Math.min(floor.height - 1, max.y + height + 2); y++) {
    for (let x = Math.max(0, Math.floor(min.x - width - 2)); x <= Math.min(floor.width - 1, max.x + width + 2); x++) {
      cells.push(y * floor.width + x);
    }
  }
  return cells;
}

/** The cells that a label covers in part. Things reach a little over their cells. */
function covered({ floor }: Scene, { x, y, width, height }: Label): number[] {
  const reach = 0.2;
  const cells: number[] = [];
  for (let row = Math.floor(y - height / 2 - reach); row <= y + height / 2 + reach; row++) {
    for (let column = Math.floor(x - width / 2 - reach); column <= x + width / 2 + reach; column++) {
      if (column >= 0 && row >= 0 && column < floor.width && row < floor.height) cells.push(row * floor.width + column);
    }
  }
  return cells;
}
