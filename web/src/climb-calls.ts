// The calls of a climb, by Connect (https://connectrpc.com/docs/protocol), to the server that the page comes from.

import { Reader } from "./protobuf";

/** The longest wait for an answer, in milliseconds. */
const TIMEOUT = 30_000;

/** What a receipt says, as far as the page shows it. Times are in milliseconds. */
export interface ClimbState { tower: string; floor: number; turns: number; started: number; reached: number }
/** A `floors.v1.Receipt`. */
export interface Receipt { bytes: Uint8Array; climb: ClimbState; json: string }
/** A `floors.v1.ClimbFloor`: whole, and in parts. `floor` is empty above the last. */
export interface Revealed { message: Uint8Array; receipt: Receipt; floor: Uint8Array<ArrayBuffer> }

/** The name of the tower of the day. */
export async function getDaily(): Promise<string> {
  let tower = "";
  new Reader(await call("GetDaily")).fields({ 1: (r) => (tower = r.string()) });
  return tower;
}

export const startClimb = async (tower: string): Promise<Revealed> =>
  reveal(await call("StartClimb", [1, new TextEncoder().encode(tower)]));

/** Acts are one byte each. */
export const submitFloor = async (receipt: Receipt, acts: Uint8Array): Promise<Revealed> =>
  reveal(await call("SubmitFloor", [1, receipt.bytes], [2, acts]));

/** Reads a `floors.v1.ClimbFloor`. Throws if it is none. */
export function reveal(message: Uint8Array): Revealed {
  const revealed: Partial<Revealed> = {};
  new Reader(message).fields({
    1: (r) => (revealed.receipt = receipt(r.bytes())),
    2: (r) => (revealed.floor = r.bytes() as Uint8Array<ArrayBuffer>),
  });
  if (!revealed.receipt) throw new Error("the answer has no receipt");
  return { message, receipt: revealed.receipt, floor: revealed.floor ?? new Uint8Array() };
}

function receipt(bytes: Uint8Array): Receipt {
  let [climb, signature, key] = [new Uint8Array(), new Uint8Array(), 0];
  new Reader(bytes).fields({
    1: (r) => (climb = r.bytes() as Uint8Array<ArrayBuffer>),
    2: (r) => (signature = r.bytes() as Uint8Array<ArrayBuffer>),
    3: (r) => (key = r.uint()),
  });
  const json = JSON.stringify({ climb: base64(climb), signature: base64(signature), key }, null, 2);
  return { bytes, climb: stateOf(climb), json };
}

function stateOf(climb: Uint8Array): ClimbState {
  const state = { tower: "", floor: 0, turns: 0, started: 0, reached: 0 };
  new Reader(climb).fields({
    1: (r) => (state.tower = r.string()),
    2: (r) => (state.floor = r.uint()),
    10: (r) => r.message().fields({ 8: (hero) => (state.turns = hero.uint()) }),
    11: (r) => (state.started = r.uint()),
    12: (r) => (state.reached = r.uint()),
  });
  return state;
}

export const base64 = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));

/** The answer to a request with these fields: strings, bytes or messages. Throws what the server says instead. */
async function call(method: string, ...fields: [number, Uint8Array][]): Promise<Uint8Array> {
  const parts = fields.flatMap(([number, bytes]) =>
    [Uint8Array.from([number << 3 | 2, ...varint(bytes.length)]), bytes]);
  const request = {
    method: "POST", body: new Blob(parts as BlobPart[]), signal: AbortSignal.timeout(TIMEOUT),
    headers: { "content-type": "application/proto", "connect-protocol-version": "1" },
  };
  const response = await fetch(`floors.v1.FloorService/${method}`, request).catch(() => {
    throw new Error("the server cannot be reached");
  });
  if (response.ok && response.headers.get("content-type") === "application/proto") {
    return new Uint8Array(await response.arrayBuffer());
  }
  const error = await response.json().catch(() => ({})) as { message?: string };
  throw new Error(error.message ?? `no floor server answers here (status ${response.status})`);
}

/** A number in base 128, the lowest digit first. */
const varint = (number: number): number[] =>
  number < 128 ? [number] : [number % 128 | 128, ...varint(Math.floor(number / 128))];
