/** Ways over cells that are numbered row by row. A step leads to one of the four neighbours. */

/** The distance of a cell to which no way leads. */
export const FAR = 2 ** 32 - 1;

/** The steps from a cell to each of the open ones. */
export function distances(from: number, open: Uint8Array, width: number): Uint32Array {
  const steps = new Uint32Array(open.length).fill(FAR);
  steps[from] = 0;
  const queue = [from];
  for (const at of queue) {
    for (const next of beside(at, width, open.length)) {
      if (open[next] !== 1 || steps[next] !== FAR) continue;
      steps[next] = (steps[at] as number) + 1;
      queue.push(next);
    }
  }
  return steps;
}

/**
 * The cells of the shortest way, both ends among them. Of ways with as few steps it is the one whose first different
 * step leads north, else west, else east.
 */
export function shortest(from: number, to: number, open: Uint8Array, width: number): number[] | undefined {
  const left = distances(to, open, width);
  const steps = (cell: number) => left[cell] as number;
  if (steps(from) === FAR) return undefined;
  const path = [from];
  for (let at = from; at !== to; path.push(at)) {
    at = beside(at, width, open.length).find((next) => steps(next) < steps(at)) as number;
  }
  return path;
}

/** The neighbours of a cell to the north, west, east and south. */
function beside(cell: number, width: number, cells: number): number[] {
  const x = cell % width;
  const next: number[] = [];
  if (cell >= width) next.push(cell - width);
  if (x > 0) next.push(cell - 1);
  if (x < width - 1) next.push(cell + 1);
  if (cell + width < cells) next.push(cell + width);
  return next;
}
