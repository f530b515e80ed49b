//! Unary calls by GET: the request is in the query, so that caches know the answer by its URL.

use std::borrow::Cow;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use floor_gen::GENERATOR_VERSION;
use http::Uri;
use percent_encoding::percent_decode;
use tonic::Status;

use crate::grpc::{codecs::Encoding, status};

/// As browsers and libraries write it: URL-safe, with padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The parameters that count. Others are ignored: caches and pages add some.
const PARAMETERS: [&str; 7] = ["connect", "encoding", JSON, "base64", "compression", "message", "generator_version"];
/// The parameter for the form of JSON.
const JSON: &str = "json";

/// The query of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Query {
    pub(super) message: Bytes,
    pub(super) encoding: Encoding,
    /// Whether the caller named the generator version, so that the answer never changes.
    pub(super) names_version: bool,
}

impl Query {
    /// Parses the query of a URL. Unknown parameters are ignored.
    ///
    /// # Errors
    /// INVALID_ARGUMENT if a parameter is missing or wrong, UNIMPLEMENTED for a compression, and FAILED_PRECONDITION if
    /// the caller wants another generator version.
    pub(super) fn parse(query: &str) -> Result<Self, Status> {
        let (mut message, mut encoding, mut is_base64, mut names_version) = (None, None, false, false);
        let mut json = Encoding::Json;
        let mut known: Vec<&str> = Vec::with_capacity(PARAMETERS.len());
        for parameter in query.split('&') {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            if PARAMETERS.contains(&name) {
                expect(!known.contains(&name), &format!("{name} is given twice"))?;
                known.push(name);
            }
            match name {
                "connect" => expect(value == "v1", "connect must be v1")?,
                "encoding" => encoding = Some(parse_encoding(value)?),
                JSON => json = parse_form(value)?,
                "base64" => {
                    expect(matches!(value, "0" | "1"), "base64 must be 0 or 1")?;
                    is_base64 = value == "1";
                }
                "compression" if !matches!(value, "" | "identity") => {
                    return Err(Status::unimplemented("compression is not supported; this server takes identity only"));
                }
                "message" => message = Some(value),
                "generator_version" => {
                    check_version(value)?;
                    names_version = true;
                }
                _ => {}
            }
        }
        let encoding = encoding.ok_or_else(|| invalid("encoding is missing: json or proto"))?;
        let encoding = if encoding == Encoding::Json { json } else { encoding };
        let message = message.ok_or_else(|| invalid("message is missing: the request, percent-encoded"))?;
        // In queries `+` is a space, but base64 has none.
        let spaced: Cow<'_, str> =
            if is_base64 || !message.contains('+') { message.into() } else { message.replace('+', " ").into() };
        let message = percent_decoded(&spaced)?;
        let message = if is_base64 { from_base64(message)? } else { message };
        Ok(Self { message: message.into(), encoding, names_version })
    }
}

/// The form of the JSON that a posted request wants: `json=full` in its query, or else the one of proto3.
///
/// # Errors
/// INVALID_ARGUMENT for a form that does not exist.
pub(super) fn form_of_json(uri: &Uri) -> Result<Encoding, Status> {
    let mut parameters = uri.query().unwrap_or_default().split('&').filter_map(|parameter| parameter.split_once('='));
    parameters.find(|(name, _)| *name == JSON).map_or(Ok(Encoding::Json), |(_, value)| parse_form(value))
}

fn parse_form(value: &str) -> Result<Encoding, Status> {
    if value == "full" { Ok(Encoding::FullJson) } else { Err(invalid("json must be full, or be left out")) }
}

fn percent_decoded(text: &str) -> Result<Vec<u8>, Status> {
    let is_code =
        |rest: &str| rest.get(..2).is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
    expect(text.split('%').skip(1).all(is_code), "message has a % without two hexadecimal digits; % itself is %25")?;
    Ok(Cow::from(percent_decode(text.as_bytes())).into_owned())
}

fn parse_encoding(value: &str) -> Result<Encoding, Status> {
    match value {
        "json" => Ok(Encoding::Json),
        "proto" => Ok(Encoding::Proto),
        _ => Err(invalid("encoding must be json or proto")),
    }
}

fn check_version(value: &str) -> Result<(), Status> {
    let version: u32 = value.parse().map_err(|_| invalid("generator_version must be a number"))?;
    if version == GENERATOR_VERSION { Ok(()) } else { Err(status::other_generator_version(version)) }
}

/// Decodes the URL-safe alphabet, and the standard one too.
fn from_base64(mut text: Vec<u8>) -> Result<Vec<u8>, Status> {
    for byte in &mut text {
        match byte {
            b'+' => *byte = b'-',
            b'/' => *byte = b'_',
            _ => {}
        }
    }
    BASE64.decode(text).map_err(|error| invalid(&format!("message is not base64: {error}")))
}

fn expect(holds: bool, message: &str) -> Result<(), Status> {
    if holds { Ok(()) } else { Err(invalid(message)) }
}

fn invalid(message: &str) -> Status {
    Status::invalid_argument(format!("in the query of the URL, {message}"))
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    #[test]
    fn messages_are_percent_encoded_or_base64() {
        let json = Bytes::from_static(br#"{"spec": {"number":7}}"#);
        for query in [
            "connect=v1&encoding=json&message=%7B%22spec%22%3A+%7B%22number%22%3A7%7D%7D".to_owned(),
            "message={%22spec%22:%20{%22number%22:7}}&encoding=json&other=1".to_owned(),
            "encoding=json&base64=1&compression=identity&message=eyJzcGVjIjogeyJudW1iZXIiOjd9fQ".to_owned(),
            "encoding=json&base64=1&message=eyJzcGVjIjogeyJudW1iZXIiOjd9fQ%3D%3D".to_owned(),
            "encoding=json&base64=1&message=eyJzcGVjIjogeyJudW1iZXIiOjd9fQ==".to_owned(),
        ] {
            let parsed = Query::parse(&query).unwrap();
            assert_eq!(
                parsed,
                Query { message: json.clone(), encoding: Encoding::Json, names_version: false },
                "{query}"
            );
        }
        for query in ["-_8", "%2B%2F8", "+/8="] {
            let parsed = Query::parse(&format!("encoding=proto&base64=1&message={query}")).unwrap();
            assert_eq!(parsed.message, [0xfb, 0xff][..], "{query}");
        }
        assert_eq!(Query::parse("encoding=proto&message=%0a%04%ff").unwrap().message, [10, 4, 0xff][..]);
        let versioned = format!("encoding=proto&message=&generator_version={GENERATOR_VERSION}");
        assert!(Query::parse(&versioned).unwrap().names_version);
    }

    #[test]
    fn wrong_queries_say_what_is_wrong() {
        let other = format!("encoding=json&message={{}}&generator_version={}", GENERATOR_VERSION + 1);
        for (query, code, part) in [
            ("", Code::InvalidArgument, "encoding is missing"),
            ("encoding=json", Code::InvalidArgument, "message is missing"),
            ("encoding=xml&message={}", Code::InvalidArgument, "json or proto"),
            ("encoding=json&message={}&connect=v2", Code::InvalidArgument, "v1"),
            ("encoding=json&message=e&base64=1", Code::InvalidArgument, "not base64"),
            ("encoding=json&message=!!!!&base64=1", Code::InvalidArgument, "not base64"),
            ("encoding=json&message={}&base64=yes", Code::InvalidArgument, "0 or 1"),
            ("encoding=json&message={}&compression=gzip", Code::Unimplemented, "identity"),
            ("encoding=json&message={}&generator_version=x", Code::InvalidArgument, "a number"),
            ("encoding=json&message={}&message={}", Code::InvalidArgument, "message is given twice"),
            ("encoding=json&message={}&encoding=proto", Code::InvalidArgument, "encoding is given twice"),
            ("encoding=json&message={}&base64=0&base64=0", Code::InvalidArgument, "base64 is given twice"),
            ("encoding=JSON&message={}", Code::InvalidArgument, "json or proto"),
            ("encoding=json&amp;message={}", Code::InvalidArgument, "message is missing"),
            ("encoding=proto&message=%0a%4", Code::InvalidArgument, "a % without two hexadecimal digits"),
            ("encoding=proto&message=%0a%+1", Code::InvalidArgument, "a % without two hexadecimal digits"),
            ("encoding=json&message=e30%0A&base64=1", Code::InvalidArgument, "not base64"),
            ("encoding=json&message={}&base64=true", Code::InvalidArgument, "0 or 1"),
            (other.as_str(), Code::FailedPrecondition, "GetServerInfo"),
        ] {
            let status = Query::parse(query).unwrap_err();
            assert_eq!(status.code(), code, "{query}");
            assert!(status.message().contains(part), "{query}: {status}");
        }
    }
}
