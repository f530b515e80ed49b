//! Errors of the Redis library as errors of the tier.

use redis::{ErrorKind, RedisError};

use crate::tier::{TierError, TierErrorKind};

/// The error of `action`.
pub(super) fn failed(action: &'static str, error: &RedisError) -> TierError {
    let kind = if error.is_timeout() {
        TierErrorKind::Timeout
    } else if error.is_connection_dropped() || error.is_connection_refusal() || error.is_io_error() {
        TierErrorKind::Unreachable
    } else if error.code().is_some() {
        TierErrorKind::Refused
    } else {
        TierErrorKind::Internal
    };
    TierError::new(kind, action, reason(error))
}

/// The message of `error` without the address and secrets that the library may add.
pub(super) fn reason(error: &RedisError) -> String {
    if error.kind() == ErrorKind::ClusterConnectionNotFound {
        return "no node of the cluster can be reached at the address that it announces; with TLS its certificate must be \
                valid for that address"
            .to_owned();
    }
    let reason = match (error.code(), error.detail()) {
        (Some(code), Some(detail)) => format!("{code} {detail}"),
        _ => error.to_string(),
    };
    match error.code() {
        Some("NOAUTH") => format!("{reason} Name the file of its password in cache.redis.password_file."),
        _ => reason,
    }
}
