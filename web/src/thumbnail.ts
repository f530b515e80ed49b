// A small picture of a floor: a square of one colour for each cell. The pack's worker paints it, without a canvas.

import { Terrain } from "./floor";
import { lockColour, type Palette, type Rgb } from "./palette";
import { indexOf } from "./paths";
import type { Scene } from "./scene";
import { stoneOf } from "./sprites";

export interface Pixels { width: number; height: number; data: Uint8ClampedArray<ArrayBuffer> }

/** Cells from the stairs to the edge of their mark. */
const MARK = 1;

/** The picture of a floor with `side` pixels a cell. */
export function paint(scene: Scene, palette: Palette, side: number): Pixels {
  const { floor } = scene;
  const { width, height } = floor;
  const cells = new Uint32Array(width * height);
  const stones = new Map<number, number>();
  for (let y = 0, index = 0; y < height; y++) {
    for (let x = 0; x < width; x++, index++) {
      const terrain = floor.terrain[index];
      if (terrain === Terrain.Wall) {
        const front = !scene.isWall(x, y + 1);
        cells[index] = packed(scene.isRock(x, y) ? palette.rock : front ? palette.terrain(Terrain.Wall) : palette.wallTop);
        continue;
      }
      const room = floor.rooms[floor.region[index] - 1];
      const key = terrain * 64 + (room?.role ?? 63);
      let colour = stones.get(key);
      if (colour === undefined) stones.set(key, (colour = packed(ground(palette, terrain, room))));
      cells[index] = colour;
    }
  }
  for (const [index, { layer, number }] of scene.things) cells[index] = packed(thing(palette, layer, number));
  for (const [index, lock] of scene.locks) cells[index] = packed(lockColour(lock));
  mark(cells, width, indexOf(floor, floor.entry), packed(palette.terrain(Terrain.StairsUp)));
  mark(cells, width, indexOf(floor, floor.exit), packed(palette.terrain(Terrain.StairsDown)));
  return enlarge(cells, width, height, side);
}

function ground(palette: Palette, terrain: number, room: Parameters<typeof stoneOf>[2]): Rgb {
  const own = terrain === Terrain.Door || terrain === Terrain.SecretDoor || terrain === Terrain.Pillar;
  return own ? palette.terrain(terrain) : stoneOf(palette, terrain, room, true);
}

function thing({ monster, loot, trap }: Palette, layer: string, number: number): Rgb {
  if (layer === "locks") return lockColour(number);
  return layer === "monsters" ? monster : layer === "loot" ? loot : trap;
}

/** A colour as ImageData has it, on machines that store the lowest byte first, as all do that browsers run on. */
const packed = ([r, g, b]: Rgb): number => (255 << 24) | (b << 16) | (g << 8) | r;

function mark(cells: Uint32Array, width: number, at: number, colour: number): void {
  // The border is wall, so that a mark lies on the floor.
  for (let dy = -MARK; dy <= MARK; dy++) cells.fill(colour, at + dy * width - MARK, at + dy * width + MARK + 1);
}

function enlarge(cells: Uint32Array, width: number, height: number, side: number): Pixels {
  const row = width * side;
  const pixels = new Uint32Array(row * height * side);
  for (let y = 0, index = 0; y < height; y++) {
    const start = y * side * row;
    for (let x = 0; x < width; x++, index++) pixels.fill(cells[index], start + x * side, start + (x + 1) * side);
    for (let copy = 1; copy < side; copy++) pixels.copyWithin(start + copy * row, start, start + row);
  }
  return { width: row, height: height * side, data: new Uint8ClampedArray(pixels.buffer) };
}
