// Draws a floor as a map: ink on paper, the rock hatched around what is known, as one-page dungeons have it.

import { KINDS, Terrain } from "./floor";
import { type Fog, knownTerrain } from "./fog";
import { type Context, eachCell, type Frame, grain } from "./frame";
import { placeLabels, placeLandmark } from "./labels";
import { mapPainter, markPainter } from "./map-sprites";
import { outline } from "./outline";
import { css, mix, PAPER, type Palette, type Rgb } from "./palette";
import { drawMark, drawPath, isSmall, spritesAt, turn } from "./picture";
import type { Layers, Scene } from "./scene";
import { painter, stamp } from "./sprites";

/** Smallest sides of a cell at which the hatching, and the grid, are drawn, in pixels. */
const MIN_HATCH = 5;
const MIN_GRID = 8;
/** Different drawings of hatched rock. */
const HATCHES = 32;

/** What is drawn of a floor, in units of cells. */
interface Shape {
  ground: Path2D;
  /** Each terrain that lies on the ground, with its outline. */
  patches: [Terrain, Path2D][];
  /** For each cell of rock how it is hatched: 0: not at all. */
  hatched: Uint8Array;
}

/** The last shape of a floor, or of what a walker knows of it. */
const shapes = new WeakMap<Scene | Fog, { key: string; shape: Shape }>();

function shapeOf(scene: Scene, layers: Layers, fog?: Fog): Shape {
  const key = `${layers.has("terrain")} ${fog?.revision}`;
  const last = shapes.get(fog ?? scene);
  if (last?.key === key) return last.shape;
  const shape = newShape(scene, layers, fog);
  shapes.set(fog ?? scene, { key, shape });
  return shape;
}

function newShape(scene: Scene, layers: Layers, fog?: Fog): Shape {
  const { floor } = scene;
  const { width, height } = floor;
  const known = floor.terrain.map((_, index) => knownTerrain(floor, index, fog));
  const isGround = (x: number, y: number): boolean => known[y * width + x] > Terrain.Wall && known[y * width + x] !== Terrain.SecretDoor;
  const has = (...terrain: Terrain[]) => (x: number, y: number): boolean => terrain.includes(known[y * width + x]);
  const wanted: [Terrain, ...Terrain[]][] = [[Terrain.ShallowWater, Terrain.DeepWater], [Terrain.DeepWater], [Terrain.Lava], [Terrain.Chasm]];
  const shown = wanted.filter((kinds) => (layers.has("terrain") || kinds.length === 1) && known.some((at) => kinds.includes(at)));
  const isDoor = has(Terrain.Door, Terrain.LockedDoor, Terrain.SecretDoor);
  const isSharp = (x: number, y: number): boolean => [[x, y], [x - 1, y], [x, y - 1], [x - 1, y - 1]].some(([cx, cy]) => isDoor(cx, cy));
  const isRound = KINDS[floor.spec.kind] === "cavern";
  return {
    ground: outline(width, height, isGround, isRound, isSharp),
    patches: shown.map((kinds) => [kinds[0], outline(width, height, has(...kinds), true, () => false)]),
    hatched: hatching(width, height, isGround),
  };
}

/** The rock beside the ground, and some of that behind it. */
function hatching(width: number, height: number, isGround: (x: number, y: number) => boolean): Uint8Array {
  const hatched = new Uint8Array(width * height);
  const mark = (reach: number, value: number, chance: (x: number, y: number) => boolean): void => {
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        if (!isGround(x, y)) continue;
        for (let dy = -reach; dy <= reach; dy++) {
          for (let dx = -reach; dx <= reach; dx++) {
            const [cx, cy] = [x + dx, y + dy];
            const isInside = cx >= 0 && cy >= 0 && cx < width && cy < height;
            if (isInside && !isGround(cx, cy) && chance(cx, cy)) hatched[cy * width + cx] ||= value;
          }
        }
      }
    }
  };
  mark(1, 1, () => true);
  mark(2, 2, (x, y) => grain(x, y) < 5);
  return hatched;
}

export function drawMap(ctx: Context, scene: Scene, frame: Frame, layers: Layers, palette: Palette, fog?: Fog): void {
  const shape = shapeOf(scene, layers, fog);
  ctx.fillStyle = css(palette.rock);
  ctx.fillRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  drawRock(ctx, scene, frame, palette, shape);
  inCells(ctx, frame, () => drawGround(ctx, shape, palette, frame.side, fog ? PAPER : palette.terrain(Terrain.Floor)));
  if (frame.side >= MIN_GRID) inCells(ctx, frame, () => drawGrid(ctx, scene, shape, palette, frame.side));
  drawFeatures(ctx, scene, frame, layers, palette, fog);
  inCells(ctx, frame, () => drawWalls(ctx, shape, palette, frame.side));
  if (layers.has("path") && !fog) drawPath(ctx, scene, frame, palette);
  drawThings(ctx, scene, frame, layers, palette, fog);
  drawNumbers(ctx, scene, frame, layers.has("names"), palette, fog);
  if (fog) dim(ctx, scene, frame, palette, fog);
}

/** Draws in units of cells. */
function inCells(ctx: Context, { left, top, side }: Frame, paint: () => void): void {
  ctx.save();
  ctx.translate(left, top);
  ctx.scale(side, side);
  ctx.lineJoin = ctx.lineCap = "round";
  paint();
  ctx.restore();
}

function drawWalls(ctx: Context, { ground }: Shape, palette: Palette, side: number): void {
  ctx.strokeStyle = css(palette.ink);
  ctx.lineWidth = Math.max(0.14, 1.2 / side);
  ctx.stroke(ground);
}

function drawRock(ctx: Context, { floor }: Scene, frame: Frame, palette: Palette, { hatched }: Shape): void {
  const { left, top, side } = frame;
  // Each floor has its own hatching, away from the middles of cells unless lines go on in the cells beside.
  const seed = parseInt(floor.hash.slice(-4), 16);
  const reach = palette.look.hatch === "bricks" ? 0 : 0.4 / 16;
  ctx.fillStyle = css(mix(palette.rock, palette.ink, 70));
  eachCell(ctx, frame, floor.width, floor.height, undefined, (x, y, index) => {
    if (!hatched[index]) return;
    if (side < MIN_HATCH) ctx.fillRect(left + x * side, top + y * side, side, side);
    else {
      const [right, down] = [grain(x + seed, y), grain(y, x + seed)];
      const at = (cell: number, from: number): number => (cell + (from - 7.5) * reach) * side;
      stamp(ctx, palette, `hatch:${(right + down * 5) % HATCHES}`, mapPainter, left + at(x, right), top + at(y, down), side);
    }
  });
}

/** Ground, water and what else lies on it, in units of cells. */
function drawGround(ctx: Context, { ground, patches }: Shape, palette: Palette, side: number, paper: Rgb): void {
  ctx.fillStyle = css(paper);
  ctx.fill(ground);
  ctx.save();
  ctx.clip(ground);
  for (const [terrain, path] of patches) drawPatch(ctx, terrain, path, palette, side, paper);
  // The shadow of the walls.
  ctx.translate(0.12, 0.16);
  ctx.strokeStyle = css(palette.ink, 0.14);
  ctx.lineWidth = 0.5;
  ctx.stroke(ground);
  ctx.restore();
}

/** A patch with lines that follow its shore. */
function drawPatch(ctx: Context, terrain: Terrain, path: Path2D, palette: Palette, side: number, paper: Rgb): void {
  const part: Partial<Record<Terrain, number>> = { [Terrain.ShallowWater]: 110, [Terrain.DeepWater]: 150, [Terrain.Lava]: 190, [Terrain.Chasm]: 200 };
  const own = palette.terrain(terrain);
  const colour = mix(paper, terrain === Terrain.Chasm ? mix(own, palette.ink, 150) : own, part[terrain] ?? 128);
  const fine = Math.max(0.05, 0.8 / side);
  ctx.save();
  ctx.fillStyle = css(colour);
  ctx.fill(path);
  ctx.clip(path);
  for (const [reach, opacity] of [[0.8, 0.22], [0.4, 0.4]] as const) {
    ctx.strokeStyle = css(mix(colour, palette.ink, opacity * 256));
    ctx.lineWidth = 2 * reach + fine;
    ctx.stroke(path);
    ctx.strokeStyle = css(colour);
    ctx.lineWidth = 2 * reach - fine;
    ctx.stroke(path);
  }
  ctx.restore();
  ctx.strokeStyle = css(palette.ink, 0.8);
  ctx.lineWidth = fine * 1.3;
  ctx.stroke(path);
}

function drawGrid(ctx: Context, { floor: { width, height } }: Scene, { ground }: Shape, palette: Palette, side: number): void {
  ctx.clip(ground);
  ctx.strokeStyle = css(palette.ink, 0.22);
  ctx.lineWidth = 1 / side;
  ctx.beginPath();
  for (let x = 0; x <= width; x++) {
    ctx.moveTo(x, 0);
    ctx.lineTo(x, height);
  }
  for (let y = 0; y <= height; y++) {
    ctx.moveTo(0, y);
    ctx.lineTo(width, y);
  }
  ctx.stroke();
}

/** Doors, and what is drawn on single cells. */
function drawFeatures(ctx: Context, scene: Scene, frame: Frame, layers: Layers, palette: Palette, fog?: Fog): void {
  const { floor } = scene;
  const { left, top, side } = frame;
  eachCell(ctx, frame, floor.width, floor.height, fog, (x, y, index) => {
    const terrain = knownTerrain(floor, index, fog);
    const piece = layers.has("terrain") && terrain > Terrain.Wall ? scene.pieces.get(index) : undefined;
    const name = piece?.blocks ? undefined : featureOf(scene, layers, x, y, terrain);
    if (name) stamp(ctx, palette, name, mapPainter, left + x * side, top + y * side, side);
    if (piece) stamp(ctx, palette, piece.sprite, painter, left + x * side, top + y * side, side);
  });
}

function featureOf(scene: Scene, layers: Layers, x: number, y: number, terrain: number): string | undefined {
  if (terrain === Terrain.SecretDoor) return `secret${turn(scene, x, y)}`;
  if (terrain === Terrain.Door || (terrain === Terrain.LockedDoor && !layers.has("locks"))) return `door${turn(scene, x, y)}`;
  const isShown = terrain === Terrain.Pillar || (terrain >= Terrain.Bridge && layers.has("terrain"));
  if (!isShown) return undefined;
  return `terrain:${terrain}:${terrain === Terrain.Bridge && isBridgeDown(scene, x, y) ? "down" : grain(x, y) % 4}`;
}

/** Locks, stairs, secret doors, and what lies or stands on the floor. */
function drawThings(ctx: Context, scene: Scene, frame: Frame, layers: Layers, palette: Palette, fog?: Fog): void {
  const { floor } = scene;
  const { left, top, side } = frame;
  const mark = (name: string, x: number, y: number): void =>
    drawMark(ctx, frame, palette, name, x, y, /^(stairs|lock|open-lock|secret)/.test(name) ? markPainter : painter);
  eachCell(ctx, frame, floor.width, floor.height, fog, (x, y, index) => {
    if (knownTerrain(floor, index, fog) === Terrain.SecretDoor) mark("secret", x, y);
    for (const name of spritesAt(scene, index, layers, turn(scene, x, y), isSmall(frame), fog)) {
      if (/^(lock|open-lock)/.test(name)) stamp(ctx, palette, name, mapPainter, left + x * side, top + y * side, side);
      mark(name, x, y);
    }
  });
}

/** Whether a bridge leads from north to south. */
function isBridgeDown(scene: Scene, x: number, y: number): boolean {
  const isOpen = (at: number): boolean => at === Terrain.Bridge || at === Terrain.Floor || at === Terrain.Door;
  const count = (dx: number, dy: number): number =>
    Number(isOpen(scene.terrainAt(x + dx, y + dy))) + Number(isOpen(scene.terrainAt(x - dx, y - dy)));
  return count(0, 1) > count(1, 0);
}

/** The numbers of the rooms, as in the key, and the name of that which the floor is remembered by. */
function drawNumbers(ctx: Context, scene: Scene, { left, top, side, ratio }: Frame, isNumbered: boolean, palette: Palette, fog?: Fog): void {
  const size = Math.max(11, Math.min(26, (side / ratio) * 1.15)) * ratio;
  ctx.font = `700 ${size}px Georgia, "DejaVu Serif", serif`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.lineJoin = "round";
  const measure = (text: string): number => (ctx.measureText(text).width + size * 0.4) / side;
  const landmark = scene.floor.rooms[scene.floor.landmark - 1];
  const height = (size * 1.1) / side;
  const labels = [
    ...(isNumbered ? placeLabels(scene, height, false, measure) : []),
    ...(landmark?.name && !isNumbered ? [placeLandmark(scene, landmark, height, measure)] : []),
  ];
  for (const { room, text, x, y } of labels) {
    if (fog && !fog.knows(room.center.y * scene.floor.width + room.center.x)) continue;
    ctx.strokeStyle = css(palette.terrain(Terrain.Floor), 0.9);
    ctx.lineWidth = size * 0.3;
    ctx.strokeText(text, left + x * side, top + y * side);
    ctx.fillStyle = css(palette.ink);
    ctx.fillText(text, left + x * side, top + y * side);
  }
}

/** Greys out what is out of sight. */
function dim(ctx: Context, { floor }: Scene, frame: Frame, palette: Palette, fog: Fog): void {
  const { left, top, side } = frame;
  ctx.fillStyle = css(palette.rock, 0.5);
  eachCell(ctx, frame, floor.width, floor.height, fog, (x, y, index) => {
    if (!fog.sees(index)) ctx.fillRect(left + x * side, top + y * side, side, side);
  });
}

/** A bar of as many squares as are about 100 pixels, in the corner. */
export function drawScale(ctx: Context, { side, ratio }: Frame, palette: Palette): void {
  const squares = [1, 2, 4, 10, 20, 40, 100, 200].find((count) => count * side >= 60 * ratio) ?? 200;
  const { height } = ctx.canvas;
  const unit = 11 * ratio;
  const [x, y, width] = [unit, height - unit * 1.6, squares * side];
  ctx.fillStyle = css(palette.terrain(Terrain.Floor), 0.9);
  ctx.fillRect(x - unit / 2, y - unit * 1.7, width + unit, unit * 2.8);
  ctx.strokeStyle = ctx.fillStyle = css(palette.ink);
  ctx.lineWidth = Math.max(1, unit / 10);
  ctx.strokeRect(x, y, width, unit / 2);
  ctx.fillRect(x, y, width / 2, unit / 2);
  ctx.font = `${Math.round(unit * 1.1)}px Georgia, "DejaVu Serif", serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.fillText(`${squares * 5} ft`, x, y - unit * 0.4);
}
