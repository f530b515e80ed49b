/** Towers that people name by a text. The rules are those of docs/clients/kit.md. */
import { shown } from "./shown.js";

export const MAX_SEED = 2n ** 64n - 1n;
const MIN_SIGNED = -(2n ** 63n);
const NUMBER = "a number is -2^63 to 2^64 - 1, decimal, or 0x and up to 16 hexadecimal digits";

/** A character that is seen: no white space, no control, nothing that editors and chats put around words unseen. */
const SEEN = /[^\0-\x20\x7f-\xa0\xad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u2066-\u206f\u3000\ufeff]/;
const NAME = new RegExp(`${SEEN.source}(?:.*${SEEN.source})?`, "s");

/**
 * The seed of the tower that a text names: `seed("my dungeon")`. A number, such as `"42"`, `"-1"` or `"0xff"`, is the
 * seed itself.
 *
 * @throws TypeError for an empty text, and for a number that is no seed.
 */
export function seed(text: string): bigint {
  const name = NAME.exec(text)?.[0].normalize("NFC");
  if (name === undefined) throw new TypeError(`seed is ${shown(text)}: write a number or a word`);
  const plain = halfWidth(name);
  const isNumber = /^(?:[+-]?[0-9]+|0x[0-9a-f]+)$/i.test(plain);
  if (!isNumber && !/^0x/i.test(plain)) return hash(new TextEncoder().encode(name));
  const value = isNumber ? BigInt(plain.replace("+", "")) : undefined;
  if (value !== undefined && value >= MIN_SIGNED && value <= MAX_SEED) return BigInt.asUintN(64, value);
  throw new TypeError(`seed is ${shown(text)}: ${NUMBER}`);
}

/** With the ASCII characters of full-width forms, and of the minus sign. */
function halfWidth(text: string): string {
  const ascii = text.replace(/[\uff01-\uff5e]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0));
  return ascii.replaceAll("\u2212", "-");
}

/** FNV-1a in 64 bits. */
function hash(bytes: Uint8Array): bigint {
  return bytes.reduce((hash, byte) => BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n), 0xcbf29ce484222325n);
}
