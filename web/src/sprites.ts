// The drawings of a cell, in a square of side 1. Each is painted once for a size and copied from then on.

import SYMBOLS from "../../crates/floor-export/src/picture/symbols.json";
import { type Room, ROLES, Terrain } from "./floor";
import type { Context } from "./frame";
import { css, LIGHT, lockColour, mix, type Palette, PLAYER, type Rgb, TINT } from "./palette";

export type Paint = (ctx: Context, palette: Palette, side: number) => void;
/** Gives the drawing that a name stands for. */
export type Painter = (name: string) => Paint;

/** Space around the square, since some drawings reach over its edge. */
const PAD = 0.8;

const caches = new Map<Painter, Map<string, OffscreenCanvas>>();

/** Draws the sprite called `name` with the left top corner of its cell at (x, y). */
export const drawSprite = (ctx: Context, palette: Palette, name: string, x: number, y: number, side: number): void =>
  stamp(ctx, palette, name, painter, x, y, side);

/** Draws what `paint` gives for `name`, a copy of the first time. */
export function stamp(ctx: Context, palette: Palette, name: string, paint: Painter, x: number, y: number, at: number): void {
  const side = Math.max(1, Math.round(at));
  const key = `${name} ${side} ${palette.key}`;
  const cache = caches.get(paint) ?? new Map<string, OffscreenCanvas>();
  caches.set(paint, cache);
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
    paint(name)(own, palette, side);
    cache.set(key, sprite);
  }
  ctx.drawImage(sprite, x - pad, y - pad);
}

/** Draws a sprite on a piece of ground, for the legend. */
export function drawSample(ctx: Context, palette: Palette, name: string, side: number, paint = painter): void {
  ctx.fillStyle = css(ground(palette, name));
  ctx.fillRect(0, 0, side, side);
  stamp(ctx, palette, name, paint, 0, 0, side);
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
    return mix(palette.terrain(terrain), palette.ink, palette.name === "dark" ? 100 : 20);
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

export function painter(name: string): Paint {
  const [what, detail] = name.split(":");
  switch (what) {
    case "terrain": return terrain(Number(detail));
    case "wall": return wall;
    case "secret": return secretDoor;
    case "door": return door(detail !== "down", undefined);
    case "lock": return door(!name.endsWith(":down"), Number(detail));
    case "open-lock": return door(!name.endsWith(":down"), Number(detail), true);
    case "stairs": return stairs(detail === "up" ? Terrain.StairsUp : Terrain.StairsDown);
    case "monster": return monster(Number(detail), name.split(":")[2]);
    case "boss": return boss(Number(detail), name.split(":")[2]);
    case "group": return group(detail, name.split(":").slice(2));
    case "loot": return loot(detail);
    case "key": return key(Number(detail));
    case "number": return number(detail);
    case "tint": return symbol(`${ROLES[Number(detail)]} room`);
    case "player": return player;
    default: return symbol(name);
  }
}

export function disc(ctx: Context, x: number, y: number, radius: number, colour: string): void {
  ctx.fillStyle = colour;
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
  ctx.fill();
}

export function polygon(ctx: Context, points: number[][], colour: string): void {
  ctx.fillStyle = colour;
  ctx.beginPath();
  points.forEach(([x, y]) => ctx.lineTo(x, y));
  ctx.fill();
}

export function line(ctx: Context, points: number[][], width: number, colour: string): void {
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.beginPath();
  points.forEach(([x, y]) => ctx.lineTo(x, y));
  ctx.stroke();
}

/** Colour, opacity, width of the line, its least width in pixels, and path. A shape without a width is filled. */
type Shape = ["ink" | "letter" | "monster" | "trap" | "wood" | "stone" | "leaf" | "water" | "fire" | "light", number, number, number, string];

/** What the names of the symbols of furniture and of monsters begin with. The words that follow are those that a type's name may have. */
const FURNITURE = "furniture ";
const MONSTER = "monster ";
const LARGE = "large ";

/** The symbols of a sort by these words. */
const byWord = (sort: string): Map<string, string> => new Map(Object.keys(SYMBOLS).flatMap((name) => {
  const own = name.replace(LARGE, "");
  return own.startsWith(sort) ? own.slice(sort.length).split(" ").map((word) => [word, name] as const) : [];
}));
const FURNITURES = byWord(FURNITURE);
const MONSTERS = byWord(MONSTER);

/** The last word of a type's name that has a symbol. */
const lastKnown = (archetype: string, symbols: Map<string, string>): string | undefined =>
  archetype.split("_").reverse().find((word) => symbols.has(word) && word !== "blocks" && word !== "lies");

/** The symbol of a type of furniture: that of the last word of its name which has one, else a plain one. */
export function furnitureSymbol(archetype: string, blocks: boolean): string {
  const known = lastKnown(archetype, FURNITURES);
  return (known && FURNITURES.get(known)) ?? `${FURNITURE}${blocks ? "blocks" : "lies"}`;
}

/** The word that gives a monster its form, or the letter if its name has none. */
export const monsterForm = (archetype: string, letter: string): string => lastKnown(archetype, MONSTERS) ?? letter;

/** The symbol of that name, which floorctl draws alike. */
const symbol = (name: string): Paint => (ctx, palette, side) => {
  for (const [colour, opacity, width, least, path] of (SYMBOLS as unknown as Record<string, Shape[]>)[name] ?? []) {
    ctx.fillStyle = ctx.strokeStyle = css(palette[colour], opacity);
    ctx.lineWidth = Math.max(width, least / side);
    ctx[width ? "stroke" : "fill"](new Path2D(path));
  }
};

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
      line(ctx, [[0, 0.5], [0.5, 0]], thin, css(mix(palette.terrain(at), LIGHT, 70), 0.8));
      return line(ctx, [[0.5, 1], [1, 0.5]], thin, css(mix(palette.terrain(at), LIGHT, 70), 0.8));
    case Terrain.Grass: return symbol("grass")(ctx, palette, side);
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

const door = (across: boolean, lock: number | undefined, open = false): Paint => (ctx, palette, side) => {
  const swap = ([x, y, width, height]: number[]): [number, number, number, number] =>
    across ? [x, y, width, height] : [y, x, height, width];
  ctx.fillStyle = css(palette.ink, 0.85);
  ctx.fillRect(...swap([0, 0.24, 1, 0.52]));
  ctx.fillStyle = css(lock === undefined ? palette.terrain(Terrain.Door) : lockColour(lock));
  if (open) ctx.fillRect(...swap([0.08, 0.32, 0.2, 0.36]));
  else ctx.fillRect(...swap([0.08, 0.32, 0.84, 0.36]));
  if (lock !== undefined && !open) plate(ctx, palette, lock, side);
};

function square(ctx: Context, from: number, colour: string): void {
  ctx.fillStyle = colour;
  ctx.beginPath();
  ctx.roundRect(from, from, 1 - 2 * from, 1 - 2 * from, 0.14);
  ctx.fill();
}

/** The number of a lock, on a square in its colour; keys have theirs on a disc. */
export function plate(ctx: Context, palette: Palette, lock: number, side: number): void {
  if (side < MIN_LETTER_SIDE) return disc(ctx, 0.5, 0.5, 0.16, css(palette.ink));
  square(ctx, 0.02, css(palette.ink));
  square(ctx, 0.1, css(lockColour(lock)));
  letter(ctx, String(lock), css(palette.ink), side);
}

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
export const MIN_LETTER_SIDE = 10;

/** Writes a letter in the middle, or around (x, y). In pixels: browsers round sizes of letters below one. */
export function letter(ctx: Context, text: string, colour: string, side: number, size = 0.66, x = 0.5, y = 0.5): void {
  ctx.save();
  ctx.scale(1 / side, 1 / side);
  ctx.fillStyle = colour;
  ctx.font = `700 ${Math.round(size * side / Math.max(1, text.length * 0.75))}px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace`;
  ctx.textAlign = "center";
  const box = ctx.measureText(text);
  ctx.fillText(text, side * x, side * y + (box.actualBoundingBoxAscent - box.actualBoundingBoxDescent) / 2);
  ctx.restore();
}

const round = (x: number, y: number, radius: number, from = 0, to = 2): number[][] =>
  [...Array(25).keys()].map((at) => (from + ((to - from) * at) / 24) * Math.PI).map((angle) =>
    [x + radius * Math.cos(angle), y + radius * Math.sin(angle)]);
const scaled = (points: number[][]) => (reach: number): number[][] => points.map(([x, y]) => [0.5 + x * reach, 0.5 + y * reach]);

/** A monster's form tells what it does, in the order of `BEHAVIOURS`: a dome, a shield, an arrow, a disc. */
const BODIES = [
  scaled([...round(0, 0.2, 1.1, 1, 2), [1.1, 0.8], [-1.1, 0.8]]),
  scaled([[-0.9, -0.9], [0.9, -0.9], [0.9, 0.35], [0, 1.15], [-0.9, 0.35]]),
  scaled([[-1.1, -0.8], [0.3, -0.8], [1.3, 0], [0.3, 0.8], [-1.1, 0.8]]),
  scaled(round(0, 0, 1)),
];

/** How much larger than a cell large monsters and bosses are. */
const LARGER = 1.3;
const BOSS = 1.8;

/** A monster of a form, which is a word of `MONSTERS` or a letter. */
const monster = (behaviour: number, form = ""): Paint => (ctx, palette, side) => {
  const body = BODIES[behaviour] ?? BODIES[3];
  const name = MONSTERS.get(form);
  if (name?.startsWith(LARGE)) enlarge(ctx, LARGER);
  polygon(ctx, body(0.52), css(palette.ink, 0.85));
  polygon(ctx, body(0.43), css(palette.monster));
  if (side < MIN_LETTER_SIDE) return;
  if (!name) return letter(ctx, form, css(palette.letter), side, 0.62, behaviour === 2 ? 0.42 : 0.5);
  ctx.translate(behaviour === 2 ? 0.1 : 0.15, 0.15);
  ctx.scale(0.7, 0.7);
  symbol(name)(ctx, palette, side * 0.7);
};

/** Larger, with a ring around it. */
const boss = (behaviour: number, form: string): Paint => (ctx, palette, side) => {
  enlarge(ctx, BOSS / (MONSTERS.get(form)?.startsWith(LARGE) ? LARGER : 1));
  disc(ctx, 0.5, 0.5, 0.68, css(palette.ink));
  disc(ctx, 0.5, 0.5, 0.6, css(palette.loot));
  monster(behaviour, form)(ctx, palette, side * BOSS);
};

/** One of several that keep together, with their number. */
const group = (count: string, [behaviour, form]: string[]): Paint => (ctx, palette, side) => {
  ctx.save();
  monster(Number(behaviour), form)(ctx, palette, side);
  ctx.restore();
  if (side < MIN_LETTER_SIDE) return;
  disc(ctx, 0.95, 0.95, 0.36, css(palette.ink));
  disc(ctx, 0.95, 0.95, 0.3, css(palette.light));
  letter(ctx, count, css(palette.ink), side, 0.5, 0.95, 0.95);
};

/** Around the middle of the cell. */
function enlarge(ctx: Context, times: number): void {
  ctx.translate(0.5, 0.5);
  ctx.scale(times, times);
  ctx.translate(-0.5, -0.5);
}

const DIAMOND = [[0.5, 0.08], [0.92, 0.5], [0.5, 0.92], [0.08, 0.5]];
/** Forms of loot, each of parts, by what an archetype's name says. */
const FORMS: [RegExp, number[][][]][] = [
  [/gold|coin|silver/, [round(0.34, 0.64, 0.24), round(0.66, 0.64, 0.24), round(0.5, 0.36, 0.24)]],
  [/potion|elixir|flask|oil/, [[[0.4, 0.1], [0.6, 0.1], [0.6, 0.42], [0.86, 0.9], [0.14, 0.9], [0.4, 0.42]]]],
  [/scroll|map|book|page|tome/, [[[0.2, 0.14], [0.86, 0.14], [0.8, 0.86], [0.14, 0.86]]]],
  [/ring|amulet|blessing|crown/, [[...round(0.5, 0.5, 0.42), [0.92, 0.5], [0.7, 0.5], ...round(0.5, 0.5, 0.2).reverse()]]],
  [/blade|sword|axe|spear|bow|dagger|hammer/, [[[0.8, 0.08], [0.94, 0.22], [0.5, 0.66], [0.6, 0.76], [0.5, 0.86], [0.38, 0.74], [0.2, 0.94], [0.08, 0.82], [0.28, 0.64], [0.16, 0.52], [0.26, 0.42], [0.36, 0.52]]]],
  [/bread|meat|food|ration|fruit/, [[[0.1, 0.72], [0.1, 0.5], [0.24, 0.3], [0.5, 0.24], [0.76, 0.3], [0.9, 0.5], [0.9, 0.72]]]],
];

const loot = (archetype = ""): Paint => (ctx, palette) => {
  const parts = FORMS.find(([names]) => names.test(archetype))?.[1] ?? [DIAMOND];
  ctx.strokeStyle = css(palette.ink, 0.9);
  ctx.lineWidth = 0.2;
  for (const part of parts) {
    polygon(ctx, part, css(palette.loot));
    ctx.closePath();
    ctx.stroke();
    polygon(ctx, part, css(palette.loot));
  }
};

const key = (lock: number): Paint => (ctx, palette, side) => {
  for (const [width, colour] of [[0.32, palette.ink], [0.15, lockColour(lock)]] as const) {
    line(ctx, [[0.5, 0.42], [1.02, 0.42]], width, css(colour));
    line(ctx, [[0.94, 0.42], [0.94, 0.7]], width, css(colour));
  }
  disc(ctx, 0.36, 0.5, 0.48, css(palette.ink));
  disc(ctx, 0.36, 0.5, 0.4, css(lockColour(lock)));
  if (side >= MIN_LETTER_SIDE) letter(ctx, String(lock), css(palette.ink), side, 0.62, 0.36);
  else disc(ctx, 0.36, 0.5, 0.14, css(palette.ink));
};

/** The number of a lock, on what belongs to it. */
const number = (lock: string): Paint => (ctx, palette, side) => {
  disc(ctx, 0.5, 0.5, 0.42, css(LIGHT, 0.75));
  letter(ctx, lock, css(palette.ink), side, 0.6);
};

/** Of five cells in a row one shows the form. */
export const isRoleShown = (x: number, y: number): boolean => (x + 2 * y) % 5 === 0;

const player: Paint = (ctx, palette) => {
  disc(ctx, 0.5, 0.5, 0.58, css(palette.ink, 0.85));
  disc(ctx, 0.5, 0.5, 0.48, css(PLAYER));
  disc(ctx, 0.5, 0.38, 0.15, css(palette.ink));
  ctx.fillStyle = css(palette.ink);
  ctx.beginPath();
  ctx.arc(0.5, 0.76, 0.24, Math.PI, 0);
  ctx.fill();
};
