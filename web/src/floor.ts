// A floor as the viewer uses it, decoded from a `floors.v1.Floor` (proto/floors/v1/floors.proto).

import type { Spec } from "./generator";
import { Reader } from "./protobuf";

export const enum Terrain {
  Wall = 1, Floor, Door, LockedDoor, SecretDoor, StairsUp, StairsDown, ShallowWater, DeepWater, Lava, Chasm, Bridge,
  Grass, Rubble, Pillar,
}

/** What of a floor is wanted: all unless it is what a player may know on arrival. */
export const enum View { Player = 1 }

export const TERRAIN_NAMES = ["", "wall", "floor", "door", "locked door", "secret door", "stairs up", "stairs down",
  "shallow water", "deep water", "lava", "chasm", "bridge", "grass", "rubble", "pillar"];
export const KINDS = ["scheduled", "standard", "keep", "halls", "cavern", "cyclic", "maze", "boss", "event", "story"];
export const ROLES = ["", "entry", "exit", "combat", "treasure", "key", "shrine", "shop", "boss", "vault", "secret",
  "passage"];
export const BEHAVIOURS = ["", "sleeps", "guards", "patrols", "wanders"];

export interface Point { x: number; y: number }
/** A text, the id of its sentence, and the ids of the parts in its places. */
export interface Text { text: string; id: string; parts: string[] }
export interface Room { id: number; min: Point; max: Point; role: number; center: Point; name?: Text }
/** It blocks the way where its cell is a pillar. */
export interface Furniture { archetype: string; at: Point }
export interface Connection { from: number; to: number; lock: number; secret: boolean }
/** A monster; or a trap, which has neither behaviour nor group. */
export interface Spawn { at: Point; archetype: string; level: number; behaviour: number; group: number }
export interface Item { at: Point; archetype: string; value: number; opens: number }
export interface Lock { id: number; at: Point }
export interface Metrics { criticalPath: number; passable: number; loops: number; difficulty: number }

export interface Floor {
  /** `pack` is NAME@HASH, or empty for the built-in pack. `view` is 1 for a player's. */
  spec: Spec & { pack: string; view: number };
  version: number;
  /** The content hash, in hexadecimal. */
  hash: string;
  width: number;
  height: number;
  terrain: Uint8Array;
  /** Room id + 1, 0 = none. */
  region: Uint8Array;
  entry: Point;
  exit: Point;
  /** Where who falls from the floor above lands, unless the cell below is passable. */
  landing: Point;
  rooms: Room[];
  connections: Connection[];
  spawns: Spawn[];
  items: Item[];
  locks: Lock[];
  traps: Spawn[];
  metrics: Metrics;
  theme: string;
  name?: Text;
  /** A sentence that makes one want to go there. */
  hook?: Text;
  /** Room id + 1 of the room that the floor is remembered by, 0 = none. */
  landmark: number;
  /** Type by type. */
  furniture: Furniture[];
  /** 0 for the built-in pack. */
  packHash: bigint;
  bytes: Uint8Array<ArrayBuffer>;
  /** The name of its tower, if that is sealed. */
  tower?: string;
}

/** The number that people read for a room. Ids count from 0. */
export const numberOf = ({ id }: Room): number => id + 1;

/** `bone archer` for `bone_archer`. */
export const plain = (name: string): string => name.replaceAll("_", " ");

/** Whether a walker without keys who does not search can stand there. */
export const passable = (terrain: number): boolean =>
  terrain === Terrain.Floor || terrain === Terrain.Door || terrain === Terrain.StairsUp ||
  terrain === Terrain.StairsDown || terrain === Terrain.ShallowWater || terrain === Terrain.Bridge ||
  terrain === Terrain.Grass || terrain === Terrain.Rubble;

export function decode(bytes: Uint8Array<ArrayBuffer>): Floor {
  const floor: Floor = {
    spec: { seed: 0n, number: 0, width: 0, height: 0, kind: 0, pack: "", view: 0 }, version: 0, hash: "0", width: 0, height: 0,
    terrain: new Uint8Array(), region: new Uint8Array(), entry: { x: 0, y: 0 }, exit: { x: 0, y: 0 },
    landing: { x: 0, y: 0 }, rooms: [], connections: [], spawns: [], items: [], locks: [], traps: [],
    metrics: { criticalPath: 0, passable: 0, loops: 0, difficulty: 0 }, theme: "", landmark: 0, furniture: [], packHash: 0n, bytes,
  };
  const types: { archetype: string; steps: number[] }[] = [];
  new Reader(bytes).fields({
    1: (r) => (floor.spec = spec(r.message())),
    2: (r) => (floor.version = r.uint()),
    3: (r) => (floor.hash = r.fixed64().toString(16).padStart(16, "0")),
    4: (r) => (floor.terrain = grid(r.message())),
    5: (r) => (floor.region = grid(r.message())),
    6: (r) => (floor.entry = point(r.message())),
    7: (r) => (floor.exit = point(r.message())),
    8: (r) => floor.rooms.push(room(r.message())),
    9: (r) => floor.connections.push(connection(r.message())),
    10: (r) => floor.spawns.push(spawn(r.message())),
    11: (r) => floor.items.push(item(r.message())),
    12: (r) => floor.locks.push(lock(r.message())),
    13: (r) => (floor.metrics = metrics(r.message())),
    14: (r) => floor.traps.push(spawn(r.message())),
    15: (r) => (floor.theme = r.string()),
    16: (r) => (floor.packHash = r.fixed64()),
    17: (r) => (floor.landing = point(r.message())),
    18: (r) => (floor.name = text(r.message())),
    19: (r) => (floor.hook = text(r.message())),
    20: (r) => (floor.landmark = r.uint()),
    21: (r) => types.push(furniture(r.message())),
  });
  ({ width: floor.width, height: floor.height } = floor.spec);
  floor.furniture = types.flatMap(({ archetype, steps }) => {
    let cell = 0;
    return steps.map((step) => {
      cell += step;
      if (cell >= floor.terrain.length) throw new RangeError(`furniture ${archetype} has cell ${cell}`);
      return { archetype, at: { x: cell % floor.width, y: Math.floor(cell / floor.width) } };
    });
  });
  return floor;
}

function spec(reader: Reader): Floor["spec"] {
  const spec = { seed: 0n, number: 0, width: 0, height: 0, kind: 0, pack: "", view: 0 };
  reader.fields({
    1: (r) => (spec.seed = r.varint()),
    2: (r) => (spec.number = r.uint()),
    3: (r) => (spec.width = r.uint()),
    4: (r) => (spec.height = r.uint()),
    5: (r) => (spec.kind = r.uint()),
    6: (r) => (spec.pack = r.string()),
    7: (r) => (spec.view = r.uint()),
  });
  return spec;
}

const enum Encoding { Uniform = 1, Raw8, Packed, Rle }

/** The cells of a `Grid`. Throws if its data does not fill them. */
function grid(reader: Reader): Uint8Array {
  let [width, height, encoding, bits] = [0, 0, 0, 0];
  let palette: number[] = [];
  let data = new Uint8Array();
  reader.fields({
    1: (r) => (width = r.uint()),
    2: (r) => (height = r.uint()),
    3: (r) => (palette = r.packed()),
    4: (r) => (encoding = r.uint()),
    5: (r) => (bits = r.uint()),
    6: (r) => (data = r.bytes() as Uint8Array<ArrayBuffer>),
  });
  const cells = new Uint8Array(width * height);
  const color = (index: number): number => {
    if (index >= palette.length) throw new RangeError(`a grid has index ${index} in a palette of ${palette.length}`);
    return palette[index];
  };
  let filled = cells.length;
  if (encoding === Encoding.Uniform) {
    cells.fill(color(0));
  } else if (encoding === Encoding.Raw8) {
    filled = data.length;
    data.forEach((index, at) => (cells[at] = color(index)));
  } else if (encoding === Encoding.Packed) {
    const each = 8 / bits;
    filled = Math.min(cells.length, data.length * each);
    for (let at = 0; at < filled; at++) {
      cells[at] = color((data[Math.floor(at / each)] >> ((at % each) * bits)) & ((1 << bits) - 1));
    }
  } else if (encoding === Encoding.Rle) {
    filled = 0;
    for (const runs = new Reader(data); !runs.ended;) {
      const index = runs.byte();
      const length = runs.uint() + 1;
      cells.fill(color(index), filled, filled + length);
      filled += length;
    }
  } else {
    throw new RangeError(`a grid has encoding ${encoding}`);
  }
  if (filled !== cells.length) throw new RangeError(`a grid of ${width}x${height} has ${filled} cells`);
  return cells;
}

function point(reader: Reader): Point {
  const point = { x: 0, y: 0 };
  reader.fields({ 1: (r) => (point.x = r.uint()), 2: (r) => (point.y = r.uint()) });
  return point;
}

function room(reader: Reader): Room {
  const zero = { x: 0, y: 0 };
  const room: Room = { id: 0, min: zero, max: zero, role: 0, center: zero };
  reader.fields({
    1: (r) => (room.id = r.uint()),
    2: (r) => (room.min = point(r.message())),
    3: (r) => (room.max = point(r.message())),
    4: (r) => (room.role = r.uint()),
    5: (r) => (room.center = point(r.message())),
    6: (r) => (room.name = text(r.message())),
  });
  return room;
}

function text(reader: Reader): Text {
  const text: Text = { text: "", id: "", parts: [] };
  reader.fields({
    1: (r) => (text.text = r.string()),
    2: (r) => (text.id = r.string()),
    3: (r) => text.parts.push(r.string()),
  });
  return text;
}

function furniture(reader: Reader): { archetype: string; steps: number[] } {
  const type = { archetype: "", steps: [] as number[] };
  reader.fields({ 1: (r) => (type.archetype = r.string()), 2: (r) => (type.steps = r.packed()) });
  return type;
}

function connection(reader: Reader): Connection {
  const connection = { from: 0, to: 0, lock: 0, secret: false };
  reader.fields({
    1: (r) => (connection.from = r.uint()),
    2: (r) => (connection.to = r.uint()),
    3: (r) => (connection.lock = r.uint()),
    4: (r) => (connection.secret = r.uint() !== 0),
  });
  return connection;
}

function spawn(reader: Reader): Spawn {
  const spawn = { at: { x: 0, y: 0 }, archetype: "", level: 0, behaviour: 0, group: 0 };
  reader.fields({
    1: (r) => (spawn.at = point(r.message())),
    2: (r) => (spawn.archetype = r.string()),
    3: (r) => (spawn.level = r.uint()),
    4: (r) => (spawn.behaviour = r.uint()),
    5: (r) => (spawn.group = r.uint()),
  });
  return spawn;
}

function item(reader: Reader): Item {
  const item = { at: { x: 0, y: 0 }, archetype: "", value: 0, opens: 0 };
  reader.fields({
    1: (r) => (item.at = point(r.message())),
    2: (r) => (item.archetype = r.string()),
    3: (r) => (item.value = r.uint()),
    4: (r) => (item.opens = r.uint()),
  });
  return item;
}

function lock(reader: Reader): Lock {
  const lock = { id: 0, at: { x: 0, y: 0 } };
  reader.fields({ 1: (r) => (lock.id = r.uint()), 2: (r) => (lock.at = point(r.message())) });
  return lock;
}

function metrics(reader: Reader): Metrics {
  const metrics = { criticalPath: 0, passable: 0, loops: 0, difficulty: 0 };
  reader.fields({
    1: (r) => (metrics.criticalPath = r.uint()),
    2: (r) => (metrics.passable = r.uint()),
    3: (r) => (metrics.loops = r.uint()),
    4: (r) => (metrics.difficulty = r.uint()),
  });
  return metrics;
}
