// Where the labels of rooms stand: as near to the middle of the room as they cover nothing.

import { numberOf, ROLES, type Room, Terrain } from "./floor";
import type { Scene } from "./scene";

/** A label with its middle and its size, in cells. */
export interface Label { room: Room; text: string; x: number; y: number; width: number; height: number }

/** Things reach a little over their cells. */
const REACH = 0.2;
/** How far from the middle of its room a label is looked for, in cells. */
const FAR = 24;
/** The steps from a cell to those around it, nearest first. */
const STEPS: [number, number][] = Array.from({ length: (2 * FAR + 1) ** 2 }, (_, at): [number, number] =>
  [(at % (2 * FAR + 1)) - FAR, Math.floor(at / (2 * FAR + 1)) - FAR]).sort((a, b) => Math.hypot(...a) - Math.hypot(...b));

/** What a label may not cover, as bits. */
const enum Cover { Thing = 1, Vital = 2, Ground = 4, Label = 8, Rock = 16 }

/** The last labels of a floor. */
const known = new WeakMap<Scene, { key: string; labels: Label[] }>();

/** A label for each room: with its role if there is place for it. `measure` gives the width of a text in cells. */
export function placeLabels(scene: Scene, height: number, withRoles: boolean, measure: (text: string) => number): Label[] {
  const key = `${height} ${withRoles}`;
  const last = known.get(scene);
  if (last?.key === key) return last.labels;
  const board = new Board(scene);
  const labels = scene.floor.rooms.map((room) => {
    const number = String(numberOf(room));
    const full = [room.name?.text, ROLES[room.role]].filter(Boolean).map((words) => `${number} ${words}`);
    const inRoom = (text: string): Label | undefined => board.inRoom(room, text, measure(text), height);
    const label = (withRoles && full.reduce<Label | undefined>((found, text) => found ?? inRoom(text), undefined)) ||
      board.somewhere(room, number, measure(number), height);
    board.cover(label, Cover.Label);
    return label;
  });
  known.set(scene, { key, labels });
  return labels;
}

/** The name of the room that the floor is remembered by. */
export function placeLandmark(scene: Scene, room: Room, height: number, measure: (text: string) => number): Label {
  const text = room.name?.text ?? String(numberOf(room));
  return new Board(scene).somewhere(room, text, measure(text), height);
}

/** What is covered. */
class Board {
  readonly #cells: Uint8Array;

  constructor(readonly scene: Scene) {
    const { floor, things, locks } = scene;
    this.#cells = floor.terrain.map((terrain) =>
      (terrain === Terrain.Wall ? Cover.Rock : Cover.Ground) | (terrain === Terrain.StairsUp || terrain === Terrain.StairsDown ? Cover.Vital : 0));
    for (const [index, { layer }] of things) this.#cells[index] |= layer === "locks" ? Cover.Vital : Cover.Thing;
    for (const index of locks.keys()) this.#cells[index] |= Cover.Vital;
  }

  /** The label on the ground of its room, where it covers nothing. */
  inRoom(room: Room, text: string, width: number, height: number): Label | undefined {
    const { floor } = this.scene;
    if (width > room.max.x - room.min.x + 3) return undefined;
    const isInside = (x: number, y: number): boolean => floor.region[y * floor.width + x] === room.id + 1;
    const others = Cover.Thing | Cover.Vital | Cover.Label;
    return this.#find(room, text, width, height, others | Cover.Rock, isInside) ?? this.#find(room, text, width, height, others, isInside);
  }

  /** The number or name of a room: in the room, in the rock beside it, or at least where it hides no key, lock or stairs. */
  somewhere(room: Room, text: string, width: number, height: number): Label {
    const everything = Cover.Thing | Cover.Vital | Cover.Label;
    return this.inRoom(room, text, width, height) ?? this.#find(room, text, width, height, everything | Cover.Ground) ??
      this.#find(room, text, width, height, Cover.Vital | Cover.Label) ?? this.#find(room, text, width, height, Cover.Vital) ??
      labelAt(room, text, room.center.x, room.center.y, width, height);
  }

  #find(room: Room, text: string, width: number, height: number, covers: number, isFine?: (x: number, y: number) => boolean): Label | undefined {
    const { floor } = this.scene;
    for (const [dx, dy] of STEPS) {
      const [x, y] = [room.center.x + dx, room.center.y + dy];
      const isOutside = x < width / 2 || y < height / 2 || x + width / 2 > floor.width - 1 || y + height / 2 > floor.height - 1;
      if (isOutside || (isFine && !isFine(x, y))) continue;
      const label = labelAt(room, text, x, y, width, height);
      if (!this.#covers(label, covers)) return label;
    }
    return undefined;
  }

  #covers(label: Label, covers: number): boolean {
    const { left, right, top, bottom } = this.#part(label);
    for (let y = top; y <= bottom; y++) {
      for (let x = left; x <= right; x++) if (this.#cells[y * this.scene.floor.width + x] & covers) return true;
    }
    return false;
  }

  cover(label: Label, cover: Cover): void {
    const { left, right, top, bottom } = this.#part(label);
    for (let y = top; y <= bottom; y++) {
      for (let x = left; x <= right; x++) this.#cells[y * this.scene.floor.width + x] |= cover;
    }
  }

  /** The cells below a label, both ends included. */
  #part({ x, y, width, height }: Label): { left: number; right: number; top: number; bottom: number } {
    const { floor } = this.scene;
    return {
      left: Math.max(0, Math.floor(x - width / 2 - REACH)), right: Math.min(floor.width - 1, Math.floor(x + width / 2 + REACH)),
      top: Math.max(0, Math.floor(y - height / 2 - REACH)), bottom: Math.min(floor.height - 1, Math.floor(y + height / 2 + REACH)),
    };
  }
}

const labelAt = (room: Room, text: string, x: number, y: number, width: number, height: number): Label =>
  ({ room, text, x: x + 0.5, y: y + 0.5, width, height });
