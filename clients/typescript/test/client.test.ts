import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";

import { clone, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { xxhash3 } from "hash-wasm";

import { FloorSchema, FloorService, type FloorKind, View, type Floor, type FloorSpec, type SearchFloorsRequest, type StreamFloorsRequest } from "../src/gen/floors/v1/floors_pb.js";
import { BadRequestSchema, RetryInfoSchema } from "../src/gen/google/rpc/error_details_pb.js";
import { InvalidFloorError, type SpecInit, connect as connectBrowser, violations } from "../src/index.js";
import { connect } from "../src/node.js";
import { asSpec } from "../src/spec.js";

const file = fileURLToPath(new URL("../../../../proto/vectors/floors/tower_zero.bin", import.meta.url));
const encoded = new Uint8Array(readFileSync(file));
const first = { number: 1 };
/** A stream stops at this floor. */
const STALLED = 100;

/** A server that answers calls from a script: an error or nothing for each, then floors. */
async function serve(t: TestContext, ...script: (ConnectError | undefined)[]) {
  const floor = fromBinary(FloorSchema, encoded);
  const seen = { headers: [] as Headers[], batches: [] as FloorSpec[][], streams: [] as StreamFloorsRequest[], searches: [] as SearchFloorsRequest[], url: "", floor };
  const routes = (router: ConnectRouter) =>
    router.service(FloorService, {
      getFloor(_, context) {
        seen.headers.push(context.requestHeader);
        const error = script.shift();
        if (error) throw error;
        context.responseHeader.set("floor-served-by", "lru");
        context.responseHeader.set("floor-server-us", "12");
        return floor;
      },
      async batchGetFloors({ specs }) {
        seen.batches.push(specs);
        return { floors: await Promise.all(specs.map(({ number }) => numbered(floor, number))) };
      },
      // Two matches a call, two floors apart, of a range of five; floor 1 stands for a search that does not go on.
      searchFloors(request) {
        seen.searches.push(request);
        const { first, seeds, skip, limit } = request;
        const number = (first?.number ?? 0) + Number(skip);
        const seed = seeds[0] ?? first?.seed ?? 0n;
        const spec = (number: number) => ({ spec: { seed, number, width: 16, height: 16, kind: 1, pack: "", view: first?.view ?? 0 } });
        const matches = [spec(number), spec(number + 2)].slice(0, limit || 2);
        return { matches, next: skip > 0n ? (number === 4 ? 3n : 0n) : 3n };
      },
      // Two floors a call, then the next error of the script.
      async *streamFloors(request, context) {
        seen.streams.push(request);
        for (let i = 0; i < Math.min(2, request.count); i++) {
          const number = (request.first?.number ?? 0) + i;
          if (number === STALLED) await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
          yield await numbered(floor, number);
        }
        const error = request.count > 2 ? script.shift() : undefined;
        if (error) throw error;
      },
    });
  const server = http2.createServer(connectNodeAdapter({ routes }));
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on("session", (session) => sessions.add(session));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  seen.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return seen;
}

async function numbered(floor: Floor, number: number): Promise<Floor> {
  const copy = clone(FloorSchema, floor);
  if (copy.spec) copy.spec.number = number;
  copy.contentHash = 0n;
  copy.contentHash = BigInt(`0x${await xxhash3(toBinary(FloorSchema, copy))}`);
  return copy;
}

const busy = (ms: number) =>
  new ConnectError("the generation queue is full", Code.ResourceExhausted, undefined, [
    { desc: RetryInfoSchema, value: { retryDelay: { seconds: BigInt(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1e6 } } },
  ]);
const draining = () => new ConnectError("draining", Code.Unavailable);

test("every protocol gets a floor", async (t) => {
  for (const protocol of ["grpc", "grpc-web", "connect"] as const) {
    const server = await serve(t);
    const client = connect(server.url, { protocol, token: "secret" });
    const { floor, served } = await client.get(first, { trace: true });
    assert.equal(floor.width, 16, protocol);
    assert.deepEqual(served, { by: "lru", coalesced: 0, serverUs: 12 }, protocol);
    assert.equal(server.headers[0]?.get("authorization"), "Bearer secret", protocol);
    assert.equal(server.headers[0]?.get("floor-trace"), "1", protocol);
  }
});

test("a refused call is repeated after the wait that the server asks for", async (t) => {
  const server = await serve(t, busy(150), draining());
  const start = performance.now();
  await connect(server.url).get(first);
  assert.equal(server.headers.length, 3);
  assert.ok(performance.now() - start >= 149);
});

test("a call is not repeated in vain", async (t) => {
  const wrong = new ConnectError("floor 0", Code.InvalidArgument, undefined, [
    { desc: BadRequestSchema, value: { fieldViolations: [{ field: "spec.number", description: "0" }] } },
  ]);
  const cases = { wrong, "a wait beyond the deadline": busy(60_000), "a wait of an hour": busy(3_600_000), off: busy(1) };
  for (const [name, error] of Object.entries(cases)) {
    const server = await serve(t, error);
    const client = connect(server.url, { timeoutMs: 5_000, ...(name === "off" && { retries: 0 }) });
    await assert.rejects(client.get(first), (thrown) => thrown instanceof ConnectError && thrown.code === error.code, name);
    assert.equal(server.headers.length, 1, name);
  }
  const server = await serve(t, wrong);
  const failure = await connect(server.url).get(first).catch((error: unknown) => error);
  assert.deepEqual(violations(failure), [{ field: "spec.number", description: "0" }]);
});

test("a broken stream is resumed", async (t) => {
  const server = await serve(t, draining(), busy(1));
  const numbers: number[] = [];
  for await (const floor of connect(server.url, { retries: 1 }).stream(first, 5)) numbers.push(floor.spec.number);
  assert.deepEqual(numbers, [1, 2, 3, 4, 5]);
  assert.deepEqual(server.streams.map(({ first, count }) => [first?.number, count]), [[1, 5], [3, 3], [5, 1]]);
});

test("a search goes on where the server says, through all its towers", async (t) => {
  const server = await serve(t);
  const client = connect(server.url);
  const found: string[] = [];
  for await (const { spec, name } of client.search({ seed: 7, number: 2 }, 6, "loops > 4")) found.push(`${spec.seed}/${spec.number}${name}`);
  assert.deepEqual(found, ["7/2", "7/4", "7/5", "7/7"]);
  assert.deepEqual(server.searches.map(({ skip, condition }) => [skip, condition]), [[0n, "loops > 4"], [3n, "loops > 4"]]);

  const seeds = Array.from({ length: 1001 }, (_, i) => i + 1);
  let count = 0;
  for await (const _ of client.search({ number: 2 }, 6, "loops > 4", { seeds, limit: 7 })) count++;
  assert.equal(count, 7);
  const calls = server.searches.slice(2).map(({ seeds, skip, limit }) => [seeds.length, skip, limit]);
  assert.deepEqual(calls, [[1000, 0n, 7], [1000, 3n, 5], [1, 0n, 3], [1, 3n, 1]]);
});

test("a search refuses answers that cannot be, and what it cannot ask for", async (t) => {
  const server = await serve(t);
  const client = connect(server.url);
  const last = async (search: AsyncGenerator<unknown>) => {
    for await (const _ of search);
  };
  await assert.rejects(last(client.search({ number: 1 }, 9, "loops > 4")), /after 3 floors the search goes on at 3/);
  await assert.rejects(last(client.search({ number: 2 }, 2, "loops > 4")), /floor 4 of tower 0 was not asked for/);
  await assert.rejects(last(client.search({ number: 2, width: 17 }, 6, "loops > 4")), InvalidFloorError);
  await assert.rejects(last(client.search({ number: 2 }, 6, 4 as never)), /^TypeError: condition is 4/);
  await assert.rejects(last(client.search({ number: 2 }, 6, "1 > 0", { seeds: "my dungeon" })), /^TypeError: seeds is/);
});

test("any number of floors come in batches within the limits", async (t) => {
  const sizes = [{}, { width: 16 }, { width: 16, height: 16 }];
  const batches = [[16, 16, 16, 16, 16, 16, 4], [100], [100]];
  for (const [i, size] of sizes.entries()) {
    const server = await serve(t);
    const specs = Array.from({ length: 100 }, (_, i) => ({ number: i + 1, ...size }));
    const numbers: number[] = [];
    for await (const floor of connect(server.url).each(specs.values())) numbers.push(floor.spec.number);
    assert.deepEqual(numbers, specs.map(({ number }) => number));
    assert.deepEqual(server.batches.map(({ length }) => length), batches[i]);
  }
  const server = await serve(t);
  const floors = connect(server.url).each(Array.from({ length: 300 }, (_, i) => ({ number: i + 1, width: 16, height: 16 })));
  assert.equal((await floors.next()).value?.spec.number, 1);
  assert.deepEqual(server.batches.map(({ length }) => length), [256]);
  await floors.return();
  for await (const floor of connect(server.url).each([])) assert.fail(String(floor));
});

test("a stream ends with the loop, or with its signal", async (t) => {
  const server = await serve(t);
  for await (const floor of connect(server.url).stream(first, 2)) {
    assert.equal(floor.spec.number, 1);
    break;
  }
  const aborted = connect(server.url).get(first, { signal: AbortSignal.abort() });
  await assert.rejects(aborted, (error) => error instanceof ConnectError && error.code === Code.Canceled);
});

test("a wait ends with the signal", async (t) => {
  const server = await serve(t, busy(20_000));
  const start = performance.now();
  await assert.rejects(connect(server.url).get(first, { signal: AbortSignal.timeout(300) }));
  assert.ok(performance.now() - start < 10_000);
});

test("another floor, or a damaged one, is rejected", async (t) => {
  const server = await serve(t);
  const rejected = (errorClass: string) => (error: unknown) =>
    error instanceof InvalidFloorError && error.errorClass === errorClass;
  await assert.rejects(connect(server.url).get({ number: 2 }), rejected("spec"));
  await assert.rejects(connect(server.url).get({ number: 1, view: "player" }), rejected("spec"));
  await assert.rejects(connect(server.url).batch([{ number: 1, view: View.PLAYER }]), rejected("spec"));
  server.floor.contentHash ^= 1n;
  await assert.rejects(connect(server.url).get(first), rejected("hash"));
});

test("kinds and views have names", async () => {
  const names: [SpecInit, number, number][] = [
    [{}, 0, 0],
    [{ kind: "maze", view: "player" }, 6, 1],
    [{ kind: "FLOOR_KIND_MAZE", view: "VIEW_PLAYER" }, 6, 1],
    [{ kind: 6, view: 1 }, 6, 1],
    [{ kind: "story", view: "everything" }, 9, 0],
    [{ kind: 99 as FloorKind, view: 99 as View }, 99, 99],
  ];
  for (const [init, ...numbers] of names) {
    const { kind, view } = asSpec(init);
    assert.deepEqual([kind, view], numbers, JSON.stringify(init));
  }
});

test("a seed may be a number that is exact, or a text", async (t) => {
  const server = await serve(t);
  if (server.floor.spec) server.floor.spec.seed = 42n;
  server.floor.contentHash = 0n;
  server.floor.contentHash = BigInt(`0x${await xxhash3(toBinary(FloorSchema, server.floor))}`);
  for (const seed of [42n, 42, "42", " 0x2a"]) assert.equal((await connect(server.url).get({ seed, number: 1 })).floor.spec.seed, 42n);
});

test("wrong arguments are TypeErrors that say what to write", async () => {
  const client = connect("http://127.0.0.1:1");
  const wrong: [unknown, RegExp][] = [
    [{ seed: 42.5, number: 1 }, /seed is 42\.5: .* 42n/],
    [{ seed: 2 ** 53, number: 1 }, /seed is 9007199254740992: .* 42n/],
    [{ seed: -1n, number: 1 }, /seed is -1n/],
    [{ seed: 2n ** 64n, number: 1 }, /seed is 18446744073709551616n/],
    [{ seed: "", number: 1 }, /seed is "": write a number or a word/],
    [{ seed: "0x1g", number: 1 }, /seed is "0x1g": a number is -2\^63 to 2\^64 - 1/],
    [{ seed: 18446744073709552000, number: 1 }, /seed is 18446744073709552000: .* 42n/],
    [{ seed: NaN, number: 1 }, /seed is NaN/],
    [{ seed: Infinity, number: 1 }, /seed is Infinity/],
    [{ seed: true, number: 1 }, /seed is true/],
    [{ seed: null, number: 1 }, /seed is null/],
    [{ seed: [42], number: 1 }, /seed is \[42\]/],
    [{ number: 1.5 }, /number is 1\.5/],
    [{ number: "7" }, /number is "7"/],
    [{ number: 7n }, /number is 7n/],
    [{ number: true }, /number is true/],
    [{ number: 2 ** 32 }, /number is 4294967296/],
    [{ number: 1, kind: "Maze" }, /kind is "Maze": write a number, or unspecified, standard, keep, .*, story$/],
    [{ number: 1, kind: null }, /kind is null/],
    [{ number: 1, view: "players" }, /view is "players": write a number, or everything, player$/],
    [{ number: 1, view: -1 }, /view is -1/],
    [{ number: 1, Seed: 42n }, /"Seed" is no field of a spec: there are seed, number, width/],
    [{ numbr: 1 }, /"numbr" is no field of a spec/],
    [{ number: 1, width: -1 }, /width is -1/],
    [{ number: 1, pack: 7 }, /pack is 7/],
    [42, /42 is no spec: write \{ seed: 42n, number: 7 \}/],
  ];
  for (const [spec, message] of wrong) {
    const rejected = { name: "TypeError", message };
    await assert.rejects(client.get(spec as SpecInit), rejected);
    await assert.rejects(client.batch([spec as SpecInit]), rejected);
    await assert.rejects(client.each([spec as SpecInit]).next(), rejected);
    await assert.rejects(client.stream(spec as SpecInit, 1).next(), rejected);
  }
  await assert.rejects(client.stream(first, -1).next(), { name: "TypeError", message: /count is -1/ });
  for (const timeoutMs of [NaN, -1, "10s" as unknown as number, "100" as unknown as number]) {
    const message = /timeoutMs is .*: write a number from 0/;
    assert.throws(() => connect("http://127.0.0.1:1", { timeoutMs }), { name: "TypeError", message });
    await assert.rejects(client.get(first, { timeoutMs }), { name: "TypeError", message });
    await assert.rejects(client.stream(first, 1, { timeoutMs }).next(), { name: "TypeError", message });
  }
  assert.throws(() => connect("http://127.0.0.1:1", { retries: NaN }), { name: "TypeError", message: /retries is NaN/ });
  for (const generatorVersion of [4.5, NaN, "4" as unknown as number]) {
    await assert.rejects(client.get(first, { generatorVersion }), { name: "TypeError", message: /generatorVersion is / });
  }
});

test("a stream without floors ends at its deadline", async (t) => {
  const server = await serve(t);
  const start = performance.now();
  await assert.rejects(connect(server.url, { timeoutMs: 300 }).stream({ number: STALLED }, 2).next(), { code: Code.DeadlineExceeded });
  assert.ok(performance.now() - start < 5_000);
  assert.equal(server.streams.length, 1);
});

test("a stream that stalls is resumed", async (t) => {
  const server = await serve(t);
  const numbers: number[] = [];
  for await (const floor of connect(server.url, { timeoutMs: 300 }).stream({ number: STALLED - 2 }, 2)) numbers.push(floor.spec.number);
  assert.deepEqual(numbers, [STALLED - 2, STALLED - 1]);
  const stalled = connect(server.url, { timeoutMs: 300, retries: 1 }).stream({ number: STALLED - 1 }, 2);
  assert.equal((await stalled.next()).value?.spec.number, STALLED - 1);
  await assert.rejects(stalled.next(), { code: Code.DeadlineExceeded });
  assert.deepEqual(server.streams.slice(1).map(({ first }) => first?.number), [STALLED - 1, STALLED]);
});

test("an unreachable server is reported", async () => {
  const options = { timeoutMs: 3_000, retries: 1 };
  await assert.rejects(connect("http://127.0.0.1:1", options).get(first), { code: Code.Unavailable });
  await assert.rejects(connectBrowser("http://127.0.0.1:1", options).get(first), { code: Code.Unavailable });
});

test("options are checked", () => {
  const wrong = ["", "127.0.0.1:50051", "localhost:50051", "ftp://host", "http://user:secret@host", "http://host/?x=1"];
  const ports = ["http://host#x", "http://host:99999", "http://host:\uff15", "'http://host'"];
  const hidden = ["http://user:p/secret@host", "http://user:p#secret@host", "http://user:secret", "secret:x@host"];
  for (const url of [...wrong, ...ports, ...hidden, "http://12:3/secret@host"]) {
    assert.throws(() => connect(url), (error) => error instanceof TypeError && !error.message.includes("secret"), url);
  }
  assert.throws(() => connect("http://floors.example", { token: "secret" }), TypeError);
  assert.throws(() => connectBrowser("http://floors.example", { get: true }), TypeError);
  assert.throws(() => connect("https://floors.example", { token: "two\nlines" }), TypeError);
  for (const token of ["", "secret\r", " secret", "\ufeffsecret"]) {
    assert.throws(() => connect("https://floors.example", { token }), TypeError);
  }
  for (const url of ["https://floors.example", "http://127.0.0.1:1", "HTTP://127.0.0.1:1/", " http://127.0.0.1:1\r", "http://[::1]:1", "http://localhost:1"]) {
    connect(url, { token: "secret" });
  }
});
