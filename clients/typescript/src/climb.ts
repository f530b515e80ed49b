/** Verified climbs of sealed towers (docs/daily-towers.md). */
import { type JsonValue, create, fromBinary, fromJson, toJson } from "@bufbuild/protobuf";

import { Floor } from "./floor.js";
import {
  type Climb,
  type ClimbFloor as ClimbFloorMessage,
  ClimbSchema,
  FloorSpecSchema,
  type Receipt,
  ReceiptSchema,
  type StartClimbRequest,
  StartClimbRequestSchema,
} from "./gen/floors/v1/floors_pb.js";
import { InvalidFloorError } from "./invalid.js";
import type { Served } from "./served.js";
import { shown } from "./shown.js";
import { asUint32 } from "./spec.js";

/** Signatures are over this and the climb. */
const CONTEXT = new TextEncoder().encode("floors.v1.Receipt");
const PUBLIC_KEY_BYTES = 32;
const ROLLS_BYTES = 16;
const MAX_FLOOR = 1_000_000;

/** What a climb is of. What is left out is resolved by the server. */
export interface ClimbInit {
  /** Of every floor, in cells. */
  width?: number;
  height?: number;
  /** NAME, or NAME@HASH for one version. */
  pack?: string;
  /** Who climbs, as the receipts will say: at most 64 bytes. The server does not check it. */
  player?: string;
}

/** A floor that a climb reveals, and how the server answered. */
export interface ClimbFloor {
  /** To submit with the acts on this floor, and to show to others. Its signature is not checked. */
  receipt: Receipt;
  /** What the receipt says. */
  climb: Climb;
  /** Complete, with seed 0. `undefined` above the last floor, 1,000,000. */
  floor: Floor | undefined;
  /** The seed of the rolls on it: 16 bytes, as a number the lowest first. */
  rolls: Uint8Array;
  served: Served;
}

/** A receipt proves nothing: it was altered, or another key signed it. */
export class InvalidReceiptError extends Error {
  override readonly name = "InvalidReceiptError";
}

/**
 * What a receipt says, if the owner of the key signed it. Neither the receipt's key id nor a clock is looked at.
 *
 * @param publicKey - That of the receipt's key id in `serverInfo().receiptKeys`: 32 bytes.
 * @throws InvalidReceiptError, TypeError for a key that is none, Error where WebCrypto has no Ed25519.
 */
export async function verifyReceipt(receipt: Receipt, publicKey: Uint8Array): Promise<Climb> {
  if (publicKey.length !== PUBLIC_KEY_BYTES) {
    throw new TypeError(`a public key has ${PUBLIC_KEY_BYTES} bytes, and this one ${publicKey.length}`);
  }
  const signed = new Uint8Array([...CONTEXT, ...receipt.climb]);
  const key = await importKey(new Uint8Array(publicKey));
  if (!(await crypto.subtle.verify("Ed25519", key, new Uint8Array(receipt.signature), signed))) {
    throw new InvalidReceiptError("the signature is not of this climb and this key");
  }
  return readClimb(receipt);
}

/** The proto3 JSON of a receipt, which `floorctl receipt verify` and boards read. */
export function receiptToJson(receipt: Receipt): JsonValue {
  return toJson(ReceiptSchema, receipt);
}

/** @throws InvalidReceiptError if it is no receipt. */
export function receiptFromJson(json: JsonValue): Receipt {
  try {
    return fromJson(ReceiptSchema, json);
  } catch (cause) {
    throw new InvalidReceiptError(`the JSON is no receipt: ${(cause as Error).message}`, { cause });
  }
}

/** @throws TypeError that names the field and what it may be. */
export function asClimb(tower: string, init: ClimbInit): StartClimbRequest {
  const { width = 0, height = 0, pack = "", player = "" } = init;
  for (const [name, value] of Object.entries({ tower, pack, player })) {
    if (typeof value !== "string") throw new TypeError(`${name} is ${shown(value)}: write a text`);
  }
  const sides = { width: asUint32("width", width), height: asUint32("height", height) };
  return create(StartClimbRequestSchema, { tower, ...sides, pack, player });
}

/**
 * Checks that the server answered with floor `number` of a tower and its receipt.
 *
 * @throws InvalidFloorError, InvalidReceiptError
 */
export async function checkClimbFloor(
  { receipt, floor, rolls }: ClimbFloorMessage,
  served: Served,
  tower: string,
  number: number,
): Promise<ClimbFloor> {
  if (!receipt) throw new InvalidFloorError("missing", "the answer has no receipt");
  const climb = readClimb(receipt);
  if (climb.tower !== tower || climb.floor !== number) {
    const asked = `floor ${number} of ${tower}`;
    throw new InvalidFloorError("spec", `the server sent floor ${climb.floor} of ${climb.tower} instead of ${asked}`);
  }
  if (!floor && number > MAX_FLOOR) return { receipt, climb, floor: undefined, rolls, served };
  if (!floor) throw new InvalidFloorError("missing", `the answer has no floor ${number}`);
  if (rolls.length !== ROLLS_BYTES) {
    throw new InvalidFloorError("protobuf", `its rolls have ${rolls.length} bytes instead of ${ROLLS_BYTES}`);
  }
  const { width, height } = climb;
  // Without a name it would be any pack.
  const spec = create(FloorSpecSchema, { number, width, height, pack: climb.pack || "tower" });
  return { receipt, climb, floor: await Floor.check(floor, spec), rolls, served };
}

/**
 * What a receipt says, without a look at its signature.
 *
 * @throws InvalidReceiptError
 */
export function readClimb({ climb }: Receipt): Climb {
  try {
    return fromBinary(ClimbSchema, climb);
  } catch (cause) {
    throw new InvalidReceiptError("the climb of the receipt is no message floors.v1.Climb", { cause });
  }
}

async function importKey(raw: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  if (!globalThis.crypto?.subtle) {
    throw new Error("there is no WebCrypto here: browsers have it on https and on localhost only");
  }
  try {
    return await crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]);
  } catch (cause) {
    const isUnknown = cause instanceof DOMException && cause.name === "NotSupportedError";
    throw isUnknown ? new Error("the WebCrypto here has no Ed25519: it needs a newer browser", { cause }) : cause;
  }
}
