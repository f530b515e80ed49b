//! The content hash: XXH3-64 of a floor's canonical encoding without the hash itself.
//!
//! Canonical means what prost writes: fields ascending, defaults omitted, repeated scalars packed. The same spec and
//! generator version give the same bytes, so anyone who holds a floor can check it.

use std::ops::Range;

use prost::{
    DecodeError, Message,
    encoding::{DecodeContext, decode_key, skip_field},
};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::v1::Floor;

/// What field 3 takes on the wire: its tag, then eight bytes.
const HASH_FIELD_BYTES: usize = 9;
/// The number of the field that holds the hash.
const HASH_FIELD: u32 = 3;
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

/// Decodes an encoded floor and checks that the hash in it is that of its bytes as they lie.
///
/// Nothing is encoded again: fields and enum values that this version does not know count towards the hash like all
/// others, so a newer server's floors pass.
///
/// # Errors
/// When the bytes are no floor, hold the hash more than once, or hash to something else.
pub fn verify_encoded(encoded: &[u8]) -> Result<Floor, HashError> {
    let floor = Floor::decode(encoded)?;
    let mut computed = Xxh3::new();
    let mut next = 0;
    let mut hashes = 0;
    for field in hash_fields(encoded)? {
        computed.update(&encoded[next..field.start]);
        next = field.end;
        hashes += 1;
    }
    if hashes > 1 {
        return Err(HashError::Repeated(hashes));
    }
    // A hash of 0 is a default, so its field is left out: then the bytes must hash to 0.
    computed.update(&encoded[next..]);
    let computed = computed.digest();
    if computed == floor.content_hash {
        Ok(floor)
    } else {
        Err(HashError::Mismatch { carried: floor.content_hash, computed })
    }
}

/// Where field 3 stands among the fields of an encoded floor.
fn hash_fields(encoded: &[u8]) -> Result<Vec<Range<usize>>, DecodeError> {
    let mut rest = encoded;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let start = encoded.len() - rest.len();
        let (field, wire_type) = decode_key(&mut rest)?;
        skip_field(wire_type, field, &mut rest, DecodeContext::default())?;
        if field == HASH_FIELD {
            found.push(start..encoded.len() - rest.len());
        }
    }
    Ok(found)
}

/// Encodes `floor` with its hash computed and filled in, behind `prefix_len` zero bytes for the caller's framing.
///
/// The floor is encoded once: the hash is taken over the bytes as they lie, then put into a gap in front of them by
/// moving fields 1 and 2, some 30 bytes, ahead of it.
#[must_use]
pub fn encode_hashed(floor: &Floor, prefix_len: usize) -> Vec<u8> {
    let body = prefix_len + HASH_FIELD_BYTES;
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
        out.drain(prefix_len..body);
        return out;
    }
    let moved_len =
        Floor { spec: floor.spec, generator_version: floor.generator_version, ..Floor::default() }.encoded_len();
    out.copy_within(body..body + moved_len, prefix_len);
    out[prefix_len + moved_len] = HASH_TAG;
    out[prefix_len + moved_len + 1..body + moved_len].copy_from_slice(&hash.to_le_bytes());
    out
}

/// Why an encoded floor cannot be trusted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum HashError {
    /// Not a floor at all.
    #[error("the bytes are no floor: {0}")]
    Decode(#[from] DecodeError),
    /// The hash in the floor is not that of its bytes.
    #[error("the floor carries content hash {carried:016x}, but its bytes hash to {computed:016x}")]
    Mismatch {
        /// What field 3 says.
        carried: u64,
        /// What it should say.
        computed: u64,
    },
    /// The hash stands more than once: which is meant?
    #[error("the floor carries {0} content hashes, not one")]
    Repeated(usize),
}
