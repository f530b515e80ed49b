/** Why an answer is not the floor that was asked for. */

/** What is wrong with a floor or a grid. The classes are those of the test vectors. */
export type ErrorClass =
  /** The bytes do not decode. */
  | "protobuf"
  /** The content hash is not that of the bytes, or occurs more than once. */
  | "hash"
  /** A field that every floor has is missing. */
  | "missing"
  /** A grid of the floor does not decode; `cause` says why. */
  | "grid"
  /** A cell holds no terrain. */
  | "terrain"
  /** A point lies outside the floor. */
  | "outside"
  /** The floor is not the one that was asked for. */
  | "spec"
  /** A side of a grid is 0 or over 512, or is not that of the floor. */
  | "size"
  /** The palette is empty, too long, not ascending, or holds a value over 255. */
  | "palette"
  /** The encoding is unknown. */
  | "encoding"
  /** The bits do not fit the encoding. */
  | "bits"
  /** An index beyond the palette. */
  | "index"
  /** The data fill fewer or more cells than the grid has. */
  | "length"
  /** Bits after the last cell are set. */
  | "padding";

/** An answer is not the floor that was asked for. No retry helps. */
export class InvalidFloorError extends Error {
  override readonly name = "InvalidFloorError";

  constructor(
    readonly errorClass: ErrorClass,
    reason: string,
    options?: ErrorOptions,
  ) {
    super(reason, options);
  }
}
