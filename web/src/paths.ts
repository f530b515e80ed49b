// Shortest paths, the critical path and the areas behind locks: what crates/floor-export/src/picture/paths.rs computes.

import { type Floor, type Point, passable, Terrain } from "./floor";

/** A part of the critical path, both ends included. `key` is the lock whose key it leads to; 0: to the exit. */
export interface Segment { key: number; cells: number[] }

export const indexOf = (floor: Floor, { x, y }: Point): number => y * floor.width + x;
export const pointOf = (floor: Floor, index: number): Point => ({
  x: index % floor.width,
  y: Math.floor(index / floor.width),
});

/** The cells beside a cell, 4-connected. */
export function* around(floor: Floor, index: number): Generator<number> {
  const x = index % floor.width;
  if (x > 0) yield index - 1;
  if (x < floor.width - 1) yield index + 1;
  if (index >= floor.width) yield index - floor.width;
  if (index < floor.terrain.length - floor.width) yield index + floor.width;
}

/** For each cell the cell before it on a shortest path from `start`; -1 if there is no path; the start leads to itself. */
export function search(floor: Floor, start: number, walkable: (index: number) => boolean): Int32Array {
  const previous = new Int32Array(floor.terrain.length).fill(-1);
  previous[start] = start;
  const queue = [start];
  for (let next = 0; next < queue.length; next++) {
    for (const beside of around(floor, queue[next])) {
      if (previous[beside] < 0 && walkable(beside)) {
        previous[beside] = queue[next];
        queue.push(beside);
      }
    }
  }
  return previous;
}

/** The cells from the start of `previous` to `goal`; undefined if there is no path. */
export function trace(previous: Int32Array, goal: number): number[] | undefined {
  if (previous[goal] < 0) return undefined;
  const cells = [goal];
  while (previous[cells[cells.length - 1]] !== cells[cells.length - 1]) cells.push(previous[cells[cells.length - 1]]);
  return cells.reverse();
}

function fromCell(floor: Floor, start: number, open: Set<number>): Int32Array {
  const unlocked = new Set(floor.locks.filter((lock) => open.has(lock.id)).map((lock) => indexOf(floor, lock.at)));
  return search(floor, start, (index) =>
    passable(floor.terrain[index]) || (floor.terrain[index] === Terrain.LockedDoor && unlocked.has(index)));
}

const keysOf = (floor: Floor, lock: number): number[] =>
  floor.items.filter((item) => item.opens === lock).map((item) => indexOf(floor, item.at));

/** Closed locks whose keys can be reached, lowest id first. */
function openable(floor: Floor, previous: Int32Array, open: Set<number>): number[] {
  const closed = floor.locks.map((lock) => lock.id).filter((lock) => !open.has(lock));
  const reached = (lock: number): boolean => {
    const keys = keysOf(floor, lock);
    return keys.length > 0 && keys.every((key) => previous[key] >= 0);
  };
  return closed.filter(reached).sort((a, b) => a - b);
}

/** The walk from the entry, by the keys of the locks that stand before the exit, to the exit. */
export function criticalPath(floor: Floor): Segment[] {
  const exit = indexOf(floor, floor.exit);
  const entry = indexOf(floor, floor.entry);
  const blocksExit = (lock: number): boolean => {
    const open = new Set<number>();
    for (;;) {
      const previous = fromCell(floor, entry, open);
      const more = openable(floor, previous, open).filter((other) => other !== lock);
      if (more.length === 0) return previous[exit] < 0;
      more.forEach((other) => open.add(other));
    }
  };
  const needed = floor.locks.map((lock) => lock.id).sort((a, b) => a - b).filter(blocksExit);
  const goals = needed.flatMap((lock) => keysOf(floor, lock).map((at) => ({ key: lock, at })));
  goals.push({ key: 0, at: exit });
  let here = entry;
  const open = new Set<number>();
  const segments: Segment[] = [];
  for (const { key, at } of goals) {
    const last = segments[segments.length - 1];
    if (last && last.key !== key) open.add(last.key);
    const cells = trace(fromCell(floor, here, open), at);
    if (!cells) return [];
    segments.push({ key, cells });
    here = at;
  }
  return segments;
}

/** For each cell the last lock that must be opened to reach it; 0: none. -1: only a search finds the way. */
export function behindLocks(floor: Floor): Int16Array {
  const behind = new Int16Array(floor.terrain.length).fill(-1);
  const open = new Set<number>();
  let last = 0;
  for (;;) {
    const previous = fromCell(floor, indexOf(floor, floor.entry), open);
    previous.forEach((from, index) => {
      if (from >= 0 && behind[index] < 0) behind[index] = last;
    });
    const [next] = openable(floor, previous, open);
    if (next === undefined) return behind;
    open.add(next);
    last = next;
  }
}
