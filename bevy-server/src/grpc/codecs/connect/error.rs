//! Errors as Connect sends them: an HTTP status and JSON, or the last message of a stream.

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use bytes::{BufMut, Bytes, BytesMut};
use floor_proto::FRAME_PREFIX_BYTES;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use prost::Message as _;
use serde::Serialize;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::json;
use crate::grpc::body::FloorBody;

/// The flag of the last message of a stream.
const END_OF_STREAM: u8 = 2;

/// The error of a call.
#[derive(Debug, Serialize)]
struct ErrorJson<'a> {
    code: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<Detail>,
}

/// A message with more about an error, such as `google.rpc.BadRequest`.
#[derive(Debug, Serialize)]
struct Detail {
    #[serde(rename = "type")]
    name: String,
    /// The encoded message, in base64.
    value: String,
    /// The message for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    debug: Option<serde_json::Value>,
}

/// The last message of a stream.
#[derive(Debug, Serialize)]
struct EndOfStream<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorJson<'a>>,
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    metadata: serde_json::Map<String, serde_json::Value>,
}

/// The response to a failed unary call.
pub(super) fn failed(status: &Status) -> Response<FloorBody> {
    let mut response = response(http_status(status.code()), to_json(&ErrorJson::of(status)));
    add_metadata(status, "accept-encoding", response.headers_mut());
    if let Some(delay) = status.get_error_details().retry_info().and_then(|retry| retry.retry_delay) {
        // For HTTP clients that know no details. Whole seconds, and never less than the details say.
        let seconds = delay.as_secs() + u64::from(delay.subsec_nanos() > 0);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// The last message of a stream, in its envelope: its error, if it failed, and its trailers.
pub(super) fn end_of_stream(error: Option<&Status>, trailers: &HeaderMap) -> Bytes {
    let mut metadata = serde_json::Map::new();
    for (name, value) in trailers {
        if let Ok(value) = value.to_str() {
            metadata.insert(name.to_string(), vec![value].into());
        }
    }
    let json = to_json(&EndOfStream { error: error.map(ErrorJson::of), metadata });
    let mut message = BytesMut::with_capacity(FRAME_PREFIX_BYTES + json.len());
    message.put_u8(END_OF_STREAM);
    message.put_u32(u32::try_from(json.len()).expect("an error has a few KiB at most"));
    message.extend_from_slice(&json);
    message.freeze()
}

/// An error that is no status of a call.
pub(in crate::grpc::codecs) fn body(code: &'static str, message: &str) -> Vec<u8> {
    to_json(&ErrorJson { code, message, details: Vec::new() })
}

/// A response of JSON.
pub(in crate::grpc::codecs) fn response(status: StatusCode, json: Vec<u8>) -> Response<FloorBody> {
    let mut response = Response::new(FloorBody::whole(Bytes::from(json).into()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

impl<'a> ErrorJson<'a> {
    fn of(status: &'a Status) -> Self {
        let details =
            tonic_types::pb::Status::decode(status.details()).map(|status| status.details).unwrap_or_default();
        let details = details.into_iter().map(|detail| {
            let name = detail.type_url.rsplit('/').next().unwrap_or_default().to_owned();
            let debug = json::detail(&name, &detail.value);
            Detail { name, value: STANDARD_NO_PAD.encode(&detail.value), debug }
        });
        Self { code: code_name(status.code()), message: status.message(), details: details.collect() }
    }
}

fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("strings and lists of strings have JSON")
}

/// Adds the metadata of a status, such as `www-authenticate`. After a compression `accept_encoding` names the header that
/// says what is taken.
pub(super) fn add_metadata(status: &Status, accept_encoding: &'static str, headers: &mut HeaderMap) {
    let metadata: &HeaderMap = status.metadata().as_ref();
    for (name, value) in metadata {
        headers.append(name, value.clone());
    }
    if status.code() == Code::Unimplemented {
        headers.insert(accept_encoding, HeaderValue::from_static("identity"));
    }
}

/// The code as Connect writes it.
const fn code_name(code: Code) -> &'static str {
    match code {
        // An error never has it.
        Code::Ok | Code::Unknown => "unknown",
        Code::Cancelled => "canceled",
        Code::InvalidArgument => "invalid_argument",
        Code::DeadlineExceeded => "deadline_exceeded",
        Code::NotFound => "not_found",
        Code::AlreadyExists => "already_exists",
        Code::PermissionDenied => "permission_denied",
        Code::ResourceExhausted => "resource_exhausted",
        Code::FailedPrecondition => "failed_precondition",
        Code::Aborted => "aborted",
        Code::OutOfRange => "out_of_range",
        Code::Unimplemented => "unimplemented",
        Code::Internal => "internal",
        Code::Unavailable => "unavailable",
        Code::DataLoss => "data_loss",
        Code::Unauthenticated => "unauthenticated",
    }
}

/// The status of a response with this code (Connect protocol, "Error Codes").
fn http_status(code: Code) -> StatusCode {
    match code {
        Code::Cancelled => StatusCode::from_u16(499).unwrap_or(StatusCode::BAD_REQUEST),
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => StatusCode::BAD_REQUEST,
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::Ok | Code::Unknown | Code::Internal | Code::DataLoss => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use tonic_types::{ErrorDetails, FieldViolation};

    use super::*;

    #[test]
    fn an_error_has_its_details_in_base64_and_for_people() {
        let field = FieldViolation::new("spec.number", "floors begin at 1");
        let details = ErrorDetails::with_bad_request(vec![field]);
        let status = Status::with_error_details(Code::InvalidArgument, "wrong", details);
        let json: serde_json::Value = serde_json::from_slice(&to_json(&ErrorJson::of(&status))).unwrap();
        assert_eq!((&json["code"], &json["message"]), (&"invalid_argument".into(), &"wrong".into()));
        let detail = &json["details"][0];
        assert_eq!(detail["type"], "google.rpc.BadRequest");
        let value = STANDARD_NO_PAD.decode(detail["value"].as_str().unwrap()).unwrap();
        let decoded = tonic_types::pb::BadRequest::decode(&value[..]).unwrap();
        assert_eq!(decoded.field_violations[0].field, "spec.number");
        assert_eq!(detail["debug"]["fieldViolations"][0]["description"], "floors begin at 1");
    }

    #[test]
    fn retry_info_is_a_header_too() {
        let details = ErrorDetails::with_retry_info(Some(std::time::Duration::from_millis(1200)));
        let response = failed(&Status::with_error_details(Code::ResourceExhausted, "busy", details));
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()["retry-after"], "2");
    }

    #[test]
    fn a_stream_ends_with_an_envelope() {
        let mut trailers = HeaderMap::new();
        trailers.insert("floor-served-by", HeaderValue::from_static("lru=3"));
        let end = end_of_stream(None, &trailers);
        assert_eq!(&end[..5], [2, 0, 0, 0, u8::try_from(end.len() - 5).unwrap()]);
        assert_eq!(&end[5..], br#"{"metadata":{"floor-served-by":["lru=3"]}}"#);
        let end = end_of_stream(Some(&Status::unavailable("closing")), &HeaderMap::new());
        assert_eq!(&end[5..], br#"{"error":{"code":"unavailable","message":"closing"}}"#);
    }
}
