// A walk over a floor: sight, keys, locks and secret doors. The moves alone are stored: they lead to the same walk again.

import { several } from "./describe";
import { passable, plain, Terrain } from "./floor";
import type { Fog } from "./fog";
import { around, indexOf, search, trace } from "./paths";
import type { Scene } from "./scene";

/** How far a walker sees, in cells. */
const SIGHT = 9;
/** The most moves that a share link may hold. */
export const MAX_MOVES = 20_000;

/** North, east, south, west, a search for secret doors; in a climb also drink a potion, buy a potion, a blade, mail. */
export type Move = "n" | "e" | "s" | "w" | "f" | "d" | "p" | "b" | "m";
const STEPS: Record<string, [number, number]> = { n: [0, -1], e: [1, 0], s: [0, 1], w: [-1, 0] };

/** Who is in the fog, and how they move. */
export interface Walker extends Fog {
  readonly scene: Scene;
  /** Whether it is a climb, whose acts the server judges. */
  readonly isClimb: boolean;
  /** The cell. */
  readonly at: number;
  readonly steps: number;
  readonly isAtExit: boolean;
  /** What the caption says. */
  readonly title: string;
  /** What stands beside the pad. */
  readonly status: string;
  /** The moves that have a key of their own: their letter. */
  readonly keyed: string;
  /** Makes a move; what they would notice about it. */
  move(move: Move): string;
  /** The moves to a cell over known ground; undefined if there is no such way. */
  wayTo(goal: number): Move[] | undefined;
  /** Takes the stairs, where the page does not show the next floor. */
  descend?(): void;
}

export class Walk implements Walker {
  readonly isClimb = false;
  readonly keyed = "f";
  at: number;
  steps = 0;
  revision = 0;
  readonly keys = new Set<number>();
  #moves = "";
  #known: Uint8Array;
  #seen: Uint8Array;
  #taken = new Set<number>();
  #found = new Set<number>();
  #opened = new Set<number>();

  constructor(readonly scene: Scene) {
    this.at = indexOf(scene.floor, scene.floor.entry);
    this.#known = new Uint8Array(scene.floor.terrain.length);
    this.#seen = new Uint8Array(scene.floor.terrain.length);
    this.#look();
  }

  /** Repeats the moves of a share link, such as `e12s3f`. Throws what is wrong with them. */
  static replay(scene: Scene, text: string): Walk {
    const walk = new Walk(scene);
    if (!/^(?:[neswf]\d*)*$/.test(text)) throw new SyntaxError("a walk is written in n, e, s, w and f with counts");
    let left = MAX_MOVES;
    for (const [, move, count] of text.matchAll(/([neswf])(\d*)/g)) {
      for (let times = count ? Number(count) : 1; times > 0; times--) {
        if (left-- === 0) throw new RangeError(`a walk has at most ${MAX_MOVES} moves`);
        walk.move(move as Move);
      }
    }
    return walk;
  }

  /** The moves, with counts. */
  toString(): string {
    return this.#moves.replace(/(.)\1+/g, (run) => run[0] + run.length);
  }

  sees = (index: number): boolean => this.#seen[index] === 1;
  knows = (index: number): boolean => this.#known[index] === 1;
  isOpen = (lock: number): boolean => this.#opened.has(lock);
  took = (index: number): boolean => this.#taken.has(index);
  found = (index: number): boolean => this.#found.has(index);

  get isAtExit(): boolean {
    return this.scene.floor.terrain[this.at] === Terrain.StairsDown;
  }

  get title(): string {
    return `Walk: ${several(this.steps, "step")}`;
  }

  get status(): string {
    return `${several(this.steps, "step")}, ${keysInWords(this.keys)}.`;
  }

  move(move: Move): string {
    if (move === "f") return this.#search();
    const { floor } = this.scene;
    const [dx, dy] = STEPS[move];
    const x = (this.at % floor.width) + dx;
    const next = this.at + dy * floor.width + dx;
    if (x < 0 || x >= floor.width || next < 0 || next >= floor.terrain.length) return "A wall.";
    if (!this.#canEnter(next)) {
      const lock = this.scene.locks.get(next);
      if (lock) return `Door ${lock} is locked. You have not found its key.`;
      return `${name(floor.terrain[next])} in the way.`;
    }
    this.#moves += move;
    this.steps++;
    this.at = next;
    return [this.#arrive(), this.#look()].filter(Boolean).join(" ");
  }

  wayTo(goal: number): Move[] | undefined {
    return way(this, goal, (index) => this.knows(index) && this.#canEnter(index));
  }

  #canEnter(index: number): boolean {
    const terrain = this.scene.floor.terrain[index];
    if (terrain === Terrain.LockedDoor) return this.keys.has(this.scene.locks.get(index) ?? 0);
    return passable(terrain) || (terrain === Terrain.SecretDoor && this.found(index));
  }

  #arrive(): string {
    const lock = this.scene.locks.get(this.at);
    if (lock && !this.isOpen(lock)) {
      this.#opened.add(lock);
      return `You open door ${lock}.`;
    }
    if (this.isAtExit) return `The stairs down, after ${this.steps} steps.`;
    const thing = this.scene.things.get(this.at);
    if (!thing || this.took(this.at)) return "";
    if (thing.layer === "locks" || thing.layer === "loot") this.#taken.add(this.at);
    const what = plain(thing.archetype);
    if (thing.layer === "locks") {
      this.keys.add(thing.number);
      return `You take the key of door ${thing.number}.`;
    }
    if (thing.layer === "loot") return `You take: ${what}, value ${thing.number}.`;
    return thing.layer === "traps" ? `A trap: ${what}, level ${thing.number}.` : `A ${what} of level ${thing.number}.`;
  }

  #search(): string {
    const { floor } = this.scene;
    this.#moves += "f";
    const hidden = (index: number): boolean => floor.terrain[index] === Terrain.SecretDoor && !this.found(index);
    // The cells around and those beside them.
    const near = new Set([...around(floor, this.at)].flatMap((index) => [index, ...around(floor, index)]));
    const doors = [...near].filter(hidden);
    doors.forEach((door) => this.#found.add(door));
    this.#look();
    return doors.length ? "You find a secret door." : "You find nothing.";
  }

  /** Updates what is in sight. What came into sight that matters. */
  #look(): string {
    const { floor } = this.scene;
    const [px, py] = [this.at % floor.width, Math.floor(this.at / floor.width)];
    const before = this.#seen;
    this.revision++;
    this.#seen = new Uint8Array(floor.terrain.length);
    const news = new Set<string>();
    for (let y = Math.max(0, py - SIGHT); y <= Math.min(floor.height - 1, py + SIGHT); y++) {
      for (let x = Math.max(0, px - SIGHT); x <= Math.min(floor.width - 1, px + SIGHT); x++) {
        const index = y * floor.width + x;
        if ((x - px) ** 2 + (y - py) ** 2 > (SIGHT + 0.5) ** 2 || !this.#inSight(px, py, x, y)) continue;
        this.#seen[index] = 1;
        this.#known[index] = 1;
        const thing = this.scene.things.get(index);
        if (thing && !before[index] && !this.took(index)) news.add(plain(thing.archetype));
        if (floor.terrain[index] === Terrain.StairsDown && !before[index]) news.add("the stairs down");
      }
    }
    return news.size ? `In sight: ${[...news].join(", ")}.` : "";
  }

  /** Whether nothing opaque lies between two cells. Bresenham's line, from the walker. */
  #inSight(fromX: number, fromY: number, toX: number, toY: number): boolean {
    let [x, y] = [fromX, fromY];
    const [dx, dy] = [Math.abs(toX - x), Math.abs(toY - y)];
    const [stepX, stepY] = [Math.sign(toX - x), Math.sign(toY - y)];
    let error = dx - dy;
    while (x !== toX || y !== toY) {
      if ((x !== fromX || y !== fromY) && this.#isOpaque(y * this.scene.floor.width + x)) return false;
      const doubled = 2 * error;
      if (doubled > -dy) {
        error -= dy;
        x += stepX;
      }
      if (doubled < dx) {
        error += dx;
        y += stepY;
      }
    }
    return true;
  }

  #isOpaque(index: number): boolean {
    const terrain = this.scene.floor.terrain[index];
    if (terrain === Terrain.LockedDoor) return !this.isOpen(this.scene.locks.get(index) ?? 0);
    return terrain === Terrain.Wall || terrain === Terrain.Door || terrain === Terrain.Pillar ||
      terrain === Terrain.SecretDoor;
  }
}

/** The moves of a walker to a cell over others. */
export function way(
  { scene: { floor }, at }: Walker, goal: number, canEnter: (index: number) => boolean,
): Move[] | undefined {
  const cells = trace(search(floor, at, canEnter), goal);
  return cells?.slice(1).map((cell, at) => {
    const step = cell - cells[at];
    return step === 1 ? "e" : step === -1 ? "w" : step === floor.width ? "s" : "n";
  });
}

export const keysInWords = (keys: ReadonlySet<number>): string =>
  keys.size ? `keys ${[...keys].join(", ")}` : "no keys";

function name(terrain: number): string {
  switch (terrain) {
    case Terrain.DeepWater: return "Deep water";
    case Terrain.Lava: return "Lava";
    case Terrain.Chasm: return "A chasm";
    case Terrain.Pillar: return "A pillar";
    default: return "A wall";
  }
}
