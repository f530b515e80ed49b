/** Floors from the WebAssembly module. */
import { decode } from "../../../web/src/floor";
import { Generator, type PackError, type PackInfo } from "../../../web/src/generator";

/** The style of a floor. */
export enum FloorKind {
  /** In a request: the tower's schedule chooses. */
  UNSPECIFIED, STANDARD, KEEP, HALLS, CAVERN, CYCLIC, MAZE, BOSS, EVENT, STORY,
}

/** What a cell is made of. */
export enum Terrain {
  UNSPECIFIED, WALL, FLOOR, DOOR, LOCKED_DOOR, SECRET_DOOR, STAIRS_UP, STAIRS_DOWN, SHALLOW_WATER, DEEP_WATER, LAVA,
  CHASM, BRIDGE, GRASS, RUBBLE, PILLAR,
}

/** The purpose of a room. */
export enum RoomRole {
  UNSPECIFIED, ENTRY, EXIT, COMBAT, TREASURE, KEY, SHRINE, SHOP, BOSS, VAULT, SECRET, PASSAGE,
}

/** What a monster does until it notices a player. */
export enum Behaviour {
  UNSPECIFIED, SLEEPS, GUARDS, PATROLS, WANDERS,
}

/** What of a floor is wanted. */
export enum View {
  /** Everything. */
  UNSPECIFIED,
  /** What a player may know on arrival. */
  PLAYER,
}

/** Names a floor. */
export interface FloorSpec {
  /** The tower: 0 to 2^64 - 1. */
  seed: bigint;
  /** 1 to 1,000,000. */
  number: number;
  /** 16 to 512 cells; those of the pack unless given, which are 100 in the built-in one. */
  width: number;
  /** As the width. */
  height: number;
  /** The kind that the tower's schedule chooses, unless given. */
  kind: FloorKind;
  /** Everything, unless given. */
  view: View;
}

/** An error in a file of a pack. A line or a column of 0 stands for the whole file, an empty file for the whole pack. */
export interface PackFault {
  /** The path of the file in the pack. */
  file: string;
  /** From 1. */
  line: number;
  /** In characters, from 1. */
  column: number;
  /** What is wrong, and what would be right. */
  message: string;
}

/** The bytes are no pack, or its files have errors: the message has a line for each. */
export class InvalidPackError extends Error {
  override readonly name = "InvalidPackError";

  constructor(readonly faults: readonly PackFault[]) {
    super(faults.map(({ file, line, column, message }) => {
      const place = [file, ...(line ? [line, column] : [])].join(":");
      return place ? `${place}: ${message}` : message;
    }).join("\n"));
  }
}

/** A cell: x right, y down, from 0. */
export interface Point {
  x: number;
  y: number;
}

/** A text in the language of its pack, with ids to say it in another. */
export interface Text {
  text: string;
  /** The sentence. */
  id: string;
  /** The parts, in the order of their places. */
  parts: string[];
}

/** A piece of furniture. One can walk over it unless the terrain of its cell is `PILLAR`. */
export interface Furniture {
  /** The name of the type. Treat an unknown one as decoration. */
  archetype: string;
  at: Point;
}

export interface Room {
  /** Its index in `rooms`. `region` holds id + 1 in each cell of the room. */
  id: number;
  /** The least x and y of its cells. */
  min: Point;
  /** The greatest x and y of its cells. */
  max: Point;
  role: RoomRole;
  /** A passable cell of the room. */
  center: Point;
  /** What it is called, if it has a name. */
  name?: Text;
}

/** A connection of two rooms, usable in both directions. */
export interface Connection {
  fromRoom: number;
  toRoom: number;
  /** The lock on it, 0 if it is open. */
  lockId: number;
  /** Leads through a secret door. */
  secret: boolean;
}

/** A trap. */
export interface Trap {
  at: Point;
  /** The name of the type, such as `spikes`. */
  archetype: string;
  level: number;
}

/** A monster. */
export interface Spawn {
  at: Point;
  /** The name of the type, such as `bone_archer`. */
  archetype: string;
  level: number;
  behaviour: Behaviour;
  /** Monsters of one group act together; 0 if it is alone. */
  group: number;
}

/** Loot or a key. */
export interface Item {
  at: Point;
  archetype: string;
  value: number;
  /** The lock that this key opens, 0 if it is no key. */
  opensLock: number;
}

export interface Lock {
  id: number;
  /** Its locked door. */
  at: Point;
}

export interface FloorMetrics {
  /** Steps from the entry to the exit, by way of the keys that are needed. */
  criticalPath: number;
  /** Cells that are passable without a key and without searching. */
  passableCells: number;
  /** Independent cycles in the graph of rooms. */
  loops: number;
  /** Mean level of monsters on the critical path, in thousandths. */
  difficulty: number;
}

export interface Floor {
  /** The resolved spec: no field is 0, except that a seed may be. `pack` is NAME@HASH, or empty for the built-in pack. */
  spec: FloorSpec & { pack: string };
  generatorVersion: number;
  /** XXH3-64 of `encoded` without this hash. */
  contentHash: bigint;
  /** A `Terrain` for each cell: cell (x, y) is at `y * spec.width + x`. */
  terrain: Uint8Array;
  /** The room id + 1 of each cell, 0 outside rooms. */
  region: Uint8Array;
  /** Stairs up, where a player arrives. */
  entry: Point;
  /** Stairs to the next floor. */
  exit: Point;
  /** Who falls through a chasm of the floor above lands on the same cell if it is passable here, else on this one. */
  landing: Point;
  rooms: Room[];
  connections: Connection[];
  /** Monsters. */
  spawns: Spawn[];
  /** Loot and keys. */
  items: Item[];
  locks: Lock[];
  traps: Trap[];
  metrics: FloorMetrics;
  /** The name of its theme. */
  theme: string;
  /** What it is called, if it has a name. */
  name?: Text;
  /** A sentence that makes one want to go there. */
  hook?: Text;
  /** Room id + 1 of the room that it is remembered by, 0 for none. */
  landmark: number;
  /** What rooms are furnished with, type by type. */
  furniture: Furniture[];
  /** The hash of the pack in `spec.pack`, 0 for the built-in pack. */
  packHash: bigint;
  /** The floor as a `floors.v1.Floor`: the bytes that a server of this generator version sends. */
  encoded: Uint8Array;
}

/** A spec of which the seed and the number are given. */
export type SpecInit = Pick<FloorSpec, "seed" | "number"> & Partial<FloorSpec>;

/** Generates floors, one at a time. Each worker needs one of its own. */
export class FloorGenerator {
  /** @internal */
  protected readonly generator: Generator;

  /** @param module - The compiled module: send that of another generator to a worker. */
  constructor(readonly module: WebAssembly.Module) {
    this.generator = new Generator(module);
  }

  /**
   * Opens a content pack: the bytes of a `.floorpack` file, or of the field `file` in the answer of `GetPack`.
   *
   * @throws InvalidPackError
   */
  openPack(file: Uint8Array): Pack {
    return new Pack(this.module, file);
  }

  /** The version of the generator. Floors are those of servers with the same version. */
  get version(): number {
    return this.generator.version;
  }

  /**
   * The floor as a `floors.v1.Floor`.
   *
   * @throws RangeError if there is no such floor, Error if the pack's own generator fails.
   */
  encode({ seed, number, width = 0, height = 0, kind = 0, view = 0 }: SpecInit): Uint8Array<ArrayBuffer> {
    if (BigInt.asUintN(64, seed) !== seed) throw new RangeError(`seed ${seed} is not in 0 to 2^64 - 1`);
    for (const [name, value] of Object.entries({ number, width, height, kind, view })) {
      // WebAssembly would take 7.5 as 7.
      if (value >>> 0 !== value) throw new RangeError(`${name} ${value} is no whole number of 0 to 2^32 - 1`);
    }
    if (FloorKind[kind] === undefined) throw new RangeError(`kind ${kind} is unknown`);
    if (View[view] === undefined) throw new RangeError(`view ${view} is unknown`);
    return this.generator.floor({ seed, number, width, height, kind }, view);
  }

  /**
   * The floor, decoded.
   *
   * @throws RangeError if there is no such floor, Error if the pack's own generator fails.
   */
  generate(spec: SpecInit): Floor {
    const { version, hash, connections, items, metrics, bytes, ...floor } = decode(this.encode(spec));
    const { passable, ...counts } = metrics;
    return {
      spec: floor.spec,
      generatorVersion: version,
      contentHash: BigInt(`0x${hash}`),
      terrain: floor.terrain,
      region: floor.region,
      entry: floor.entry,
      exit: floor.exit,
      landing: floor.landing,
      rooms: floor.rooms,
      connections: connections.map(({ from, to, lock, secret }) => {
        return { fromRoom: from, toRoom: to, lockId: lock, secret };
      }),
      spawns: floor.spawns,
      items: items.map(({ opens, ...item }) => ({ ...item, opensLock: opens })),
      locks: floor.locks,
      traps: floor.traps.map(({ at, archetype, level }) => ({ at, archetype, level })),
      metrics: { ...counts, passableCells: passable },
      theme: floor.theme,
      ...(floor.name && { name: floor.name }),
      ...(floor.hook && { hook: floor.hook }),
      landmark: floor.landmark,
      furniture: floor.furniture,
      packHash: floor.packHash,
      encoded: bytes,
    };
  }
}

/**
 * A content pack, with the floors of it: authored ones where the pack has one that fits the spec, else generated ones. A
 * worker opens the pack again.
 */
export class Pack extends FloorGenerator {
  readonly name: string;
  /** The hash that names its version. */
  readonly hash: bigint;
  /** What its author says about it. */
  readonly description: string;

  /**
   * @param module - The compiled module, that of a `FloorGenerator`.
   * @param file - The bytes of a `.floorpack` file.
   * @throws InvalidPackError
   */
  constructor(module: WebAssembly.Module, file: Uint8Array) {
    super(module);
    const read = this.#read(file);
    if (Array.isArray(read)) throw new InvalidPackError(read);
    this.name = read.name;
    this.hash = BigInt(`0x${read.hash}`);
    this.description = read.description;
  }

  #read(file: Uint8Array): PackInfo | PackError[] {
    try {
      return this.generator.read(this.generator.filesOf(file));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return [{ file: "", line: 0, column: 0, message: error.message }];
    }
  }
}
