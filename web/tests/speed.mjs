// Prints size and speed of builds of floors.wasm: node web/tests/speed.mjs FILE...
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const FLOORS = 2000;

for (const file of process.argv.slice(2)) {
  const bytes = readFileSync(file);
  const { instance: { exports } } = await WebAssembly.instantiate(bytes, {});
  const condition = new TextEncoder().encode("loops > 12");
  const at = exports.input(condition.length);
  new Uint8Array(exports.memory.buffer, at, condition.length).set(condition);
  exports.condition();
  const scan = (count) => exports.scan(0n, 1, 100, 0, 0, 0, 0n, count);
  scan(300); // The engine optimises while the module runs.
  const started = performance.now();
  scan(FLOORS);
  const perSecond = (FLOORS * 1000) / (performance.now() - started);
  console.log(`${file}: ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} compressed, ` +
    `${Math.round(perSecond)} floors a second`);
}
