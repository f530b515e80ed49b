//! Names of headers and trailers. A name that is parsed once makes a lookup cheaper than a string, which is parsed at
//! each call.

use http::HeaderName;

/// The tiers that served an answer.
pub(crate) static FLOOR_SERVED_BY: HeaderName = HeaderName::from_static("floor-served-by");
/// Floors that waited for another call's work.
pub(crate) static FLOOR_COALESCED: HeaderName = HeaderName::from_static("floor-coalesced");
/// In a request: asks for the trace. In a response: what each tier answered.
pub(crate) static FLOOR_TRACE: HeaderName = HeaderName::from_static("floor-trace");
/// In a request: the generator version that the caller's floors must have.
pub(crate) static FLOOR_GENERATOR_VERSION: HeaderName = HeaderName::from_static("floor-generator-version");
/// Microseconds inside the server.
pub(crate) static FLOOR_SERVER_US: HeaderName = HeaderName::from_static("floor-server-us");
/// How long the caller waits.
pub(crate) static GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
/// How the messages of a gRPC request are compressed.
pub(crate) static GRPC_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
/// The addresses for which proxies forward.
pub(crate) static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
