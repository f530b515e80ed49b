//! A stream on its way to its client: fetches a window of floors when the one before was taken, as fast as the client
//! reads.

use std::{panic::AssertUnwindSafe, sync::Arc};

use bytes::Bytes;
use floor_cache::{Served, Step};
use futures_util::{FutureExt, StreamExt, stream};
use http::{HeaderMap, Response};
use tonic::{Code, Status};

use super::{
    admission::{Admission, InFlightGuard},
    answer::{ServedCounts, add_trace},
    body::{FloorBody, StreamBody, StreamItem},
    call_end::CallEnd,
    codecs::{StreamCodec, StreamEnd, head},
    options::CallOptions,
    services::{Call, FloorWindows, Services},
    status,
};
use crate::{
    callers::{Caller, Reserved},
    metrics::Limit,
    observer::CallRecord,
};

/// The floors of one call.
pub(super) struct FloorStream {
    services: Arc<Services>,
    admission: Arc<Admission>,
    caller: Caller,
    options: CallOptions,
    record: Option<Arc<CallRecord>>,
    in_flight: InFlightGuard,
    windows: FloorWindows,
    /// Of the window that is being sent.
    ready: std::vec::IntoIter<Served>,
    /// The memory of the floors in `ready`.
    reserved: Reserved,
    counts: ServedCounts,
    trace: Vec<Step>,
}

impl FloorStream {
    /// A stream of `windows`, of which the first is fetched: its error becomes the status of the call, so that a client can
    /// retry, which it cannot after the stream has started.
    pub(super) async fn start(
        services: &Arc<Services>,
        admission: &Arc<Admission>,
        call: &Call<'_>,
        windows: FloorWindows,
        in_flight: InFlightGuard,
    ) -> Result<Self, Status> {
        let mut stream = Self {
            services: Arc::clone(services),
            admission: Arc::clone(admission),
            caller: call.caller.clone(),
            options: call.options,
            record: call.record.cloned(),
            in_flight,
            windows,
            ready: Vec::new().into_iter(),
            reserved: admission.budgets.unsent.reserve(call.caller, 0),
            counts: ServedCounts::default(),
            trace: Vec::new(),
        };
        stream.fetch().await?;
        Ok(stream)
    }

    /// The response. The transport takes one frame and waits until it can send it, so a slow client holds that frame
    /// and the rest of its window.
    pub(super) fn respond(self, codec: impl StreamCodec, mut end: CallEnd) -> Response<FloorBody> {
        let (deadline, in_flight) = (self.options.deadline, self.in_flight.clone());
        end.deadline = deadline;
        let headers = head(codec.content_type());
        let items = stream::unfold(Some((self, codec)), |state| async {
            let (mut floors, codec) = state?;
            let next = AssertUnwindSafe(floors.next(&codec)).catch_unwind().await;
            Some(match next.unwrap_or_else(|panic| Err(status::panicked(panic.as_ref()))) {
                Ok(Some((floor, reserved))) => {
                    let last = floors.is_complete();
                    (StreamItem::Floor { floor, reserved, last }, Some((floors, codec)))
                }
                Ok(None) => (floors.end(&codec, None), None),
                Err(status) => (floors.end(&codec, Some(&status)), None),
            })
        });
        let mut response = Response::new(FloorBody::stream(StreamBody::new(items.boxed(), end, in_flight), deadline));
        *response.headers_mut() = headers;
        response
    }

    /// The next floor as it is sent, and its memory.
    async fn next(&mut self, codec: &impl StreamCodec) -> Result<Option<(Bytes, Reserved)>, Status> {
        self.options.check_deadline()?;
        if self.admission.in_flight.is_cut_off() {
            return Err(status::draining());
        }
        if self.ready.as_slice().is_empty() {
            let in_flight = self.admission.in_flight.clone();
            tokio::select! {
                fetched = self.fetch() => fetched?,
                () = in_flight.until_cut_off() => return Err(status::draining()),
            }
        }
        let Some(served) = self.ready.next() else { return Ok(None) };
        let stored = served.value.len();
        let mut reserved = self.reserved.split(stored);
        let floor = codec.encode_floor(served.value, &self.services.offload, &self.caller).await?;
        if floor.len() != stored {
            reserved = self.admission.budgets.unsent.reserve(&self.caller, floor.len());
        }
        Ok(Some((floor, reserved)))
    }

    /// Fetches the next window, if there is one.
    async fn fetch(&mut self) -> Result<(), Status> {
        let call = Call { caller: &self.caller, options: self.options, record: self.record.as_ref() };
        let served = self.windows.next(&self.services, &call).await;
        let served = served.inspect_err(|status| self.admission.count_refusal(Limit::Generation, status))?;
        if served.is_empty() {
            return Ok(());
        }
        let bytes = served.iter().map(|served| served.value.len()).sum();
        self.reserved = self.admission.reserve_unsent(&self.caller, bytes)?;
        self.counts.add(&served);
        if self.trace.is_empty() {
            self.trace = served.iter().find_map(|served| served.trace.as_deref()).unwrap_or_default().to_vec();
        }
        self.ready = served.into_iter();
        Ok(())
    }

    /// Whether every floor was returned.
    fn is_complete(&self) -> bool {
        self.ready.as_slice().is_empty() && self.windows.is_at_end()
    }

    /// The end of the stream, with its error if it failed.
    fn end(&self, codec: &impl StreamCodec, error: Option<&Status>) -> StreamItem {
        let mut metadata = HeaderMap::new();
        self.counts.add_metadata(&mut metadata);
        add_trace(&self.options, &self.trace, &mut metadata);
        let StreamEnd { trailers, message } = codec.end(error, metadata);
        StreamItem::End { code: error.map_or(Code::Ok, Status::code), trailers, message }
    }
}
