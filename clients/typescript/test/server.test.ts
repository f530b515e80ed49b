/** Tests against the server that FLOOR_SERVER names. FLOOR_SERVER_CONNECT=1 adds the Connect protocol. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";

import { GetFloorRequestSchema, type FloorSpec } from "../src/gen/floors/v1/floors_pb.js";
import { type Cell, type ClimbFloor, connect as connectBrowser, decodeFloor, encodedFloor, v1, verifyReceipt, violations } from "../src/index.js";
import { connect } from "../src/node.js";

const server = process.env.FLOOR_SERVER ?? "";
const skip = server ? false : "FLOOR_SERVER is not set";
const folder = fileURLToPath(new URL("../../../../proto/vectors/", import.meta.url));
const manifest: { generator_version: number; floors: { name: string; request: string; bytes: string }[] } = JSON.parse(
  readFileSync(`${folder}manifest.json`, "utf8"),
);

const web: ("grpc-web" | "connect")[] = process.env.FLOOR_SERVER_CONNECT ? ["grpc-web", "connect"] : ["grpc-web"];
const node: ("grpc" | "grpc-web" | "connect")[] = ["grpc", ...web];
const clients = !server
  ? []
  : [
      ...node.map((protocol) => ({ name: `Node, ${protocol}`, client: connect(server, { protocol }) })),
      ...web.map((protocol) => ({ name: `fetch, ${protocol}`, client: connectBrowser(server, { protocol }) })),
    ];

test("the server sends the vectors", { skip }, async (t) => {
  for (const { name, client } of clients) {
    const info = await client.serverInfo();
    if (info.generatorVersion !== manifest.generator_version) return t.skip("another generator version");
    const specs: FloorSpec[] = [];
    for (const vector of manifest.floors) {
      const spec = fromBinary(GetFloorRequestSchema, Buffer.from(vector.request, "hex")).spec as FloorSpec;
      specs.push(spec);
      const { floor, served } = await client.get(spec);
      const expected = await decodeFloor(new Uint8Array(readFileSync(folder + vector.bytes)));
      assert.deepEqual(encodedFloor(floor), encodedFloor(expected), `${name}: ${vector.name}`);
      assert.notEqual(served.by, "", name);
    }
    const { floors } = await client.batch(specs);
    assert.equal(floors.length, specs.length, name);
  }
});

test("the server refuses another generator version", { skip }, async () => {
  for (const { name, client } of clients) {
    const { generatorVersion } = await client.serverInfo();
    const { floor } = await client.get({ seed: 42n, number: 7 }, { generatorVersion });
    assert.equal(floor.message.generatorVersion, generatorVersion, name);
    const options = { generatorVersion: generatorVersion + 1 };
    const calls = [
      () => client.get({ seed: 42n, number: 7 }, options),
      () => client.batch([{ seed: 42n, number: 7 }], options),
      () => client.stream({ seed: 42n, number: 7 }, 2, options).next(),
    ];
    for (const call of calls) {
      const error = await call().then(() => undefined, (error: unknown) => error);
      assert.ok(error instanceof ConnectError, `${name}: ${String(error)}`);
      assert.equal(error.code, Code.FailedPrecondition, name);
      assert.match(error.message, new RegExp(`version ${generatorVersion + 1}, and this server generates version ${generatorVersion}`));
    }
  }
});

test("the server sends its packs", { skip }, async () => {
  for (const { name, client } of clients) {
    const packs = await client.packs();
    assert.ok(packs.some((info) => info.name === "tower"), name);
    for (const info of packs) {
      const pack = await client.pack(info.hash ? `${info.name}@${info.hash.toString(16).padStart(16, "0")}` : info.name);
      assert.deepEqual([pack.name, pack.hash], [info.name, info.hash], name);
      assert.ok(pack.file.length > 0, name);
    }
  }
});

test("caches may keep what a GET returns", { skip: skip || (process.env.FLOOR_SERVER_CONNECT ? false : "no Connect") }, async () => {
  const kept: (string | null)[] = [];
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const answer = await globalThis.fetch(url, init);
    kept.push(`${init?.method} ${answer.headers.get("cache-control")}`);
    return answer;
  };
  const client = connectBrowser(server, { protocol: "connect", get: true, fetch });
  const { generatorVersion } = await client.serverInfo();
  const { floor } = await client.get({ seed: 42, number: 7 }, { generatorVersion });
  assert.equal(floor.spec.number, 7);
  await client.get({ seed: 42, number: 7 });
  const pack = (await client.packs()).find(({ hash }) => hash !== 0n);
  if (pack) await client.get({ number: 7, pack: `${pack.name}@${pack.hash.toString(16).padStart(16, "0")}` }, { generatorVersion });
  const other = client.get({ seed: 42, number: 7 }, { generatorVersion: generatorVersion + 1 });
  await assert.rejects(other, { code: Code.FailedPrecondition });
  const year = "GET public, immutable, max-age=31536000";
  assert.deepEqual(kept, ["GET no-store", year, "GET public, max-age=60", "GET no-store", ...(pack ? [year] : []), "GET no-store"]);
});

test("the server searches", { skip }, async () => {
  for (const { client } of clients) {
    const found = [];
    for await (const { spec, name } of client.search({ seed: 42n, number: 1, width: 48, height: 48 }, 100, "kind == cavern")) {
      assert.ok(spec.kind === v1.FloorKind.CAVERN && name !== "");
      found.push(spec.number);
    }
    assert.ok(found.length > 3, `${found}`);
    await assert.rejects(client.search({ number: 1 }, 9, "bogus > 1").next(), (error) => violations(error)[0]?.field === "condition");
  }
});

test("the server streams", { skip }, async () => {
  for (const { name, client } of clients) {
    let number = 10;
    for await (const floor of client.stream({ seed: 42n, number }, 50)) {
      assert.equal(floor.spec.number, number++, name);
      assert.equal(floor.terrainAt(floor.exit.x, floor.exit.y), v1.Terrain.STAIRS_DOWN, name);
      assert.ok(floor.passable(floor.exit.x, floor.exit.y), name);
    }
    assert.equal(number, 60, name);
  }
});

test("the server begins a climb of the tower of the day, and refuses a climb that was not", { skip }, async () => {
  for (const { name, client } of clients) {
    const { tower, width, height } = await client.getDaily();
    const { floor, receipt, rolls } = await client.startClimb(tower, { player: "Ada" });
    assert.deepEqual([floor?.width, floor?.height, floor?.spec.seed, rolls.length], [width, height, 0n, 16], name);
    const { receiptKeys } = await client.serverInfo();
    const key = receiptKeys.find(({ id }) => id === receipt.key);
    assert.ok(key, name);
    const climb = await verifyReceipt(receipt, key.publicKey);
    assert.deepEqual([climb.tower, climb.floor, climb.player], [tower, 1, "Ada"], name);

    const refused = (receipt: v1.Receipt, acts: number[], field: string, text: RegExp) =>
      assert.rejects(client.submitFloor(receipt, new Uint8Array(acts)), (error) => {
        const [violation] = violations(error);
        assert.equal(violation?.field, field, `${name}: ${String(error)}`);
        return text.test(violation.description);
      });
    await refused(receipt, [], "acts", /not on the stairs/);
    await refused(receipt, [4, 200], "acts", /byte 1 of the log/);
    await refused({ ...receipt, climb: receipt.climb.with(3, 0x58) }, [], "receipt", /signature/);
    await refused({ ...receipt, key: 255 }, [], "receipt.key", /no key 255/);
    await assert.rejects(client.startClimb("My Tower"), (error) => violations(error)[0]?.field === "tower");
  }
});

test("the server verifies a climb", { skip }, async () => {
  for (const { name, client } of clients) {
    // In every fourth small tower the way to the stairs is free.
    for (let tower = 0; ; tower++) {
      assert.ok(tower < 100, name);
      const { floor, receipt } = await client.startClimb(`tower-${tower}`, { width: 16, height: 16 });
      const acts = floor && steps(floor.path(floor.entry, floor.exit) ?? []);
      const next = await client.submitFloor(receipt, acts ?? new Uint8Array()).catch((error: unknown) => error);
      if (violations(next)[0]?.field === "acts") continue;
      if (next instanceof Error) throw next;
      const { floor: second, climb } = next as ClimbFloor;
      assert.deepEqual([second?.spec.number, climb.floor, climb.hero?.turns], [2, 2, acts?.length], name);
      break;
    }
  }
});

/** The acts that walk over these cells. */
function steps(path: Cell[]): Uint8Array {
  const acts = path.slice(1).map(({ x, y }, i) => [-2, -1, 1, 2].indexOf(x - path[i]!.x + 2 * (y - path[i]!.y)));
  return new Uint8Array(acts);
}

test("the server names wrong fields", { skip }, async () => {
  for (const { name, client } of clients) {
    const error = await client.get({ width: 15 }).catch((error: unknown) => error);
    assert.deepEqual(violations(error).map(({ field }) => field), ["spec.number", "spec.width"], `${name}: ${String(error)}`);
  }
});

test("the server traces a call that skips the cache", { skip }, async () => {
  for (const { name, client } of clients) {
    const { served } = await client.get({ seed: 42n, number: 7 }, { noCache: true, trace: true });
    assert.equal(served.by, "generated", name);
    assert.ok(served.trace, name);
  }
});
