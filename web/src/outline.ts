// Outlines of sets of cells as paths, in units of cells, as floorctl's maps have them
// (crates/floor-export/src/picture/contour.rs).

/** The directions east, south, west and north, in which an outline runs with its cells on the right. */
const STEPS = [[1, 0], [0, 1], [-1, 0], [0, -1]] as const;
/** The longest run of cells that is a part of a slope. */
const SHORT = 2;

export type Cells = (x: number, y: number) => boolean;
type Corner = [x: number, y: number];
/** A point of an outline, and whether the outline turns there at once. */
type Knot = [x: number, y: number, isSharp: boolean];

/**
 * The outline of the cells of a grid. `isRound`: all corners are, as in caverns; else steps of two cells and less become
 * slopes. `isSharp`: whether a corner stays as it is.
 */
export function outline(width: number, height: number, isIn: Cells, isRound: boolean, isSharp: Cells): Path2D {
  const path = new Path2D();
  for (const corners of loops(width, height, isIn)) add(path, (isRound ? curves : slopes)(corners, isSharp));
  return path;
}

function add(path: Path2D, knots: Knot[]): void {
  path.moveTo(...middle(knots[knots.length - 1], knots[0]));
  knots.forEach((knot, index) => {
    const [x, y, isSharp] = knot;
    const next = middle(knot, knots[(index + 1) % knots.length]);
    if (isSharp) {
      path.lineTo(x, y);
      path.lineTo(...next);
    } else {
      path.quadraticCurveTo(x, y, ...next);
    }
  });
  path.closePath();
}

type Point = readonly [x: number, y: number, ...rest: unknown[]];
const middle = (one: Point, other: Point): [number, number] => [(one[0] + other[0]) / 2, (one[1] + other[1]) / 2];
const length = (one: Point, other: Point): number => Math.abs(one[0] - other[0]) + Math.abs(one[1] - other[1]);

/** The middle of each edge of a cell, and the sharp corners. */
function curves(corners: Corner[], isSharp: Cells): Knot[] {
  return corners.flatMap((from, index) => {
    const to = corners[(index + 1) % corners.length];
    const edges = length(from, to);
    const along = (axis: 0 | 1, edge: number): number => from[axis] + ((to[axis] - from[axis]) * (edge + 0.5)) / edges;
    const knots = Array.from({ length: edges }, (_, edge): Knot => [along(0, edge), along(1, edge), false]);
    return isSharp(...to) ? [...knots, [...to, true] satisfies Knot] : knots;
  });
}

/** The corners, and instead of each of a slope the middles of the runs beside it. */
function slopes(corners: Corner[], isSharp: Cells): Knot[] {
  const at = (index: number): Corner => corners[(index + corners.length) % corners.length];
  /** Of the corner at `index`: positive to the right. */
  const turn = (index: number): number => {
    const [[ax, ay], [x, y], [bx, by]] = [at(index - 1), at(index), at(index + 1)];
    return Math.sign((x - ax) * (by - y) - (y - ay) * (bx - x));
  };
  return corners.flatMap((here, index): Knot[] => {
    const [before, after] = [at(index - 1), at(index + 1)];
    const isShort = Math.max(length(before, here), length(here, after)) <= SHORT;
    const isStep = turn(index - 1) !== turn(index) || turn(index + 1) !== turn(index);
    if (!isShort || !isStep || isSharp(...here)) return [[...here, true]];
    return [before, after].map((end): Knot => [...middle(end, here), true]);
  });
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
