// A floor of a climb in play. crates/floor-web-climb plays it by the rules of the server, which plays the acts again.

import type { Revealed } from "./climb-calls";
import { several } from "./describe";
import { decode, type Floor, type Point } from "./floor";
import { indexOf } from "./paths";
import { Scene, type Thing } from "./scene";
import { keysInWords, type Move, type Walker, way } from "./walk";
import { type BufferExports, bytes, text, write } from "./wasm";

/** The moves in the order of their acts. */
const ACTS = "nwesfdpbm";

/** The bits of a cell. */
const enum Cell { Known = 1, Seen = 2, Passable = 4, Open = 8 }
/** How a floor has ended. */
export const enum End { Not, Stairs, Death }

interface Rules extends BufferExports {
  begin(): number;
  act(byte: number): number;
  view(): void;
}

export class Climb implements Walker {
  readonly isClimb = true;
  readonly keyed = "fd";
  readonly scene: Scene;
  readonly keys = new Set<number>();
  /** The acts so far, as their moves. */
  acts = "";
  at = 0;
  revision = 0;
  end = End.Not;
  turns = 0;
  /** What a merchant beside the hero asks for a potion, a blade and mail; 0 without one. */
  prices = [0, 0, 0];
  #hero = "";
  #cells = new Uint8Array();
  readonly #spawns: (Thing | undefined)[];
  readonly #items: (Thing | undefined)[];
  readonly #traps: (Thing | undefined)[];

  private constructor(readonly rules: Rules, floor: Floor, readonly changed: (climb: Climb) => void) {
    this.scene = new Scene(floor);
    const none = { ...floor, spawns: [], items: [], traps: [] };
    const things = (of: Partial<Floor>, list: { at: Point }[]): (Thing | undefined)[] => {
      const scene = new Scene({ ...none, ...of });
      return list.map(({ at }) => scene.things.get(indexOf(floor, at)));
    };
    this.#spawns = things({ spawns: floor.spawns }, floor.spawns);
    this.#items = things({ items: floor.items }, floor.items);
    this.#traps = things({ traps: floor.traps }, floor.traps);
    this.#look();
  }

  /** Plays acts on a floor that was revealed, and calls `changed` after each later one. Throws why one cannot play. */
  static async begin(
    module: WebAssembly.Module, revealed: Revealed, acts: string, changed: (climb: Climb) => void,
  ): Promise<Climb> {
    const rules = (await WebAssembly.instantiate(module)).exports as unknown as Rules;
    write(rules, revealed.message);
    if (!rules.begin()) throw new Error(text(rules));
    const floor = { ...decode(revealed.floor), tower: revealed.receipt.climb.tower };
    const climb = new Climb(rules, floor, changed);
    for (const move of acts) climb.#act(move as Move);
    climb.#look();
    return climb;
  }

  /** The acts so far, one byte each. */
  get log(): Uint8Array {
    return Uint8Array.from(this.acts, (move) => ACTS.indexOf(move));
  }

  get steps(): number {
    return this.acts.length;
  }

  get isAtExit(): boolean {
    return this.end === End.Stairs;
  }

  get title(): string {
    return `The tower of the day: floor ${this.scene.floor.spec.number}`;
  }

  get status(): string {
    const { number } = this.scene.floor.spec;
    return `Floor ${number}, ${several(this.turns, "turn")}: ${this.#hero}, ${keysInWords(this.keys)}.`;
  }

  sees = (index: number): boolean => this.#has(index, Cell.Seen);
  knows = (index: number): boolean => this.#has(index, Cell.Known);
  found = (index: number): boolean => this.#has(index, Cell.Passable);
  // What was taken is no thing of the scene any more.
  took = (): boolean => false;

  isOpen = (lock: number): boolean => {
    const { floor } = this.scene;
    return floor.locks.some(({ id, at }) => id === lock && this.#has(indexOf(floor, at), Cell.Open));
  };

  move(move: Move): string {
    const isDone = this.#act(move);
    const news = text(this.rules);
    if (isDone) {
      this.#look();
      this.changed(this);
    }
    return news;
  }

  wayTo(goal: number): Move[] | undefined {
    const isTrap = (index: number): boolean => index !== goal && this.scene.things.get(index)?.layer === "traps";
    return way(this, goal, (index) => this.knows(index) && this.#has(index, Cell.Passable) && !isTrap(index));
  }

  descend(): void {
    this.changed(this);
  }

  #has(index: number, bit: Cell): boolean {
    return (this.#cells[index] & bit) !== 0;
  }

  #act(move: Move): boolean {
    const isDone = this.rules.act(ACTS.indexOf(move)) !== 0;
    if (isDone) this.acts += move;
    return isDone;
  }

  /** Takes over what the rules say of the floor, in the order of `Climb::view` in crates/floor-web-climb. */
  #look(): void {
    this.rules.view();
    const view = bytes(this.rules);
    const { floor } = this.scene;
    this.#cells = view.subarray(view.length - floor.terrain.length);
    const numbers = new Uint32Array(view.buffer, 0, (view.length - floor.terrain.length) / 4);
    const [health, most, attack, armour, gold, potions, , turns, poison, net, at, end, potion, blade, mail] = numbers;
    let next = 15;
    const list = (parts: number): Uint32Array => {
      const length = numbers[next++] * parts;
      return numbers.subarray(next, (next += length));
    };
    this.revision++;
    [this.turns, this.at, this.end, this.prices] = [turns, at, end, [potion, blade, mail]];
    this.#hero = [
      `${health} of ${most} health`, ...(poison ? [`poisoned for ${several(poison, "turn")}`] : []),
      ...(net ? ["in a net"] : []),
      several(potions, "potion"), `${gold} gold`, `attack ${attack}`, `armour ${armour}`,
    ].join(", ");
    this.#place(list(3), list(1), list(1));
    this.keys.clear();
    list(1).forEach((lock) => this.keys.add(lock));
  }

  /** Puts what there is on the scene: monsters in sight by number, cell and mood, items and traps by number. */
  #place(monsters: Uint32Array, items: Uint32Array, traps: Uint32Array): void {
    const { floor, things, groups } = this.scene;
    const put = (index: number, thing?: Thing): unknown => thing && things.set(index, thing);
    things.clear();
    groups.clear();
    traps.forEach((number) => put(indexOf(floor, floor.traps[number].at), this.#traps[number]));
    items.forEach((number) => put(indexOf(floor, floor.items[number].at), this.#items[number]));
    for (let at = 0; at < monsters.length; at += 3) {
      const [number, cell, mood] = monsters.subarray(at, at + 3);
      const thing = this.#spawns[number];
      if (!thing) continue;
      const behaviour = behaviourIn(mood, floor.spawns[number].behaviour);
      put(cell, { ...thing, behaviour, group: 0, sprite: thing.sprite.replace(/:\d+:/, `:${behaviour - 1}:`) });
    }
  }
}

/** What a monster in a mood is about, of `STATES` in words.ts. One that woke has stopped sleeping for good. */
function behaviourIn(mood: number, behaviour: number): number {
  const [sleeps, guards, hunts] = [1, 2, 5];
  if (mood === 0) return sleeps;
  if (mood === 1) return behaviour === sleeps ? guards : behaviour;
  return hunts + mood - 2;
}
