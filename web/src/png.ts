// Saves a floor as a picture, with its name and facts below. In a walk, what the walker knows of it.

import { difficulty, nameOfFloor, several, titleOf } from "./describe";
import { draw } from "./drawing";
import type { Fog } from "./fog";
import { css, type Palette } from "./palette";
import { save } from "./save";
import type { Layers, Scene } from "./scene";

/** Pixels per cell, and the most pixels on a side: browsers refuse larger canvases. */
const SIDE = 16;
const MAX_PIXELS = 8000;

export async function savePng(scene: Scene, layers: Layers, palette: Palette, fog?: Fog): Promise<void> {
  const { floor } = scene;
  const side = Math.min(SIDE, Math.floor(MAX_PIXELS / Math.max(floor.width, floor.height)));
  const picture = new OffscreenCanvas(floor.width * side, floor.height * side);
  draw(picture.getContext("2d") as OffscreenCanvasRenderingContext2D, scene, { left: 0, top: 0, side, ratio: 1 }, layers, palette, fog);
  const letter = Math.max(9, Math.round(picture.width / 60));
  const canvas = new OffscreenCanvas(picture.width, picture.height + letter * 5);
  const ctx = canvas.getContext("2d") as OffscreenCanvasRenderingContext2D;
  ctx.fillStyle = css(palette.rock);
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.drawImage(picture, 0, 0);
  ctx.fillStyle = palette.name === "dark" ? "#d8d2c4" : "#2b2833";
  const facts = `${several(floor.rooms.length, "room")}, ${several(floor.metrics.loops, "loop")}, ` +
    `${several(floor.metrics.criticalPath, "step")} to the exit, difficulty ${difficulty(floor.metrics.difficulty)}`;
  const what = floor.name ? `${titleOf(floor)}, ` : "";
  const lines = [nameOfFloor(floor), `${what}${fog ? "a walk" : facts}, generator ${floor.version}, hash ${floor.hash}`];
  lines.forEach((text, at) => {
    ctx.font = `${at ? 400 : 600} ${Math.round(letter * (at ? 0.8 : 1.1))}px system-ui, sans-serif`;
    ctx.fillText(text, letter, picture.height + letter * (1.8 + at * 1.7), canvas.width - 2 * letter);
  });
  save(`floor-${floor.spec.seed}-${floor.spec.number}.png`, await canvas.convertToBlob({ type: "image/png" }));
}
