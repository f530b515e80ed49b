//! The Connect protocol, for HTTP clients without gRPC: <https://connectrpc.com/docs/protocol>. Unary calls are plain HTTP
//! requests, by POST or GET, with protobuf or JSON; streams are enveloped messages.
//!
//! `protocol` decides what a request speaks. The calls are those of gRPC; what they answer is re-framed here: a protobuf
//! answer is the stored bytes without their gRPC prefix, and JSON is made of them for each call.

mod error;
mod get;
mod headers;
mod json;
mod protocol;
mod refusal;
mod response;

pub(super) use error::{end_of_stream, failed, failed_stream};
pub(super) use get::Query;
pub(super) use headers::{check as check_headers, timeout};
pub use json::request as request_of_json;
pub(super) use json::{MAX_JSON_BYTES, enveloped as enveloped_json};
pub(super) use protocol::{Encoding, Protocol, Route, WebEncoding, is_grpc, route};
pub(super) use refusal::GRPC_WEB;
pub(super) use response::{Caching, add_caching, encode_json};
