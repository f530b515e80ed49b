//! `StreamFloors`: fetches a window of floors at a time, in order, as fast as the client reads.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use bytes::Bytes;
use floor_cache::{Key, Served, Step};
use floor_gen::{FloorSpec, Kind};
use floor_pack::{ModuleError, ResolveError};
use floor_proto::{
    limits::{MAX_FLOOR, MAX_STREAM},
    v1,
};
use futures_util::{FutureExt, StreamExt, stream};
use http::{HeaderMap, Response};
use prost::Message;
use tonic::{Code, Status};

use super::{
    Call, FloorBody, MetricsGuard, ServiceState,
    body::{OK_TRAILERS, StreamBody, StreamItem},
    request::{Refused, Unresolved, decoded, resolve},
    response::{ServedCounts, add_trace, error_trailers, head},
};
use crate::{
    clients::{Client, Reserved},
    grpc::{
        InFlightGuard, connect,
        framing::{Encoding, Framing, Web, WebEncoding},
        status::{self, Violation, from_source_error, invalid, malformed},
        web,
    },
    headers::{FLOOR_COALESCED, FLOOR_SERVED_BY},
    key,
    metrics::Limit,
    observer::{CallRecord, LookupTimer},
    packs::{FoundPack, VisiblePacks},
};

/// Maximum of floors per window: enough for batch lookups in every tier and for generation on every core.
const WINDOW_FLOORS: usize = 16;
/// Maximum of cells per window, unless one floor has more. A client that stops reading makes the server hold one
/// window, about 100 KiB for any floor size.
const WINDOW_CELLS: usize = 160_000;

/// The floors of one `StreamFloors` call.
pub(in crate::grpc) struct FloorStream {
    state: Arc<ServiceState>,
    range: FloorRange,
    call: Call,
    window: usize,
    ready: std::vec::IntoIter<Served>,
    counts: ServedCounts,
    trace: Vec<Step>,
    client: Client,
    /// The memory of the floors in `ready`.
    reserved: Reserved,
    in_flight: InFlightGuard,
    record: Option<Arc<CallRecord>>,
}

impl FloorStream {
    /// Fetches the first window. Its error becomes the status of the call, so that a client can retry, which it cannot
    /// after the stream has started.
    pub(super) async fn open(
        state: Arc<ServiceState>,
        call: Call,
        message: Bytes,
        client: Client,
        in_flight: InFlightGuard,
        record: Option<Arc<CallRecord>>,
    ) -> Result<Self, Status> {
        let range = decoded(&state, &client, &call, message, decode).await?;
        let window = (WINDOW_CELLS / range.cells()).clamp(1, WINDOW_FLOORS);
        let ready = Vec::new().into_iter();
        let reserved = state.deps.budgets.unsent.reserve(&client, 0);
        let (counts, trace) = (ServedCounts::default(), Vec::new());
        let mut floors = Self { state, range, call, window, ready, counts, trace, client, reserved, in_flight, record };
        floors.fetch().await?;
        Ok(floors)
    }

    /// The response. The transport takes one frame and waits until it can send it, so a slow client holds that frame
    /// and the rest of its window.
    pub(in crate::grpc) fn respond(self, mut metrics_guard: MetricsGuard) -> Response<FloorBody> {
        let (deadline, framing) = (self.call.deadline(), self.call.framing);
        metrics_guard.deadline = deadline;
        let in_flight = self.in_flight.clone();
        let items = stream::unfold(Some(self), |floors| async {
            let mut floors = floors?;
            let next = AssertUnwindSafe(floors.next()).catch_unwind().await;
            Some(match next.unwrap_or_else(|panic| Err(status::panicked(panic.as_ref()))) {
                Ok(Some((floor, reserved))) => {
                    (StreamItem::Floor { floor, reserved, last: floors.is_complete() }, Some(floors))
                }
                Ok(None) => (floors.end(None), None),
                Err(status) => (floors.end(Some(&status)), None),
            })
        });
        let body = FloorBody::stream(StreamBody::new(items.boxed(), metrics_guard, in_flight), deadline);
        head(framing, body)
    }

    /// The next floor and its memory.
    async fn next(&mut self) -> Result<Option<(Bytes, Reserved)>, Status> {
        self.call.check_deadline()?;
        if self.state.deps.in_flight.is_cut_off() {
            return Err(status::draining());
        }
        if self.ready.as_slice().is_empty() {
            let in_flight = self.state.deps.in_flight.clone();
            tokio::select! {
                fetched = self.fetch() => fetched?,
                () = in_flight.until_cut_off() => return Err(status::draining()),
            }
        }
        let Some(served) = self.ready.next() else { return Ok(None) };
        let reserved = self.reserved.split(served.value.len());
        let written = match self.call.framing {
            Framing::GrpcWeb(Web { answer: answer @ WebEncoding::Base64, .. }) => {
                web::encoded(&self.state.offload, &self.client, answer, served.value).await?
            }
            framing if framing.encoding() == Encoding::Json => {
                connect::enveloped_json(served.value, &self.state.offload, &self.client).await?
            }
            _ => return Ok(Some((served.value, reserved))),
        };
        let reserved = self.state.deps.budgets.unsent.reserve(&self.client, written.len());
        Ok(Some((written, reserved)))
    }

    /// The end of the stream, with its error if it failed.
    fn end(&self, error: Option<&Status>) -> StreamItem {
        let code = error.map_or(Code::Ok, Status::code);
        if let Framing::ConnectStream(_) = self.call.framing {
            let trailers = self.trailers(HeaderMap::new());
            let message = Some(connect::end_of_stream(error, &trailers));
            return StreamItem::End { code, trailers, message };
        }
        let trailers = self.trailers(error.map_or_else(|| OK_TRAILERS.clone(), error_trailers));
        let message = match self.call.framing {
            Framing::GrpcWeb(Web { answer, .. }) => Some(web::trailers(answer, &trailers)),
            _ => None,
        };
        StreamItem::End { code, trailers, message }
    }

    /// The keys of the next window.
    async fn next_keys(&mut self) -> Result<Vec<Key>, Status> {
        let (mut range, window) = (self.range.clone(), self.window);
        let time = range.pack.resolving_time() * window as u32;
        let resolve = move || {
            let specs = range.by_ref().take(window);
            let keys = specs.map(|spec| spec.map(|spec| key::of(&spec))).collect::<Result<Vec<_>, _>>();
            (range, keys)
        };
        let keys;
        (self.range, keys) = self.state.offload.run(&self.client, time, resolve).await?;
        keys.map_err(|error| status::from_module_error(&self.state.deps.packs.note(error)))
    }

    /// Fetches the next window, if there is one.
    async fn fetch(&mut self) -> Result<(), Status> {
        let call = self.call;
        let keys = call.with_deadline(self.next_keys()).await?;
        if keys.is_empty() {
            return Ok(());
        }
        let state = &self.state;
        let timer = LookupTimer::start(self.record.as_ref());
        let get = async {
            state.deps.chains.of(self.call.tenant).get_many(&keys, self.call.options()).await.map_err(from_source_error)
        };
        let served = self.call.with_deadline(get).await;
        let served = served.inspect_err(|status| state.count_refusal(Limit::Generation, status))?;
        timer.finish(&served);
        let bytes = served.iter().map(|served| served.value.len()).sum();
        self.reserved = state.reserve_unsent(&self.client, bytes)?;
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
        trailers.insert(&FLOOR_SERVED_BY, self.counts.served_by());
        if let Some(coalesced) = self.counts.coalesced() {
            trailers.insert(&FLOOR_COALESCED, coalesced);
        }
        add_trace(&self.call, &self.trace, &mut trailers);
        trailers
    }
}

/// The floors of a stream: consecutive numbers from `first`, each of the requested or the scheduled kind.
#[derive(Debug, Clone)]
struct FloorRange {
    pack: FoundPack,
    first: FloorSpec,
    /// Width and height in the request, which may be 0.
    sides: (u32, u32),
    kind: Option<Kind>,
    next: u32,
    count: u32,
}

impl FloorRange {
    /// Cells per floor.
    const fn cells(&self) -> usize {
        self.first.cells()
    }
}

impl Iterator for FloorRange {
    type Item = Result<FloorSpec, ModuleError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.count {
            return None;
        }
        let number = self.first.number() + self.next;
        self.next += 1;
        let (width, height) = self.sides;
        match self.pack.resolve(self.first.seed(), number, width, height, self.kind) {
            Err(ResolveError::Module(error)) => Some(Err(error)),
            spec => Some(Ok(spec.expect("validated by decode"))),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.count - self.next) as usize;
        (left, Some(left))
    }
}

fn decode(packs: VisiblePacks<'_>, message: &[u8], mut allowed: Duration) -> Result<FloorRange, Refused> {
    let request = v1::StreamFloorsRequest::decode(message).map_err(|error| malformed(&error))?;
    let count = request.count;
    let mut violations = Vec::new();
    if !(1..=MAX_STREAM).contains(&count) {
        violations.push(Violation::new("count", format!("a stream holds 1 ..= {MAX_STREAM} floors, not {count}")));
    }
    match resolve(packs, request.first.as_ref(), "first", &mut allowed) {
        Err(Unresolved::Invalid(wrong)) => violations.extend(wrong),
        Err(Unresolved::Refused(refused)) => return Err(refused),
        Ok(first) if u64::from(first.number()) + u64::from(count) > u64::from(MAX_FLOOR) + 1 => {
            let description =
                format!("{count} floors from {} on pass floor {MAX_FLOOR}, the last of a tower", first.number());
            violations.push(Violation::new("count", description));
        }
        Ok(first) if violations.is_empty() => {
            let requested = request.first.unwrap_or_default();
            // The version of the first floor, also if a newer one is in use by now.
            let pack = packs.of(first.pack()).expect("a version stays until the server ends");
            let kind = u32::try_from(requested.kind).ok().and_then(Kind::from_number);
            return Ok(FloorRange { pack, first, sides: (requested.width, requested.height), kind, next: 0, count });
        }
        Ok(_) => {}
    }
    Err(invalid(violations).into())
}
