/** The names of floors, as callers write them. */
import { create } from "@bufbuild/protobuf";

import { type FloorKind, type FloorSpec, FloorSpecSchema } from "./gen/floors/v1/floors_pb.js";

const MAX_SEED = 2n ** 64n - 1n;
const MAX_UINT32 = 2 ** 32 - 1;
const FIELDS = ["seed", "number", "width", "height", "kind", "pack"];

/** The name of a floor, such as `{ seed: 42n, number: 7 }`. What is left out is resolved by the server. */
export interface SpecInit {
  /** The tower, any 64 bits. A number must be exact: `42n` and `42` are the same tower. */
  seed?: bigint | number;
  /** The floor, from 1. */
  number?: number;
  /** In cells. */
  width?: number;
  height?: number;
  kind?: FloorKind;
  /** NAME, or NAME@HASH for one version. */
  pack?: string;
}

/** @throws TypeError that names the field and what it may be. */
export function asSpec(spec: SpecInit): FloorSpec {
  if (typeof spec !== "object" || spec === null) throw new TypeError(`${shown(spec)} is no spec: write { seed: 42n, number: 7 }`);
  // A name that is spelt otherwise would leave its field at 0. Messages have names with a dollar sign besides.
  const unknown = Object.keys(spec).find((name) => !FIELDS.includes(name) && !name.startsWith("$"));
  if (unknown !== undefined) throw new TypeError(`${shown(unknown)} is no field of a spec: there are ${FIELDS.join(", ")}`);
  const { seed = 0n, number = 0, width = 0, height = 0, kind = 0, pack = "" } = spec;
  if (typeof pack !== "string") throw new TypeError(`pack is ${shown(pack)}: write NAME or NAME@HASH`);
  return create(FloorSpecSchema, {
    seed: asSeed(seed),
    number: asUint32("number", number),
    width: asUint32("width", width),
    height: asUint32("height", height),
    kind: asUint32("kind", kind),
    pack,
  });
}

/** @throws TypeError */
export function asUint32(name: string, value: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= MAX_UINT32) return value;
  throw new TypeError(`${name} is ${shown(value)}: write a whole number from 0 to ${MAX_UINT32}`);
}

function asSeed(value: bigint | number): bigint {
  const exact = typeof value === "bigint" || Number.isSafeInteger(value);
  const seed = exact ? BigInt(value) : -1n;
  if (seed >= 0n && seed <= MAX_SEED) return seed;
  throw new TypeError(`seed is ${shown(value)}: write a bigint such as 42n, from 0n to 2n ** 64n - 1n, or a number below 2 ** 53`);
}

/** A value in an error. */
export function shown(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  return typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
}
