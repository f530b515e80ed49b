/** The content hash: XXH3-64 of an encoded floor without field 3. */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { toBinary } from "@bufbuild/protobuf";
import { createXXHash3, type IHasher } from "hash-wasm";

import { type Floor, FloorSchema, type Pack } from "./gen/floors/v1/floors_pb.js";
import { InvalidFloorError } from "./invalid.js";

/** The number of Floor.content_hash. */
const HASH_FIELD = 3;

/** The pack whose hash is 0. */
const BUILT_IN_PACK = "tower";

/** Made once. A hash is computed without a pause in between, so all calls can share it. */
let hasher: Promise<IHasher> | undefined;

function sharedHasher(): Promise<IHasher> {
  return (hasher ??= createXXHash3().catch((error: unknown) => {
    hasher = undefined;
    throw error;
  }));
}

/**
 * Checks the content hash of a message. The library has decoded it, so it is encoded again; the library keeps unknown
 * fields, so floors of a newer server pass.
 *
 * @throws InvalidFloorError of the class `hash`.
 */
export async function verifyMessage(floor: Floor): Promise<void> {
  const xxh3 = await sharedHasher();
  const carried = floor.contentHash;
  let bare: Uint8Array;
  floor.contentHash = 0n;
  try {
    bare = toBinary(FloorSchema, floor);
  } finally {
    floor.contentHash = carried;
  }
  compare(carried, xxh3.init().update(bare).digest("hex"));
}

/**
 * Checks the content hash in an encoded floor against its bytes.
 *
 * @throws InvalidFloorError of the class `protobuf` or `hash`.
 */
export async function verifyEncoded(encoded: Uint8Array): Promise<void> {
  const xxh3 = await sharedHasher();
  xxh3.init();
  const reader = new BinaryReader(encoded);
  let carried = 0n;
  let hashes = 0;
  try {
    while (reader.pos < reader.len) {
      const start = reader.pos;
      const [field, wireType] = reader.tag();
      if (field === HASH_FIELD && wireType === WireType.Bit64) {
        carried = BigInt(reader.fixed64());
        hashes++;
      } else {
        reader.skip(wireType, field);
        xxh3.update(encoded.subarray(start, reader.pos));
      }
    }
  } catch (cause) {
    throw new InvalidFloorError("protobuf", "the bytes are no floor", { cause });
  }
  if (hashes > 1) throw new InvalidFloorError("hash", `the floor has ${hashes} content hashes, not one`);
  // A floor whose hash is 0 has no hash field, since an encoding omits defaults.
  compare(carried, xxh3.digest("hex"));
}

/**
 * Checks that the hash of a pack is that of its files.
 *
 * @throws InvalidFloorError of the class `hash`.
 */
export async function verifyPack(pack: Pack): Promise<void> {
  if (pack.name === BUILT_IN_PACK && pack.hash === 0n) return;
  const xxh3 = await sharedHasher();
  const computed = xxh3.init().update(pack.file).digest("hex");
  const carried = hex(pack.hash);
  if (carried !== computed) {
    throw new InvalidFloorError("hash", `the pack has the hash ${carried}, and its files ${computed}`);
  }
}

/** A hash as text: 16 hexadecimal digits. */
export function hex(hash: bigint): string {
  return hash.toString(16).padStart(16, "0");
}

function compare(carried: bigint, computed: string): void {
  const expected = hex(carried);
  if (expected !== computed) {
    throw new InvalidFloorError("hash", `the floor has content hash ${expected}, its bytes have ${computed}`);
  }
}
