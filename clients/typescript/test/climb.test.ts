import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";

import { type ClimbFloor, ClimbFloorSchema, ClimbSchema, FloorSchema, FloorService, type Receipt, ReceiptSchema, type StartClimbRequest, type SubmitFloorRequest } from "../src/gen/floors/v1/floors_pb.js";
import { FloorClient, InvalidFloorError, InvalidReceiptError, receiptFromJson, receiptToJson, verifyReceipt } from "../src/index.js";

const bytes = (hexadecimal: string) => new Uint8Array(Buffer.from(hexadecimal, "hex"));
/** Signed by crates/floor-climb with the private key of 32 bytes 7. */
const signed = create(ReceiptSchema, {
  climb: bytes(
    "0a1b323032362d31312d32392d30306330666665653030633066666565100318642064300538014a0341646152110811101418032001280c300238" +
      "09409b035880d8bdf3ac3360c0a7e2f3ac336a20054edec1d0211f624fed0cbca9d4f9400b0e491c43742af2c5b0abebf0c990d8",
  ),
  signature: bytes(
    "981a402f1087acb3a1c0912d40c238fdce89e0ab59e32b3de81af9b094a93f5914563f9181262a9f9531580af689472c466a93a93aab694a21838d" +
      "2251454d04",
  ),
  key: 1,
});
const publicKey = bytes("ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c");
const floor = fromBinary(FloorSchema, readFileSync(fileURLToPath(new URL("../../../../proto/vectors/floors/tower_zero.bin", import.meta.url))));

test("a receipt says what its signer wrote", async () => {
  const climb = await verifyReceipt(signed, publicKey);
  assert.deepEqual([climb.tower, climb.floor, climb.player, climb.hero?.turns], ["2026-11-29-00c0ffee00c0ffee", 3, "Ada", 411]);
  assert.equal(climb.reachedMs - climb.startedMs, 600_000n);
});

test("an altered receipt proves nothing", async () => {
  const altered = (all: Uint8Array) =>
    Array.from(all, (byte, at) => [1, 0x80, 0xff].map((bits) => all.with(at, byte ^ bits))).flat();
  const shorter = (all: Uint8Array) => [all.slice(1), all.slice(0, -1), new Uint8Array()];
  const wrong: Receipt[] = [
    ...[...altered(signed.climb), ...shorter(signed.climb)].map((climb) => ({ ...signed, climb })),
    ...[...altered(signed.signature), ...shorter(signed.signature)].map((signature) => ({ ...signed, signature })),
  ];
  assert.equal(wrong.length, 3 * (signed.climb.length + 64) + 6);
  for (const receipt of wrong) await assert.rejects(verifyReceipt(receipt, publicKey), InvalidReceiptError);
  const other = new Uint8Array(32).fill(9);
  await assert.rejects(verifyReceipt(signed, other), (error) => error instanceof InvalidReceiptError || error instanceof DOMException);
  await assert.rejects(verifyReceipt(signed, publicKey.slice(1)), /^TypeError: a public key has 32 bytes, and this one 31$/);
});

test("a receipt is kept as JSON", async () => {
  const json = JSON.parse(JSON.stringify(receiptToJson(signed)));
  assert.deepEqual(json, { climb: Buffer.from(signed.climb).toString("base64"), signature: Buffer.from(signed.signature).toString("base64"), key: 1 });
  await verifyReceipt(receiptFromJson(json), publicKey);
  for (const wrong of [null, [], { climb: 7 }, { climb: "?" }, { clim: "" }]) assert.throws(() => receiptFromJson(wrong), InvalidReceiptError);
});

/** A client of a server that answers with these floors, after a first refusal of each call. */
function serve(answer: Partial<ClimbFloor>) {
  const seen: (StartClimbRequest | SubmitFloorRequest)[] = [];
  const reply = (request: StartClimbRequest | SubmitFloorRequest) => {
    seen.push(request);
    if (seen.length % 2 === 1) throw new ConnectError("draining", Code.Unavailable);
    return create(ClimbFloorSchema, { rolls: new Uint8Array(16), ...answer });
  };
  const transport = createRouterTransport(({ service }) => service(FloorService, { startClimb: reply, submitFloor: reply }));
  return { client: new FloorClient(transport), seen };
}

/** An unsigned receipt: the client believes its server. */
function receiptOf(floor: number, changed: { tower?: string; width?: number; pack?: string } = {}) {
  const climb = create(ClimbSchema, { tower: "daily", floor, width: 16, height: 16, ...changed });
  return create(ReceiptSchema, { climb: toBinary(ClimbSchema, climb) });
}

test("a climb gets its floors, and repeats a call that is refused for now", async () => {
  const { client, seen } = serve({ floor, receipt: receiptOf(1) });
  const start = await client.startClimb("daily", { player: "Ada", width: 16 });
  assert.equal(start.floor?.passable(start.floor.exit.x, start.floor.exit.y), true);
  assert.deepEqual([start.climb.floor, start.rolls.length], [1, 16]);
  await client.submitFloor(receiptOf(0), new Uint8Array([0, 1]));
  const [, started, , submitted] = seen as [unknown, StartClimbRequest, unknown, SubmitFloorRequest];
  assert.deepEqual([started.tower, started.player, started.width, started.height], ["daily", "Ada", 16, 0]);
  assert.deepEqual([submitted.receipt, [...submitted.acts]], [receiptOf(0), [0, 1]]);
  await assert.rejects(client.startClimb(7 as never), /^TypeError: tower is 7: write a text$/);
  await assert.rejects(client.startClimb("daily", { width: -1 }), /^TypeError: width is -1/);
});

test("a floor that is not of its receipt is refused", async () => {
  const wrong: [Partial<ClimbFloor>, string][] = [
    [{ floor }, "missing"],
    [{ receipt: receiptOf(1) }, "missing"],
    [{ floor, receipt: receiptOf(2) }, "spec"],
    [{ floor, receipt: receiptOf(1, { tower: "weekly" }) }, "spec"],
    [{ floor, receipt: receiptOf(1, { width: 17 }) }, "spec"],
    [{ floor, receipt: receiptOf(1, { pack: "mine@00000000000000ff" }) }, "spec"],
    [{ floor, receipt: receiptOf(1), rolls: new Uint8Array(8) }, "protobuf"],
    [{ floor: { ...floor, contentHash: 1n }, receipt: receiptOf(1) }, "hash"],
  ];
  for (const [answer, errorClass] of wrong) {
    await assert.rejects(serve(answer).client.startClimb("daily"), (error) => error instanceof InvalidFloorError && error.errorClass === errorClass);
  }
  await assert.rejects(serve({ floor, receipt: create(ReceiptSchema, { climb: new Uint8Array([1]) }) }).client.startClimb("daily"), InvalidReceiptError);
  assert.equal((await serve({ receipt: receiptOf(1_000_001) }).client.submitFloor(receiptOf(1_000_000), new Uint8Array())).floor, undefined);
});
