/** A floor, decoded and checked. */
import { type JsonObject, fromBinary, toBinary, toJson } from "@bufbuild/protobuf";

import {
  FloorSchema,
  type Floor as FloorMessage,
  type FloorSpec,
  type Grid,
  type Point,
  type Room,
  type Spawn,
  Terrain,
} from "./gen/floors/v1/floors_pb.js";
import { decodeGrid } from "./grid.js";
import { hex, verifyEncoded, verifyMessage } from "./hash.js";
import { InvalidFloorError } from "./invalid.js";
import { asUint32 } from "./spec.js";
import { FAR, distances, shortest } from "./ways.js";

const PASSABLE = new Set([
  Terrain.FLOOR,
  Terrain.DOOR,
  Terrain.STAIRS_UP,
  Terrain.STAIRS_DOWN,
  Terrain.SHALLOW_WATER,
  Terrain.BRIDGE,
  Terrain.GRASS,
  Terrain.RUBBLE,
]);

/** Names the method that `console.log` of Node calls. */
const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** A cell: x to the east, y to the south, from 0. */
export interface Cell {
  x: number;
  y: number;
}

/** A piece of furniture on its cell. One can walk over it unless the terrain of its cell is `PILLAR`. */
export interface Furniture {
  /** The name of its type. Treat an unknown one as decoration. */
  archetype: string;
  at: Cell;
}

/** A floor whose hash, grids and coordinates are checked: all points lie inside it. */
export class Floor {
  /** The resolved spec: number, size and kind are never 0. */
  readonly spec: FloorSpec;
  /** A `Terrain` for each cell: cell (x, y) is at `y * width + x`. Treat an unknown one as impassable. */
  readonly terrain: Uint8Array;
  /** The room id + 1 of each cell, 0 outside rooms. */
  readonly region: Uint8Array;
  /** Stairs up, where a player arrives. */
  readonly entry: Point;
  /** Stairs to the next floor. */
  readonly exit: Point;
  /**
   * Who falls through a chasm of the floor above lands on the same cell if it is passable here, else on this one. The
   * entry for a floor without one, as those before generator version 4.
   */
  readonly landing: Point;
  /** What rooms are furnished with, type by type. */
  readonly furniture: Furniture[];

  private constructor(
    /** The floor as received, with rooms, connections, spawns, items, locks, traps and metrics. */
    readonly message: FloorMessage,
  ) {
    if (!message.spec) throw missing("spec");
    this.spec = message.spec;
    this.terrain = cells(this.spec, "terrain", message.terrain);
    this.region = cells(this.spec, "region", message.region);
    const bare = this.terrain.indexOf(Terrain.UNSPECIFIED);
    if (bare !== -1) {
      const { x, y } = this.#at(bare);
      throw new InvalidFloorError("terrain", `cell (${x}, ${y}) holds no terrain`);
    }
    this.entry = this.#inside("entry", message.entry);
    this.exit = this.#inside("exit", message.exit);
    this.landing = this.#inside("landing", message.landing ?? this.entry);
    for (const room of message.rooms) for (const at of [room.min, room.max, room.center]) this.#inside("room", at);
    for (const { at } of message.spawns) this.#inside("spawn", at);
    for (const { at } of message.items) this.#inside("item", at);
    for (const { at } of message.locks) this.#inside("lock", at);
    for (const { at } of message.traps) this.#inside("trap", at);
    this.furniture = message.furniture.flatMap(({ archetype, cells }) => {
      let cell = 0;
      return cells.map((step) => {
        cell += step;
        const at = this.#at(cell);
        if (this.#has(at.x, at.y)) return { archetype, at };
        throw new InvalidFloorError("outside", `its furniture ${archetype} has cell ${cell}, outside the floor`);
      });
    });
  }

  /**
   * Checks a message and decodes its grids.
   *
   * @param asked - The spec that it must match. Fields that are 0 may have any value.
   * @throws InvalidFloorError
   */
  static async check(message: FloorMessage, asked?: FloorSpec): Promise<Floor> {
    await verifyMessage(message);
    return Floor.decoded(message, asked);
  }

  /** @internal A message whose hash is checked. */
  static decoded(message: FloorMessage, asked?: FloorSpec): Floor {
    const floor = new Floor(message);
    if (asked && !isAnswer(floor.spec, asked)) {
      const { number, seed, width, height, kind, view } = floor.spec;
      const sent = `floor ${number} of tower ${seed}, ${width}x${height}, kind ${kind}, view ${view}`;
      throw new InvalidFloorError("spec", `the server sent another floor: ${sent}`);
    }
    return floor;
  }

  /** Cells from west to east. */
  get width(): number {
    return this.spec.width;
  }

  /** Cells from north to south. */
  get height(): number {
    return this.spec.height;
  }

  /** Monsters. */
  get spawns(): Spawn[] {
    return this.message.spawns;
  }

  /** The name of its theme. Empty for a floor of the built-in pack before generator version 4. */
  get theme(): string {
    return this.message.theme;
  }

  /**
   * What the floor is called. Empty before generator version 5, and for authored floors without a name. `message.name`
   * also has the ids with which a game says it in another language.
   */
  get name(): string {
    return this.message.name?.text ?? "";
  }

  /** A sentence that makes one want to go there. Empty where the name is. */
  get hook(): string {
    return this.message.hook?.text ?? "";
  }

  /** The room that the floor is remembered by. */
  get landmark(): Room | undefined {
    return this.message.rooms.find((room) => room.id + 1 === this.message.landmark);
  }

  /** The hash of the pack in `spec.pack`, 0 for the built-in pack. */
  get packHash(): bigint {
    return this.message.packHash;
  }

  /** The terrain of a cell, `UNSPECIFIED` outside the floor. */
  terrainAt(x: number, y: number): Terrain {
    return this.#has(x, y) ? (this.terrain[y * this.width + x] as Terrain) : Terrain.UNSPECIFIED;
  }

  /** The room of a cell, `undefined` outside rooms. */
  roomAt(x: number, y: number): Room | undefined {
    const id = this.#has(x, y) ? (this.region[y * this.width + x] as number) - 1 : -1;
    return this.message.rooms.find((room) => room.id === id);
  }

  /**
   * Whether everybody can enter a cell, or it is the door of one of the locks with these ids, whose keys a walker has.
   * A secret door is a wall.
   */
  passable(x: number, y: number, keys: Iterable<number> = []): boolean {
    const terrain = this.terrainAt(x, y);
    if (terrain !== Terrain.LOCKED_DOOR) return PASSABLE.has(terrain);
    const lock = this.message.locks.find(({ at }) => at?.x === x && at.y === y);
    return lock !== undefined && new Set(keys).has(lock.id);
  }

  /**
   * Where a walker with these keys gets from a cell, that one among them: 1 for each such cell, else 0, in the order of
   * `terrain`. Only zeros from outside the floor.
   */
  reachable(from: Cell, keys: Iterable<number> = []): Uint8Array {
    const start = this.#cell(from);
    if (start === undefined) return new Uint8Array(this.terrain.length);
    return Uint8Array.from(distances(start, this.#open(keys), this.width), (steps) => (steps === FAR ? 0 : 1));
  }

  /**
   * The cells of the shortest way, both ends among them; `undefined` if there is none. `from` may be a cell that nobody
   * can enter. Of ways with as few steps it is the one whose first different step leads north, else west, else east.
   */
  path(from: Cell, to: Cell, keys: Iterable<number> = []): Cell[] | undefined {
    const [start, end] = [this.#cell(from), this.#cell(to)];
    if (start === undefined || end === undefined) return undefined;
    const open = this.#open(keys);
    open[start] = 1;
    return open[end] === 1 ? shortest(start, end, open, this.width)?.map((cell) => this.#at(cell)) : undefined;
  }

  /** The steps of the shortest way, 0 from a cell to itself; `undefined` if there is none. */
  distance(from: Cell, to: Cell, keys: Iterable<number> = []): number | undefined {
    const path = this.path(from, to, keys);
    return path && path.length - 1;
  }

  /**
   * A cell for each of a party: those nearest to the entry that everybody can reach without keys, but for doors and the
   * stairs down. As near ones come row by row. Fewer if there are no more.
   *
   * @throws TypeError if the count is no whole number.
   */
  starts(count: number): Cell[] {
    const { x, y } = this.entry;
    const steps = distances(y * this.width + x, this.#open([]), this.width);
    const stands = (terrain: Terrain) => terrain !== Terrain.DOOR && terrain !== Terrain.STAIRS_DOWN;
    const cells = [...steps.keys()].filter((cell) => steps[cell] !== FAR && stands(this.terrain[cell] as Terrain));
    cells.sort((a, b) => (steps[a] as number) - (steps[b] as number));
    return cells.slice(0, asUint32("count", count)).map((cell) => this.#at(cell));
  }

  /**
   * What `JSON.stringify` writes: `message` in the JSON of proto3, with fields that are 0 or empty too, but
   *
   * - `contentHash` and `packHash` have 16 hexadecimal digits, other 64-bit numbers are decimal; all are texts;
   * - `terrain` and `region` have a text for each row, with two hexadecimal digits for each cell;
   * - `furniture` has the pieces one by one, each with its cell, as the property has.
   *
   * Its `spec` names the floor in calls. To store a floor, use {@link encodedFloor}.
   */
  toJSON(): JsonObject {
    return {
      ...(toJson(FloorSchema, this.message, { alwaysEmitImplicit: true }) as JsonObject),
      contentHash: hex(this.message.contentHash),
      packHash: hex(this.packHash),
      terrain: this.#rows(this.terrain),
      region: this.#rows(this.region),
      furniture: this.furniture.map(({ archetype, at: { x, y } }) => ({ archetype, at: { x, y } })),
    };
  }

  /** A short form: `<Floor 7 of tower 42, 100x100, hash 0123456789abcdef>`. */
  toString(): string {
    const { number, seed } = this.spec;
    return `<Floor ${number} of tower ${seed}, ${this.width}x${this.height}, hash ${hex(this.message.contentHash)}>`;
  }

  /** What `console.log` prints in Node. */
  [INSPECT](): string {
    return this.toString();
  }

  /** 1 for each cell that a walker with these keys can enter. */
  #open(keys: Iterable<number>): Uint8Array {
    const held = new Set(keys);
    const open = this.terrain.map((terrain) => (PASSABLE.has(terrain) ? 1 : 0));
    // The first lock of a cell counts.
    for (const { id, at } of this.message.locks.toReversed()) {
      const door = at && this.#cell(at);
      if (door !== undefined && this.terrain[door] === Terrain.LOCKED_DOOR) open[door] = held.has(id) ? 1 : 0;
    }
    return open;
  }

  #rows(cells: Uint8Array): string[] {
    const row = (y: number) => cells.subarray(y * this.width, (y + 1) * this.width);
    const digits = (cell: number) => cell.toString(16).padStart(2, "0");
    return Array.from({ length: this.height }, (_, y) => Array.from(row(y), digits).join(""));
  }

  #at(cell: number): Cell {
    return { x: cell % this.width, y: Math.floor(cell / this.width) };
  }

  /** Where a cell is in `terrain`; `undefined` outside the floor. */
  #cell({ x, y }: Cell): number | undefined {
    return Number.isInteger(x) && Number.isInteger(y) && this.#has(x, y) ? y * this.width + x : undefined;
  }

  #has(x: number, y: number): boolean {
    return x >= 0 && x < this.width && y >= 0 && y < this.height;
  }

  #inside(name: string, at: Point | undefined): Point {
    if (!at) throw missing(`position of its ${name}`);
    if (this.#has(at.x, at.y)) return at;
    throw new InvalidFloorError("outside", `its ${name} lies at (${at.x}, ${at.y}), outside the floor`);
  }
}

/**
 * Checks and decodes the bytes of a `floors.v1.Floor`, such as those of a file.
 *
 * @throws InvalidFloorError
 */
export async function decodeFloor(encoded: Uint8Array): Promise<Floor> {
  let message: FloorMessage;
  try {
    message = fromBinary(FloorSchema, encoded);
  } catch (cause) {
    throw new InvalidFloorError("protobuf", "the bytes are no floor", { cause });
  }
  await verifyEncoded(encoded);
  return Floor.decoded(message);
}

/** The bytes of a floor, to store them. {@link decodeFloor} reads them. */
export function encodedFloor(floor: Floor): Uint8Array {
  return toBinary(FloorSchema, floor.message);
}

function cells(spec: FloorSpec, name: string, grid: Grid | undefined): Uint8Array {
  if (!grid) throw missing(name);
  try {
    if (grid.width !== spec.width || grid.height !== spec.height) {
      const sizes = `${grid.width}x${grid.height} cells in a floor of ${spec.width}x${spec.height}`;
      throw new InvalidFloorError("size", sizes);
    }
    return decodeGrid(grid);
  } catch (cause) {
    throw new InvalidFloorError("grid", `its ${name}: ${String((cause as Error).message)}`, { cause });
  }
}

function missing(name: string): InvalidFloorError {
  return new InvalidFloorError("missing", `it has no ${name}`);
}

export function isAnswer(sent: FloorSpec, asked: FloorSpec): boolean {
  const open = (asked: number, sent: number) => asked === 0 || asked === sent;
  return (
    sent.seed === asked.seed &&
    sent.number === asked.number &&
    open(asked.width, sent.width) &&
    open(asked.height, sent.height) &&
    open(asked.kind, sent.kind) &&
    sent.view === asked.view &&
    isOfPack(sent.pack, asked.pack)
  );
}

/** Whether the pack in the spec of a floor is the one that was asked for: NAME, NAME@HASH, or nothing for any. */
function isOfPack(sent: string, asked: string): boolean {
  return asked === "" || asked === sent || asked === (sent.split("@")[0] || "tower");
}
