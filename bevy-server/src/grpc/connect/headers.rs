//! The request headers of Connect.

use std::time::Duration;

use http::{HeaderMap, HeaderName, header};
use tonic::Status;

use crate::grpc::framing::Framing;

/// Static names, because a name given as text is parsed for each lookup.
static PROTOCOL_VERSION: HeaderName = HeaderName::from_static("connect-protocol-version");
static TIMEOUT: HeaderName = HeaderName::from_static("connect-timeout-ms");
static STREAM_ENCODING: HeaderName = HeaderName::from_static("connect-content-encoding");

/// Checks the version of the protocol and the compression.
pub(in crate::grpc) fn check(headers: &HeaderMap, framing: Framing) -> Result<(), Status> {
    if let Some(version) = headers.get(&PROTOCOL_VERSION)
        && version.as_bytes() != b"1"
    {
        let message = format!("connect-protocol-version {version:?} is unknown; this server speaks version 1");
        return Err(Status::invalid_argument(message));
    }
    let name = match framing {
        Framing::ConnectStream(_) => STREAM_ENCODING.clone(),
        _ => header::CONTENT_ENCODING,
    };
    match headers.get(&name) {
        Some(encoding) if !encoding.as_bytes().eq_ignore_ascii_case(b"identity") => {
            Err(Status::unimplemented(format!("{name} {encoding:?} is not supported; this server takes identity only")))
        }
        _ => Ok(()),
    }
}

/// The timeout in `connect-timeout-ms`.
pub(in crate::grpc) fn timeout(headers: &HeaderMap) -> Result<Option<Duration>, Status> {
    let Some(value) = headers.get(&TIMEOUT) else { return Ok(None) };
    let digits = value.as_bytes();
    let is_valid = (1..=10).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    let millis = value.to_str().ok().filter(|_| is_valid).and_then(|digits| digits.parse().ok());
    let millis = millis.ok_or_else(|| {
        Status::invalid_argument(format!("connect-timeout-ms {value:?} is not 1 to 10 decimal digits"))
    })?;
    Ok(Some(Duration::from_millis(millis)))
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;
    use crate::grpc::framing::Encoding;

    fn with(name: &'static str, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(http::HeaderName::from_static(name), http::HeaderValue::from_static(value))])
    }

    #[test]
    fn timeouts_are_milliseconds() {
        let timeout = |value| timeout(&with("connect-timeout-ms", value)).map_err(|status| status.code());
        assert_eq!(timeout("1500"), Ok(Some(Duration::from_millis(1500))));
        assert_eq!(timeout("9999999999"), Ok(Some(Duration::from_millis(9_999_999_999))));
        for wrong in ["", "-1", "1.5", "10000000000", "5s", " 5"] {
            assert_eq!(timeout(wrong), Err(Code::InvalidArgument), "{wrong:?}");
        }
    }

    #[test]
    fn other_versions_and_compression_are_refused() {
        let (unary, stream) = (Framing::ConnectUnary(Encoding::Json), Framing::ConnectStream(Encoding::Json));
        let code = |headers, framing| check(&headers, framing).err().map(|status| status.code());
        assert_eq!(code(with("connect-protocol-version", "1"), unary), None);
        assert_eq!(code(with("connect-protocol-version", "2"), unary), Some(Code::InvalidArgument));
        assert_eq!(code(with("content-encoding", "identity"), unary), None);
        assert_eq!(code(with("content-encoding", "gzip"), unary), Some(Code::Unimplemented));
        assert_eq!(code(with("connect-content-encoding", "gzip"), stream), Some(Code::Unimplemented));
    }
}
