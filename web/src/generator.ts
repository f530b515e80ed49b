// The WebAssembly module of crates/floor-web: floors as wire bytes, the search, and the pack that both are of.

import { Guests } from "./guests";
import { type Files, parseCanonical } from "./pack-files";
import { type Look, parseLook, PLAIN } from "./look";
import { bytes, type BufferExports, text, write } from "./wasm";

interface Exports extends BufferExports {
  generator_version(): number;
  floor(seed: bigint, number: number, width: number, height: number, kind: number, view: number): number;
  names(): void;
  looks(): void;
  condition(): number;
  scan(seed: bigint, from: number, numbers: number, width: number, height: number, kind: number, first: bigint, count: number): number;
  generated(): number;
  failed(): number;
  files_max_bytes(): number;
  files_max(): number;
  files_clear(): void;
  files_add(path: number): number;
  files_read(): number;
  files_tower(): void;
  files_bytes(): void;
  pack_open(): number;
  pack_close(): void;
}

/** What the export `floor` answers besides 0. */
const FINE = 1;
const FAULT = 2;

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

/** An error at a place of a pack. Lines and columns count from 1; 0 stands for the whole line or file. */
export interface PackError {
  file: string;
  line: number;
  column: number;
  message: string;
}

/** What a pack says of itself, and the XXH3-64 of its canonical form in hexadecimal. */
export interface PackInfo {
  name: string;
  hash: string;
  description: string;
}

export class Generator {
  #exports: Exports;
  readonly version: number;
  #pack?: Files;
  /** Whether `#pack` is not the pack that the module has open. */
  #stale = false;
  /** Rises when another pack is set. */
  revision = 0;

  constructor(public module: WebAssembly.Module) {
    this.#exports = this.#instance();
    this.version = this.#exports.generator_version();
  }

  #instance(): Exports {
    const guests = new Guests();
    guests.owner = new WebAssembly.Instance(this.module, guests.imports).exports as unknown as Exports;
    return guests.owner as Exports;
  }

  /** Goes on with another module, which makes the same floors of the same packs. */
  use(module: WebAssembly.Module): void {
    this.module = module;
    this.#restart();
  }

  #restart(): void {
    this.#exports = this.#instance();
    this.#stale = this.#pack !== undefined;
  }

  /** The encoded `floors.v1.Floor`, in a view by its number. Throws what is wrong with the spec, as a `RangeError`, or why the pack's own generator failed. */
  floor({ seed, number, width, height, kind }: Spec, view = 0): Uint8Array<ArrayBuffer> {
    return this.#guarded(() => {
      this.#usePack();
      const made = this.#exports.floor(seed, number, width, height, kind, view);
      if (made === FINE) return bytes(this.#exports);
      throw new (made === FAULT ? Error : RangeError)(text(this.#exports));
    });
  }

  /** The names that a condition may use. */
  names(): { facts: string[]; kinds: string[]; themes: string[] } {
    this.#usePack();
    this.#exports.names();
    const [facts, kinds, themes] = text(this.#exports).split("\n").map((line) => line.split(" "));
    return { facts, kinds, themes };
  }

  #looks = new Map<string, Look>();
  #looksOf = -1;

  /** How floors of a theme look. */
  look(theme: string): Look {
    this.#usePack();
    if (this.#looksOf !== this.revision) {
      this.#exports.looks();
      const lines = text(this.#exports).split("\n").filter(Boolean).map((line) => line.split(" "));
      this.#looks = new Map(lines.map(([name, ...look]) => [name, parseLook(look)]));
      this.#looksOf = this.revision;
    }
    return this.#looks.get(theme) ?? PLAIN;
  }

  /** Sets the condition of `scan`. Throws what is wrong with it. */
  setCondition(condition: string): void {
    this.#usePack();
    write(this.#exports, new TextEncoder().encode(condition));
    if (!this.#exports.condition()) throw new SyntaxError(text(this.#exports));
  }

  /** Looks at `count` floors of `space` from index `first` on: a line for each match, how many were generated, and how many the pack's own generator failed to make. */
  scan({ spec, numbers }: Space, first: bigint, count: number): { matches: string[]; generated: number; failed: number } {
    const { seed, number, width, height, kind } = spec;
    this.#usePack();
    if (!this.#exports.scan(seed, number, numbers, width, height, kind, first, count)) {
      throw new RangeError(text(this.#exports));
    }
    const matches = text(this.#exports).split("\n").filter(Boolean);
    return { matches, generated: this.#exports.generated(), failed: this.#exports.failed() };
  }

  /** The files of the pack of which floors and matches are, as they were without errors; undefined: the built-in pack. */
  get pack(): Files | undefined {
    return this.#pack;
  }

  set pack(files: Files | undefined) {
    this.#pack = files;
    this.revision++;
    this.#stale = true;
  }

  /** Opens the pack when a floor of it is wanted, so that setting it costs nothing. */
  #usePack(): void {
    if (!this.#stale) return;
    const read = this.#pack ? this.read(this.#pack) : this.#exports.pack_close();
    if (Array.isArray(read)) throw new Error(read.map(({ file, message }) => `${file}: ${message}`).join("; "));
    this.#stale = false;
  }

  /** Reads a pack and opens it, or says what is wrong with it; then the pack before it stays open. */
  read(files: Files): PackInfo | PackError[] {
    return this.#guarded(() => {
      const errors = this.#collect(files);
      if (errors.length) return errors;
      if (this.#exports.pack_open()) {
        [this.#pack, this.#stale] = [files, false];
        this.revision++;
        const [name, hash, description] = text(this.#exports).split("\n");
        return { name, hash, description };
      }
      return text(this.#exports).split("\n").filter(Boolean).map((error) => {
        const [file, line, column, message] = error.split("\t");
        return { file, line: Number(line), column: Number(column), message };
      });
    });
  }

  /** The bytes of a `.floorpack` file. Throws which file cannot belong to a pack, and why. */
  packBytes(files: Files): Uint8Array<ArrayBuffer> {
    const [error] = this.#collect(files);
    if (error) throw new RangeError(`${error.file}: ${error.message}`);
    this.#exports.files_bytes();
    return bytes(this.#exports);
  }

  /** The files of a `.floorpack` file. Throws why it is none. */
  filesOf(file: Uint8Array): Files {
    write(this.#exports, file);
    if (!this.#exports.files_read()) throw new SyntaxError(text(this.#exports));
    this.#exports.files_bytes();
    return parseCanonical(bytes(this.#exports));
  }

  /** The files of the built-in pack. */
  towerFiles(): Files {
    this.#exports.files_tower();
    this.#exports.files_bytes();
    return parseCanonical(bytes(this.#exports));
  }

  /** The most files of a pack, and the most bytes of them. */
  get packLimits(): { files: number; bytes: number } {
    return { files: this.#exports.files_max(), bytes: this.#exports.files_max_bytes() };
  }

  /** Hands the files to the module. Returns those that cannot belong to a pack. */
  #collect(files: Files): PackError[] {
    const encoder = new TextEncoder();
    const errors: PackError[] = [];
    this.#exports.files_clear();
    for (const [file, content] of files) {
      const path = encoder.encode(file);
      write(this.#exports, path, typeof content === "string" ? encoder.encode(content) : content);
      if (!this.#exports.files_add(path.length)) errors.push({ file, line: 0, column: 0, message: text(this.#exports) });
    }
    return errors;
  }

  /** A module that has failed is not used again. */
  #guarded<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      this.#restart();
      throw new Error(`the generator failed: ${error.message}. Please report this with the floor and the pack`);
    }
  }
}
