// The drawings of a cell, in a square of side 1. Each is painted once for a size and copied from then on.

import { type Room, Terrain } from "./floor";
import { css, LIGHT, LOOT, lockColour, MONSTER, mix, type Palette, PLAYER, type Rgb, TINT, TRAP } from "./palette";

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;
type Paint = (ctx: Context, palette: Palette, side: number) => void;

/** Space around the square, since some drawings reach over its edge. */
const PAD = 0.6;

const cache = new Map<string, OffscreenCanvas>();

/** Draws the sprite called `name` with the left top corner of its cell at (x, y), all in whole pixels. */
export function drawSprite(ctx: Context, palette: Palette, name: string, x: number, y: number, side: number): void {
  const key = `${name} ${side} ${palette.name}`;
  const pad = Math.ceil(PAD * side);
  let sprite = cache.get(key);
  if (!sprite) {
    // Zooming leaves sprites of other sizes behind.
    if (cache.size > 600) cache.clear();
    sprite = new OffscreenCanvas(side + 2 * pad, side + 2 * pad);
    const own = sprite.getContext("2d") as OffscreenCanvasRenderingContext2D;
    own.translate(pad, pad);
    own.scale(side, side);
    own.lineCap = own.lineJoin = "round";
    painter(name)(own, palette, side);
    cache.set(key, sprite);
  }
  ctx.drawImage(sprite, x - pad, y - pad);
}

/** Draws a sprite on a piece of ground, for the legend. */
export function drawSample(ctx: Context, palette: Palette, name: string, side: number): void {
  ctx.fillStyle = css(ground(palette, name));
  ctx.fillRect(0, 0, side, side);
  drawSprite(ctx, palette, name, 0, 0, side);
}

function ground(palette: Palette, name: string): Rgb {
  const [what, detail] = name.split(":");
  const floor = palette.terrain(Terrain.Floor);
  if (what === "terrain") return baseOf(palette, Number(detail));
  if (what === "tint") return mix(floor, palette.tint(Number(detail)) ?? floor, 58);
  if (what === "wall" || what === "secret") return palette.wallTop;
  return floor;
}

/** Whether the ground has the terrain's own colour. Other terrain lies on bare floor. */
export const natural = (terrain: number): boolean =>
  terrain >= Terrain.ShallowWater && terrain <= Terrain.Grass;

export function baseOf(palette: Palette, terrain: number): Rgb {
  if (terrain === Terrain.Chasm) {
    return mix(palette.terrain(terrain), palette.ink, palette.name === "dark" ? 176 : 120);
  }
  return palette.terrain(natural(terrain) ? terrain : Terrain.Floor);
}

/** The ground of a cell: tinted by the role of its room if `isTinted`, darker outside of rooms. */
export function stoneOf(palette: Palette, terrain: number, room: Room | undefined, isTinted: boolean): Rgb {
  const stone = baseOf(palette, terrain);
  if (natural(terrain)) return stone;
  if (!room) return mix(stone, palette.ink, palette.name === "dark" ? 52 : 26);
  const tint = isTinted ? palette.tint(room.role) : undefined;
  return tint ? mix(stone, tint, palette.name === "dark" ? TINT : TINT + 20) : stone;
}

function painter(name: string): Paint {
  const [what, detail] = name.split(":");
  switch (what) {
    case "terrain": return terrain(Number(detail));
    case "wall": return wall;
    case "secret": return secretDoor;
    case "door": return door(detail !== "down", undefined);
    case "lock": return door(!name.endsWith(":down"), Number(detail));
    case "open-lock": return door(!name.endsWith(":down"), Number(detail), true);
    case "stairs": return stairs(detail === "up" ? Terrain.StairsUp : Terrain.StairsDown);
    case "monster": return monster(detail);
    case "loot": return loot;
    case "key": return key(Number(detail));
    case "trap": return trap;
    case "player": return player;
    default: return () => {};
  }
}

function disc(ctx: Context, x: number, y: number, radius: number, colour: string): void {
  ctx.fillStyle = colour;
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
  ctx.fill();
}

function polygon(ctx: Context, points: number[][], colour: string): void {
  ctx.fillStyle = colour;
  ctx.beginPath();
  points.forEach(([x, y]) => ctx.lineTo(x, y));
  ctx.fill();
}

function line(ctx: Context, points: number[][], width: number, colour: string): void {
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.beginPath();
  points.forEach(([x, y]) => ctx.lineTo(x, y));
  ctx.stroke();
}

const terrain = (at: number): Paint => (ctx, palette, side) => {
  const thin = Math.max(0.09, 0.7 / side);
  const ink = (opacity: number): string => css(palette.ink, opacity);
  switch (at) {
    case Terrain.ShallowWater:
    case Terrain.DeepWater:
    case Terrain.Lava: {
      const wave = [[0.15, 0.6], [0.38, 0.45], [0.62, 0.6], [0.85, 0.45]];
      return line(ctx, wave, thin, css(LIGHT, at === Terrain.DeepWater ? 0.16 : 0.42));
    }
    case Terrain.Chasm:
      ctx.lineCap = "butt";
      line(ctx, [[0, 0.5], [0.5, 0]], thin, css(palette.terrain(at), 0.8));
      return line(ctx, [[0.5, 1], [1, 0.5]], thin, css(palette.terrain(at), 0.8));
    case Terrain.Grass:
      for (const [x, lean] of [[0.3, -0.1], [0.5, 0.05], [0.7, 0.14]]) {
        line(ctx, [[x, 0.8], [x + lean, 0.35]], thin, ink(0.35));
      }
      return;
    case Terrain.Rubble:
      for (const [x, y, radius] of [[0.3, 0.62, 0.14], [0.62, 0.7, 0.1], [0.6, 0.36, 0.16]]) {
        disc(ctx, x, y, radius, ink(palette.name === "dark" ? 0.42 : 0.3));
      }
      return;
    case Terrain.Bridge:
      ctx.lineCap = "butt";
      for (const y of [0.25, 0.5, 0.75]) line(ctx, [[0, y], [1, y]], thin, ink(0.4));
      return;
    case Terrain.Pillar:
      disc(ctx, 0.56, 0.58, 0.4, ink(0.5));
      disc(ctx, 0.48, 0.48, 0.37, css(palette.terrain(at)));
      return disc(ctx, 0.42, 0.42, 0.18, css(LIGHT, 0.35));
  }
};

const wall: Paint = (ctx, palette) => {
  ctx.fillStyle = css(palette.terrain(Terrain.Wall));
  ctx.fillRect(0, 0.5, 1, 0.5);
  ctx.fillStyle = css(LIGHT, 0.18);
  ctx.fillRect(0, 0.5, 1, 0.1);
};

const secretDoor: Paint = (ctx, palette) => {
  ctx.fillStyle = css(palette.terrain(Terrain.SecretDoor), 0.7);
  ctx.beginPath();
  ctx.roundRect(0.18, 0.18, 0.64, 0.64, 0.12);
  ctx.fill();
};

const door = (across: boolean, lock: number | undefined, open = false): Paint => (ctx, palette) => {
  const swap = ([x, y, width, height]: number[]): [number, number, number, number] =>
    across ? [x, y, width, height] : [y, x, height, width];
  ctx.fillStyle = css(palette.ink, 0.85);
  ctx.fillRect(...swap([0, 0.24, 1, 0.52]));
  ctx.fillStyle = css(lock === undefined ? palette.terrain(Terrain.Door) : lockColour(lock));
  if (open) ctx.fillRect(...swap([0.08, 0.32, 0.2, 0.36]));
  else ctx.fillRect(...swap([0.08, 0.32, 0.84, 0.36]));
  if (lock !== undefined && !open) disc(ctx, 0.5, 0.5, 0.16, css(palette.ink));
};

const stairs = (at: Terrain): Paint => (ctx, palette) => {
  disc(ctx, 0.5, 0.5, 1.05, css(palette.terrain(at), palette.name === "dark" ? 0.25 : 0.4));
  ctx.fillStyle = css(palette.ink, 0.92);
  ctx.beginPath();
  ctx.roundRect(0, 0, 1, 1, 0.12);
  ctx.fill();
  const [tip, base] = at === Terrain.StairsUp ? [0.16, 0.8] : [0.84, 0.2];
  polygon(ctx, [[0.5, tip], [0.88, base], [0.12, base]], css(palette.terrain(at)));
};

/** Smallest side at which letters are legible, in pixels. */
const MIN_LETTER_SIDE = 10;

/** Writes a letter in the middle. In pixels: browsers round sizes of letters below one. */
function letter(ctx: Context, text: string, colour: string, side: number): void {
  ctx.save();
  ctx.scale(1 / side, 1 / side);
  ctx.fillStyle = colour;
  ctx.font = `700 ${Math.round(0.66 * side)}px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace`;
  ctx.textAlign = "center";
  const box = ctx.measureText(text);
  ctx.fillText(text, side / 2, side / 2 + (box.actualBoundingBoxAscent - box.actualBoundingBoxDescent) / 2);
  ctx.restore();
}

const monster = (of: string): Paint => (ctx, palette, side) => {
  disc(ctx, 0.5, 0.5, 0.52, css(palette.ink, 0.75));
  disc(ctx, 0.5, 0.5, 0.45, css(MONSTER));
  if (side >= MIN_LETTER_SIDE) letter(ctx, of, css(LIGHT), side);
};

const loot: Paint = (ctx, palette) => {
  const diamond = (reach: number): number[][] =>
    [[0.5, 0.5 - reach], [0.5 + reach, 0.5], [0.5, 0.5 + reach], [0.5 - reach, 0.5]];
  polygon(ctx, diamond(0.5), css(palette.ink, 0.8));
  polygon(ctx, diamond(0.36), css(LOOT));
  polygon(ctx, [[0.5, 0.14], [0.5, 0.5], [0.14, 0.5]], css(LIGHT, 0.45));
};

const key = (lock: number): Paint => (ctx, palette) => {
  for (const [width, colour] of [[0.36, palette.ink], [0.17, lockColour(lock)]] as const) {
    ctx.strokeStyle = css(colour);
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.arc(0.3, 0.5, 0.22, 0, 2 * Math.PI);
    ctx.stroke();
    line(ctx, [[0.52, 0.5], [0.95, 0.5]], width, css(colour));
    line(ctx, [[0.85, 0.5], [0.85, 0.76]], width, css(colour));
  }
};

const trap: Paint = (ctx, palette) => {
  polygon(ctx, [[0.5, 0], [1.05, 1], [-0.05, 1]], css(palette.ink, 0.7));
  polygon(ctx, [[0.5, 0.17], [0.88, 0.9], [0.12, 0.9]], css(TRAP));
  line(ctx, [[0.5, 0.45], [0.5, 0.66]], 0.13, css(palette.ink));
};

const player: Paint = (ctx, palette) => {
  disc(ctx, 0.5, 0.5, 0.58, css(palette.ink, 0.85));
  disc(ctx, 0.5, 0.5, 0.48, css(PLAYER));
  disc(ctx, 0.5, 0.38, 0.15, css(palette.ink));
  ctx.fillStyle = css(palette.ink);
  ctx.beginPath();
  ctx.arc(0.5, 0.76, 0.24, Math.PI, 0);
  ctx.fill();
};
