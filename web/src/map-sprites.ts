// The drawings of a cell on a map, in ink, in a square of side 1.

import { Terrain } from "./floor";
import type { Context } from "./frame";
import { css, type Palette } from "./palette";
import { disc, letter, line, painter, type Paint, plate, polygon } from "./sprites";

type Place = [x: number, y: number, width: number, height: number];

export function mapPainter(name: string): Paint {
  const [what, detail, variant] = name.split(":");
  const across = !name.endsWith(":down");
  switch (what) {
    case "hatch": return hatch(Number(detail));
    case "door": return door(across);
    case "secret": return secret(across);
    case "lock": return door(across, Number(detail));
    case "open-lock": return openDoor(across);
    case "terrain": return terrain(Number(detail), Number(variant), across);
    default: return () => {};
  }
}

/** What is drawn large enough to be seen on small cells: the number of a lock, stairs. */
export function markPainter(name: string): Paint {
  const [what, detail] = name.split(":");
  if (what === "stairs") return stairs(detail === "up");
  if (what === "secret") return (ctx, palette, side) => letter(ctx, "S", css(palette.ink), side, 0.9);
  return what === "lock" ? (ctx, palette, side) => plate(ctx, palette, Number(detail), side) : () => {};
}

/** Samples for the legend: as on the map, and things as everywhere. */
export function samplePainter(name: string): Paint {
  const [what] = name.split(":");
  if (what === "wall") return hatch(3);
  if (what === "lock" || what === "secret") return (ctx, palette, side) => [mapPainter, markPainter].forEach((paint) => paint(name)(ctx, palette, side));
  if (what === "stairs") return markPainter(name);
  return what === "door" || what === "terrain" ? mapPainter(name) : painter(name);
}

/** Numbers from 0 to 1 that look random, the same for a seed each time. */
function* noise(seed: number): Generator<number, never> {
  for (let state = seed * 7919 + 17;;) {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5 | 0;
    yield ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  }
}

/** A clump of rock: paper that covers what lies below, and ink on it as the theme has it. */
const hatch = (variant: number): Paint => (ctx, palette, side) => {
  const next = noise(variant + 1);
  disc(ctx, 0.5, 0.5, 0.68, css(palette.rock));
  const ink = css(palette.ink, 0.8);
  const thin = Math.max(0.07, 0.8 / side);
  HATCHES[palette.look.hatch in HATCHES ? palette.look.hatch : "strokes"](ctx, () => next.next().value, ink, thin);
};

type Hatch = (ctx: Context, random: () => number, ink: string, thin: number) => void;

/** Parallel lines across the cell, at an angle, in radians. */
function parallels(ctx: Context, angle: number, count: number, ink: string, thin: number, random: () => number): void {
  const [ux, uy] = [Math.cos(angle), Math.sin(angle)];
  for (let at = 0; at < count; at++) {
    const off = (at + 0.5 - count / 2) * 0.27 + (random() - 0.5) * 0.08;
    const end = (direction: number): number[] => {
      const [reach, lean] = [direction * (0.38 + random() * 0.24), off + (random() - 0.5) * 0.1];
      return [0.5 + ux * reach - uy * lean, 0.5 + uy * reach + ux * lean];
    };
    line(ctx, [end(-1), end(1)], thin, ink);
  }
}

/** By the names that looks have for them. */
const HATCHES: Record<string, Hatch> = {
  plain: () => {},
  strokes: (ctx, random, ink, thin) => parallels(ctx, random() * Math.PI, thin > 0.09 || random() < 0.55 ? 3 : 4, ink, thin, random),
  dots: (ctx, random, ink, thin) => {
    for (let at = 0; at < (thin > 0.09 ? 2 : 4); at++) {
      ctx.strokeStyle = ink;
      ctx.lineWidth = thin;
      ctx.beginPath();
      ctx.ellipse(0.15 + random() * 0.7, 0.15 + random() * 0.7, 0.1 + random() * 0.12, 0.08 + random() * 0.08, random() * 3, 0, 2 * Math.PI);
      ctx.stroke();
    }
  },
  waves: (ctx, random, ink, thin) => {
    for (let at = 0; at < 4; at++) {
      const y = 0.1 + 0.27 * at + random() * 0.06;
      ctx.strokeStyle = ink;
      ctx.lineWidth = thin;
      ctx.beginPath();
      ctx.moveTo(-0.05, y);
      ctx.bezierCurveTo(0.3, y - 0.22, 0.7, y + 0.22, 1.05, y);
      ctx.stroke();
    }
  },
  bricks: (ctx, random, ink, thin) => {
    for (const y of [0, 1 / 3, 2 / 3, 1]) line(ctx, [[-0.08, y], [1.08, y]], thin, ink);
    for (const row of [0, 1, 2]) {
      const x = (row % 2 ? 0.15 : 0.55) + random() * 0.2;
      line(ctx, [[x, row / 3], [x, (row + 1) / 3]], thin, ink);
    }
  },
  shards: (ctx, random, ink, thin) => {
    for (let at = 0; at < 2; at++) {
      const [x, y] = [0.1 + random() * 0.8, 0.05 + at * 0.45 + random() * 0.2];
      const [reach, lean] = [0.35 + random() * 0.25, random() - 0.5];
      line(ctx, [[x - reach, y + lean * 0.4], [x + 0.1, y + 0.3], [x + reach, y - lean * 0.5]], thin, ink);
      line(ctx, [[x + 0.1, y + 0.3], [x + lean * 0.4, y - 0.15]], thin, ink);
    }
  },
  lines: (ctx, random, ink, thin) => {
    for (const y of [0.08, 0.36, 0.64, 0.92]) line(ctx, [[-0.1 + random() * 0.2, y], [0.9 + random() * 0.2, y]], thin, ink);
  },
};

const turned = ([x, y, width, height]: Place, across: boolean): Place => (across ? [x, y, width, height] : [y, x, height, width]);

function box(ctx: Context, palette: Palette, place: Place, fill: string, thin: number): void {
  ctx.fillStyle = fill;
  ctx.fillRect(...place);
  ctx.strokeStyle = css(palette.ink);
  ctx.lineWidth = thin;
  ctx.strokeRect(...place);
}

/** The wall on both sides, and the leaf between; with a lock, black, with its number. */
const door = (across: boolean, lock?: number): Paint => (ctx, palette, side) => {
  ctx.fillStyle = css(palette.ink);
  ctx.fillRect(...turned([-0.05, 0.38, 1.1, 0.24], across));
  box(ctx, palette, turned([0.1, 0.24, 0.8, 0.52], across), lock ? css(palette.ink) : "#fff", Math.max(0.09, 1 / side));
};

const openDoor = (across: boolean): Paint => (ctx, palette, side) => {
  box(ctx, palette, turned([0.02, 0.3, 0.22, 0.4], across), "#fff", Math.max(0.09, 1 / side));
};

/** A gap in the wall, for the S. */
const secret = (across: boolean): Paint => (ctx, palette) => {
  ctx.fillStyle = css(palette.terrain(Terrain.Floor));
  ctx.fillRect(...turned([0.12, -0.08, 0.76, 1.16], across));
};

/** Steps that become narrow to where they lead, and an arrow head. */
const stairs = (isUp: boolean): Paint => (ctx, palette, side) => {
  box(ctx, palette, [-0.1, -0.1, 1.2, 1.2], "#fff", Math.max(0.1, 1.2 / side));
  const thin = Math.max(0.07, 0.8 / side);
  for (let step = 0; step < 4; step++) {
    const half = 0.48 - step * 0.1;
    const y = isUp ? 0.9 - step * 0.2 : 0.1 + step * 0.2;
    line(ctx, [[0.5 - half, y], [0.5 + half, y]], thin, css(palette.ink));
  }
  const tip = isUp ? -0.02 : 1.02;
  const base = isUp ? 0.34 : 0.66;
  polygon(ctx, [[0.5, tip], [0.78, base], [0.22, base]], css(palette.terrain(isUp ? Terrain.StairsUp : Terrain.StairsDown)));
  line(ctx, [[0.5, tip], [0.78, base], [0.22, base], [0.5, tip]], thin, css(palette.ink));
};

const terrain = (at: Terrain, variant: number, across: boolean): Paint => (ctx, palette, side) => {
  const thin = Math.max(0.06, 0.8 / side);
  const ink = css(palette.ink, 0.75);
  const next = noise(variant + 31);
  const random = (): number => next.next().value;
  switch (at) {
    case Terrain.Bridge: return bridge(ctx, palette, across, thin);
    case Terrain.Grass:
      for (let tuft = 0; tuft < (variant === 0 ? 0 : 2); tuft++) {
        const [x, y] = [0.2 + random() * 0.6, 0.4 + random() * 0.5];
        for (const lean of [-0.14, 0, 0.14]) line(ctx, [[x + lean * 0.4, y], [x + lean, y - 0.26]], thin, css(palette.terrain(at)));
      }
      return;
    case Terrain.Rubble:
      for (let stone = 0; stone < 4; stone++) {
        const [x, y, reach] = [0.15 + random() * 0.7, 0.15 + random() * 0.7, 0.08 + random() * 0.1];
        polygon(ctx, [[x - reach, y], [x, y - reach], [x + reach, y + reach * 0.4], [x, y + reach]], ink);
      }
      return;
    case Terrain.Pillar:
      disc(ctx, 0.5, 0.5, 0.42, css(palette.ink));
      return disc(ctx, 0.5, 0.5, Math.max(0.15, 0.42 - thin * 1.6), css(palette.terrain(at)));
  }
};

function bridge(ctx: Context, palette: Palette, across: boolean, thin: number): void {
  ctx.fillStyle = css(palette.terrain(Terrain.Bridge), 0.7);
  ctx.fillRect(0, 0, 1, 1);
  const ink = css(palette.ink, 0.8);
  const turnedLine = (points: number[][]): void => line(ctx, across ? points : points.map(([x, y]) => [y, x]), thin, ink);
  for (const x of [0.125, 0.375, 0.625, 0.875]) turnedLine([[x, 0], [x, 1]]);
  for (const y of [0.04, 0.96]) turnedLine([[0, y], [1, y]]);
}
