// Draws a floor in the style of its palette.

import type { Fog } from "./fog";
import type { Context, Frame } from "./frame";
import { drawMap, drawScale } from "./map";
import { css, type Palette } from "./palette";
import { drawData } from "./picture";
import type { Layers, Scene } from "./scene";

/** The side of a cell in pixels below which the picture of the whole floor is kept, so that moving it draws it once. */
const SMALL = 8;

/** `isScaled`: whether a map has a scale in its corner. */
export function draw(ctx: Context, scene: Scene, frame: Frame, layers: Layers, palette: Palette, fog?: Fog, isScaled = true): void {
  const isMap = palette.name === "paper";
  const { width, height } = ctx.canvas;
  const [wide, high] = [scene.floor.width * frame.side, scene.floor.height * frame.side];
  if (frame.side < SMALL && wide * high <= 4 * width * height) {
    ctx.fillStyle = css(palette.rock);
    ctx.fillRect(0, 0, width, height);
    ctx.imageSmoothingQuality = "high";
    const picture = kept(scene, frame, layers, palette, fog);
    const scale = isMap ? 1 : frame.side / Math.ceil(frame.side);
    ctx.drawImage(picture, frame.left, frame.top, picture.width * scale, picture.height * scale);
  } else {
    (isMap ? drawMap : drawData)(ctx, scene, frame, layers, palette, fog);
  }
  if (isMap && isScaled) drawScale(ctx, frame, palette);
}

/** The last picture of each floor. */
const pictures = new WeakMap<Scene, { key: string; picture: OffscreenCanvas }>();

/** Cells of data have whole pixels, so that their edges are sharp: parts of pixels are drawn larger, and reduced. */
function kept(scene: Scene, frame: Frame, layers: Layers, palette: Palette, fog?: Fog): OffscreenCanvas {
  const isMap = palette.name === "paper";
  const side = isMap ? frame.side : Math.ceil(frame.side);
  const key = [side, frame.ratio, ...layers, palette.key, fog?.revision].join();
  const last = pictures.get(scene);
  if (last?.key === key) return last.picture;
  const { width, height } = scene.floor;
  const picture = new OffscreenCanvas(Math.ceil(width * side), Math.ceil(height * side));
  const ctx = picture.getContext("2d", { alpha: false }) as OffscreenCanvasRenderingContext2D;
  const own = { left: 0, top: 0, side, ratio: frame.ratio * (side / frame.side) };
  (isMap ? drawMap : drawData)(ctx, scene, own, layers, palette, fog);
  pictures.set(scene, { key, picture });
  return picture;
}
