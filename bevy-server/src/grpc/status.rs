//! The one place where errors become gRPC statuses.

use floor_cache::SourceError;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt};

/// A part of a request that is wrong: its path in the request, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) field: String,
    pub(super) says: String,
}

impl Violation {
    pub(super) fn new(field: impl Into<String>, says: impl Into<String>) -> Self {
        Self { field: field.into(), says: says.into() }
    }
}

/// INVALID_ARGUMENT with a `google.rpc.BadRequest` that names every field that is wrong. At least one is.
pub(super) fn invalid(violations: Vec<Violation>) -> Status {
    let message = match violations.as_slice() {
        [one] => format!("{}: {}", one.field, one.says),
        many => format!("{} fields are wrong; the first is {}: {}", many.len(), many[0].field, many[0].says),
    };
    let fields = violations.into_iter().map(|v| FieldViolation::new(v.field, v.says)).collect::<Vec<_>>();
    Status::with_error_details(Code::InvalidArgument, message, ErrorDetails::with_bad_request(fields))
}

/// The request's bytes are not the message they should be.
pub(super) fn malformed(error: &prost::DecodeError) -> Status {
    Status::invalid_argument(format!("the request message does not decode: {error}"))
}

pub(super) fn from_source(error: SourceError) -> Status {
    let message = error.to_string();
    match error {
        SourceError::Busy { retry_after, .. } => Status::with_error_details(
            Code::ResourceExhausted,
            message,
            ErrorDetails::with_retry_info(Some(retry_after)),
        ),
        SourceError::Stopped => draining(),
        SourceError::Failed { .. } => Status::internal(message),
    }
}

pub(super) fn draining() -> Status {
    Status::unavailable("the server is shutting down; call another, or this one once it is back")
}

pub(super) fn deadline() -> Status {
    Status::deadline_exceeded("the call's grpc-timeout ended before the floor was there")
}
