//! The request headers of Connect.

use std::time::Duration;

use http::{HeaderMap, HeaderName};
use tonic::Status;

/// Static names, because a name given as text is parsed for each lookup.
static PROTOCOL_VERSION: HeaderName = HeaderName::from_static("connect-protocol-version");
static TIMEOUT: HeaderName = HeaderName::from_static("connect-timeout-ms");
/// How the messages of a stream are compressed.
pub(super) static STREAM_ENCODING: HeaderName = HeaderName::from_static("connect-content-encoding");

/// The timeout in `connect-timeout-ms`. Fails for another version of the protocol, and for a compression, which
/// `encoding` names.
pub(super) fn timeout(headers: &HeaderMap, encoding: &HeaderName) -> Result<Option<Duration>, Status> {
    if let Some(version) = headers.get(&PROTOCOL_VERSION)
        && version.as_bytes() != b"1"
    {
        let message = format!("connect-protocol-version {version:?} is unknown; this server speaks version 1");
        return Err(Status::invalid_argument(message));
    }
    if let Some(value) = headers.get(encoding)
        && !value.as_bytes().eq_ignore_ascii_case(b"identity")
    {
        let message = format!("{encoding} {value:?} is not supported; this server takes identity only");
        return Err(Status::unimplemented(message));
    }
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
    use http::header;
    use tonic::Code;

    use super::*;

    fn with(name: &'static str, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(HeaderName::from_static(name), http::HeaderValue::from_static(value))])
    }

    fn timeout_of(name: &'static str, value: &'static str) -> Result<Option<Duration>, Code> {
        timeout(&with(name, value), &header::CONTENT_ENCODING).map_err(|status| status.code())
    }

    #[test]
    fn timeouts_are_milliseconds() {
        let timeout = |value| timeout_of("connect-timeout-ms", value);
        assert_eq!(timeout("1500"), Ok(Some(Duration::from_millis(1500))));
        assert_eq!(timeout("9999999999"), Ok(Some(Duration::from_millis(9_999_999_999))));
        for wrong in ["", "-1", "1.5", "10000000000", "5s", " 5"] {
            assert_eq!(timeout(wrong), Err(Code::InvalidArgument), "{wrong:?}");
        }
    }

    #[test]
    fn other_versions_and_compression_are_refused() {
        assert_eq!(timeout_of("connect-protocol-version", "1"), Ok(None));
        assert_eq!(timeout_of("connect-protocol-version", "2"), Err(Code::InvalidArgument));
        assert_eq!(timeout_of("content-encoding", "identity"), Ok(None));
        assert_eq!(timeout_of("content-encoding", "gzip"), Err(Code::Unimplemented));
        let stream = timeout(&with("connect-content-encoding", "gzip"), &STREAM_ENCODING);
        assert_eq!(stream.map_err(|status| status.code()), Err(Code::Unimplemented));
    }
}
