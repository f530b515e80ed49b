/** Tests against the server that FLOOR_SERVER names. FLOOR_SERVER_CONNECT=1 adds the Connect protocol. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";

import { GetFloorRequestSchema, type FloorSpec } from "../src/gen/floors/v1/floors_pb.js";
import { connect as connectBrowser, decodeFloor, encodedFloor, v1, violations } from "../src/index.js";
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
