// A picture of a floor to send with its address: the map with the floor's name and hook beside it. Chats and pages show
// pictures of this size with a link; `floorctl card` draws a similar one.

import { nameOfFloor, titleOf } from "./describe";
import { draw } from "./drawing";
import type { Fog } from "./fog";
import type { Context } from "./frame";
import { css, type Palette } from "./palette";
import { save } from "./save";
import type { Layers, Scene } from "./scene";

/** What the Open Graph protocol's readers show whole, in pixels. */
const [WIDTH, HEIGHT] = [1200, 630];
const MARGIN = 36;
/** The column of words, on the left. */
const WORDS = 440;
const SERIF = 'Georgia, "DejaVu Serif", serif';

/** The page around the button. */
export interface Host {
  readonly scenes: Scene[];
  readonly active: number;
  readonly layers: Layers;
  readonly views: { walk?: Fog }[];
  palette(scene: Scene): Palette;
  flushLink(): void;
}

/** Saves the card of the floor that is shown; in a walk, of what the walker knows. */
export async function saveCard(page: Host): Promise<void> {
  page.flushLink();
  const scene = page.scenes[page.active];
  const { floor } = scene;
  const palette = page.palette(scene);
  const canvas = new OffscreenCanvas(WIDTH, HEIGHT);
  const ctx = canvas.getContext("2d") as OffscreenCanvasRenderingContext2D;
  ctx.fillStyle = css(palette.rock);
  ctx.fillRect(0, 0, WIDTH, HEIGHT);
  const left = MARGIN + WORDS + MARGIN;
  const map = pictureOf(scene, page.layers, palette, WIDTH - left - MARGIN, HEIGHT - 2 * MARGIN, page.views[page.active].walk);
  ctx.drawImage(map, left + (WIDTH - left - MARGIN - map.width) / 2, (HEIGHT - map.height) / 2);
  ctx.fillStyle = palette.name === "dark" ? "#e4dfd3" : css(palette.ink);
  const title = `700 54px ${SERIF}`;
  let y = write(ctx, nameOfFloor(floor), title, MARGIN + 70, 62, 4);
  if (floor.hook) y = write(ctx, floor.hook.text, `italic 30px ${SERIF}`, y + 18, 40, 5);
  if (floor.name) write(ctx, titleOf(floor), `24px ${SERIF}`, y + 24, 32, 2);
  write(ctx, location.href.replace(/^https?:\/\//, ""), "20px ui-monospace, Menlo, Consolas, \"DejaVu Sans Mono\", monospace", HEIGHT - MARGIN - 26, 26, 2);
  save(`card-${floor.spec.seed}-${floor.spec.number}.png`, await canvas.convertToBlob({ type: "image/png" }));
}

/** The floor without the rock around it, as large as it fits. */
function pictureOf(scene: Scene, layers: Layers, palette: Palette, width: number, height: number, fog?: Fog): OffscreenCanvas {
  const { left, top, right, bottom } = scene.bounds;
  const [columns, rows] = [right - left + 5, bottom - top + 5];
  const side = Math.min(width / columns, height / rows);
  const picture = new OffscreenCanvas(Math.floor(columns * side), Math.floor(rows * side));
  const ctx = picture.getContext("2d") as OffscreenCanvasRenderingContext2D;
  draw(ctx, scene, { left: Math.round((2 - left) * side), top: Math.round((2 - top) * side), side, ratio: 1 }, layers, palette, fog, false);
  return picture;
}

/** Writes a text in lines of the column, so many at most, from the first line's foot on. Returns the foot of the next. */
function write(ctx: Context, text: string, font: string, y: number, height: number, most: number): number {
  ctx.font = font;
  const lines: string[] = [];
  for (const word of text.split(" ").flatMap((word) => pieces(ctx, word))) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && ctx.measureText(longer).width <= WORDS) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  if (lines.length > most) lines[most - 1] += "…";
  lines.slice(0, most).forEach((line, at) => ctx.fillText(line, MARGIN, y + at * height, WORDS));
  return y + Math.min(lines.length, most) * height;
}

/** A word in pieces that fit into a line: addresses are long. */
function pieces(ctx: Context, word: string): string[] {
  if (ctx.measureText(word).width <= WORDS) return [word];
  const letters = Math.max(1, Math.floor((word.length * WORDS) / ctx.measureText(word).width));
  return [word.slice(0, letters), ...pieces(ctx, word.slice(letters))];
}
