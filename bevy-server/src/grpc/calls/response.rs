//! What a response says besides its message: its head, its metadata, and the trailers of an error.

use std::fmt::Write as _;

use bytes::{BufMut, Bytes, BytesMut};
use floor_cache::{Served, Step};
use floor_proto::FRAME_PREFIX_BYTES;
use http::{HeaderMap, HeaderValue, Response, header};
use prost::Message;
use tonic::Status;

use super::{body::FloorBody, request::Call};
use crate::{
    grpc::framing::Framing,
    headers::{FLOOR_SERVED_BY, FLOOR_SERVER_US, FLOOR_TRACE},
};

/// A unary response in `framing` with the tier that served it, or `generated`.
pub(super) fn respond(framing: Framing, body: FloorBody, served_by: HeaderValue) -> Response<FloorBody> {
    let mut response = head(framing, body);
    response.headers_mut().insert(&FLOOR_SERVED_BY, served_by);
    response
}

/// A unary response with `message`, which no tier served.
pub(super) fn respond_message(call: &Call, message: &impl Message) -> Response<FloorBody> {
    let length = message.encoded_len();
    let mut bytes = BytesMut::with_capacity(FRAME_PREFIX_BYTES + length);
    put_prefix(&mut bytes, length);
    message.encode(&mut bytes).expect("a BytesMut grows");
    respond_frame(call, bytes.freeze())
}

/// As [`respond_message`], of a message that has its frame prefix.
pub(super) fn respond_frame(call: &Call, frame: Bytes) -> Response<FloorBody> {
    let mut response = head(call.framing, FloorBody::unary(frame));
    add_trace(call, &[], response.headers_mut());
    response
}

/// A response with status 200 and the content type of `framing`.
pub(in crate::grpc) fn head(framing: Framing, body: FloorBody) -> Response<FloorBody> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(framing.content_type()));
    response
}

/// Writes the frame prefix of a message with `length` bytes.
pub(super) fn put_prefix(message: &mut BytesMut, length: usize) {
    message.put_u8(0);
    message.put_u32(u32::try_from(length).expect("256 floors of 512x512 are far below 4 GiB"));
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
    headers.insert(&FLOOR_SERVER_US, HeaderValue::from(micros));
    if steps.is_empty() {
        return;
    }
    let steps: Vec<_> = steps.iter().map(format_step).collect();
    if let Ok(trace) = HeaderValue::try_from(steps.join(",")) {
        headers.insert(&FLOOR_TRACE, trace);
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
