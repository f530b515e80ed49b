import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";

import { Behaviour, FloorGenerator, FloorKind, InvalidPackError, RoomRole, type SpecInit, Terrain, loadGenerator } from "@floorserver/floor-gen";

// Compiled to build/.
const vectors = new URL("../../../proto/vectors/", import.meta.url);
const json = (path: string) => JSON.parse(readFileSync(new URL(path, vectors), "utf8"));
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const camelCase = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
const generator = await loadGenerator();

interface Vector {
  name: string;
  /** The name of the pack that it is of, unless that is the built-in one. */
  pack?: string;
  request: string;
  bytes: string;
  json?: string;
  content_hash: string;
}
interface PackVector {
  name: string;
  hash: string;
  bytes: string;
  description: string;
}
const manifest: { generator_version: number; floors: Vector[]; packs: PackVector[] } = json("manifest.json");
const read = (path: string): Uint8Array => readFileSync(new URL(path, vectors));

/** The spec in a GetFloorRequest, whose fields are numbers, except for the pack, which comes last. */
function spec(request: string): SpecInit {
  const bytes = Buffer.from(request, "hex").subarray(2);
  const fields = [0n, 0n, 0n, 0n, 0n, 0n];
  for (let at = 0; at < bytes.length; ) {
    const field = bytes[at++]! >> 3;
    if (field === 6) break;
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      value |= BigInt(bytes[at]! & 127) << shift;
      if (bytes[at++]! < 128) break;
    }
    fields[field] = value;
  }
  const [, seed, number, width, height, kind] = fields as [bigint, bigint, bigint, bigint, bigint, bigint];
  return { seed, number: Number(number), width: Number(width), height: Number(height), kind: Number(kind) };
}

/** Whether a decoded value is that of proto3 JSON, in which a value of 0 is missing. */
function assertSame(value: unknown, expected: any, path: string): void {
  if (typeof value === "bigint") assert.equal(value.toString(), expected ?? "0", path);
  else if (path.endsWith(".pack") || path.endsWith(".theme")) assert.equal(value, expected ?? "", path);
  else if (path.endsWith(".kind")) assert.equal(`FLOOR_KIND_${FloorKind[value as number]}`, expected, path);
  else if (path.endsWith(".behaviour")) assert.equal(`BEHAVIOUR_${Behaviour[value as number]}`, expected, path);
  else if (path.endsWith(".role")) assert.equal(`ROOM_ROLE_${RoomRole[value as number]}`, expected, path);
  else if (Array.isArray(value)) {
    assert.equal(value.length, expected?.length ?? 0, path);
    value.forEach((item, i) => assertSame(item, expected[i], `${path}[${i}]`));
  } else if (typeof value === "object") {
    for (const [name, item] of Object.entries(value as object)) assertSame(item, expected[name], `${path}.${name}`);
    for (const name of Object.keys(expected)) assert.ok(camelCase(name) in (value as object), `${path}.${name}`);
  } else assert.equal(value, expected ?? (typeof value === "boolean" ? false : 0), path);
}

test("the floors are those of the vectors", () => {
  assert.equal(generator.version, manifest.generator_version);
  const packs = new Map(manifest.packs.map((pack) => [pack.name, generator.openPack(read(pack.bytes))]));
  for (const vector of manifest.floors) {
    const pack = vector.pack === undefined ? undefined : packs.get(vector.pack);
    assert.equal(pack === undefined, vector.pack === undefined, vector.name);
    const floor = (pack ?? generator).generate(spec(vector.request));
    assert.equal(hex(floor.encoded), hex(readFileSync(new URL(vector.bytes, vectors))), vector.name);
    assert.equal(floor.contentHash.toString(16).padStart(16, "0"), vector.content_hash, vector.name);
    if (!vector.json) continue;
    const expected = json(vector.json);
    assert.equal(Array.from(floor.terrain, (cell) => cell.toString(16)).join(""), expected.terrain.join(""), vector.name);
    assert.equal(hex(floor.region), expected.region.join(""), vector.name);
    const { terrain, region, encoded, ...rest } = floor;
    const { terrain: _terrain, region: _region, ...message } = expected.floor;
    assertSame(rest, message, vector.name);
  }
});

test("a pack says what it is", () => {
  for (const { name, hash, bytes, description } of manifest.packs) {
    const pack = generator.openPack(read(bytes));
    assert.deepEqual([pack.name, pack.hash, pack.description], [name, BigInt(`0x${hash}`), description]);
    const floor = pack.generate({ seed: 7n, number: 5 });
    assert.deepEqual([floor.theme, floor.packHash, floor.spec.pack], ["graveyard", pack.hash, `${name}@${hash}`]);
  }
});

test("everything wrong with a pack is thrown with its place", () => {
  const file = (path: string, content: string) => `file ${path} ${content.length}\n${content}\n`;
  const wrong = file("floors/3.json", "{}\n") + file("pack.toml", 'name = "mine"\nsize = 3\n') + file("vaults/a.txt", "name: a\nmap:\n?\n");
  const isWrong = (error: unknown) => {
    assert.ok(error instanceof InvalidPackError, String(error));
    const places = error.faults.map(({ file, line, column }) => `${file}:${line}:${column}`);
    for (const place of ["floors/3.json:0:0", "pack.toml:2:1", "vaults/a.txt:3:1"]) assert.ok(places.includes(place), places.join());
    assert.match(error.message, /^floors\/3.json: (.|\n)*^pack.toml:2:1: .*`size`/m);
    return true;
  };
  assert.throws(() => generator.openPack(Buffer.from(`floorpack 1\n${wrong}`)), isWrong);
  const isNone = (error: unknown) => error instanceof InvalidPackError && error.message === "a pack begins with the line `floorpack 1`";
  assert.throws(() => generator.openPack(Uint8Array.of(80, 75)), isNone);
  assert.equal(generator.generate({ seed: 42n, number: 7 }).packHash, 0n);
});

test("what is no floor is refused by name", () => {
  const wrong: [Partial<SpecInit>, RegExp][] = [
    [{ number: 0 }, /floor number 0/],
    [{ number: 1_000_001 }, /1000001/],
    [{ number: 7.5 }, /number 7.5/],
    [{ number: 2 ** 32 + 7 }, /number 4294967303/],
    [{ width: 15 }, /15/],
    [{ height: -1 }, /height -1/],
    [{ kind: 10 as FloorKind }, /kind 10/],
    [{ seed: -1n }, /seed -1/],
    [{ seed: 1n << 64n }, /seed 18446744073709551616/],
  ];
  for (const [change, message] of wrong) {
    const refused = () => generator.generate({ seed: 42n, number: 7, ...change });
    assert.throws(refused, (error) => error instanceof RangeError && message.test(error.message), String(message));
  }
});

test("a second generator of the module is independent", () => {
  const other = new FloorGenerator(generator.module);
  const floor = generator.generate({ seed: 42n, number: 7 });
  other.generate({ seed: 43n, number: 8 });
  assert.equal(floor.terrain[floor.exit.y * floor.spec.width + floor.exit.x], Terrain.STAIRS_DOWN);
  assert.equal(hex(other.encode({ seed: 42n, number: 7 })), hex(floor.encoded));
});

test("the module for browsers fetches the file", async () => {
  const wasm = readFileSync(new URL("../dist/floors.wasm", import.meta.url));
  const server = createServer((request, response) => {
    response.statusCode = request.url === "/floors.wasm" ? 200 : 404;
    response.end(wasm);
  }).listen(0, "127.0.0.1");
  try {
    await new Promise((resolve) => server.once("listening", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    // The package gives Node another module.
    const browser: typeof import("@floorserver/floor-gen") = await import(new URL("../dist/index.js", import.meta.url).href);
    const fetched = await browser.loadGenerator(`${url}floors.wasm`);
    assert.equal(hex(fetched.encode({ seed: 42n, number: 7 })), hex(generator.encode({ seed: 42n, number: 7 })));
    const given = await browser.loadGenerator(wasm);
    assert.equal(given.version, generator.version);
    await assert.rejects(browser.loadGenerator(`${url}other`), /other answers 404/);
  } finally {
    server.close();
  }
});

const server = process.env.FLOOR_SERVER;
test("the floors are those of the server", { skip: server ? false : "FLOOR_SERVER is not set" }, async () => {
  for (let i = 1; i <= 100; i++) {
    const sought: SpecInit = { seed: BigInt(i) << 57n, number: i * 9973, width: 16 + i * 3, height: 216 - i, kind: i % 10 };
    const { seed, ...numbers } = sought;
    const message = JSON.stringify({ spec: { seed: String(seed), ...numbers } });
    const query = new URLSearchParams({ encoding: "json", message });
    const response = await fetch(`${server}/floors.v1.FloorService/GetFloor?${query}`);
    const answer = (await response.json()) as { contentHash: string };
    assert.equal(generator.generate(sought).contentHash.toString(), answer.contentHash, message);
  }
});

test("the example of the README runs", async () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const [, code] = /```js\n(.*?)```/s.exec(readme)!;
  // A data: URL cannot import a package by its name.
  const runnable = code!.replace("@floorserver/floor-gen", import.meta.resolve("@floorserver/floor-gen"));
  const lines: string[] = [];
  const log = console.log;
  console.log = (...values: unknown[]) => lines.push(values.join(" "));
  try {
    await import(`data:text/javascript,${encodeURIComponent(runnable)}`);
  } finally {
    console.log = log;
  }
  const { rooms, exit } = generator.generate({ seed: 42n, number: 7 });
  assert.equal(lines.length, 101);
  assert.match(lines[0]!, /^#{100}$/);
  assert.equal(lines[100], `${rooms.length} rooms, exit at ${exit.x} ${exit.y}`);
});
