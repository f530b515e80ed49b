// Where the labels of rooms stand: as near to the middle of the room as they cover nothing.

import { ROLES, type Room } from "./floor";
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
  const inOrder = [...new Set([middle, ...cells])].sort((a, b) => distance(a) - distance(b));
  const isFree = (index: number): boolean => covered(scene, at(index)).every((cell) => !taken.has(cell));
  const inside = (index: number): boolean => room.max.x - room.min.x + 3 >= width || index === middle;
  const free = inOrder.find((index) => isFree(index) && inside(index));
  return { label: at(free ?? middle), isFree: free !== undefined };
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
