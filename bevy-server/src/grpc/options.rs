//! The options that a call sets in its headers, whatever its codec.

use std::{
    future::poll_fn,
    pin::Pin,
    task::Poll,
    time::{Duration, Instant},
};

use floor_cache::{CallerId, Options, Priority};
use floor_gen::{GENERATOR_VERSION, View};
use http::{HeaderMap, HeaderValue, header};
use tonic::Status;

use super::{Rpc, status};
use crate::{
    callers::Caller,
    headers::{FLOOR_GENERATOR_VERSION, FLOOR_TRACE},
    tenants::TenantId,
};

/// The options of one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallOptions {
    /// When the server received the headers.
    pub(super) started: Instant,
    /// When the caller stops waiting; `None` for no deadline.
    pub(super) deadline: Option<Instant>,
    /// The tenant of the caller, whose chain has its floors.
    pub(super) tenant: Option<TenantId>,
    /// The only view of floors that the caller gets; `None`: any.
    pub(super) only: Option<View>,
    caller: CallerId,
    /// `cache-control: no-cache`
    pub(super) no_cache: bool,
    /// `floor-trace: 1`
    pub(super) trace: bool,
    /// Whether the steps of lookups are recorded.
    pub(super) is_recorded: bool,
}

impl CallOptions {
    /// The options in `headers` for a call whose codec found `timeout`, without the `floor-` headers.
    pub(super) fn of(headers: &HeaderMap, caller: &Caller, started: Instant, timeout: Option<Duration>) -> Self {
        Self {
            started,
            // A deadline that the clock cannot represent is no deadline.
            deadline: timeout.and_then(|timeout| started.checked_add(timeout)),
            tenant: caller.tenant(),
            only: caller.only(),
            caller: caller.id(),
            no_cache: headers.get_all(header::CACHE_CONTROL).iter().any(has_no_cache),
            trace: false,
            is_recorded: false,
        }
    }

    /// Takes over the `floor-` headers of a call of `rpc`. Fails if it wants floors of another generator version.
    ///
    /// One pass over the few headers of a call costs as much as the lookup of one name.
    pub(super) fn read_floor_headers(&mut self, rpc: Rpc, headers: &HeaderMap) -> Result<(), Status> {
        for (name, value) in headers {
            if !name.as_str().starts_with("floor-") {
                continue;
            }
            if *name == FLOOR_TRACE {
                self.trace |= is_on(value)?;
            } else if *name == FLOOR_GENERATOR_VERSION && !matches!(rpc, Rpc::GetServerInfo | Rpc::ListPacks) {
                check_generator_version(value)?;
            }
        }
        Ok(())
    }

    /// The options of the lookups.
    pub(super) const fn of_lookup(&self) -> Options {
        let trace = self.trace || self.is_recorded;
        Options { no_cache: self.no_cache, trace, priority: Priority::Foreground, caller: self.caller }
    }

    /// The result of `work`, or DEADLINE_EXCEEDED if the deadline comes first. It takes a reference, because a future that
    /// another one gets by value is in it twice.
    pub(super) async fn with_deadline<T>(
        &self,
        mut work: Pin<&mut impl Future<Output = Result<T, Status>>>,
    ) -> Result<T, Status> {
        let Some(deadline) = self.deadline else { return work.await };
        // Mostly it is ready at once, and then no timer is needed.
        if let Poll::Ready(result) = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
            return result;
        }
        let result = tokio::time::timeout_at(deadline.into(), work).await;
        result.unwrap_or_else(|_| Err(status::deadline_exceeded()))
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

/// Whether a `floor-trace` switches the trace on.
fn is_on(value: &HeaderValue) -> Result<bool, Status> {
    match value.as_bytes() {
        b"1" => Ok(true),
        b"" | b"0" => Ok(false),
        word if word.eq_ignore_ascii_case(b"true") => Ok(true),
        word if word.eq_ignore_ascii_case(b"false") => Ok(false),
        _ => Err(Status::invalid_argument(format!("{FLOOR_TRACE} {value:?} is neither 1 nor 0"))),
    }
}

fn check_generator_version(value: &HeaderValue) -> Result<(), Status> {
    let version = value.to_str().ok().and_then(|value| value.parse().ok()).ok_or_else(|| {
        Status::invalid_argument(format!("{FLOOR_GENERATOR_VERSION} {value:?} is no number, as {GENERATOR_VERSION} is"))
    })?;
    if version == GENERATOR_VERSION { Ok(()) } else { Err(status::other_generator_version(version)) }
}
