/** The floor generator for browsers and workers. Node gets `node.ts`, which reads the module from its file. */
import { FloorGenerator } from "./floor-gen.js";

export * from "./floor-gen.js";

/**
 * Loads the WebAssembly module.
 *
 * @param source - Where it is, or its bytes. By default the file beside this module, for which bundlers that know
 *   `new URL(..., import.meta.url)` need no setting.
 */
export async function loadGenerator(
  source: URL | string | BufferSource = new URL("./floors.wasm", import.meta.url),
): Promise<FloorGenerator> {
  return new FloorGenerator(await WebAssembly.compile(await bytes(source)));
}

async function bytes(source: URL | string | BufferSource): Promise<BufferSource> {
  if (!(source instanceof URL) && typeof source !== "string") return source;
  const response = await fetch(source);
  if (!response.ok) throw new Error(`${source} answers ${response.status}`);
  return response.arrayBuffer();
}
