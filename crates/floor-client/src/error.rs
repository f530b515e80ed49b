//! The errors of a call: the server is unreachable or not trusted, it answers with an error status, or its response is
//! invalid.

#[cfg(not(target_family = "wasm"))]
use std::io;
use std::{error::Error as StdError, time::Duration};

use floor_proto::{floor::InvalidFloor, status::code_name, v1::FloorSpec};
use tonic::{Code, Status};
use tonic_types::StatusExt;

#[cfg(all(feature = "tls", not(target_family = "wasm")))]
use crate::TlsProblem;
#[cfg(not(target_family = "wasm"))]
use crate::{CredentialError, causes::causes};

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server's URL cannot be used.
    #[error("{url:?} is no server address: {reason}")]
    Address {
        /// The URL, without what may be secret.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A certificate, a key or a token cannot be used.
    #[cfg(not(target_family = "wasm"))]
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// An option for TLS and a URL without.
    #[error(
        "{server} is a server without TLS, and `ca`, `identity` and `server_name` are for TLS; write https://host:port"
    )]
    TlsOptions {
        /// The server's URL.
        server: String,
    },
    /// A token for a server on another machine, without TLS.
    #[error(
        "whoever can read the network on the way to {server} could read the token; write https://host:port, or allow \
         it (`allow_plaintext_token`)"
    )]
    PlaintextToken {
        /// The server's URL.
        server: String,
    },
    /// Client and server do not agree on TLS. Another attempt fails in the same way.
    #[cfg(all(feature = "tls", not(target_family = "wasm")))]
    #[error("cannot connect to the floor server at {server}: {problem}")]
    Tls {
        /// The server's URL.
        server: String,
        /// What is wrong.
        problem: TlsProblem,
    },
    /// Connecting failed, or the connection broke.
    #[error("cannot reach the floor server at {server}: {reason}")]
    Unreachable {
        /// The server's URL.
        server: String,
        /// The innermost cause, such as "Connection refused", and what may help.
        reason: String,
        /// The error of the transport.
        source: Option<Box<dyn StdError + Send + Sync>>,
    },
    /// The server answered with a status other than OK.
    #[error(transparent)]
    Status(#[from] Box<StatusError>),
    /// The response is not the requested floor.
    #[error("floor {} of tower {}: {source}", spec.number, spec.seed)]
    Invalid {
        /// The spec of the request.
        spec: Box<FloorSpec>,
        /// What is wrong.
        source: Box<InvalidFloor>,
    },
    /// The response does not decode, or has the wrong number of floors.
    #[error("the answer to {rpc} is malformed: {reason}")]
    Malformed {
        /// Name of the RPC.
        rpc: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The thread that makes the calls of a Bevy app has ended, so no call can be made.
    #[error("the thread of the floor client has ended; its log says why")]
    Stopped,
}

impl ClientError {
    /// Whether the call may be repeated, and another attempt may succeed: the server is unreachable, the connection or
    /// the answer broke off, the server is draining, or it refuses the call for now and says for how long (a full queue,
    /// a used-up quota, too many unread answers).
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Status(error) => {
                error.code == Code::Unavailable
                    || (error.code == Code::ResourceExhausted && error.retry_after.is_some())
            }
            #[cfg(not(target_family = "wasm"))]
            Self::Credential(_) => false,
            #[cfg(all(feature = "tls", not(target_family = "wasm")))]
            Self::Tls { .. } => false,
            Self::Address { .. }
            | Self::TlsOptions { .. }
            | Self::PlaintextToken { .. }
            | Self::Invalid { .. }
            | Self::Malformed { .. }
            | Self::Stopped => false,
        }
    }

    /// How long the server asks to wait before a retry.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status(error) => error.retry_after,
            _ => None,
        }
    }

    /// Whether nothing accepted the connection.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn is_refused(&self) -> bool {
        let Self::Unreachable { source: Some(source), .. } = self else { return false };
        let is_refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        causes(&**source).filter_map(|cause| cause.downcast_ref()).any(is_refused)
    }

    pub(crate) fn is_deadline_exceeded(&self) -> bool {
        matches!(self, Self::Status(error) if error.code == Code::DeadlineExceeded)
    }

    /// The error for a deadline that passed on the client before the server answered. The server would send the same.
    pub(crate) fn deadline_exceeded() -> Self {
        Self::Status(Box::new(StatusError {
            code: Code::DeadlineExceeded,
            message: "the deadline passed before the server answered".to_owned(),
            violations: Vec::new(),
            retry_after: None,
        }))
    }
}

/// A status other than OK, with the details that the floor server attaches.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}: {message}", code_name(*code))]
#[non_exhaustive]
pub struct StatusError {
    /// The gRPC code.
    pub code: Code,
    /// The message of the server.
    pub message: String,
    /// Fields of the request that are wrong: `google.rpc.BadRequest`.
    pub violations: Vec<Violation>,
    /// How long to wait before a retry: `google.rpc.RetryInfo`.
    pub retry_after: Option<Duration>,
}

/// An invalid field of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// A path in the request, such as `specs[3].width`.
    pub field: String,
    /// What is wrong.
    pub description: String,
}

impl StatusError {
    pub(crate) fn from_status(status: &Status) -> Self {
        let violations = status.get_details_bad_request().map_or_else(Vec::new, |bad| {
            let each = bad.field_violations.into_iter();
            each.map(|v| Violation { field: v.field, description: v.description }).collect()
        });
        Self {
            code: status.code(),
            message: status.message().to_owned(),
            violations,
            retry_after: status.get_details_retry_info().and_then(|info| info.retry_delay),
        }
    }

    /// The code as the gRPC specification writes it, such as `INVALID_ARGUMENT`.
    #[must_use]
    pub const fn code_name(&self) -> &'static str {
        code_name(self.code)
    }
}
