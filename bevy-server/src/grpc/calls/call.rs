//! The call options in a request's headers: deadline, `cache-control`, `floor-trace`.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use floor_cache::{Options, Priority};
use http::{HeaderMap, HeaderValue};
use tonic::Status;

use crate::grpc::status;

/// The options of one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    /// When the server received the headers.
    pub(super) started: Instant,
    /// When the client stops waiting.
    deadline: Option<Instant>,
    /// `cache-control: no-cache`
    no_cache: bool,
    /// `floor-trace: 1`
    pub(super) trace: bool,
}

impl Call {
    pub(super) fn from_headers(headers: &HeaderMap, started: Instant) -> Result<Self, Status> {
        let deadline = match headers.get("grpc-timeout") {
            None => None,
            Some(value) => {
                let timeout = value.to_str().ok().and_then(timeout).ok_or_else(|| {
                    Status::invalid_argument(format!(
                        "grpc-timeout {value:?} is not 1 to 8 digits and one of H, M, S, m, u, n"
                    ))
                })?;
                // A deadline that the clock cannot represent is no deadline.
                started.checked_add(timeout)
            }
        };
        let no_cache = headers.get_all("cache-control").iter().any(has_no_cache);
        let trace = headers.get("floor-trace").is_some_and(|value| value.as_bytes() == b"1");
        Ok(Self { started, deadline, no_cache, trace })
    }

    /// When the client stops waiting; `None` for no deadline.
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    pub(super) const fn options(&self) -> Options {
        Options { no_cache: self.no_cache, trace: self.trace, priority: Priority::Foreground }
    }

    /// The result of `work`, or DEADLINE_EXCEEDED if the deadline comes first.
    pub(super) async fn with_deadline<T>(&self, work: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
        match self.deadline {
            None => work.await,
            Some(deadline) => tokio::time::timeout_at(deadline.into(), work)
                .await
                .unwrap_or_else(|_| Err(status::deadline_exceeded())),
        }
    }

    /// DEADLINE_EXCEEDED if the deadline has passed.
    pub(super) fn check_deadline(&self) -> Result<(), Status> {
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(status::deadline_exceeded()),
            _ => Ok(()),
        }
    }
}

/// Whether a `cache-control` value contains the directive `no-cache` (RFC 9111, section 5.2).
fn has_no_cache(value: &HeaderValue) -> bool {
    value
        .as_bytes()
        .split(|byte| *byte == b',')
        .any(|directive| directive.trim_ascii().eq_ignore_ascii_case(b"no-cache"))
}

/// Parses a `grpc-timeout`: at most eight digits and a unit (gRPC over HTTP/2 specification).
fn timeout(value: &str) -> Option<Duration> {
    let (digits, unit) = value.split_at_checked(value.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(count * 3600)),
        "M" => Some(Duration::from_secs(count * 60)),
        "S" => Some(Duration::from_secs(count)),
        "m" => Some(Duration::from_millis(count)),
        "u" => Some(Duration::from_micros(count)),
        "n" => Some(Duration::from_nanos(count)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_follow_the_grpc_specification() {
        assert_eq!(timeout("100m"), Some(Duration::from_millis(100)));
        assert_eq!(timeout("99999999H"), Some(Duration::from_secs(99_999_999 * 3600)));
        assert_eq!(timeout("0n"), Some(Duration::ZERO));
        for wrong in ["", "m", "1", "1x", "-1S", "123456789S", "1.5S", "1µ"] {
            assert_eq!(timeout(wrong), None, "{wrong:?}");
        }
    }
}
