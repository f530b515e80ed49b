//! Responses of Connect: a message without a frame, and what caches may do with it.

use std::mem;

use bytes::Buf;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use prost::encoding::{DecodeContext, WireType, decode_key, skip_field};
use tonic::Status;

use super::json;
use crate::{
    clients::Client,
    grpc::{FloorBody, Rpc, framing::Encoding, offload::Offload},
    headers::FLOOR_SERVER_US,
};

/// For answers that never change.
const IMMUTABLE: &str = "public, immutable, max-age=31536000";
const IMMUTABLE_PRIVATE: &str = "private, immutable, max-age=31536000";
/// For answers that change with the generator version of the server, or with the current version of a pack.
const SHORT: &str = "public, max-age=60";
const SHORT_PRIVATE: &str = "private, max-age=60";

/// What decides whether caches may store the answer to a GET.
#[derive(Debug, Clone, Copy)]
pub(in crate::grpc) struct Caching<'a> {
    /// The headers of the request.
    pub(in crate::grpc) headers: &'a HeaderMap,
    /// Whether the caller named all versions that the answer depends on.
    pub(in crate::grpc) names_versions: bool,
    /// Whether the answer is for its caller only.
    pub(in crate::grpc) is_private: bool,
}

/// Adds to the answer to a GET or HEAD what caches may do with it. Returns whether the client knows the answer, which
/// then has no body.
pub(in crate::grpc) fn add_caching(
    response: &mut Response<FloorBody>,
    rpc: Rpc,
    encoding: Encoding,
    caching: Caching<'_>,
) -> bool {
    let policy = cache_control(rpc, &caching, response.headers());
    response.headers_mut().insert(header::CACHE_CONTROL, policy);
    if caching.is_private {
        // One URL names other floors for callers of another tenant.
        response.headers_mut().append(header::VARY, HeaderValue::from_static("authorization"));
    }
    let hash = (rpc == Rpc::GetFloor).then(|| content_hash(response.body().first_slice())).flatten();
    let Some(etag) = hash.map(|hash| etag_of(hash, encoding)) else { return false };
    let is_known = names(caching.headers, &etag);
    response.headers_mut().insert(header::ETAG, etag);
    if is_known {
        response.headers_mut().remove(header::CONTENT_TYPE);
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = FloorBody::default();
    }
    is_known
}

/// Encodes the message of a unary response as JSON.
pub(in crate::grpc) async fn encode_json(
    response: &mut Response<FloorBody>,
    rpc: Rpc,
    offload: &Offload,
    client: &Client,
) -> Result<(), Status> {
    let message = mem::take(response.body_mut()).take_unary().map(|(message, _)| message.into_bytes());
    let json = json::response(rpc, message.unwrap_or_default(), offload, client).await?;
    *response.body_mut() = FloorBody::whole(json.into());
    Ok(())
}

fn cache_control(rpc: Rpc, caching: &Caching<'_>, answer: &HeaderMap) -> HeaderValue {
    // What the server did for one call says nothing of the next.
    let is_traced = answer.contains_key(&FLOOR_SERVER_US);
    HeaderValue::from_static(match (caching.names_versions, caching.is_private) {
        _ if is_traced || !may_be_stored(rpc) => "no-store",
        (true, false) => IMMUTABLE,
        (true, true) => IMMUTABLE_PRIVATE,
        (false, false) => SHORT,
        (false, true) => SHORT_PRIVATE,
    })
}

/// Whether the answer depends on the request, the generator and the pack alone.
const fn may_be_stored(rpc: Rpc) -> bool {
    match rpc {
        Rpc::GetFloor | Rpc::BatchGetFloors | Rpc::StreamFloors | Rpc::GetPack => true,
        Rpc::GetServerInfo | Rpc::ListPacks => false,
    }
}

/// The entity tag of a floor with this content hash.
fn etag_of(content_hash: u64, encoding: Encoding) -> HeaderValue {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let suffix = match encoding {
        Encoding::Proto => &b""[..],
        Encoding::Json => b"-json",
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
fn names(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    let tags = headers.get_all(header::IF_NONE_MATCH).iter();
    tags.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).map(<[u8]>::trim_ascii).any(|tag| {
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
    use bytes::Bytes;
    use floor_proto::v1;
    use http_body::Body;
    use http_body_util::BodyExt;
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
        assert_eq!(etag_of(0xfedc_ba98_7654_3210, Encoding::Proto), "\"fedcba9876543210\"");
        for (value, wanted) in [
            ("\"0000000000000abc-json\"", true),
            ("\"x\", W/\"0000000000000abc-json\"", true),
            ("*", true),
            ("\"0000000000000abc\"", false),
            ("0000000000000abc-json", false),
        ] {
            let headers = HeaderMap::from_iter([(header::IF_NONE_MATCH, HeaderValue::from_static(value))]);
            assert_eq!(names(&headers, &etag), wanted, "{value}");
        }
        assert!(!names(&HeaderMap::new(), &etag));
    }

    #[tokio::test]
    async fn a_protobuf_answer_is_the_stored_bytes() {
        let stored = Bytes::from_static(b"\0\0\0\0\x03abc");
        let mut body = FloorBody::unary(stored.clone());
        assert_eq!(body.content_length(), None, "trailers follow");
        body.remove_framing();
        assert_eq!((body.content_length(), body.first_slice()), (Some(3), &b"abc"[..]));
        let message = body.frame().await.unwrap().unwrap().into_data().unwrap().into_bytes();
        assert_eq!(message.as_ptr(), stored[5..].as_ptr(), "not copied");
        assert!(body.is_end_stream(), "no trailers follow");
    }
}
