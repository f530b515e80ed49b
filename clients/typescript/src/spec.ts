/** The names of floors, as callers write them. */
import { type DescEnum, create } from "@bufbuild/protobuf";

import {
  type FloorKind,
  FloorKindSchema,
  type FloorSpec,
  FloorSpecSchema,
  type View,
  ViewSchema,
} from "./gen/floors/v1/floors_pb.js";
import { MAX_SEED, seed as seedOf } from "./seed.js";
import { shown } from "./shown.js";

const MAX_UINT32 = 2 ** 32 - 1;
const FIELDS = ["seed", "number", "width", "height", "kind", "pack", "view"];

/** The name of a floor, such as `{ seed: 42n, number: 7 }`. What is left out is resolved by the server. */
export interface SpecInit {
  /**
   * The tower, any 64 bits. A number must be exact: `42n` and `42` are the same tower. A text is read by `seed`: it may
   * be a word.
   */
  seed?: bigint | number | string;
  /** The floor, from 1. */
  number?: number;
  /** In cells. */
  width?: number;
  height?: number;
  /** A number, or a name such as `maze` or, as in JSON, `FLOOR_KIND_MAZE`. */
  kind?: FloorKind | Lowercase<keyof typeof FloorKind> | `FLOOR_KIND_${keyof typeof FloorKind}`;
  /** NAME, or NAME@HASH for one version. */
  pack?: string;
  /** What of the floor is sent: `player`, or `everything` unless given. */
  view?: View | "everything" | "player" | `VIEW_${keyof typeof View}`;
}

/** @throws TypeError that names the field and what it may be. */
export function asSpec(spec: SpecInit): FloorSpec {
  if (typeof spec !== "object" || spec === null) throw new TypeError(`${shown(spec)} is no spec: write { seed: 42n, number: 7 }`);
  // A name that is spelt otherwise would leave its field at 0. Messages have names with a dollar sign besides.
  const unknown = Object.keys(spec).find((name) => !FIELDS.includes(name) && !name.startsWith("$"));
  if (unknown !== undefined) throw new TypeError(`${shown(unknown)} is no field of a spec: there are ${FIELDS.join(", ")}`);
  const { seed = 0n, number = 0, width = 0, height = 0, kind = 0, pack = "", view = 0 } = spec;
  if (typeof pack !== "string") throw new TypeError(`pack is ${shown(pack)}: write NAME or NAME@HASH`);
  return create(FloorSpecSchema, {
    seed: asSeed(seed),
    number: asUint32("number", number),
    width: asUint32("width", width),
    height: asUint32("height", height),
    kind: asEnum("kind", FloorKindSchema, kind),
    pack,
    view: asEnum("view", ViewSchema, view, "everything"),
  });
}

/** @throws TypeError */
export function asUint32(name: string, value: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= MAX_UINT32) return value;
  throw new TypeError(`${name} is ${shown(value)}: write a whole number from 0 to ${MAX_UINT32}`);
}

/** @throws TypeError that lists the names. */
function asEnum(field: string, { values }: DescEnum, value: number | string, zero = "unspecified"): number {
  if (typeof value !== "string") return asUint32(field, value);
  const names = values.map(({ number, localName }) => (number === 0 ? zero : localName.toLowerCase()));
  const found = values.find(({ name }, i) => value === name || value === names[i]);
  if (found) return found.number;
  throw new TypeError(`${field} is ${shown(value)}: write a number, or ${names.join(", ")}`);
}

/** @throws TypeError */
export function asSeed(value: bigint | number | string): bigint {
  if (typeof value === "string") return seedOf(value);
  const exact = typeof value === "bigint" || Number.isSafeInteger(value);
  const seed = exact ? BigInt(value) : -1n;
  if (seed >= 0n && seed <= MAX_SEED) return seed;
  const right = "a bigint such as 42n, from 0n to 2n ** 64n - 1n, a number below 2 ** 53, or a text";
  throw new TypeError(`seed is ${shown(value)}: write ${right}`);
}
