// Outlines of sets of cells as paths, in units of cells. Steps become slopes or curves.

/** The directions east, south, west and north, in which an outline runs with its cells on the right. */
const STEPS = [[1, 0], [0, 1], [-1, 0], [0, -1]] as const;

export type Cells = (x: number, y: number) => boolean;

/** How corners between short runs are drawn. */
export interface Smoothing {
  /** The longest run of cells that is short. */
  short: number;
  /** Whether all such corners become curves, as in caverns; else only steps become slopes. */
  isRound: boolean;
  /** Whether a corner of the grid stays as it is. */
  isSharp(x: number, y: number): boolean;
}

type Corner = [x: number, y: number];

/** The outline of the cells of a grid. */
export function outline(width: number, height: number, isIn: Cells, smoothing: Smoothing): Path2D {
  const path = new Path2D();
  for (const corners of loops(width, height, isIn)) addLoop(path, corners, smoothing);
  return path;
}

function addLoop(path: Path2D, corners: Corner[], { short, isRound, isSharp }: Smoothing): void {
  const count = corners.length;
  const at = (index: number): Corner => corners[(index + count) % count];
  const run = (index: number): Corner => [at(index)[0] - at(index - 1)[0], at(index)[1] - at(index - 1)[1]];
  const middle = (index: number): Corner => [(at(index)[0] + at(index - 1)[0]) / 2, (at(index)[1] + at(index - 1)[1]) / 2];
  const isShort = (index: number): boolean => Math.abs(run(index)[0] + run(index)[1]) <= short;
  /** Left or right. */
  const turn = (index: number): number => Math.sign(run(index)[0] * run(index + 1)[1] - run(index)[1] * run(index + 1)[0]);
  path.moveTo(...middle(0));
  for (let index = 0; index < count; index++) {
    const isStep = turn(index - 1) !== turn(index) || turn(index + 1) !== turn(index);
    if (!isShort(index) || !isShort(index + 1) || isSharp(...at(index)) || !(isStep || isRound)) {
      path.lineTo(...at(index));
    } else if (isRound) {
      path.lineTo(...middle(index));
      path.quadraticCurveTo(...at(index), ...middle(index + 1));
    } else {
      path.lineTo(...middle(index));
      path.lineTo(...middle(index + 1));
    }
  }
  path.closePath();
}

/** The corners of each closed line around cells, in order. */
function loops(width: number, height: number, isIn: Cells): Corner[][] {
  const row = width + 1;
  // A bit for each direction in which an outline leaves a corner of the grid.
  const leaving = new Uint8Array(row * (height + 1));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (!isIn(x, y)) continue;
      if (y === 0 || !isIn(x, y - 1)) leaving[y * row + x] |= 1;
      if (x === width - 1 || !isIn(x + 1, y)) leaving[y * row + x + 1] |= 2;
      if (y === height - 1 || !isIn(x, y + 1)) leaving[(y + 1) * row + x + 1] |= 4;
      if (x === 0 || !isIn(x - 1, y)) leaving[(y + 1) * row + x] |= 8;
    }
  }
  const found: Corner[][] = [];
  for (let start = 0; start < leaving.length; start++) {
    while (leaving[start]) found.push(follow(leaving, row, start));
  }
  return found;
}

/** Follows an outline from a corner back to it, and takes it off. */
function follow(leaving: Uint8Array, row: number, start: number): Corner[] {
  const corners: Corner[] = [];
  let at = start;
  let direction = -1;
  do {
    // Where two cells meet at a corner, the line stays with its cell.
    const order = direction < 0 ? [0, 1, 2, 3] : [1, 0, 3].map((turn) => (direction + turn) % 4);
    const next = order.find((other) => leaving[at] & (1 << other)) ?? 0;
    if (next !== direction) corners.push([at % row, Math.floor(at / row)]);
    leaving[at] &= ~(1 << next);
    direction = next;
    at += STEPS[next][0] + STEPS[next][1] * row;
  } while (at !== start);
  return corners;
}
