// Looks at parts of a search, in a thread of its own.

import { Generator, type Space } from "./generator";
import type { Files } from "./pack-files";

export interface Begin { module: WebAssembly.Module; pack?: Files; condition: string; space: Space }
export interface Part { first: bigint; count: number }
export interface Done extends Part { matches: string[]; generated: number; failed: number; ms: number }

let generator: Generator;
let space: Space;

self.onmessage = ({ data }: MessageEvent<Begin | Part>) => {
  if ("module" in data) {
    generator = new Generator(data.module);
    generator.pack = data.pack;
    generator.setCondition(data.condition);
    space = data.space;
    return;
  }
  const started = performance.now();
  const found = generator.scan(space, data.first, data.count);
  const done: Done = { ...data, ...found, ms: performance.now() - started };
  self.postMessage(done);
};
