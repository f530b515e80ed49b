// Which part of a floor is shown. Two floors side by side share one camera.

import type { Frame } from "./picture";
import type { Scene } from "./scene";

/** Sides of a cell in device pixels. Whole numbers keep the cells crisp. */
const SIDES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96];
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
    return { left: Math.round(canvas.width / 2 - x * side), top: Math.round(canvas.height / 2 - y * side), side };
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
  const { left, top, right, bottom } = bounds(scene);
  const [width, height] = [right - left + 3, bottom - top + 3];
  const fits = Math.min(canvas.width / width, canvas.height / height);
  const side = SIDES.findLast((other) => other <= fits && other <= 48) ?? SIDES[0];
  return { x: (left + right + 1) / 2, y: (top + bottom + 1) / 2, side };
}

const known = new WeakMap<Scene, ReturnType<typeof bounds>>();

function bounds(scene: Scene): { left: number; top: number; right: number; bottom: number } {
  const cached = known.get(scene);
  if (cached) return cached;
  const { width, terrain } = scene.floor;
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  terrain.forEach((at, index) => {
    if (at === 1) return;
    const [x, y] = [index % width, Math.floor(index / width)];
    box.left = Math.min(box.left, x);
    box.right = Math.max(box.right, x);
    box.top = Math.min(box.top, y);
    box.bottom = Math.max(box.bottom, y);
  });
  known.set(scene, box);
  return box;
}
