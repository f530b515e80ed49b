// Towers that people name by a word, as every client reads them (docs/clients/kit.md).

const UNSEEN = "\\0- \\x7f-\\xa0\\xad\\u1680\\u180e\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u2064\\u2066-\\u206f\\u3000\\ufeff";
const ENDS = new RegExp(`^[${UNSEEN}]+|[${UNSEEN}]+$`, "g");
const MASK = 2n ** 64n - 1n;

/** The tower of a text: a number, or the FNV-1a hash of 64 bits of a word, which is its `name`. Throws what is no seed. */
export function towerOf(text: string): { seed: bigint; name?: string } {
  const name = text.replace(ENDS, "").normalize();
  const plain = name.replace(/[\uff01-\uff5e]/g, (form) => String.fromCharCode(form.charCodeAt(0) - 0xfee0)).replace(/\u2212/g, "-");
  const number = /^[-+]?\d+$/.test(plain) || /^0x[\da-f]+$/i.test(plain) ? BigInt(plain.replace("+", "")) : undefined;
  if (number !== undefined && number >= -(2n ** 63n) && number <= MASK) return { seed: number & MASK };
  if (!name || number !== undefined || /^0x/i.test(plain)) {
    throw new RangeError(`seed ${JSON.stringify(text)}: a tower is a word or a number, -2^63 to 2^64 - 1, decimal or 0x hexadecimal`);
  }
  const bytes = new TextEncoder().encode(name);
  const seed = bytes.reduce((hash, byte) => ((hash ^ BigInt(byte)) * 0x100000001b3n) & MASK, 0xcbf29ce484222325n);
  return { seed, name };
}

export const parseSeed = (text: string): bigint => towerOf(text).seed;
