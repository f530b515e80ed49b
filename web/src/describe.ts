// A floor and its cells in words: for the panel, tooltips and screen readers. Given a fog, only what its walker knows.

import { type Floor, KINDS, numberOf, plain, ROLES, type Room, TERRAIN_NAMES } from "./floor";
import { type Fog, knownLocks, knownRooms, knownTerrain, visibleKey, visibleThing } from "./fog";
import { indexOf } from "./paths";
import type { Scene, Thing } from "./scene";
import { states } from "./words";

const numeral = (count: number): string => count.toLocaleString("en");

/** `1 room`, `2 rooms`. */
export const several = (count: number, noun: string): string => `${numeral(count)} ${noun}${count === 1 ? "" : "s"}`;

/** What a floor is, whatever it is called. */
export const titleOf = ({ spec, tower }: Floor): string =>
  `Floor ${spec.number} of tower ${tower ?? spec.seed}: ${KINDS[spec.kind]}, ${spec.width}x${spec.height}`;

/** What a floor is called, else what it is. */
export const nameOfFloor = (floor: Floor): string => floor.name?.text ?? titleOf(floor);

export const difficulty = (thousandths: number): string => (thousandths / 1000).toFixed(1);

/** Names and values for the panel. */
export function facts(scene: Scene, fog?: Fog): [string, string][] {
  const { floor } = scene;
  const { metrics } = floor;
  const landmark = floor.rooms[floor.landmark - 1];
  const contents: [string, string][] = fog ? [
    ["Rooms seen", numeral(knownRooms(floor, fog).length)],
    ["Locks seen", numeral(knownLocks(floor, fog).length)],
    ["Cells seen", numeral(floor.terrain.filter((_, index) => fog.knows(index)).length)],
  ] : [
    ["Rooms", numeral(floor.rooms.length)],
    ["Loops", numeral(metrics.loops)],
    ["Locks", numeral(floor.locks.length)],
    ["Steps to the exit", numeral(metrics.criticalPath)],
    ["Difficulty", difficulty(metrics.difficulty)],
    ["Passable cells", numeral(metrics.passable)],
  ];
  return [
    ["Theme", plain(floor.theme)], ...contents,
    ...(landmark && !fog ? [["Landmark", landmark.name?.text ?? roomName(landmark)] as [string, string]] : []),
  ];
}

/** What few readers want to know of the floor's bytes. */
export function encoding({ bytes, hash }: Floor): [string, string][] {
  return [["Encoded", several(bytes.length, "byte")], ["Content hash", hash]];
}

/** The floor in a paragraph. */
export function describeFloor(scene: Scene, fog?: Fog): string {
  const { floor } = scene;
  const rooms = knownRooms(floor, fog).map(({ room }) => room);
  const roles = ROLES.map((role, at) => [role, rooms.filter((room) => room.role === at).length] as const)
    .filter(([role, count]) => role && count).map(([role, count]) => `${count} ${role}`);
  const known = `${several(rooms.length, "room")}${roles.length ? ` (${roles.join(", ")})` : ""}`;
  return [
    ...(floor.name ? [`${floor.name.text}.`, ...(floor.hook ? [floor.hook.text] : [])] : []),
    `${titleOf(floor)}. Theme ${plain(floor.theme)}.`,
    ...(fog ? [`You have seen ${known}.`, ...inSight(scene, fog)] : [`${known}, ${several(floor.metrics.loops, "loop")}.`, ...contents(floor)]),
    ...knownLocks(floor, fog).map(({ id, at }) => `Lock ${id} is at ${at.x}, ${at.y}${keyOf(scene, id, fog)}.`),
  ].join(" ");
}

function contents(floor: Floor): string[] {
  return [
    `${several(floor.metrics.criticalPath, "step")} from the stairs up at ${floor.entry.x}, ${floor.entry.y} to the ` +
      `stairs down at ${floor.exit.x}, ${floor.exit.y}. Difficulty ${difficulty(floor.metrics.difficulty)}.`,
    ...(floor.landmark ? [`It is remembered by ${roomName(floor.rooms[floor.landmark - 1])}.`] : []),
    `${several(floor.spawns.length, "monster")}, ${several(floor.items.length - floor.locks.length, "item")}, ` +
      `${several(floor.traps.length, "trap")}, ${several(floor.locks.length, "lock")}.`,
  ];
}

function inSight(scene: Scene, fog: Fog): string[] {
  const { floor } = scene;
  const exit = indexOf(floor, floor.exit);
  const things = [...scene.things.keys()].sort((a, b) => a - b).flatMap((index) => {
    const thing = visibleThing(scene, index, fog);
    return thing ? `${nameOf(thing)}, at ${index % floor.width}, ${Math.floor(index / floor.width)}` : [];
  });
  return [
    ...(fog.knows(exit) ? [`The stairs down are at ${floor.exit.x}, ${floor.exit.y}.`] : []),
    ...(things.length ? [`In sight: ${things.join("; ")}.`] : []),
  ];
}

/** Where the key of a lock is, as the end of a sentence. */
function keyOf(scene: Scene, lock: number, fog?: Fog): string {
  if (fog?.isOpen(lock)) return "; it is open";
  if (fog?.keys.has(lock)) return "; you have its key";
  const key = visibleKey(scene, lock, fog);
  if (!key) return "";
  const room = roomAt(scene.floor, indexOf(scene.floor, key.at));
  return `; its key at ${key.at.x}, ${key.at.y}${room ? ` in ${roomName(room)}` : ""}`;
}

export const roomName = (room: Room): string =>
  `${room.name ? `${room.name.text}, ` : ""}room ${numberOf(room)} (${ROLES[room.role]})`;

export const roomAt = (floor: Floor, index: number): Room | undefined => floor.rooms[floor.region[index] - 1];

function nameOf({ layer, archetype, number, behaviour = 0, group }: Thing): string {
  const name = plain(archetype);
  if (layer === "locks") return `key of lock ${number}`;
  if (layer === "loot") return `${name}, value ${number}`;
  if (layer === "traps") return `trap: ${name}, level ${number}`;
  return `${name}, level ${number}, ${states([behaviour])}${group ? `, of group ${group}` : ""}`;
}

/** What a cell is and holds: its first part is the most important. */
export function describeCell(scene: Scene, index: number, fog?: Fog): string[] {
  const { floor } = scene;
  const terrain = knownTerrain(floor, index, fog);
  if (!terrain) return ["unexplored"];
  const thing = visibleThing(scene, index, fog);
  const lock = scene.locks.get(index);
  const piece = scene.pieces.get(index);
  const parts = [
    ...(thing ? [nameOf(thing)] : []),
    ...(piece ? [plain(piece.archetype) + (piece.blocks ? ", in the way" : "")] : []),
    // Furniture that is in the way stands in the place of a pillar.
    ...(piece?.blocks ? [] : [lock ? `locked door, lock ${lock}` : TERRAIN_NAMES[terrain]]),
  ];
  const room = roomAt(floor, index);
  if (room) parts.push(roomName(room));
  if (!fog && scene.behind[index] > 0) parts.push(`behind lock ${scene.behind[index]}`);
  return parts;
}
