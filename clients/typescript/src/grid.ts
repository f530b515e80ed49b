/** The grid codec. */
import { type Grid, GridEncoding } from "./gen/floors/v1/floors_pb.js";
import { type ErrorClass, InvalidFloorError } from "./invalid.js";

/** The greatest width and height of a grid, in cells. */
export const MAX_SIDE = 512;

/**
 * The values of the cells, row by row. Allocates at most `width * height` bytes.
 *
 * @throws InvalidFloorError if the data do not fill the grid, or fields contradict each other.
 */
export function decodeGrid(grid: Pick<Grid, "width" | "height" | "palette" | "encoding" | "bits" | "data">): Uint8Array {
  const { width, height, encoding, bits, data } = grid;
  const isSide = (side: number) => side >= 1 && side <= MAX_SIDE;
  if (!isSide(width) || !isSide(height)) {
    throw fail("size", `a grid of ${width}x${height} cells: each side must be 1 to ${MAX_SIDE}`);
  }
  const palette = paletteOf(grid.palette);
  if (encoding < GridEncoding.UNIFORM || encoding > GridEncoding.RLE) {
    throw fail("encoding", `grid encoding ${encoding} is unknown`);
  }
  const fits = encoding === GridEncoding.PACKED ? bits === 1 || bits === 2 || bits === 4 : bits === 0;
  if (!fits) throw fail("bits", `${bits} bits an index: a packed grid has 1, 2 or 4, any other 0`);
  const cells = new Uint8Array(width * height);
  switch (encoding) {
    case GridEncoding.UNIFORM:
      if (data.length !== 0) throw notFilled(cells);
      if (palette.length !== 1) throw fail("palette", `a palette of ${palette.length} entries in a uniform grid, which has 1`);
      return cells.fill(palette[0] as number);
    case GridEncoding.RAW8:
      return unpackRaw(data, palette, cells);
    case GridEncoding.PACKED:
      return unpackBits(data, palette, cells, bits);
    default:
      return unpackRuns(data, palette, cells);
  }
}

function paletteOf(values: readonly number[]): Uint8Array {
  const ascending = values.every((value, i) => value <= 255 && (i === 0 || value > (values[i - 1] as number)));
  if (values.length === 0 || values.length > 256 || !ascending) {
    const rule = "it must hold 1 to 256 values up to 255, ascending, each once";
    throw fail("palette", `a palette of ${values.length} entries: ${rule}`);
  }
  return Uint8Array.from(values);
}

function unpackRaw(data: Uint8Array, palette: Uint8Array, cells: Uint8Array): Uint8Array {
  if (data.length !== cells.length) throw notFilled(cells);
  for (let i = 0; i < cells.length; i++) cells[i] = lookUp(palette, data[i] as number);
  return cells;
}

function unpackBits(data: Uint8Array, palette: Uint8Array, cells: Uint8Array, bits: number): Uint8Array {
  if (data.length !== Math.ceil((cells.length * bits) / 8)) throw notFilled(cells);
  const perByte = 8 / bits;
  const mask = (1 << bits) - 1;
  for (let i = 0; i < cells.length; i++) {
    const byte = data[Math.floor(i / perByte)] as number;
    cells[i] = lookUp(palette, (byte >> ((i % perByte) * bits)) & mask);
  }
  const used = cells.length % perByte;
  if (used !== 0 && (data[data.length - 1] as number) >> (used * bits) !== 0) {
    throw fail("padding", "unused bits after the last cell are not zero");
  }
  return cells;
}

function unpackRuns(data: Uint8Array, palette: Uint8Array, cells: Uint8Array): Uint8Array {
  let filled = 0;
  let at = 0;
  while (at < data.length) {
    const value = lookUp(palette, data[at++] as number);
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = data[at++];
      // Three bytes hold 21 bits, and no run is longer than 512 * 512 cells.
      if (byte === undefined || shift > 14) throw notFilled(cells);
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    if (length >= cells.length - filled) throw notFilled(cells);
    cells.fill(value, filled, (filled += length + 1));
  }
  if (filled !== cells.length) throw notFilled(cells);
  return cells;
}

function lookUp(palette: Uint8Array, index: number): number {
  const value = palette[index];
  if (value === undefined) throw fail("index", `index ${index} in a palette of ${palette.length}`);
  return value;
}

function notFilled(cells: Uint8Array): InvalidFloorError {
  return fail("length", `the data do not fill exactly ${cells.length} cells`);
}

function fail(errorClass: ErrorClass, reason: string): InvalidFloorError {
  return new InvalidFloorError(errorClass, reason);
}
