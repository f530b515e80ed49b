//! The Connect protocol, for HTTP clients without gRPC: <https://connectrpc.com/docs/protocol>. Unary calls are plain HTTP
//! requests, by POST or GET, with protobuf or JSON; streams are enveloped messages.
//!
//! A protobuf answer is the stored bytes without their prefix. JSON is made of them for each call.

mod caching;
mod error;
mod get;
mod headers;
mod json;
mod query;
mod stream;
mod unary;

pub(in crate::grpc) use get::{ConnectGet, answers_get};
pub(in crate::grpc) use stream::ConnectStream;
pub(in crate::grpc) use unary::ConnectUnary;

pub(super) use error::{body as error_body, response as error_response};
