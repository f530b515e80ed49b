//! The content hash: XXH3-64 of a floor's canonical encoding without the hash itself.
//!
//! Canonical means what prost writes: fields ascending, defaults omitted, repeated scalars packed. The same spec and
//! generator version give the same bytes, so anyone who holds a floor can check it.

use prost::Message;
use xxhash_rust::xxh3::xxh3_64;

use crate::v1::Floor;

/// What field 3 takes on the wire: its tag, then eight bytes.
const HASH_FIELD_BYTES: usize = 9;
/// Field 3, wire type fixed64.
const HASH_TAG: u8 = 3 << 3 | 1;

/// The hash that `floor` should carry, whatever it carries now.
#[must_use]
pub fn content_hash(floor: &Floor) -> u64 {
    if floor.content_hash == 0 {
        return xxh3_64(&floor.encode_to_vec());
    }
    xxh3_64(&Floor { content_hash: 0, ..floor.clone() }.encode_to_vec())
}

/// Whether `floor` carries the hash that it should.
#[must_use]
pub fn verify(floor: &Floor) -> bool {
    floor.content_hash == content_hash(floor)
}

/// Decodes an encoded floor and checks that the bytes are canonical and that the hash in it is theirs.
///
/// # Errors
/// When the bytes are no floor, are encoded otherwise than canonically, or hash to something else.
pub fn verify_encoded(encoded: &[u8]) -> Result<Floor, HashError> {
    let floor = Floor::decode(encoded)?;
    let again = encode_hashed(&floor, 0);
    if again == encoded {
        return Ok(floor);
    }
    let computed = content_hash(&floor);
    if computed == floor.content_hash {
        return Err(HashError::NotCanonical { given: encoded.len(), canonical: again.len() });
    }
    Err(HashError::Mismatch { carried: floor.content_hash, computed })
}

/// Encodes `floor` with its hash computed and filled in, behind `room` zero bytes for the caller's framing.
///
/// The floor is encoded once: the hash is taken over the bytes as they lie, then put into a gap in front of them by
/// moving fields 1 and 2, some 30 bytes, ahead of it.
#[must_use]
pub fn encode_hashed(floor: &Floor, room: usize) -> Vec<u8> {
    let body = room + HASH_FIELD_BYTES;
    let mut out = Vec::with_capacity(body + floor.encoded_len());
    out.resize(body, 0);
    // Field 3 is cleared by leaving it out: encode field by field would repeat what prost generates.
    if floor.content_hash == 0 {
        floor.encode_raw(&mut out);
    } else {
        Floor { content_hash: 0, ..floor.clone() }.encode_raw(&mut out);
    }
    let hash = xxh3_64(&out[body..]);
    if hash == 0 {
        // A default is omitted, so there is no field to make room for.
        out.drain(room..body);
        return out;
    }
    let ahead =
        Floor { spec: floor.spec, generator_version: floor.generator_version, ..Floor::default() }.encoded_len();
    out.copy_within(body..body + ahead, room);
    out[room + ahead] = HASH_TAG;
    out[room + ahead + 1..body + ahead].copy_from_slice(&hash.to_le_bytes());
    out
}

/// Why an encoded floor cannot be trusted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum HashError {
    /// Not a floor at all.
    #[error("the bytes are no floor: {0}")]
    Decode(#[from] prost::DecodeError),
    /// The hash in the floor is not that of its bytes.
    #[error("the floor carries content hash {carried:016x}, but its bytes hash to {computed:016x}")]
    Mismatch {
        /// What field 3 says.
        carried: u64,
        /// What it should say.
        computed: u64,
    },
    /// The content is right, the encoding is not the canonical one.
    #[error("the floor takes {given} bytes; encoded canonically it takes {canonical} or differs in order")]
    NotCanonical {
        /// Bytes given.
        given: usize,
        /// Bytes of the canonical encoding.
        canonical: usize,
    },
}
