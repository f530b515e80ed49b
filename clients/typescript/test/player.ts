/**
 * A fake player for .ci/restart: node build/test/player.js SERVER SECONDS. It calls and streams for that time over gRPC
 * and over fetch, prints a line for each failure, and a summary.
 */
import { setTimeout as sleep } from "node:timers/promises";

import { type FloorClient, connect as connectBrowser } from "../src/index.js";
import { connect } from "../src/node.js";

const PAUSE_MS = 5;
const STREAM = 300;
const [server = "", seconds = "0"] = process.argv.slice(2);
const end = performance.now() + Number(seconds) * 1000;
const size = { width: 32, height: 32 };
let calls = 0;
let floors = 0;
let failed = 0;
let longest = 0;

/** Repeats `play` until the end, at least once. */
async function repeat(name: string, play: (round: number) => Promise<void>): Promise<void> {
  for (let round = 1; ; round++) {
    await play(round).catch((error: unknown) => {
      failed++;
      console.log(`${name}: ${String(error)}`);
    });
    if (performance.now() >= end) return;
    await sleep(PAUSE_MS);
  }
}

async function timed<T>(waited: Promise<T>): Promise<T> {
  const start = performance.now();
  return await waited.finally(() => (longest = Math.max(longest, performance.now() - start)));
}

async function call(client: FloorClient, number: number): Promise<void> {
  await timed(client.get({ seed: 42n, number, ...size }));
  calls++;
}

async function stream(client: FloorClient): Promise<void> {
  const read = client.stream({ seed: 43n, number: 1, ...size }, STREAM);
  for (let number = 1; ; number++) {
    const { value, done } = await timed(read.next());
    if (done) return;
    if (value.spec.number !== number) throw new Error(`floor ${value.spec.number} instead of ${number}`);
    floors++;
    await sleep(PAUSE_MS);
    if (performance.now() >= end) return void (await read.return());
  }
}

await Promise.all(
  Object.entries({ grpc: connect(server), fetch: connectBrowser(server) }).flatMap(([name, client]) => [
    repeat(`${name} call`, (round) => call(client, round)),
    repeat(`${name} stream`, () => stream(client)),
  ]),
);
console.log(`${calls} calls, ${floors} floors streamed, ${failed} failed, longest ${(longest / 1000).toFixed(1)} s`);
