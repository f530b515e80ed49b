import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";

import { Behaviour, FloorGenerator, FloorKind, InvalidPackError, RoomRole, type SpecInit, Terrain, View, loadGenerator } from "@floorserver/floor-gen";

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

/** The spec in a GetFloorRequest, whose fields are numbers, except for the pack. */
function spec(request: string): SpecInit {
  const bytes = Buffer.from(request, "hex").subarray(2);
  const fields = [0n, 0n, 0n, 0n, 0n, 0n, 0n, 0n];
  for (let at = 0; at < bytes.length; ) {
    const field = bytes[at++]! >> 3;
    if (field === 6) {
      at += 1 + bytes[at]!;
      continue;
    }
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      value |= BigInt(bytes[at]! & 127) << shift;
      if (bytes[at++]! < 128) break;
    }
    fields[field] = value;
  }
  const [, , number, width, height, kind, , view] = fields.map(Number);
  return { seed: fields[1]!, number: number!, width: width!, height: height!, kind: kind!, view: view! };
}

/** Whether a decoded value is that of proto3 JSON, in which a value of 0 is missing. */
function assertSame(value: unknown, expected: any, path: string): void {
  if (typeof value === "bigint") assert.equal(value.toString(), expected ?? "0", path);
  else if (typeof value === "string") assert.equal(value, expected ?? "", path);
  else if (path.endsWith(".kind")) assert.equal(`FLOOR_KIND_${FloorKind[value as number]}`, expected, path);
  else if (path.endsWith(".behaviour")) assert.equal(`BEHAVIOUR_${Behaviour[value as number]}`, expected, path);
  else if (path.endsWith(".view")) assert.equal(`VIEW_${View[value as number]}`, expected ?? "VIEW_UNSPECIFIED", path);
  else if (path.endsWith(".role")) {
    assert.equal(`ROOM_ROLE_${RoomRole[value as number]}`, expected ?? "ROOM_ROLE_UNSPECIFIED", path);
  }
  else if (path.endsWith(".furniture")) {
    const pieces = (expected ?? []).flatMap(({ archetype, cells }: { archetype: string; cells: number[] }) => cells.map(() => archetype));
    assert.deepEqual((value as { archetype: string }[]).map(({ archetype }) => archetype), pieces, path);
  } else if (Array.isArray(value)) {
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
    if (floor.furniture.length === 0) continue;
    const [{ archetype, cells }] = message.furniture;
    const at = { x: cells[0] % floor.spec.width, y: Math.floor(cells[0] / floor.spec.width) };
    assert.deepEqual(floor.furniture[0], { archetype, at }, vector.name);
  }
});

test("a pack says what it is", () => {
  for (const { name, hash, bytes, description } of manifest.packs) {
    const pack = generator.openPack(read(bytes));
    assert.deepEqual([pack.name, pack.hash, pack.description], [name, BigInt(`0x${hash}`), description]);
    const floor = pack.generate({ seed: 7n, number: 5 });
    assert.deepEqual([floor.name?.text, floor.rooms[floor.landmark - 1]?.name?.id], ["The Sexton's Rest", "room.chapel"]);
    assert.deepEqual(floor.furniture.slice(0, 3), [
      { archetype: "grave", at: { x: 14, y: 16 } },
      { archetype: "grave", at: { x: 14, y: 18 } },
      { archetype: "statue", at: { x: 17, y: 16 } },
    ]);
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

/** The floors of a pack with a generator of its own, from the server's tests: `KIND WxH tower SEED floor NUMBER: HASH BYTES B`. */
const record = readFileSync(new URL("../../../crates/floor-pack/tests/tower-4-served.txt", import.meta.url), "utf8");
const kinds = ["", "standard", "keep", "halls", "cavern", "cyclic", "maze", "boss", "event", "story"];

test("a pack's own generator makes the floors on record", () => {
  const pack = generator.openPack(readFileSync(new URL("../../../packs/tower-4.floorpack", import.meta.url)));
  const [reference, ...lines] = record.trimEnd().split("\n");
  assert.equal(`${pack.name}@${pack.hash.toString(16).padStart(16, "0")}`, reference);
  assert.equal(lines.length, 72);
  for (const line of lines) {
    const [, kind, width, height, seed, number, hash, length] = /^(\w+) (\d+)x(\d+) tower (\d+) floor (\d+): (\w+) (\d+) B$/.exec(line)!;
    const spec = { seed: BigInt(seed!), number: Number(number), width: Number(width), height: Number(height), kind: kinds.indexOf(kind!) };
    const floor = pack.generate(spec);
    assert.deepEqual([floor.contentHash, floor.encoded.length, floor.generatorVersion], [BigInt(`0x${hash}`), Number(length), 4], line);
  }
});

/** A `.floorpack` file with a generator. */
function packWith(wasm: Uint8Array): Uint8Array {
  const manifest = 'name = "mine"\n';
  return Buffer.concat([
    Buffer.from(`floorpack 1\nfile generator.wasm ${wasm.length}\n`), wasm,
    Buffer.from(`\nfile pack.toml ${manifest.length}\n${manifest}\n`),
  ]);
}

const HEADER = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
const UNREACHABLE = [0x00];
/** `i64.const 0`. */
const ZERO = [0x42, 0];
/** `i64.const` of 1 << 63 | 8 << 32 | 5: an error whose text has 5 bytes at address 8. */
const NO_SUCH_FLOOR = [0x42, 0x85, 0x80, 0x80, 0x80, 0x80, 0x81, 0x80, 0x80, 0x80, 0x7f];

/** A generator with the bodies of floor_load, floor_resolve and floor_generate. */
function module(load: number[], resolve: number[], generate: number[]): Uint8Array {
  const section = (id: number, count: number, content: number[]) => [id, content.length + 1, count, ...content];
  const text = (name: string) => [name.length, ...Buffer.from(name)];
  const names = ["floor_abi", "floor_input", "floor_load", "floor_resolve", "floor_generate"];
  const [i32, i64] = [0x7f, 0x7e];
  const bodies = [[0x41, 1], [0x41, 32], load, resolve, generate].map((body) => [body.length + 2, 0, ...body, 0x0b]);
  return Uint8Array.from([
    ...HEADER,
    ...section(1, 4, [0x60, 0, 1, i32, 0x60, 1, i32, 1, i32, 0x60, 0, 1, i64, 0x60, 5, i64, i32, i32, i32, i32, 1, i64]),
    ...section(3, 5, [0, 1, 2, 3, 3]),
    ...section(5, 1, [0, 1]),
    ...section(7, 6, [...names.flatMap((name, at) => [...text(name), 0, at]), ...text("memory"), 2, 0]),
    ...section(10, 5, bodies.flat()),
    ...section(11, 1, [0, 0x41, 8, 0x0b, ...text("never")]),
  ]);
}

test("a generator that fails is an error with its name, and one that refuses a range error", () => {
  const failing = generator.openPack(packWith(module(ZERO, NO_SUCH_FLOOR, UNREACHABLE)));
  const sought: SpecInit = { seed: 1n, number: 1, width: 16, height: 16, kind: FloorKind.KEEP };
  const isFault = (error: Error) => !(error instanceof RangeError) && /^the generator of mine@\w{16} failed: floor_generate: unreachable/.test(error.message);
  for (let attempt = 0; attempt < 3; attempt++) assert.throws(() => failing.generate(sought), isFault);
  const isRefusal = (error: Error) => error instanceof RangeError && /^the generator of mine@\w{16} has no such floor: never/.test(error.message);
  assert.throws(() => failing.generate({ seed: 1n, number: 1 }), isRefusal);
  const empty = generator.openPack(packWith(module(ZERO, NO_SUCH_FLOOR, ZERO)));
  assert.throws(() => empty.generate(sought), /breaks a rule: /);
});

test("a generator has what a server grants it, and nothing else", () => {
  // Traps unless memory.grow of 1,100 pages answers -1.
  const greedy = [0x41, 0xcc, 0x08, 0x40, 0, 0x41, 0x7f, 0x47, 0x04, 0x40, 0x00, 0x0b, ...ZERO];
  assert.equal(generator.openPack(packWith(module(greedy, NO_SUCH_FLOOR, ZERO))).name, "mine");
  const importing = Uint8Array.from([...HEADER, 1, 4, 1, 0x60, 0, 0, 2, 9, 1, 3, 0x65, 0x6e, 0x76, 1, 0x66, 0, 0]);
  const refused: [Uint8Array, RegExp][] = [
    [importing, /^generator.wasm: it imports env.f; a generator imports nothing/],
    [Uint8Array.from(HEADER), /^generator.wasm: it exports no memory with the name `memory`/],
    [Uint8Array.of(1, 2, 3), /^generator.wasm: it is no module that runs here: /],
    [module(UNREACHABLE, ZERO, ZERO), /^generator.wasm: floor_load: unreachable/],
    [module([0x42, 1, 0x42, 63, 0x86], ZERO, ZERO), /^generator.wasm: /],
  ];
  for (const [wasm, message] of refused) {
    assert.throws(() => generator.openPack(packWith(wasm)), (error) => error instanceof InvalidPackError && message.test(error.message), String(message));
  }
});

test("the floors of the server's packs are those of the server", { skip: server ? false : "FLOOR_SERVER is not set" }, async () => {
  const call = async (method: string, message: object): Promise<any> => {
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(message) };
    return (await fetch(`${server}/floors.v1.FloorService/${method}`, init)).json();
  };
  const { packs } = await call("ListPacks", {});
  assert.ok(packs.length > 1);
  for (const { name } of packs.filter(({ current }: { current?: boolean }) => current)) {
    const pack = generator.openPack(Buffer.from((await call("GetPack", { pack: name })).file, "base64"));
    for (let number = 1; number <= 30; number++) {
      const spec = { seed: BigInt(number * 7919), number, kind: number % 10 };
      const answer = await call("GetFloor", { spec: { ...spec, seed: String(spec.seed), pack: name } });
      // A refusal has the same words in both; a fault has those of its engine.
      const isSame = (error: Error) => error.message === answer.message || /failed: /.test(error.message);
      if (answer.contentHash === undefined) assert.throws(() => pack.generate(spec), isSame, `${name}: ${answer.message}`);
      else assert.equal(pack.generate(spec).contentHash.toString(), answer.contentHash, `${name} ${number}`);
    }
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
  const { name, rooms, exit } = generator.generate({ seed: 42n, number: 7 });
  assert.equal(lines.length, 102);
  assert.match(lines[0]!, /^#{100}$/);
  assert.equal(lines[100], name?.text);
  assert.equal(lines[101], `${rooms.length} rooms, exit at ${exit.x} ${exit.y}`);
});
