// Reads the protobuf wire format: https://protobuf.dev/programming-guides/encoding/

type Handlers = Record<number, (reader: Reader) => unknown>;

export class Reader {
  #at = 0;

  constructor(readonly data: Uint8Array) {}

  get ended(): boolean {
    return this.#at >= this.data.length;
  }

  /** Calls the handler of each field; skips a field without one. */
  fields(handlers: Handlers): void {
    while (!this.ended) {
      const tag = this.uint();
      const handler = handlers[tag >>> 3];
      if (handler) handler(this);
      else this.#skip(tag & 7);
    }
  }

  byte(): number {
    if (this.ended) throw new RangeError("the message ends early");
    return this.data[this.#at++];
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw new RangeError("a number is longer than 10 bytes");
  }

  /** A number of at most 53 bits, without the cost of a bigint. */
  uint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 53; scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    throw new RangeError("a number is too large");
  }

  fixed64(): bigint {
    const at = this.#take(8);
    return new DataView(at.buffer, at.byteOffset, 8).getBigUint64(0, true);
  }

  bytes(): Uint8Array {
    return this.#take(this.uint());
  }

  message(): Reader {
    return new Reader(this.bytes());
  }

  string(): string {
    return new TextDecoder().decode(this.bytes());
  }

  packed(): number[] {
    const list = this.message();
    const numbers = [];
    while (!list.ended) numbers.push(list.uint());
    return numbers;
  }

  #take(length: number): Uint8Array {
    if (this.#at + length > this.data.length) throw new RangeError("the message ends early");
    return this.data.subarray(this.#at, (this.#at += length));
  }

  #skip(wireType: number): void {
    if (wireType === 0) this.varint();
    else if (wireType === 1) this.#take(8);
    else if (wireType === 2) this.bytes();
    else if (wireType === 5) this.#take(4);
    else throw new RangeError(`a field has wire type ${wireType}`);
  }
}
