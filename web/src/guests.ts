// Runs the generators that packs bring along, in the engine that runs this script: the imports of crates/floor-web/src/guests.rs.
// An engine has no bound on time, so a generator without an end runs until its thread is ended.

import { type BufferExports, write } from "./wasm";

type Guest = WebAssembly.Exports & { memory: WebAssembly.Memory };

/** In the order of their numbers. The last one may be missing. */
const FUNCTIONS = ["floor_abi", "floor_input", "floor_load", "floor_resolve", "floor_generate", "floor_panic"];
/** Of these, the ones that answer 32 bits, and those that take a floor. */
const isShort = (which: number): boolean => which < 2;
const takesFloor = (which: number): boolean => which === 3 || which === 4;

export class Guests {
  /** The module that imports these functions, from its start on. */
  owner!: BufferExports;
  #codes = new Map<number, WebAssembly.Module>();
  #guests = new Map<number, Guest>();
  #last = 0;

  readonly imports: WebAssembly.Imports = {
    guests: {
      compile: (start: number, length: number) => this.#keep(this.#codes, () => compile(this.#owned(start, length))),
      instantiate: (code: number) => this.#keep(this.#guests, () => instantiate(this.#codes.get(code)!)),
      call: (guest: number, which: number, ...floor: [bigint, number, number, number, number]) =>
        this.#answer(() => write(this.owner, call(this.#guests.get(guest)!, which, floor))),
      read: (guest: number, start: number, length: number) =>
        this.#answer(() => write(this.owner, part(this.#guests.get(guest)!, start, length))),
      write: (guest: number, start: number, from: number, length: number) =>
        this.#answer(() => part(this.#guests.get(guest)!, start, length).set(this.#owned(from, length))),
      release: (number: number) => void (this.#codes.delete(number) || this.#guests.delete(number)),
    },
  };

  #owned(start: number, length: number): Uint8Array<ArrayBuffer> {
    return part(this.owner, start, length);
  }

  #keep<T>(kept: Map<number, T>, make: () => T): number {
    const isKept = this.#answer(() => kept.set(this.#last + 1, make()));
    return isKept && ++this.#last;
  }

  /** 1, or 0 with the reason as the input of the owner. */
  #answer(run: () => void): number {
    try {
      run();
      return 1;
    } catch (error) {
      write(this.owner, new TextEncoder().encode((error as Error).message));
      return 0;
    }
  }
}

/** A part of a memory. Addresses have no sign. Throws if it lies outside. */
const part = ({ memory }: { memory: WebAssembly.Memory }, start: number, length: number): Uint8Array<ArrayBuffer> =>
  new Uint8Array(memory.buffer as ArrayBuffer, start >>> 0, length >>> 0);

function compile(wasm: Uint8Array<ArrayBuffer>): WebAssembly.Module {
  let code: WebAssembly.Module;
  try {
    code = new WebAssembly.Module(wasm);
  } catch (error) {
    throw new Error(`it is no module that runs here: ${(error as Error).message}`);
  }
  const [first] = WebAssembly.Module.imports(code);
  if (first) throw new Error(`it imports ${first.module}.${first.name}; a generator imports nothing`);
  return code;
}

function instantiate(code: WebAssembly.Module): Guest {
  let guest: WebAssembly.Exports;
  try {
    guest = new WebAssembly.Instance(code).exports;
  } catch (error) {
    throw new Error(`its start: ${(error as Error).message}`);
  }
  if (!(guest.memory instanceof WebAssembly.Memory)) throw new Error("it exports no memory with the name `memory`");
  const missing = FUNCTIONS.slice(0, -1).find((name) => typeof guest[name] !== "function");
  if (missing) throw new Error(`it exports no function ${missing}; docs/modules.md has the functions of a generator`);
  return guest as Guest;
}

/** What a function answers, as the bytes of 64 bits. */
function call(guest: Guest, which: number, floor: [bigint, number, number, number, number]): Uint8Array {
  const run = guest[FUNCTIONS[which]];
  if (typeof run !== "function") throw new Error("it exports none");
  const value: unknown = takesFloor(which) ? run(...floor) : run(floor[1]);
  if (typeof value !== (isShort(which) ? "number" : "bigint")) throw new Error(`it answers no number of ${isShort(which) ? 32 : 64} bits`);
  return new Uint8Array(BigUint64Array.of(typeof value === "bigint" ? value : BigInt(Number(value) >>> 0)).buffer);
}
