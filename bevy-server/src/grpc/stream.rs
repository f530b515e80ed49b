//! `StreamFloors`: fetches a window of floors at a time, in order, as fast as the client reads.

use std::{
    fmt::Write as _,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use floor_cache::{Chain, Served, Step};
use futures_util::{
    FutureExt, StreamExt,
    stream::{self, BoxStream},
};
use http::{HeaderMap, HeaderValue, Response};
use http_body::Frame;
use tonic::{Code, Status};

use super::{
    body::{FloorBody, Guard, GuardedBytes, SharedGuard, lock, ok_trailers},
    call::Call,
    request::FloorRange,
    service::{MetricsGuard, add_trace, head},
    status::{self, from_source_error},
};
use crate::{key, lifecycle::InFlightGuard};

/// Maximum of floors per window: enough for batch lookups in every tier and for generation on every core.
const WINDOW_FLOORS: usize = 16;
/// Maximum of cells per window, unless one floor has more. A client that stops reading makes the server hold one
/// window, about 100 KiB for any floor size.
const WINDOW_CELLS: usize = 160_000;

/// The floors of one `StreamFloors` call.
pub(super) struct FloorStream {
    chain: Chain,
    range: FloorRange,
    call: Call,
    window: usize,
    ready: std::vec::IntoIter<Served>,
    counts: ServedCounts,
    trace: Vec<Step>,
}

impl FloorStream {
    /// Fetches the first window. Its error becomes the status of the call, so that a client can retry, which it cannot
    /// after the stream has started.
    pub(super) async fn open(chain: Chain, range: FloorRange, call: Call) -> Result<Self, Status> {
        let window = (WINDOW_CELLS / range.cells()).clamp(1, WINDOW_FLOORS);
        let ready = Vec::new().into_iter();
        let mut floors = Self { chain, range, call, window, ready, counts: ServedCounts::default(), trace: Vec::new() };
        floors.fetch().await?;
        Ok(floors)
    }

    /// The response. The transport takes one frame and waits until it can send it, so a slow client holds that frame
    /// and the rest of its window.
    pub(super) fn respond(self, metrics_guard: MetricsGuard, guard: InFlightGuard) -> Response<FloorBody> {
        let deadline = self.call.deadline();
        let items = stream::unfold(Some(self), |floors| async {
            let mut floors = floors?;
            let next = AssertUnwindSafe(floors.next()).catch_unwind().await;
            Some(match next.unwrap_or_else(|panic| Err(status::panicked(panic.as_ref()))) {
                Ok(Some(floor)) => (StreamItem::Floor { floor, last: floors.is_complete() }, Some(floors)),
                Ok(None) => (StreamItem::End(Code::Ok, floors.trailers(ok_trailers())), None),
                Err(status) => (StreamItem::End(status.code(), floors.trailers(trailers_of(&status))), None),
            })
        });
        let active = ActiveStream { items: items.boxed(), metrics_guard };
        head(FloorBody::Stream(StreamBody::new(active, SharedGuard::new(guard), deadline)))
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Status> {
        self.call.check_deadline()?;
        if self.ready.as_slice().is_empty() {
            self.fetch().await?;
        }
        Ok(self.ready.next().map(|served| served.value))
    }

    /// Fetches the next window, if there is one.
    async fn fetch(&mut self) -> Result<(), Status> {
        let keys: Vec<_> = self.range.by_ref().take(self.window).map(|spec| key::of(&spec)).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let get = async { self.chain.get_many(&keys, self.call.options()).await.map_err(from_source_error) };
        let served = self.call.with_deadline(get).await?;
        served.iter().for_each(|served| self.counts.add(served));
        if self.trace.is_empty() {
            self.trace = served.iter().find_map(|served| served.trace.as_deref()).unwrap_or_default().to_vec();
        }
        self.ready = served.into_iter();
        Ok(())
    }

    /// Whether every floor was returned.
    fn is_complete(&self) -> bool {
        self.ready.as_slice().is_empty() && self.range.size_hint().0 == 0
    }

    fn trailers(&self, mut trailers: HeaderMap) -> HeaderMap {
        trailers.insert("floor-served-by", self.counts.served_by());
        if let Some(coalesced) = self.counts.coalesced() {
            trailers.insert("floor-coalesced", coalesced);
        }
        add_trace(&self.call, &self.trace, &mut trailers);
        trailers
    }
}

/// An item of the stream.
enum StreamItem {
    Floor { floor: Bytes, last: bool },
    End(Code, HeaderMap),
}

fn trailers_of(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    // Cannot fail: the text is made here and fits a header.
    let _ = status.add_header(&mut trailers);
    trailers
}

/// The body of a stream. It ends at its deadline even if the client does not read: the transport does not poll a body
/// that it cannot send, so a timer drops the stream and the guard of its last floor.
pub struct StreamBody {
    state: Arc<Mutex<StreamState>>,
    guard: SharedGuard,
    done: bool,
}

struct StreamState {
    /// `None` after the trailers or the deadline.
    active: Option<ActiveStream>,
    /// The waker of the transport, while it waits for a frame.
    waker: Option<Waker>,
}

struct ActiveStream {
    items: BoxStream<'static, StreamItem>,
    metrics_guard: MetricsGuard,
}

impl StreamBody {
    fn new(active: ActiveStream, guard: SharedGuard, deadline: Option<std::time::Instant>) -> Self {
        let state = Arc::new(Mutex::new(StreamState { active: Some(active), waker: None }));
        if let Some(deadline) = deadline {
            let state = Arc::clone(&state);
            guard.release_at(deadline, move || {
                let mut state = lock(&state);
                if let Some(mut active) = state.active.take() {
                    active.metrics_guard.code = Code::DeadlineExceeded;
                }
                if let Some(waker) = state.waker.take() {
                    waker.wake();
                }
            });
        }
        Self { state, guard, done: false }
    }

    pub(super) const fn guard(&self) -> &SharedGuard {
        &self.guard
    }

    pub(super) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Frame<GuardedBytes>>> {
        if self.done {
            return Poll::Ready(None);
        }
        let mut state = lock(&self.state);
        let Some(active) = &mut state.active else {
            self.done = true;
            return Poll::Ready(Some(Frame::trailers(trailers_of(&status::deadline_exceeded()))));
        };
        let Poll::Ready(item) = active.items.as_mut().poll_next(cx) else {
            state.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        Poll::Ready(Some(match item {
            Some(StreamItem::Floor { floor, last }) => {
                Frame::data(GuardedBytes::new(floor, last.then(|| Guard::Shared(self.guard.clone()))))
            }
            Some(StreamItem::End(code, trailers)) => {
                active.metrics_guard.code = code;
                state.active = None;
                self.done = true;
                Frame::trailers(trailers)
            }
            None => return Poll::Ready(None),
        }))
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        // Drop the stream now, not when the timer's task ends.
        lock(&self.state).active = None;
    }
}

/// Floors per tier, in the order of the first hits.
#[derive(Debug, Default)]
pub(super) struct ServedCounts {
    by: Vec<(&'static str, u32)>,
    coalesced: u32,
}

impl ServedCounts {
    pub(super) fn add(&mut self, served: &Served) {
        self.coalesced += u32::from(served.coalesced);
        match self.by.iter_mut().find(|(by, _)| *by == served.by) {
            Some((_, count)) => *count += 1,
            None => self.by.push((served.by, 1)),
        }
    }

    /// `lru=3,lmdb=5,generated=8`
    pub(super) fn served_by(&self) -> HeaderValue {
        let mut text = String::new();
        for (i, (by, count)) in self.by.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let _ = write!(text, "{comma}{by}={count}");
        }
        HeaderValue::try_from(text).expect("tier names and digits are ASCII")
    }

    /// The number of coalesced floors; `None` for 0.
    pub(super) fn coalesced(&self) -> Option<HeaderValue> {
        (self.coalesced > 0).then(|| HeaderValue::from(self.coalesced))
    }
}
