// What each cell of a floor shows, and what of it is switched on.

import { type Floor, ROLES, type Spawn, Terrain } from "./floor";
import { behindLocks, criticalPath, indexOf, type Segment } from "./paths";
import { furnitureSymbol, monsterForm } from "./sprites";

/** The layers: key of the share link, name. The number keys switch them in this order. */
export const LAYERS = [
  ["terrain", "Terrain"], ["rooms", "Room roles"], ["names", "Room names"], ["path", "Path to the exit"],
  ["locks", "Locks and keys"], ["areas", "Locked areas"], ["monsters", "Monsters"], ["loot", "Loot"],
  ["traps", "Traps"],
] as const;
export type Layer = (typeof LAYERS)[number][0];
export type Layers = ReadonlySet<Layer>;
export const DEFAULT_LAYERS: Layers = new Set(["terrain", "rooms", "locks", "monsters", "loot", "traps"]);

/** A thing on a cell, and the sprite that shows it. */
export interface Thing {
  layer: "locks" | "monsters" | "loot" | "traps";
  sprite: string;
  archetype: string;
  /** Level of a monster or trap, value of loot, lock of a key. */
  number: number;
  /** What a monster does, of `BEHAVIOURS`. */
  behaviour?: number;
  /** The group of a monster; 0: it is alone. */
  group?: number;
}

/** Columns and rows, both ends included. */
export interface Bounds { left: number; top: number; right: number; bottom: number }

/** Furniture on a cell, and the sprite that shows it. */
export interface Piece { archetype: string; sprite: string; blocks: boolean }

export class Scene {
  readonly things = new Map<number, Thing>();
  /** The cells of the monsters of each group, in reading order. */
  readonly groups = new Map<number, number[]>();
  /** The lock of each locked door. */
  readonly locks = new Map<number, number>();
  readonly pieces = new Map<number, Piece>();
  readonly letters: Map<string, string>;
  #path?: Segment[];
  #behind?: Int16Array;
  #colours?: number[];
  #bounds?: Bounds;

  constructor(readonly floor: Floor) {
    this.letters = letters(floor.spawns.map((spawn) => spawn.archetype));
    for (const { at, archetype, level } of floor.traps) {
      this.things.set(indexOf(floor, at), { layer: "traps", sprite: "trap", archetype, number: level });
    }
    const bosses = bossesOf(floor);
    for (const spawn of floor.spawns) {
      const { at, archetype, level, behaviour, group } = spawn;
      const form = monsterForm(archetype, this.letters.get(archetype) ?? "@");
      const sprite = `${bosses.has(spawn) ? "boss" : "monster"}:${behaviour - 1}:${form}`;
      this.things.set(indexOf(floor, at), { layer: "monsters", sprite, archetype, number: level, behaviour, group });
      // A boss is drawn also where its guards are one mark.
      if (group && !bosses.has(spawn)) this.groups.set(group, [...(this.groups.get(group) ?? []), indexOf(floor, at)].sort((a, b) => a - b));
    }
    for (const { at, archetype, value, opens } of floor.items) {
      const thing: Thing = opens
        ? { layer: "locks", sprite: `key:${opens}`, archetype, number: opens }
        : { layer: "loot", sprite: `loot:${archetype}`, archetype, number: value };
      this.things.set(indexOf(floor, at), thing);
    }
    for (const { at, archetype } of floor.furniture) {
      const blocks = floor.terrain[indexOf(floor, at)] === Terrain.Pillar;
      this.pieces.set(indexOf(floor, at), { archetype, sprite: furnitureSymbol(archetype, blocks), blocks });
    }
    for (const { id, at } of floor.locks) this.locks.set(indexOf(floor, at), id);
  }

  get path(): Segment[] {
    return (this.#path ??= criticalPath(this.floor));
  }

  get behind(): Int16Array {
    return (this.#behind ??= behindLocks(this.floor));
  }

  /** The cells that are not rock lie within these. */
  get bounds(): Bounds {
    return (this.#bounds ??= boundsOf(this.floor));
  }

  /** A colour for each room that no connected room has. */
  get colours(): number[] {
    return (this.#colours ??= this.floor.rooms.reduce<number[]>((colours, { id }) => {
      const beside = this.floor.connections
        .filter(({ from, to }) => from === id || to === id)
        .map(({ from, to }) => colours[from === id ? to : from]);
      colours[id] = [...Array(beside.length + 1).keys()].find((colour) => !beside.includes(colour)) ?? 0;
      return colours;
    }, []));
  }

  terrainAt(x: number, y: number): number {
    const { width, height, terrain } = this.floor;
    return x < 0 || y < 0 || x >= width || y >= height ? Terrain.Wall : terrain[y * width + x];
  }

  isWall(x: number, y: number): boolean {
    const terrain = this.terrainAt(x, y);
    return terrain === Terrain.Wall || terrain === Terrain.SecretDoor;
  }

  /** Whether there is only wall around, diagonals included. */
  isRock(x: number, y: number): boolean {
    for (let dy = -1; dy <= 1; dy++) {
      for (let dx = -1; dx <= 1; dx++) {
        if (this.terrainAt(x + dx, y + dy) !== Terrain.Wall) return false;
      }
    }
    return true;
  }
}

/** Of each boss room the monster with the highest level, if no other has it. */
function bossesOf({ rooms, region, width, spawns }: Floor): Set<Spawn> {
  return new Set(rooms.filter(({ role }) => ROLES[role] === "boss").flatMap(({ id }) => {
    const here = spawns.filter(({ at }) => region[at.y * width + at.x] === id + 1).sort((a, b) => b.level - a.level);
    return here.length && here[0].level > (here[1]?.level ?? 0) ? [here[0]] : [];
  }));
}

function boundsOf({ width, terrain }: Floor): Bounds {
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  terrain.forEach((at, index) => {
    if (at === Terrain.Wall) return;
    const [x, y] = [index % width, Math.floor(index / width)];
    box.left = Math.min(box.left, x);
    box.right = Math.max(box.right, x);
    box.top = Math.min(box.top, y);
    box.bottom = Math.max(box.bottom, y);
  });
  return box;
}

/** Gives each archetype the first free letter of its name, in alphabetical order of the names. */
function letters(archetypes: string[]): Map<string, string> {
  const free = [..."abcdefghijklmnopqrstuvwxyz"];
  return new Map([...new Set(archetypes)].sort().map((name) => {
    const own = [...name].find((letter) => free.includes(letter)) ?? free[0] ?? "@";
    if (free.includes(own)) free.splice(free.indexOf(own), 1);
    return [name, own];
  }));
}
