//! Maps every error to a gRPC status.

use std::{any::Any, fmt::Display, time::Duration};

use floor_cache::SourceError;
use floor_gen::{GENERATOR_VERSION, View};
use floor_pack::ModuleError;
use tonic::{Code, Status, metadata::MetadataValue};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt};

use super::SERVICE_NAME;
use crate::{auth::Denied, config::NoCache, generation::panic_message};

/// Maximum of violations in one status. A batch may have 256 invalid specs.
const MAX_VIOLATIONS: usize = 16;

/// An invalid field of a request: its path in the request and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) field: String,
    pub(super) description: String,
}

impl Violation {
    pub(super) fn new(field: impl Into<String>, description: impl Into<String>) -> Self {
        Self { field: field.into(), description: description.into() }
    }
}

/// INVALID_ARGUMENT with a `google.rpc.BadRequest` of the first [`MAX_VIOLATIONS`] violations. There is at least one.
pub(super) fn invalid(mut violations: Vec<Violation>) -> Status {
    let wrong = violations.len();
    let first = format!("{}: {}", violations[0].field, violations[0].description);
    let message = match wrong {
        1 => first,
        _ if wrong > MAX_VIOLATIONS => {
            format!("{wrong} fields are wrong, of which the first {MAX_VIOLATIONS} are named; the first is {first}")
        }
        _ => format!("{wrong} fields are wrong; the first is {first}"),
    };
    violations.truncate(MAX_VIOLATIONS);
    let fields = violations.into_iter().map(|v| FieldViolation::new(v.field, v.description)).collect::<Vec<_>>();
    Status::with_error_details(Code::InvalidArgument, message, ErrorDetails::with_bad_request(fields))
}

/// The server has no pack `requested`, but those of `known`.
pub(super) fn unknown_pack(requested: &str, known: &[String]) -> Status {
    let message = format!("there is no pack {requested}; the server has {}", known.join(", "));
    let details = ErrorDetails::with_resource_info("floors.v1.Pack", requested, "", message.clone());
    Status::with_error_details(Code::NotFound, message, details)
}

/// The server has no version of the pack `name`, because its files are wrong.
pub(super) fn broken_pack(name: &str) -> Status {
    Status::failed_precondition(format!(
        "the files of the pack {name} are wrong, so this server has no version of it; the operator finds the errors in \
         the server's log"
    ))
}

/// The caller's token is for other views than that of the spec in `field`.
pub(super) fn not_in_view(view: View, field: &impl Display) -> Status {
    let asked = match view {
        View::Everything => "everything",
        View::Player => "the player's view",
    };
    Status::permission_denied(format!(
        "the token is for the player's view, and {field} asks for {asked}; set {field}.view to VIEW_PLAYER"
    ))
}

/// The caller's token is for the player's view, and the files of a pack have more.
pub(super) fn no_files_for_players() -> Status {
    Status::permission_denied(
        "the token is for the player's view, and the files of a pack make everything of its floors",
    )
}

/// The floor service has no method `name`.
pub(super) fn no_method(name: &str) -> Status {
    Status::unimplemented(format!("{SERVICE_NAME} has no method {name:?}"))
}

/// The request's bytes are not the expected message.
pub(super) fn malformed(error: &prost::DecodeError) -> Status {
    Status::invalid_argument(format!("the request message does not decode: {error}"))
}

pub(super) fn from_source_error(error: SourceError) -> Status {
    let message = error.to_string();
    match error {
        SourceError::Busy { retry_after, .. } | SourceError::Limited { retry_after, .. } => Status::with_error_details(
            Code::ResourceExhausted,
            message,
            ErrorDetails::with_retry_info(Some(retry_after)),
        ),
        SourceError::Stopped => draining(),
        // Only if the caller has left, so that no one reads it.
        SourceError::Abandoned => Status::cancelled(message),
        SourceError::Failed { .. } => Status::internal(message),
    }
}

/// The pack's own generator made no floor.
pub(super) fn from_module_error(error: &ModuleError) -> Status {
    let code = match error {
        ModuleError::Fault { .. } => Code::Internal,
        _ => Code::FailedPrecondition,
    };
    Status::new(code, error.to_string())
}

/// The call panicked.
pub(super) fn panicked(panic: &(dyn Any + Send)) -> Status {
    let text = panic_message(panic);
    tracing::error!(panic = text, "a call panicked");
    Status::internal(format!("a defect in the server: {text}"))
}

/// The request was not received in time.
pub(super) fn request_timed_out(limit: Duration) -> Status {
    Status::deadline_exceeded(format!("the request was not received within {} s", limit.as_secs()))
}

/// The client's calls that wait for the rest of their requests, or for floors, use up the memory that it may have.
pub(super) fn request_budget_exhausted() -> Status {
    Status::with_error_details(
        Code::ResourceExhausted,
        "too many calls of this client wait for their requests or for floors; end some, or retry later",
        ErrorDetails::with_retry_info(Some(Duration::from_secs(1))),
    )
}

/// The client watches the server's health more often than it may, or all clients together do.
pub(super) fn too_many_watches() -> Status {
    Status::with_error_details(
        Code::ResourceExhausted,
        "too many watches of health; a client may have 32, and one is enough for a connection",
        ErrorDetails::with_retry_info(Some(Duration::from_secs(10))),
    )
}

/// The client's unread responses use up the memory that it may have.
pub(super) fn unsent_budget_exhausted() -> Status {
    Status::with_error_details(
        Code::ResourceExhausted,
        "too many bytes of responses wait to be read; read them, or retry later",
        ErrorDetails::with_retry_info(Some(Duration::from_secs(1))),
    )
}

/// The client has reset more calls than it may.
pub(super) fn too_many_resets(retry_after: Duration) -> Status {
    Status::with_error_details(
        Code::ResourceExhausted,
        "this client has reset too many calls; retry later",
        ErrorDetails::with_retry_info(Some(retry_after)),
    )
}

/// The client may not send `cache-control: no-cache`.
pub(super) fn no_cache_not_allowed(allowed: NoCache) -> Status {
    Status::permission_denied(format!(
        "cache-control: no-cache is not allowed for this client; the server's grpc.no_cache is {allowed}"
    ))
}

/// The caller wants floors of generator version `wanted`, which this server does not generate.
pub(super) fn other_generator_version(wanted: u32) -> Status {
    Status::failed_precondition(format!(
        "the call wants floors of generator version {wanted}, and this server generates version {GENERATOR_VERSION}; \
         call a server of that version, or name the version that GetServerInfo returns"
    ))
}

/// The call has no valid token, or its token lacks a scope. `www-authenticate` tells programs which, as over HTTP.
pub(super) fn denied(denied: &Denied) -> Status {
    let code = match denied {
        Denied::NoToken | Denied::NotBearer | Denied::Unknown | Denied::Altered(_) => Code::Unauthenticated,
        Denied::Scope { .. } => Code::PermissionDenied,
    };
    let mut status = Status::new(code, denied.to_string());
    status.metadata_mut().insert("www-authenticate", MetadataValue::from_static(denied.challenge()));
    status
}

pub(super) fn draining() -> Status {
    Status::unavailable("the server is shutting down; call another server or retry later")
}

pub(super) fn deadline_exceeded() -> Status {
    Status::deadline_exceeded("the timeout of the call expired before the floor was ready")
}
