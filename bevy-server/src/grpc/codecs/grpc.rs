//! gRPC over HTTP/2: messages with a prefix, and trailers. Stored floors are sent as they are.

use std::time::Duration;

use bytes::Bytes;
use floor_proto::limits::DEFAULT_MESSAGE_BYTES;
use http::{HeaderMap, Response};
use http_body::Body;
use tonic::{Status, metadata::MetadataValue};

use super::{Codec, Incoming, Outgoing, StreamCodec, StreamEnd, UnaryCodec, message, respond};
use crate::{
    callers::Caller,
    grpc::{
        admission::Offload,
        body::{FloorBody, OK_TRAILERS},
    },
    headers::{GRPC_ENCODING, GRPC_TIMEOUT},
};

/// gRPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::grpc) struct Grpc;

impl Codec for Grpc {
    const EXPECTS_RESET: bool = true;

    fn content_type(&self) -> &'static str {
        "application/grpc"
    }

    fn timeout(&self, headers: &HeaderMap) -> Result<Option<Duration>, Status> {
        timeout(headers)
    }

    async fn decode(
        &mut self,
        Incoming { body, charge, .. }: Incoming<'_, impl Body<Data = Bytes, Error = Status> + Unpin>,
    ) -> Result<Bytes, Status> {
        message::framed(body, DEFAULT_MESSAGE_BYTES, charge).await
    }

    fn failed(&self, status: Status) -> Response<FloorBody> {
        status.into_http()
    }
}

impl UnaryCodec for Grpc {
    const IS_PAID_WHEN_WAITING: bool = true;

    async fn encode(&self, Outgoing { frame, headers, .. }: Outgoing<'_>) -> Result<Response<FloorBody>, Status> {
        Ok(respond(headers, FloorBody::framed(frame)))
    }
}

impl StreamCodec for Grpc {
    async fn encode_floor(&self, frame: Bytes, _: &Offload, _: &Caller) -> Result<Bytes, Status> {
        Ok(frame)
    }

    fn end(&self, error: Option<&Status>, metadata: HeaderMap) -> StreamEnd {
        StreamEnd { trailers: trailers(error, metadata), message: None }
    }
}

/// The trailers of a stream.
pub(super) fn trailers(error: Option<&Status>, metadata: HeaderMap) -> HeaderMap {
    let mut trailers = match error {
        None => OK_TRAILERS.clone(),
        Some(error) => {
            let mut trailers = HeaderMap::new();
            // Cannot fail: the text is made here and fits a header.
            let _ = error.add_header(&mut trailers);
            trailers
        }
    };
    trailers.extend(metadata);
    trailers
}

/// The timeout in `grpc-timeout`. UNIMPLEMENTED for a compression, also for one that the call's message does without.
pub(super) fn timeout(headers: &HeaderMap) -> Result<Option<Duration>, Status> {
    check_encoding(headers)?;
    let Some(value) = headers.get(&GRPC_TIMEOUT) else { return Ok(None) };
    let timeout = value.to_str().ok().and_then(parse_timeout).ok_or_else(|| {
        Status::invalid_argument(format!("grpc-timeout {value:?} is not 1 to 8 digits and one of H, M, S, m, u, n"))
    })?;
    Ok(Some(timeout))
}

fn check_encoding(headers: &HeaderMap) -> Result<(), Status> {
    match headers.get(&GRPC_ENCODING) {
        Some(encoding) if !encoding.as_bytes().eq_ignore_ascii_case(b"identity") => {
            let message = format!("grpc-encoding {encoding:?} is not supported; this server takes identity only");
            let mut status = Status::unimplemented(message);
            status.metadata_mut().insert("grpc-accept-encoding", MetadataValue::from_static("identity"));
            Err(status)
        }
        _ => Ok(()),
    }
}

/// Parses a `grpc-timeout`: at most eight digits and a unit (gRPC over HTTP/2 specification).
fn parse_timeout(value: &str) -> Option<Duration> {
    let (digits, unit) = value.split_at_checked(value.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(count * 3600)),
        "M" => Some(Duration::from_secs(count * 60)),
        "S" => Some(Duration::from_secs(count)),
        "m" => Some(Duration::from_millis(count)),
        "u" => Some(Duration::from_micros(count)),
        "n" => Some(Duration::from_nanos(count)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_follow_the_grpc_specification() {
        assert_eq!(parse_timeout("100m"), Some(Duration::from_millis(100)));
        assert_eq!(parse_timeout("99999999H"), Some(Duration::from_secs(99_999_999 * 3600)));
        assert_eq!(parse_timeout("0n"), Some(Duration::ZERO));
        for wrong in ["", "m", "1", "1x", "-1S", "123456789S", "1.5S", "1µ"] {
            assert_eq!(parse_timeout(wrong), None, "{wrong:?}");
        }
    }
}
