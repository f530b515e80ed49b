// The key of a printed map: what is in each room, in words.

import { type Floor, numberOf, plain, type Room } from "./floor";
import { indexOf } from "./paths";
import type { Scene, Thing } from "./scene";
import { some, thingsInWords } from "./words";

/** A line of the key: `7`, `Guard room`, `three skeletons, asleep; key 1`. */
export interface Entry { number: string; name: string; contents: string }

/** In the order of `ROLES`. */
const NAMES = ["Room", "Entrance", "Exit", "Guard room", "Treasury", "Key room", "Shrine", "Shop", "Boss", "Vault", "Secret room", "Passage"];

/** An entry for each room with contents, one for what lies outside, and one that lists the empty rooms. */
export function roomKey(scene: Scene): Entry[] {
  const { floor } = scene;
  const things = new Map<number, Thing[]>();
  for (const [index, thing] of scene.things) {
    const room = floor.region[index] - 1;
    things.set(room, [...(things.get(room) ?? []), thing]);
  }
  const entries = floor.rooms.map((room) => ({
    number: String(numberOf(room)),
    name: room.name ? `${room.name.text} (${(NAMES[room.role] ?? NAMES[0]).toLowerCase()})` : NAMES[room.role] ?? NAMES[0],
    contents: [contentsOf(things.get(room.id) ?? []), ...doorsOf(floor, room), furnitureOf(scene, room)].filter(Boolean).join("; "),
  }));
  const isSpecial = ({ name }: Entry): boolean => name !== "Room" && name !== "Passage" && name !== "Guard room";
  const full = entries.filter((entry) => entry.contents || isSpecial(entry));
  const empty = entries.filter((entry) => !full.includes(entry)).map(({ number }) => number);
  const outside = contentsOf(things.get(-1) ?? []);
  return [
    ...full,
    ...(outside ? [{ number: "", name: "Corridors", contents: outside }] : []),
    ...(empty.length ? [{ number: "", name: "Empty", contents: empty.join(", ") }] : []),
  ];
}

function contentsOf(things: Thing[]): string {
  const groups = new Map<string, Thing[]>();
  for (const thing of things) {
    const group = `${thing.layer} ${thing.archetype} ${thing.layer === "locks" ? thing.number : ""}`;
    groups.set(group, [...(groups.get(group) ?? []), thing]);
  }
  const order = ["monsters", "traps", "loot", "locks"];
  return [...groups.values()].sort(([a], [b]) => order.indexOf(a.layer) - order.indexOf(b.layer)).map(groupOf).join("; ");
}

const groupOf = (group: Thing[]): string => (group[0].layer === "locks" ? `key ${group[0].number}` : thingsInWords(group));

/** The furniture of a room: `three graves, a statue`. */
function furnitureOf({ floor, pieces }: Scene, { id }: Room): string {
  const counts = new Map<string, number>();
  for (const [index, { archetype }] of pieces) {
    if (floor.region[index] === id + 1) counts.set(archetype, (counts.get(archetype) ?? 0) + 1);
  }
  return [...counts].sort().map(([name, count]) => some(count, plain(name))).join(", ");
}

/** The locks and secret doors of a room. */
function doorsOf(floor: Floor, { id }: Room): string[] {
  return floor.connections.flatMap(({ from, to, lock, secret }) => {
    if (from !== id && to !== id) return [];
    const other = floor.rooms[from === id ? to : from];
    return lock ? [`lock ${lock} to ${numberOf(other)}`] : secret ? [`secret door to ${numberOf(other)}`] : [];
  });
}

/** The number of the room where the stairs are. */
export const roomOf = (floor: Floor, place: { x: number; y: number }): number => floor.region[indexOf(floor, place)];
