//! Responses of Connect: a message without a frame, and what caches may do with it.

use std::mem;

use bytes::Buf;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use prost::encoding::{DecodeContext, WireType, decode_key, skip_field};
use tonic::Status;

use super::{json, protocol::Encoding};
use crate::{
    grpc::{FloorBody, Rpc},
    headers::FLOOR_SERVER_US,
};

/// For answers that never change.
const IMMUTABLE: &str = "public, immutable, max-age=31536000";
const IMMUTABLE_PRIVATE: &str = "private, immutable, max-age=31536000";
/// For answers that change with the generator version of the server.
const SHORT: &str = "public, max-age=60";
const SHORT_PRIVATE: &str = "private, max-age=60";

/// What decides whether caches may store the answer to a GET.
#[derive(Debug, Clone, Copy)]
pub(in crate::grpc) struct Caching<'a> {
    /// The headers of the request.
    pub(in crate::grpc) headers: &'a HeaderMap,
    /// Whether the caller named the generator version.
    pub(in crate::grpc) names_version: bool,
    /// Whether the answer is for its caller only.
    pub(in crate::grpc) is_private: bool,
}

/// Turns a unary response of gRPC into one of Connect. `caching` is set for GET and HEAD.
pub(in crate::grpc) async fn encode(
    response: &mut Response<FloorBody>,
    rpc: Rpc,
    encoding: Encoding,
    caching: Option<Caching<'_>>,
) -> Result<(), Status> {
    let message = mem::take(response.body_mut()).into_message();
    let headers = response.headers_mut();
    if let Some(caching) = caching {
        let policy = cache_control(rpc, &caching, headers);
        headers.insert(header::CACHE_CONTROL, policy);
        let hash = (rpc == Rpc::GetFloor).then(|| content_hash(message.chunk())).flatten();
        if let Some(etag) = hash.map(|hash| etag_of(hash, encoding)) {
            let is_known = names(caching.headers, &etag);
            headers.insert(header::ETAG, etag);
            if is_known {
                headers.remove(header::CONTENT_TYPE);
                *response.status_mut() = StatusCode::NOT_MODIFIED;
                return Ok(());
            }
        }
    }
    let (content_type, body) = match encoding {
        Encoding::Proto => ("application/proto", FloorBody::message(message)),
        // Boxed to keep the futures of other calls small.
        Encoding::Json => {
            let json = Box::pin(json::response(rpc, message.into_bytes())).await?;
            ("application/json", FloorBody::whole(json.into()))
        }
    };
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.unsent_bytes()));
    *response.body_mut() = body;
    Ok(())
}

/// A response with status 200 and the content type of a stream.
pub(in crate::grpc) fn stream_head(body: FloorBody, encoding: Encoding) -> Response<FloorBody> {
    let content_type = match encoding {
        Encoding::Proto => "application/connect+proto",
        Encoding::Json => "application/connect+json",
    };
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn cache_control(rpc: Rpc, caching: &Caching<'_>, answer: &HeaderMap) -> HeaderValue {
    // What the server did for one call says nothing of the next.
    let is_traced = answer.contains_key(&FLOOR_SERVER_US);
    HeaderValue::from_static(match (caching.names_version, caching.is_private) {
        _ if is_traced || rpc == Rpc::GetServerInfo => "no-store",
        (true, false) => IMMUTABLE,
        (true, true) => IMMUTABLE_PRIVATE,
        (false, false) => SHORT,
        (false, true) => SHORT_PRIVATE,
    })
}

/// The entity tag of a floor with this content hash.
fn etag_of(content_hash: u64, encoding: Encoding) -> HeaderValue {
    let suffix = match encoding {
        Encoding::Proto => "",
        Encoding::Json => "-json",
    };
    HeaderValue::try_from(format!("\"{content_hash:016x}{suffix}\"")).expect("hexadecimal digits are ASCII")
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
        let mut response = Response::new(FloorBody::unary(stored.clone()));
        encode(&mut response, Rpc::GetFloor, Encoding::Proto, None).await.unwrap();
        assert_eq!(response.headers()["content-length"], "3");
        let mut body = response.into_body();
        let message = body.frame().await.unwrap().unwrap().into_data().unwrap().into_bytes();
        assert_eq!(message.as_ptr(), stored[5..].as_ptr(), "not copied");
        assert!(body.is_end_stream(), "no trailers follow");
    }
}
