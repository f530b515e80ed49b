//! What caches may do with the answer to a GET.

use bytes::Buf;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use prost::encoding::{DecodeContext, WireType, decode_key, skip_field};

use crate::{
    grpc::{
        Rpc,
        answer::Validity,
        body::FloorBody,
        codecs::{Encoding, Outgoing, respond},
    },
    headers::FLOOR_SERVER_US,
};

/// For answers that never change.
const IMMUTABLE: &str = "public, immutable, max-age=31536000";
const IMMUTABLE_PRIVATE: &str = "private, immutable, max-age=31536000";
/// For answers that change with the generator version of the server, or with the current version of a pack.
const SHORT: &str = "public, max-age=60";
const SHORT_PRIVATE: &str = "private, max-age=60";

/// Adds to the answer to a GET or HEAD what caches may do with it; `names_version`: the request named the generator
/// version. Returns the response without a body if the client, who has answers with the tags `known`, knows it.
pub(super) fn add(
    outgoing: &mut Outgoing<'_>,
    encoding: Encoding,
    names_version: bool,
    known: &[HeaderValue],
) -> Option<Response<FloorBody>> {
    let Outgoing { rpc, frame, headers, validity, is_private, .. } = outgoing;
    headers.insert(header::CACHE_CONTROL, cache_control(*validity, names_version, *is_private, headers));
    if *is_private {
        // One URL names other floors for callers of another tenant.
        headers.append(header::VARY, HeaderValue::from_static("authorization"));
    }
    let hash = (*rpc == Rpc::GetFloor).then(|| content_hash(frame.message_start())).flatten();
    let etag = etag_of(hash?, encoding);
    let is_known = names(known, &etag);
    headers.insert(header::ETAG, etag);
    is_known.then(|| {
        headers.remove(header::CONTENT_TYPE);
        let mut response = respond(std::mem::take(headers), FloorBody::default());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    })
}

fn cache_control(validity: Validity, names_version: bool, is_private: bool, answer: &HeaderMap) -> HeaderValue {
    // What the server did for one call says nothing of the next.
    let is_traced = answer.contains_key(&FLOOR_SERVER_US);
    let is_immutable = names_version && validity == Validity::GeneratorVersion;
    HeaderValue::from_static(match (is_immutable, is_private) {
        _ if is_traced || validity == Validity::Now => "no-store",
        (true, false) => IMMUTABLE,
        (true, true) => IMMUTABLE_PRIVATE,
        (false, false) => SHORT,
        (false, true) => SHORT_PRIVATE,
    })
}

/// The entity tag of a floor with this content hash.
fn etag_of(content_hash: u64, encoding: Encoding) -> HeaderValue {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let suffix = match encoding {
        Encoding::Proto => &b""[..],
        Encoding::Json => b"-json",
        Encoding::FullJson => b"-full",
    };
    // `format!` costs a twentieth of a hit.
    let mut tag = [b'"'; 1 + 16 + 5 + 1];
    for (index, byte) in tag[1..=16].iter_mut().enumerate() {
        *byte = DIGITS[(content_hash >> (60 - 4 * index) & 0xf) as usize];
    }
    tag[17..][..suffix.len()].copy_from_slice(suffix);
    HeaderValue::from_bytes(&tag[..18 + suffix.len()]).expect("hexadecimal digits are ASCII")
}

/// Whether `if-none-match` names `etag` (RFC 9110, section 13.1.2). A proxy that compresses makes tags weak.
fn names(known: &[HeaderValue], etag: &HeaderValue) -> bool {
    known.iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).map(<[u8]>::trim_ascii).any(|tag| {
        let strong = tag.strip_prefix(b"W/").unwrap_or(tag);
        tag == b"*" || strong == etag.as_bytes()
    })
}

/// The content hash in an encoded floor.
fn content_hash(mut floor: &[u8]) -> Option<u64> {
    /// Its field.
    const CONTENT_HASH: u32 = 3;
    while floor.has_remaining() {
        let (tag, wire_type) = decode_key(&mut floor).ok()?;
        if (tag, wire_type) == (CONTENT_HASH, WireType::SixtyFourBit) {
            return floor.try_get_u64_le().ok();
        }
        skip_field(wire_type, tag, &mut floor, DecodeContext::default()).ok()?;
    }
    None
}

#[cfg(test)]
mod tests {
    use floor_proto::v1;
    use prost::Message;

    use super::*;

    #[test]
    fn the_content_hash_is_found_without_decoding() {
        let spec = v1::FloorSpec { seed: 1, number: 1, ..Default::default() };
        let floor = v1::Floor { spec: Some(spec), generator_version: 3, content_hash: 0xabc, ..Default::default() };
        assert_eq!(content_hash(&floor.encode_to_vec()), Some(0xabc));
        assert_eq!(content_hash(&[]), None);
        assert_eq!(content_hash(&[0x19, 1, 2]), None);
    }

    #[test]
    fn tags_are_compared_weakly() {
        let etag = etag_of(0xabc, Encoding::Json);
        assert_eq!(etag, "\"0000000000000abc-json\"");
        assert_ne!(etag, etag_of(0xabc, Encoding::FullJson));
        assert_eq!(etag_of(0xfedc_ba98_7654_3210, Encoding::Proto), "\"fedcba9876543210\"");
        for (value, wanted) in [
            ("\"0000000000000abc-json\"", true),
            ("\"x\", W/\"0000000000000abc-json\"", true),
            ("*", true),
            ("\"0000000000000abc\"", false),
            ("0000000000000abc-json", false),
        ] {
            assert_eq!(names(&[HeaderValue::from_static(value)], &etag), wanted, "{value}");
        }
        assert!(!names(&[], &etag));
    }
}
