// Exports floors with the code of floorctl, in a thread of its own: a large picture takes seconds. Its module is loaded
// with it, when a floor is exported for the first time.

import { zipSync } from "fflate";
import { bytes, type BufferExports, load, text, write } from "./wasm";

/** An encoded floor, and the settings of crates/floor-web-export/src/settings.rs. */
export interface Wanted { floor: Uint8Array<ArrayBuffer>; settings: string }
export type Exported = { name: string; content: Uint8Array<ArrayBuffer> } | { error: string };

interface Exports extends BufferExports {
  prepare(): number;
  export(): number;
  file_name(index: number): void;
  file_bytes(index: number): void;
}

const module = load("export.wasm");

self.onmessage = async ({ data }: MessageEvent<Wanted>) => {
  const exported: Exported = await exportFloor(data).catch((error: Error) => ({ error: error.message }));
  self.postMessage(exported);
};

/** One file; several as a zip with the name of the first. */
async function exportFloor({ floor, settings }: Wanted): Promise<Exported> {
  // An instance for each export, so that its memory is free afterwards.
  const exports = (await WebAssembly.instantiate(await module)).exports as unknown as Exports;
  write(exports, new TextEncoder().encode(settings));
  if (!exports.prepare()) throw new Error(text(exports));
  write(exports, floor);
  const count = exports.export();
  if (!count) throw new Error(text(exports));
  const files = Array.from({ length: count }, (_, index) => {
    exports.file_name(index);
    const name = text(exports);
    exports.file_bytes(index);
    return { name, content: bytes(exports) };
  });
  if (files.length === 1) return files[0];
  const content = zipSync(Object.fromEntries(files.map(({ name, content }) => [name, content])));
  return { name: files[0].name.replace(/\.\w+$/, ".zip"), content: content as Uint8Array<ArrayBuffer> };
}
