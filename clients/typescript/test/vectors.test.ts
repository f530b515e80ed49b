import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";

import { type DescMessage, create, fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import { AnySchema, type Any } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import { xxhash3 } from "hash-wasm";

import { Floor } from "../src/floor.js";
import * as v1 from "../src/gen/floors/v1/floors_pb.js";
import { type ErrorClass, InvalidFloorError, decodeFloor, decodeGrid, encodedFloor, retryAfterMs, seed, violations } from "../src/index.js";
import { asSpec } from "../src/spec.js";

// Compiled to build/test/.
const folder = fileURLToPath(new URL("../../../../proto/vectors/", import.meta.url));
const read = (path: string): Uint8Array => new Uint8Array(readFileSync(folder + path));
const json = (path: string) => JSON.parse(readFileSync(folder + path, "utf8"));
const unhex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "hex"));
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

interface Facts {
  encoding: string;
  bits: number;
  cells_xxh3: string;
}
type At = [x: number, y: number];
interface Ways {
  floor: string;
  keys: number[];
  from: At;
  to: At;
  reachable_xxh3: string;
  path: At[] | null;
  starts: At[];
}
interface Manifest {
  requests: { name: string; message: string; bytes: string; json: never }[];
  floors: { name: string; pack?: string; request: string; bytes: string; json?: string; content_hash: string; terrain: Facts; region: Facts }[];
  batches: { name: string; bytes: string; floors: string[] }[];
  grids: { name: string; bytes: string; cells?: string; cells_xxh3: string }[];
  malformed_grids: { name: string; bytes: string; error: ErrorClass }[];
  malformed_floors: { name: string; bytes: string; request?: string; error: ErrorClass }[];
  ways: Ways[];
  seeds: { text: string; seed: string | null }[];
  statuses: {
    name: string;
    bytes: string;
    code: number;
    message: string;
    violations: { field: string; description: string }[];
    retry_after_ms?: number;
  }[];
}
const manifest: Manifest = json("manifest.json");
const spec = (request: string) => fromBinary(v1.GetFloorRequestSchema, unhex(request)).spec as v1.FloorSpec;

test("requests encode", () => {
  for (const vector of manifest.requests) {
    const schema = v1[`${vector.message}Schema` as keyof typeof v1] as DescMessage;
    const message = fromJson(schema, vector.json);
    assert.equal(hex(toBinary(schema, message)), vector.bytes, vector.name);
    assert.deepEqual(toJson(schema, fromBinary(schema, unhex(vector.bytes))), vector.json, vector.name);
  }
});

test("floors decode", async () => {
  for (const vector of manifest.floors) {
    const encoded = read(vector.bytes);
    const floor = await decodeFloor(encoded);
    assert.equal(hex(encodedFloor(floor)), hex(encoded), vector.name);
    await Floor.check(floor.message, spec(vector.request));
    assert.equal(floor.message.contentHash.toString(16).padStart(16, "0"), vector.content_hash, vector.name);
    for (const name of ["terrain", "region"] as const) {
      const grid = floor.message[name] as v1.Grid;
      const facts: Facts = {
        encoding: `GRID_ENCODING_${v1.GridEncoding[grid.encoding]}`,
        bits: grid.bits,
        cells_xxh3: await xxhash3(floor[name]),
      };
      assert.deepEqual(facts, vector[name], `${vector.name}: ${name}`);
    }
    if (vector.pack) {
      assert.notEqual(floor.theme, "", vector.name);
      assert.equal(`${vector.pack}@${floor.packHash.toString(16).padStart(16, "0")}`, floor.spec.pack, vector.name);
    }
    if (vector.name === "pack_authored") {
      assert.deepEqual([floor.name, floor.landmark?.name?.text], ["The Sexton's Rest", "The Round Chapel"]);
      assert.match(floor.hook, /^The sexton dug/);
      assert.equal(floor.furniture.length, 6);
      assert.deepEqual(floor.furniture[0], { archetype: "grave", at: { x: 14, y: 16 } });
    }
    if (vector.json) {
      const decoded = json(vector.json);
      assert.deepEqual(toJson(v1.FloorSchema, floor.message), decoded.floor, vector.name);
      checkSurface(floor, decoded.floor, vector.name);
      assert.equal(Array.from(floor.terrain, (cell) => cell.toString(16)).join(""), decoded.terrain.join(""), vector.name);
      assert.equal(hex(floor.region), decoded.region.join(""), vector.name);
    }
  }
});

/** Compares what a game shows of a floor with the JSON. */
function checkSurface(floor: Floor, expected: any, vector: string): void {
  assert.deepEqual([floor.name, floor.hook], [expected.name?.text ?? "", expected.hook?.text ?? ""], vector);
  const landmark = expected.rooms[(expected.landmark ?? 0) - 1];
  assert.deepEqual([floor.landmark?.id, floor.landmark?.name?.text], [landmark && (landmark.id ?? 0), landmark?.name?.text], vector);
  const pieces = (expected.furniture ?? []).flatMap(({ cells }: { cells: number[] }) => cells).length;
  assert.equal(floor.furniture.length, pieces, vector);
  if (pieces === 0) return;
  const [{ archetype, cells }] = expected.furniture;
  const at = { x: cells[0] % floor.width, y: Math.floor(cells[0] / floor.width) };
  assert.deepEqual(floor.furniture[0], { archetype, at }, vector);
}

test("ways are those of every client", async () => {
  const cell = ([x, y]: At) => ({ x, y });
  for (const { floor: name, keys, from, to, reachable_xxh3, path, starts } of manifest.ways) {
    const vector = `${name}, ${from} to ${to} with keys ${keys}`;
    const floor = await decodeFloor(read(`floors/${name}.bin`));
    assert.equal(await xxhash3(floor.reachable(cell(from), keys)), reachable_xxh3, vector);
    assert.deepEqual(floor.path(cell(from), cell(to), keys), path?.map(cell), vector);
    assert.equal(floor.distance(cell(from), cell(to), new Set(keys)), path ? path.length - 1 : undefined, vector);
    assert.deepEqual(floor.starts(6), starts.map(cell), vector);
    const steps = path?.slice(1) ?? [];
    assert.ok(steps.every(([x, y]) => floor.passable(x, y, keys.values())), vector);
  }
});

test("no way leads outside a floor", async () => {
  const floor = await decodeFloor(read("floors/tower_zero.bin"));
  for (const outside of [{ x: -1, y: 0 }, { x: 16, y: 0 }, { x: 0.5, y: 1 }, { x: NaN, y: 1 }]) {
    assert.ok(floor.reachable(outside).every((reached) => reached === 0));
    assert.equal(floor.path(outside, floor.exit), undefined);
    assert.equal(floor.distance(floor.entry, outside), undefined);
    assert.equal(floor.passable(outside.x, outside.y, [1]), false);
  }
  assert.deepEqual(floor.starts(0), []);
  assert.throws(() => floor.starts(-1), { name: "TypeError", message: /count is -1/ });
});

test("a key opens the doors of its lock", async () => {
  const floor = await decodeFloor(read("floors/keep.bin"));
  for (const { id, at } of floor.message.locks) {
    const { x, y } = at as v1.Point;
    assert.deepEqual([[], [id], [id + 1], [id + 1, id]].map((keys) => floor.passable(x, y, keys)), [false, true, false, true]);
    assert.equal(floor.passable(x, y), false);
  }
});

test("seeds are those of every client", () => {
  for (const vector of manifest.seeds) {
    if (vector.seed !== null) assert.equal(seed(vector.text), BigInt(vector.seed), vector.text);
    else assert.throws(() => seed(vector.text), { name: "TypeError", message: /^seed is "/ }, vector.text);
  }
});

test("a floor has a short form and one in JSON", async () => {
  for (const vector of manifest.floors) {
    const floor = await decodeFloor(read(vector.bytes));
    const { number, seed } = floor.spec;
    const short = `<Floor ${number} of tower ${seed}, ${floor.width}x${floor.height}, hash ${vector.content_hash}>`;
    assert.deepEqual([inspect([floor], { breakLength: Infinity }), `${floor}`], [`[ ${short} ]`, short]);
    const decoded = JSON.parse(JSON.stringify(floor));
    assert.equal(decoded.contentHash, vector.content_hash, vector.name);
    assert.equal(decoded.packHash, floor.spec.pack.split("@")[1] ?? "0".repeat(16), vector.name);
    assert.deepEqual(decoded.entry, { x: floor.entry.x, y: floor.entry.y }, vector.name);
    assert.deepEqual(decoded.furniture, floor.furniture, vector.name);
    assert.deepEqual(asSpec(decoded.spec), asSpec(floor.spec), vector.name);
    assert.equal(decoded.terrain.join(""), hex(floor.terrain), vector.name);
    assert.equal(decoded.terrain.length, floor.height, vector.name);
    assert.equal(decoded.region.join(""), hex(floor.region), vector.name);
  }
});

test("batches hold their floors", () => {
  for (const vector of manifest.batches) {
    const batch = fromBinary(v1.BatchGetFloorsResponseSchema, read(vector.bytes));
    const floors = batch.floors.map((floor) => hex(toBinary(v1.FloorSchema, floor)));
    assert.deepEqual(floors, vector.floors.map((name) => hex(read(`floors/${name}.bin`))), vector.name);
  }
});

test("grids decode", async () => {
  for (const vector of manifest.grids) {
    const cells = decodeGrid(fromBinary(v1.GridSchema, unhex(vector.bytes)));
    assert.equal(await xxhash3(cells), vector.cells_xxh3, vector.name);
    if (vector.cells) assert.equal(hex(cells), vector.cells, vector.name);
  }
});

test("malformed grids are rejected", () => {
  for (const vector of manifest.malformed_grids) {
    const grid = fromBinary(v1.GridSchema, unhex(vector.bytes));
    assert.throws(() => decodeGrid(grid), (error) => isClass(error, vector.error), vector.name);
  }
});

test("malformed floors are rejected", async () => {
  for (const vector of manifest.malformed_floors) {
    const decode = async () => {
      const floor = await decodeFloor(read(vector.bytes));
      await Floor.check(floor.message, vector.request === undefined ? undefined : spec(vector.request));
    };
    await assert.rejects(decode, (error) => isClass(error, vector.error), vector.name);
  }
});

test("a damaged message is rejected", async () => {
  const { message } = await decodeFloor(read("floors/default.bin"));
  message.generatorVersion++;
  await assert.rejects(Floor.check(message), (error) => isClass(error, "hash"));
});

function isClass(error: unknown, expected: ErrorClass): boolean {
  assert.ok(error instanceof InvalidFloorError, String(error));
  assert.equal(error.errorClass, expected, error.message);
  return true;
}

test("statuses have their details", () => {
  for (const vector of manifest.statuses) {
    const { code, message, details } = parseStatus(unhex(vector.bytes));
    const error = new ConnectError(message, code);
    error.details = details.map((any) => ({ type: any.typeUrl.split("/").pop() ?? "", value: any.value }));
    assert.deepEqual([code, message], [vector.code, vector.message], vector.name);
    assert.deepEqual(violations(error), vector.violations, vector.name);
    assert.equal(retryAfterMs(error), vector.retry_after_ms, vector.name);
  }
});

/** google.rpc.Status { int32 code = 1; string message = 2; repeated Any details = 3; } of short fields. */
function parseStatus(bytes: Uint8Array): { code: number; message: string; details: Any[] } {
  // The fields of a message without a schema are unknown ones.
  const { $unknown: fields = [] } = fromBinary(v1.GetServerInfoRequestSchema, bytes);
  const chunk = (data: Uint8Array) => data.subarray((data[0] as number) < 128 ? 1 : 2);
  const of = (no: number) => fields.filter((field) => field.no === no).map((field) => field.data);
  return {
    code: of(1)[0]?.[0] ?? 0,
    message: new TextDecoder().decode(chunk(of(2)[0] ?? Uint8Array.of(0))),
    details: of(3).map((data) => create(AnySchema, fromBinary(AnySchema, chunk(data)))),
  };
}
