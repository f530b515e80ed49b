// Draws a floor in the style of its palette.

import type { Fog } from "./fog";
import type { Context, Frame } from "./frame";
import { drawMap } from "./map";
import type { Palette } from "./palette";
import { drawData } from "./picture";
import type { Layers, Scene } from "./scene";

export function draw(ctx: Context, scene: Scene, frame: Frame, layers: Layers, palette: Palette, fog?: Fog): void {
  if (palette.name === "paper") return drawMap(ctx, scene, frame, layers, palette, fog);
  if (Number.isInteger(frame.side)) return drawData(ctx, scene, frame, layers, palette, fog);
  // Cells have whole pixels, so that their edges are sharp. Small ones are drawn larger, and reduced.
  const side = Math.ceil(frame.side);
  const scale = side / frame.side;
  const { width, height } = ctx.canvas;
  const larger = new OffscreenCanvas(Math.ceil(width * scale), Math.ceil(height * scale));
  const own = larger.getContext("2d", { alpha: false }) as OffscreenCanvasRenderingContext2D;
  drawData(own, scene, { left: Math.round(frame.left * scale), top: Math.round(frame.top * scale), side, ratio: frame.ratio * scale }, layers, palette, fog);
  ctx.imageSmoothingQuality = "high";
  ctx.drawImage(larger, 0, 0, larger.width / scale, larger.height / scale);
}
