// Where a floor is drawn.

import type { Fog } from "./fog";

export type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

/**
 * Where the floor lies on the canvas: the left top corner of cell (0, 0) and the side of a cell, in pixels. `ratio` is
 * how many pixels a CSS pixel has.
 */
export interface Frame { left: number; top: number; side: number; ratio: number }

/** Calls `visit` with each cell that lies on the canvas and is known. */
export function eachCell(
  ctx: Context, { left, top, side }: Frame, width: number, height: number, fog: Fog | undefined,
  visit: (x: number, y: number, index: number) => void,
): void {
  const columns = range(-left, ctx.canvas.width - left, side, width);
  const rows = range(-top, ctx.canvas.height - top, side, height);
  for (let y = rows[0]; y < rows[1]; y++) {
    for (let x = columns[0]; x < columns[1]; x++) {
      if (!fog || fog.knows(y * width + x)) visit(x, y, y * width + x);
    }
  }
}

/** The cells of an axis from pixel `from` to pixel `to`. */
function range(from: number, to: number, side: number, cells: number): [number, number] {
  return [Math.max(0, Math.floor(from / side)), Math.min(cells, Math.ceil(to / side))];
}

/** A number from 0 to 15 that looks random, the same for a cell each time. */
export const grain = (x: number, y: number): number =>
  Math.imul(Math.imul(x + 1, 0x9e3779b1) ^ Math.imul(y + 1, 0x85ebca77), 0xc2b2ae3d) >>> 28;
