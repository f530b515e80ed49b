// The WebAssembly module of web/wasm: floors as wire bytes, and the search.

interface Exports {
  memory: WebAssembly.Memory;
  generator_version(): number;
  input(length: number): number;
  output(): number;
  output_len(): number;
  floor(seed: bigint, number: number, width: number, height: number, kind: number): number;
  names(): void;
  condition(): number;
  scan(seed: bigint, from: number, numbers: number, width: number, height: number, kind: number, first: bigint, count: number): number;
  generated(): number;
}

/** Names a floor. `kind` 0 is the one that the tower's schedule decides. */
export interface Spec {
  seed: bigint;
  number: number;
  width: number;
  height: number;
  kind: number;
}

/** The floors that a search looks at: `numbers` floors from `spec.number` on, of the tower `spec.seed` and those after it. */
export interface Space {
  spec: Spec;
  numbers: number;
}

export class Generator {
  readonly #exports: Exports;
  readonly version: number;

  constructor(readonly module: WebAssembly.Module) {
    this.#exports = new WebAssembly.Instance(module).exports as unknown as Exports;
    this.version = this.#exports.generator_version();
  }

  static async load(url: string): Promise<WebAssembly.Module> {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${url} answers ${response.status}`);
    return WebAssembly.compile(await response.arrayBuffer());
  }

  /** The encoded `floors.v1.Floor`. Throws what is wrong with the spec. */
  floor({ seed, number, width, height, kind }: Spec): Uint8Array<ArrayBuffer> {
    if (!this.#exports.floor(seed, number, width, height, kind)) throw new RangeError(this.#text());
    return this.#bytes();
  }

  /** The names that a condition may use. */
  names(): { facts: string[]; kinds: string[]; themes: string[] } {
    this.#exports.names();
    const [facts, kinds, themes] = this.#text().split("\n").map((line) => line.split(" "));
    return { facts, kinds, themes };
  }

  /** Sets the condition of `scan`. Throws what is wrong with it. */
  setCondition(text: string): void {
    const bytes = new TextEncoder().encode(text);
    const at = this.#exports.input(bytes.length);
    new Uint8Array(this.#exports.memory.buffer, at, bytes.length).set(bytes);
    if (!this.#exports.condition()) throw new SyntaxError(this.#text());
  }

  /** Looks at `count` floors of `space` from index `first` on: a line for each match, and how many were generated. */
  scan({ spec, numbers }: Space, first: bigint, count: number): { matches: string[]; generated: number } {
    const { seed, number, width, height, kind } = spec;
    if (!this.#exports.scan(seed, number, numbers, width, height, kind, first, count)) {
      throw new RangeError(this.#text());
    }
    return { matches: this.#text().split("\n").filter(Boolean), generated: this.#exports.generated() };
  }

  #bytes(): Uint8Array<ArrayBuffer> {
    const view = new Uint8Array(this.#exports.memory.buffer, this.#exports.output(), this.#exports.output_len());
    return view.slice() as Uint8Array<ArrayBuffer>;
  }

  #text(): string {
    return new TextDecoder().decode(this.#bytes());
  }
}
