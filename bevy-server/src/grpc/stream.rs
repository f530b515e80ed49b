//! `StreamFloors`: floors in order, a window at a time, as fast as the reader reads.

use std::fmt::Write as _;

use bytes::Bytes;
use floor_cache::{Chain, Served, Step};
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderValue, Response};
use http_body::Frame;
use tonic::{Code, Status};

use super::{
    body::{FloorBody, ok_trailers},
    call::Call,
    request::Climb,
    service::{Watch, add_trace, head},
    status::from_source,
};
use crate::{key, lifecycle::Pass};

/// Floors fetched at a time, at the most: enough for a batch's savings in every tier and for generation on every core.
const WINDOW: usize = 16;
/// Cells in the floors fetched at a time, unless one floor has more: a reader who has stopped reading makes the server
/// hold one window, some 100 KiB, whatever the size of the floors.
const WINDOW_CELLS: usize = 160_000;

/// A stream that has been asked for.
pub(super) struct Floors {
    chain: Chain,
    climb: Climb,
    call: Call,
    window: usize,
    ready: std::vec::IntoIter<Served>,
    tally: Tally,
    trace: Vec<Step>,
    over: bool,
    _pass: Pass,
}

impl Floors {
    pub(super) fn new(chain: Chain, climb: Climb, call: Call, pass: Pass) -> Self {
        let window = (WINDOW_CELLS / climb.cells()).clamp(1, WINDOW);
        let ready = Vec::new().into_iter();
        Self { chain, climb, call, window, ready, tally: Tally::default(), trace: Vec::new(), over: false, _pass: pass }
    }

    /// The answer. The transport takes one frame and then waits until there is room to send it, so what it has taken and
    /// the rest of that window is all that a slow reader makes the server hold.
    pub(super) fn respond(self, watch: Watch) -> Response<FloorBody> {
        let frames = stream::unfold((self, Some(watch)), |(mut floors, mut watch)| async move {
            if floors.over {
                return None;
            }
            let frame = match floors.next().await {
                Ok(Some(floor)) => return Some((Frame::data(floor), (floors, watch))),
                Ok(None) => {
                    if let Some(mut watch) = watch.take() {
                        watch.code = Code::Ok;
                    }
                    floors.over = true;
                    Frame::trailers(floors.trailers(ok_trailers()))
                }
                Err(status) => {
                    if let Some(mut watch) = watch.take() {
                        watch.code = status.code();
                    }
                    floors.over = true;
                    let mut trailers = HeaderMap::new();
                    // The status was made here, of text that fits a header.
                    let _ = status.add_header(&mut trailers);
                    Frame::trailers(floors.trailers(trailers))
                }
            };
            Some((frame, (floors, watch)))
        });
        head(FloorBody::Stream(frames.boxed()))
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Status> {
        self.call.check_deadline()?;
        if let Some(served) = self.ready.next() {
            return Ok(Some(served.value));
        }
        let keys: Vec<_> = self.climb.by_ref().take(self.window).map(|spec| key::of(&spec)).collect();
        if keys.is_empty() {
            return Ok(None);
        }
        let get = async { self.chain.get_many(&keys, self.call.options()).await.map_err(from_source) };
        let served = self.call.within(get).await?;
        served.iter().for_each(|served| self.tally.add(served));
        if self.trace.is_empty() {
            self.trace = served.iter().find_map(|served| served.trace.as_deref()).unwrap_or_default().to_vec();
        }
        self.ready = served.into_iter();
        Ok(self.ready.next().map(|served| served.value))
    }

    fn trailers(&self, mut trailers: HeaderMap) -> HeaderMap {
        trailers.insert("floor-served-by", self.tally.served_by());
        if let Some(coalesced) = self.tally.coalesced() {
            trailers.insert("floor-coalesced", coalesced);
        }
        add_trace(&self.call, &self.trace, &mut trailers);
        trailers
    }
}

/// How many floors each tier served, in the order in which the tiers first did.
#[derive(Debug, Default)]
pub(super) struct Tally {
    by: Vec<(&'static str, u32)>,
    coalesced: u32,
}

impl Tally {
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

    /// How many waited for another's work, unless none did.
    pub(super) fn coalesced(&self) -> Option<HeaderValue> {
        (self.coalesced > 0).then(|| HeaderValue::from(self.coalesced))
    }
}
