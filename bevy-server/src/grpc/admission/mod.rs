//! Admission: who calls, and whether the call may have what it needs. What is taken is a guard, which gives it back when it
//! is dropped.

mod in_flight;
mod memory;
mod offload;
mod peer;
mod request_body;

use std::{future::poll_fn, pin::Pin, task::Poll};

use http::HeaderMap;
use tonic::{Code, Status};

pub use in_flight::{InFlight, InFlightGuard};
pub(super) use memory::Memory;
pub(super) use offload::{INLINE, Offload};
pub(super) use peer::{Identity, Peer};
pub(super) use request_body::{Charge, RequestBody, TimeLimit, discard, head_bytes};

use super::{options::CallOptions, status};
use crate::{
    callers::{Budgets, Caller, Reserved},
    config::NoCache,
    headers::X_FORWARDED_FOR,
    metrics::{Limit, Refusals},
};

/// What a call that waits for its floors, or for its caller to take the answer, costs beside its message: the states of
/// its task and of its stream, 7 KiB, and as much again, because the allocator keeps freed memory that is in pieces.
pub(super) const WAITING_CALL_BYTES: usize = 16 << 10;

/// What calls of the port may use together. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Admission {
    pub(super) in_flight: InFlight,
    pub(super) budgets: Budgets,
    pub(super) refusals: Refusals,
    /// Who may skip the cache.
    pub(super) no_cache: NoCache,
}

impl Admission {
    /// Admits a call of `identity`, which is in flight until its guards are dropped.
    pub(super) fn admit(&self, identity: &Identity) -> Result<InFlightGuard, Status> {
        let in_flight = self.in_flight.try_begin().ok_or_else(status::draining)?;
        identity.refusal.clone().map_or(Ok(in_flight), Err)
    }

    /// Refuses a call that skips the cache and may not.
    pub(super) fn check_no_cache(
        &self,
        options: &CallOptions,
        caller: &Caller,
        headers: &HeaderMap,
    ) -> Result<(), Status> {
        // A proxy on this machine forwards calls of others.
        let is_forwarded = || headers.contains_key(&X_FORWARDED_FOR) && caller.is_loopback();
        if !options.no_cache || caller.may_skip_cache(self.no_cache, is_forwarded()) {
            return Ok(());
        }
        self.refusals.count(Limit::NoCache);
        Err(status::no_cache_not_allowed(self.no_cache))
    }

    /// Who pays for a request with these headers.
    pub(super) const fn charge<'a>(&'a self, caller: &'a Caller, head: &'a HeaderMap) -> Charge<'a> {
        Charge { caller, budget: &self.budgets.receiving, head }
    }

    /// The result of `work`. If it has to wait, the caller pays for the call meanwhile.
    pub(super) async fn charge_waiting<T>(
        &self,
        caller: &Caller,
        mut work: Pin<&mut impl Future<Output = Result<T, Status>>>,
    ) -> Result<T, Status> {
        let mut waiting = None;
        let charged = poll_fn(|cx| {
            let polled = work.as_mut().poll(cx);
            // A hit in memory is ready at once.
            if polled.is_pending() && waiting.is_none() {
                match self.reserve_call(caller, WAITING_CALL_BYTES) {
                    Ok(reserved) => waiting = Some(reserved),
                    Err(status) => return Poll::Ready(Err(status)),
                }
            }
            polled
        });
        charged.await
    }

    /// Reserves memory for what a call of `caller` holds until it is answered.
    pub(super) fn reserve_call(&self, caller: &Caller, bytes: usize) -> Result<Reserved, Status> {
        self.budgets.receiving.try_reserve(caller, bytes).ok_or_else(|| {
            self.refusals.count(Limit::Receiving);
            status::request_budget_exhausted()
        })
    }

    /// Reserves memory for a watch of health.
    pub(super) fn reserve_watch(&self, caller: &Caller, bytes: usize) -> Result<Reserved, Status> {
        self.budgets.watches.try_reserve(caller, bytes).ok_or_else(|| {
            self.refusals.count(Limit::Watches);
            status::too_many_watches()
        })
    }

    /// Reserves memory for a response of `caller` with a message, or a window, of `bytes`.
    pub(super) fn reserve_unsent(&self, caller: &Caller, bytes: usize) -> Result<Reserved, Status> {
        let reserved = self.budgets.unsent.try_reserve(caller, WAITING_CALL_BYTES + bytes);
        reserved.ok_or_else(|| self.refuse_unsent())
    }

    /// The memory of an answer of `bytes` for which the caller pays once it has to wait. Mostly it is sent at once.
    pub(super) fn pay_when_waiting(&self, caller: &Caller, bytes: usize) -> Result<Memory, Status> {
        let has_room = self.budgets.unsent.has_room(caller, WAITING_CALL_BYTES + bytes);
        has_room.then(|| Memory::PaidBy(caller.clone())).ok_or_else(|| self.refuse_unsent())
    }

    fn refuse_unsent(&self) -> Status {
        self.refusals.count(Limit::Unsent);
        status::unsent_budget_exhausted()
    }

    /// Counts a call that `limit` refused because of what its caller does. Other errors are not counted.
    pub(super) fn count_refusal(&self, limit: Limit, status: &Status) {
        if matches!(status.code(), Code::ResourceExhausted | Code::PermissionDenied) {
            self.refusals.count(limit);
        }
    }
}
