/** A floor, decoded and checked. */
import { fromBinary, toBinary } from "@bufbuild/protobuf";

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
import { verifyEncoded, verifyMessage } from "./hash.js";
import { InvalidFloorError } from "./invalid.js";

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

/** A piece of furniture on its cell. One can walk over it unless the terrain of its cell is `PILLAR`. */
export interface Furniture {
  /** The name of its type. Treat an unknown one as decoration. */
  archetype: string;
  at: { x: number; y: number };
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
      const at = `(${bare % this.width}, ${Math.floor(bare / this.width)})`;
      throw new InvalidFloorError("terrain", `cell ${at} holds no terrain`);
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
        const at = { x: cell % this.width, y: Math.floor(cell / this.width) };
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
      const { number, seed, width, height, kind } = floor.spec;
      const sent = `floor ${number} of tower ${seed}, ${width}x${height}, kind ${kind}`;
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

  /** Whether a cell is passable without a key and without searching. */
  passable(x: number, y: number): boolean {
    return PASSABLE.has(this.terrainAt(x, y));
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

function isAnswer(sent: FloorSpec, asked: FloorSpec): boolean {
  const open = (asked: number, sent: number) => asked === 0 || asked === sent;
  return (
    sent.seed === asked.seed &&
    sent.number === asked.number &&
    open(asked.width, sent.width) &&
    open(asked.height, sent.height) &&
    open(asked.kind, sent.kind) &&
    isOfPack(sent.pack, asked.pack)
  );
}

/** Whether the pack in the spec of a floor is the one that was asked for: NAME, NAME@HASH, or nothing for any. */
function isOfPack(sent: string, asked: string): boolean {
  return asked === "" || asked === sent || asked === (sent.split("@")[0] || "tower");
}
