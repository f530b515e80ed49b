// Calls of a WebAssembly module through two buffers: its input, which is written before a call, and its output.

export interface BufferExports {
  memory: WebAssembly.Memory;
  input(length: number): number;
  output(): number;
  output_len(): number;
}

export async function load(url: string): Promise<WebAssembly.Module> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  return WebAssembly.compile(await response.arrayBuffer());
}

/** Writes the input. */
export function write({ memory, input }: BufferExports, ...parts: Uint8Array[]): void {
  let at = input(parts.reduce((sum, { length }) => sum + length, 0));
  for (const part of parts) {
    new Uint8Array(memory.buffer, at, part.length).set(part);
    at += part.length;
  }
}

/** The output. */
export const bytes = ({ memory, output, output_len }: BufferExports): Uint8Array<ArrayBuffer> =>
  new Uint8Array(memory.buffer, output(), output_len()).slice() as Uint8Array<ArrayBuffer>;

export const text = (exports: BufferExports): string => new TextDecoder().decode(bytes(exports));
