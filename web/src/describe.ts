// A floor and its cells in words: for tooltips, the legend and screen readers.

import { type Floor, KINDS, plain, ROLES, type Room, Terrain, TERRAIN_NAMES, themeOf } from "./floor";
import type { Fog } from "./picture";
import { indexOf } from "./paths";
import type { Scene } from "./scene";

/** `1 room`, `2 rooms`. */
export const several = (count: number, noun: string): string =>
  `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

export const titleOf = ({ spec }: Floor): string =>
  `Floor ${spec.number} of tower ${spec.seed}: ${KINDS[spec.kind]}, ${spec.width}x${spec.height}`;

export const difficulty = (thousandths: number): string => (thousandths / 1000).toFixed(3);

/** The floor in a paragraph. */
export function describeFloor(scene: Scene): string {
  const { floor } = scene;
  const locks = floor.locks.map(({ id, at }) => {
    const key = floor.items.find((item) => item.opens === id);
    const room = key && roomAt(floor, indexOf(floor, key.at));
    return `Lock ${id} is at ${at.x}, ${at.y}` +
      (key ? `; its key at ${key.at.x}, ${key.at.y}${room ? ` in ${roomName(room)}` : ""}.` : ".");
  });
  const roles = ROLES.map((role, at) => [role, floor.rooms.filter((room) => room.role === at).length] as const)
    .filter(([role, count]) => role && count).map(([role, count]) => `${count} ${role}`);
  return [
    `${titleOf(floor)}. Theme ${themeOf(floor.spec.number)}.`,
    `${several(floor.rooms.length, "room")} (${roles.join(", ")}), ${several(floor.metrics.loops, "loop")}.`,
    `${several(floor.metrics.criticalPath, "step")} from the stairs up at ${floor.entry.x}, ${floor.entry.y} to the ` +
      `stairs down at ${floor.exit.x}, ${floor.exit.y}. Difficulty ${difficulty(floor.metrics.difficulty)}.`,
    `${several(floor.spawns.length, "monster")}, ${several(floor.items.length - floor.locks.length, "item")}, ` +
      `${several(floor.traps.length, "trap")}, ${several(floor.locks.length, "lock")}.`,
    ...locks,
  ].join(" ");
}

export const roomName = ({ id, role }: Room): string => `room ${id} (${ROLES[role]})`;

export const roomAt = (floor: Floor, index: number): Room | undefined => floor.rooms[floor.region[index] - 1];

/** What a cell is and holds: its first part is the most important. */
export function describeCell(scene: Scene, index: number, fog?: Fog): string[] {
  if (fog && !fog.knows(index)) return ["unexplored"];
  const { floor } = scene;
  const thing = fog && (fog.took(index) || !fog.sees(index)) ? undefined : scene.things.get(index);
  const parts = [];
  if (thing) {
    const name = plain(thing.archetype);
    if (thing.layer === "locks") parts.push(`key of lock ${thing.number}`);
    else if (thing.layer === "loot") parts.push(`${name}, value ${thing.number}`);
    else parts.push(`${thing.layer === "traps" ? `trap: ${name}` : name}, level ${thing.number}`);
  }
  const lock = scene.locks.get(index);
  const hidden = fog && floor.terrain[index] === Terrain.SecretDoor && !fog.found(index);
  const terrain = hidden ? "wall" : TERRAIN_NAMES[floor.terrain[index]];
  parts.push(lock ? `locked door, lock ${lock}` : terrain);
  const room = roomAt(floor, index);
  if (room) parts.push(roomName(room));
  if (!fog && scene.behind[index] > 0) parts.push(`behind lock ${scene.behind[index]}`);
  return parts;
}
