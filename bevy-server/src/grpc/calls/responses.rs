//! The parts of responses: heads, frame prefixes, trailers, and the metadata about how floors were served.

use std::fmt::Write as _;

use bytes::{BufMut, Bytes, BytesMut};
use floor_cache::{Served, Step};
use http::{HeaderMap, HeaderValue, Response, header};
use tonic::Status;

use super::{Call, FloorBody};

/// A unary response with the tier that served it, or `generated`.
pub(super) fn respond(message: Bytes, served_by: HeaderValue) -> Response<FloorBody> {
    let mut response = head(FloorBody::unary(message));
    response.headers_mut().insert("floor-served-by", served_by);
    response
}

/// A response with status 200 and the content type of gRPC.
pub(super) fn head(body: FloorBody) -> Response<FloorBody> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

/// Writes the frame prefix of a message with `length` bytes.
pub(super) fn put_prefix(message: &mut BytesMut, length: usize) {
    message.put_u8(0);
    message.put_u32(u32::try_from(length).expect("256 floors of 512x512 are far below 4 GiB"));
}

/// `grpc-status: 0`.
pub(super) fn ok_trailers() -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    trailers
}

/// The trailers of a failed call.
pub(super) fn error_trailers(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    // Cannot fail: the text is made here and fits a header.
    let _ = status.add_header(&mut trailers);
    trailers
}

/// Adds `floor-server-us` and `floor-trace` if the call requested them.
pub(super) fn add_trace(call: &Call, steps: &[Step], headers: &mut HeaderMap) {
    if !call.trace {
        return;
    }
    let micros = u64::try_from(call.started.elapsed().as_micros()).unwrap_or(u64::MAX);
    headers.insert("floor-server-us", HeaderValue::from(micros));
    if steps.is_empty() {
        return;
    }
    let steps: Vec<_> = steps.iter().map(format_step).collect();
    if let Ok(trace) = HeaderValue::try_from(steps.join(",")) {
        headers.insert("floor-trace", trace);
    }
}

fn format_step(step: &Step) -> String {
    let micros = step.took.as_micros();
    match step.tier {
        "generated" => format!("generated:{micros}us"),
        tier => format!("{tier}={}:{micros}us", step.outcome.as_str()),
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
