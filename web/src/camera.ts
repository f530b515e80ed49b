// Which part of a floor is shown. Two floors side by side share one camera.

import type { Frame } from "./frame";
import type { Scene } from "./scene";

/** Sides of a cell in device pixels. Whole numbers keep the cells crisp. */
const SIDES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96];
/** The side in device pixels below which a whole floor fills all of the canvas. */
const SMALL = 8;
const nearestSide = (side: number): number =>
  SIDES.reduce((best, next) => (Math.abs(next - side) < Math.abs(best - side) ? next : best));

export class Camera {
  /** The point in the middle, in cells, and the side of a cell in device pixels; undefined: the whole floor. */
  #free?: { x: number; y: number; side: number };

  get isFree(): boolean {
    return this.#free !== undefined;
  }

  /** The whole floor. */
  fit(): void {
    this.#free = undefined;
  }

  set(x: number, y: number, side: number): void {
    this.#free = { x, y, side: nearestSide(side) };
  }

  /** The middle and the side on a canvas. */
  on(canvas: HTMLCanvasElement, scene: Scene): { x: number; y: number; side: number } {
    return this.#free ?? whole(canvas, scene);
  }

  frame(canvas: HTMLCanvasElement, scene: Scene): Frame {
    const { x, y, side } = this.on(canvas, scene);
    return { left: Math.round(canvas.width / 2 - x * side), top: Math.round(canvas.height / 2 - y * side), side, ratio: devicePixelRatio || 1 };
  }

  /** Moves by device pixels. */
  pan(canvas: HTMLCanvasElement, scene: Scene, dx: number, dy: number): void {
    const { x, y, side } = this.on(canvas, scene);
    const clamp = (at: number, cells: number): number => Math.min(Math.max(at, 0), cells);
    this.#free = { x: clamp(x - dx / side, scene.floor.width), y: clamp(y - dy / side, scene.floor.height), side };
  }

  /** One step in or out around a point of the canvas. */
  zoom(canvas: HTMLCanvasElement, scene: Scene, inwards: boolean, px = canvas.width / 2, py = canvas.height / 2): void {
    const { side } = this.on(canvas, scene);
    const next = inwards ? SIDES.find((other) => other > side) : SIDES.findLast((other) => other < side);
    if (next) this.scale(canvas, scene, next, px, py);
  }

  /** Sets the side, as near as there is one; the point (px, py) of the canvas stays where it is. */
  scale(canvas: HTMLCanvasElement, scene: Scene, wanted: number, px: number, py: number): void {
    const { x, y, side } = this.on(canvas, scene);
    const [fx, fy] = [px - canvas.width / 2, py - canvas.height / 2];
    const next = nearestSide(wanted);
    this.#free = { x: x + fx / side - fx / next, y: y + fy / side - fy / next, side: next };
  }

  /** Moves a cell into sight, if it is not well inside. */
  follow(canvas: HTMLCanvasElement, scene: Scene, cellX: number, cellY: number): void {
    const { x, y, side } = this.on(canvas, scene);
    const [halfX, halfY] = [canvas.width / side / 2, canvas.height / side / 2];
    const margin = Math.min(6, halfX / 2, halfY / 2);
    const shift = (middle: number, half: number, cell: number): number =>
      Math.max(cell + 0.5 - half + margin - middle, 0) + Math.min(cell + 0.5 + half - margin - middle, 0);
    const [dx, dy] = [shift(x, halfX, cellX), shift(y, halfY, cellY)];
    if (dx || dy) this.#free = { x: x + dx, y: y + dy, side };
  }
}

/** All that is not rock, as large as it fits. */
function whole(canvas: HTMLCanvasElement, scene: Scene): { x: number; y: number; side: number } {
  const { left, top, right, bottom } = scene.bounds;
  const [width, height] = [right - left + 4, bottom - top + 4];
  const fits = Math.min(canvas.width / width, canvas.height / height);
  // Small cells may have parts of pixels: else a large floor would fill two thirds of the canvas.
  const side = fits < SMALL ? Math.max(Math.floor(fits * 16) / 16, 1 / 16) : Math.min(Math.floor(fits), 48);
  return { x: (left + right + 1) / 2, y: (top + bottom + 1) / 2, side };
}
