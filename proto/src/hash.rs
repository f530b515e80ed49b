//! The content hash: XXH3-64 of a floor's canonical encoding without the hash itself.
//!
//! The canonical encoding is the one that prost writes: fields ascending, defaults omitted, repeated scalars packed.
//! The same spec and generator version give the same bytes, so any holder of a floor can check it.

use std::ops::Range;

use prost::{
    DecodeError, Message,
    encoding::{self, DecodeContext, decode_key, skip_field},
};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::{
    entries::{self, EntriesError},
    v1::Floor,
};

/// Length of field 3 on the wire: one byte of tag, eight of hash.
const HASH_FIELD_BYTES: usize = 9;
/// The number of the field that holds the hash.
const HASH_FIELD: u32 = 3;
/// Field 3, wire type fixed64.
const HASH_TAG: u8 = 3 << 3 | 1;

/// The correct hash of `floor`. The value of `floor.content_hash` has no influence.
#[must_use]
pub fn content_hash(floor: &Floor) -> u64 {
    if floor.content_hash == 0 {
        return xxh3_64(&floor.encode_to_vec());
    }
    xxh3_64(&Floor { content_hash: 0, ..floor.clone() }.encode_to_vec())
}

/// Whether `floor.content_hash` is the correct hash.
#[must_use]
pub fn verify(floor: &Floor) -> bool {
    floor.content_hash == content_hash(floor)
}

/// Decodes an encoded floor and checks the hash in it against the encoded bytes.
///
/// The floor is not encoded again. Fields and enum values that this version does not know count towards the hash like
/// all others, so floors of a newer server pass.
///
/// # Errors
/// [`HashError`] if the bytes are not a floor, have more entries than any floor, hold the hash field more than once, or do not match the hash.
pub fn verify_encoded(encoded: &[u8]) -> Result<Floor, HashError> {
    entries::check_floor(encoded)?;
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
    // A floor whose hash is 0 has no hash field, since encoding omits defaults.
    computed.update(&encoded[next..]);
    let computed = computed.digest();
    if computed == floor.content_hash {
        Ok(floor)
    } else {
        Err(HashError::Mismatch { carried: floor.content_hash, computed })
    }
}

/// The byte ranges of field 3 in an encoded floor.
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

/// Computes the hash of `floor` and encodes the floor with it, after `prefix_len` zero bytes for the caller's framing.
///
/// The floor is encoded once, after a gap of `HASH_FIELD_BYTES`. The function hashes the bytes, moves fields 1 and 2
/// (30 to 80 bytes) to the start of the gap and writes the hash behind them.
#[must_use]
pub fn encode_hashed(floor: &Floor, prefix_len: usize) -> Vec<u8> {
    let body = prefix_len + HASH_FIELD_BYTES;
    let mut out = Vec::with_capacity(body + floor.encoded_len());
    out.resize(body, 0);
    if floor.content_hash == 0 {
        floor.encode_raw(&mut out);
    } else {
        Floor { content_hash: 0, ..floor.clone() }.encode_raw(&mut out);
    }
    let hash = xxh3_64(&out[body..]);
    if hash == 0 {
        // Encoding omits defaults, so this floor has no hash field and needs no gap.
        out.drain(prefix_len..body);
        return out;
    }
    let spec_len = floor.spec.as_ref().map_or(0, |spec| encoding::message::encoded_len(1, spec));
    let version = floor.generator_version;
    let moved_len = spec_len + if version == 0 { 0 } else { encoding::uint32::encoded_len(2, &version) };
    out.copy_within(body..body + moved_len, prefix_len);
    out[prefix_len + moved_len] = HASH_TAG;
    out[prefix_len + moved_len + 1..body + moved_len].copy_from_slice(&hash.to_le_bytes());
    out
}

/// Why [`verify_encoded`] rejects an encoded floor.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HashError {
    /// The bytes do not decode as a floor.
    #[error("the bytes are no floor: {0}")]
    Decode(#[from] DecodeError),
    /// The hash in the floor is not the hash of its bytes.
    #[error("the floor carries content hash {carried:016x}, but its bytes hash to {computed:016x}")]
    Mismatch {
        /// The value of field 3.
        carried: u64,
        /// The correct value.
        computed: u64,
    },
    /// The lists of the floor are longer than those of any floor.
    #[error("the bytes are no floor: {0}")]
    Entries(EntriesError),
    /// The floor has more than one hash field; holds their number.
    #[error("the floor carries {0} content hashes, not one")]
    Repeated(usize),
}

impl From<EntriesError> for HashError {
    fn from(error: EntriesError) -> Self {
        match error {
            EntriesError::Decode(error) => Self::Decode(error),
            EntriesError::TooMany(_) => Self::Entries(error),
        }
    }
}
