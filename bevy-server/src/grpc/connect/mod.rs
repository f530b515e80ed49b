//! The Connect protocol, for HTTP clients without gRPC: <https://connectrpc.com/docs/protocol>. Unary calls are plain HTTP
//! requests, by POST or GET, with protobuf or JSON; streams are enveloped messages.
//!
//! The calls are those of gRPC; what they answer is re-framed here: a protobuf answer is the stored bytes without their
//! gRPC prefix, and JSON is made of them for each call.

mod error;
mod get;
mod headers;
mod json;
mod refusal;
mod response;

pub(super) use error::{end_of_stream, failed, failed_stream};
pub(super) use get::Query;
pub(super) use headers::{check as check_headers, timeout};
pub(super) use json::{
    INLINE_JSON_BYTES, MAX_JSON_BYTES, enveloped as enveloped_json, parsing_time, request as request_of_json,
};
pub(super) use refusal::Refusal;
pub(super) use response::{Caching, add_caching, encode_json};
