//! What a service answers: a message as the tiers store it, and where it came from.

use std::{collections::VecDeque, fmt::Write as _, mem, sync::Arc};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use floor_cache::{Served, Step};
use floor_proto::FRAME_PREFIX_BYTES;
use http::{HeaderMap, HeaderValue};
use prost::Message;

use super::options::CallOptions;
use crate::headers::{FLOOR_COALESCED, FLOOR_SERVED_BY, FLOOR_SERVER_US, FLOOR_TRACE};

/// The answer to a unary call.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) frame: Frame,
    pub(super) served: ServedBy,
    /// The steps of the lookup, if the call is traced.
    pub(super) steps: Option<Arc<[Step]>>,
    pub(super) validity: Validity,
}

/// For how long the same request has this answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Validity {
    /// It is of this moment.
    Now,
    /// Until a pack of the request gets another current version.
    PackVersion,
    /// As long as the generator has its version.
    GeneratorVersion,
}

/// What served the floors of an answer.
#[derive(Debug)]
pub(super) enum ServedBy {
    /// The answer has no floors of a tier.
    Nothing,
    /// One floor.
    Tier { name: &'static str, coalesced: bool },
    /// Several floors.
    Several(ServedCounts),
}

impl Answer {
    /// A frame that no tier served.
    pub(super) fn of_frame(frame: impl Into<Frame>, validity: Validity) -> Self {
        Self { frame: frame.into(), served: ServedBy::Nothing, steps: None, validity }
    }

    /// A message of this moment, which no tier served.
    pub(super) fn of_message(message: &impl Message) -> Self {
        let length = message.encoded_len();
        let mut bytes = BytesMut::with_capacity(FRAME_PREFIX_BYTES + length);
        put_prefix(&mut bytes, length);
        message.encode(&mut bytes).expect("a BytesMut grows");
        Self::of_frame(bytes.freeze(), Validity::Now)
    }

    /// Adds the metadata, with the trace if `options` asks for one.
    pub(super) fn add_metadata(&self, options: &CallOptions, headers: &mut HeaderMap) {
        match &self.served {
            ServedBy::Nothing => {}
            ServedBy::Tier { name, coalesced } => {
                headers.insert(&FLOOR_SERVED_BY, HeaderValue::from_static(name));
                if *coalesced {
                    headers.insert(&FLOOR_COALESCED, HeaderValue::from_static("1"));
                }
            }
            ServedBy::Several(counts) => counts.add_metadata(headers),
        }
        add_trace(options, self.steps.as_deref().unwrap_or_default(), headers);
    }
}

/// Adds `floor-server-us` and `floor-trace` if `options` asks for them.
pub(super) fn add_trace(options: &CallOptions, steps: &[Step], headers: &mut HeaderMap) {
    if !options.trace {
        return;
    }
    let micros = u64::try_from(options.started.elapsed().as_micros()).unwrap_or(u64::MAX);
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
    /// Counts floors.
    pub(super) fn add(&mut self, served: &[Served]) {
        served.iter().for_each(|served| self.add_one(served));
    }

    fn add_one(&mut self, served: &Served) {
        self.coalesced += u32::from(served.coalesced);
        match self.by.iter_mut().find(|(by, _)| *by == served.by) {
            Some((_, count)) => *count += 1,
            None => self.by.push((served.by, 1)),
        }
    }

    /// Adds `floor-served-by`, such as `lru=3,lmdb=5,generated=8`, and the number of coalesced floors unless it is 0.
    pub(super) fn add_metadata(&self, headers: &mut HeaderMap) {
        let mut text = String::new();
        for (i, (by, count)) in self.by.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let _ = write!(text, "{comma}{by}={count}");
        }
        headers.insert(&FLOOR_SERVED_BY, HeaderValue::try_from(text).expect("tier names and digits are ASCII"));
        if self.coalesced > 0 {
            headers.insert(&FLOOR_COALESCED, HeaderValue::from(self.coalesced));
        }
    }
}

/// The bytes of an answer in slices: a message behind its frame prefix, as the tiers store it, until a codec changes that.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// Not empty unless `rest` is.
    pub(super) first: Bytes,
    pub(super) rest: VecDeque<Bytes>,
}

impl Frame {
    /// A frame in several slices. The first has the prefix.
    pub(super) const fn of_slices(first: Bytes, rest: VecDeque<Bytes>) -> Self {
        Self { first, rest }
    }

    /// The message alone.
    pub(super) fn without_prefix(mut self) -> Self {
        self.first.advance(FRAME_PREFIX_BYTES.min(self.first.len()));
        if self.first.is_empty() {
            self.first = self.rest.pop_front().unwrap_or_default();
        }
        self
    }

    /// Puts `bytes` behind the others.
    pub(super) fn push(&mut self, bytes: Bytes) {
        self.rest.push_back(bytes);
    }

    /// The beginning of the message: of one floor all of it.
    pub(super) fn message_start(&self) -> &[u8] {
        self.first.get(FRAME_PREFIX_BYTES..).unwrap_or_default()
    }

    /// In bytes.
    pub(super) fn len(&self) -> usize {
        self.first.len() + self.rest.iter().map(Bytes::len).sum::<usize>()
    }

    /// All in one.
    pub(super) fn into_bytes(mut self) -> Bytes {
        if self.rest.is_empty() {
            return mem::take(&mut self.first);
        }
        let mut bytes = BytesMut::with_capacity(self.len());
        bytes.extend_from_slice(&self.first);
        self.rest.iter().for_each(|slice| bytes.extend_from_slice(slice));
        bytes.freeze()
    }
}

impl From<Bytes> for Frame {
    fn from(bytes: Bytes) -> Self {
        Self { first: bytes, rest: VecDeque::new() }
    }
}

/// Writes the frame prefix of a message with `length` bytes.
pub(super) fn put_prefix(message: &mut BytesMut, length: usize) {
    message.put_u8(0);
    message.put_u32(u32::try_from(length).expect("256 floors of 512x512 are far below 4 GiB"));
}
