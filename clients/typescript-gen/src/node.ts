/** The floor generator for Node, whose `fetch` reads no files. */
import { readFile } from "node:fs/promises";

import type { FloorGenerator } from "./floor-gen.js";
import { loadGenerator as load } from "./index.js";

export * from "./floor-gen.js";

export async function loadGenerator(
  source: URL | string | BufferSource = new URL("./floors.wasm", import.meta.url),
): Promise<FloorGenerator> {
  const isFile = source instanceof URL && source.protocol === "file:";
  return load(isFile ? await readFile(source) : source);
}
