//! Requests that no service of the port answers: what they get instead of an empty error.

use http::{HeaderValue, Response, StatusCode};
use tonic::Status;

use super::{
    Codec as _, GrpcWeb, answers_get,
    connect::{error_body, error_response},
};
use crate::grpc::{Rpc, SERVICE_NAME, body::FloorBody};

/// The content types that a unary call may have.
const UNARY_TYPES: &str = "application/json, application/proto, application/grpc, application/grpc+proto, \
    application/grpc-web, application/grpc-web+proto, application/grpc-web-text, application/grpc-web-text+proto";
/// The content types that a stream may have.
const STREAM_TYPES: &str = "application/connect+json, application/connect+proto, application/grpc, \
    application/grpc+proto, application/grpc-web, application/grpc-web+proto, application/grpc-web-text, \
    application/grpc-web-text+proto";

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::grpc) enum Refusal {
    /// No service has this path.
    Path,
    /// The HTTP method does not fit the RPC.
    Method(Rpc),
    /// The content type does not fit the RPC.
    ContentType(Rpc),
    /// gRPC over HTTP/1.
    NeedsHttp2,
    /// gRPC that is no POST, or has other messages than protobuf.
    Grpc,
    /// The same of gRPC-Web.
    GrpcWeb,
    /// gRPC-Web for a path that the floor service does not have.
    GrpcWebPath,
}

impl Refusal {
    /// The response: a status for gRPC and gRPC-Web, else an error as Connect sends it.
    pub(in crate::grpc) fn respond(self) -> Response<FloorBody> {
        let (status, code, message, header) = match self {
            Self::Path => (StatusCode::NOT_FOUND, "unimplemented", unknown_path(), None),
            Self::Method(rpc) => {
                let allow = if answers_get(rpc) { "GET, HEAD, POST, OPTIONS" } else { "POST, OPTIONS" };
                let message = format!("{} takes {allow}", rpc.path());
                (StatusCode::METHOD_NOT_ALLOWED, "unknown", message, Some(("allow", allow)))
            }
            Self::ContentType(rpc) => {
                let types = if rpc.is_stream() { STREAM_TYPES } else { UNARY_TYPES };
                let message = format!("the content type of {} must be one of: {types}", rpc.path());
                let accept = Some(("accept-post", types));
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unknown", message, accept)
            }
            Self::NeedsHttp2 => {
                let message = format!(
                    "gRPC needs HTTP/2; over HTTP/1.1, unary calls of {SERVICE_NAME} take application/json, \
                     application/proto or gRPC-Web, and streams take application/connect+json, \
                     application/connect+proto or gRPC-Web"
                );
                let accept = "application/json, application/proto, application/connect+json, \
                    application/connect+proto, application/grpc-web, application/grpc-web+proto";
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unknown", message, Some(("accept-post", accept)))
            }
            Self::Grpc => {
                let message = "a call of gRPC is a POST of application/grpc or application/grpc+proto";
                return Status::unimplemented(message).into_http();
            }
            Self::GrpcWeb => {
                let message = "a call of gRPC-Web is a POST of application/grpc-web, application/grpc-web+proto, \
                    application/grpc-web-text or application/grpc-web-text+proto";
                return GrpcWeb::BINARY.failed(Status::unimplemented(message));
            }
            Self::GrpcWebPath => return GrpcWeb::BINARY.failed(Status::unimplemented(unknown_path())),
        };
        let mut response = error_response(status, error_body(code, &message));
        if let Some((name, value)) = header {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

fn unknown_path() -> String {
    let paths = Rpc::ALL.map(Rpc::path).join(", ");
    format!("no service has this path; {SERVICE_NAME} has {paths}; health and reflection speak gRPC only")
}
