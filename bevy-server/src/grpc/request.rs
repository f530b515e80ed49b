//! Reading requests: the message out of the body, and specs that are valid out of the message.

use std::pin::{Pin, pin};

use bytes::{Buf, Bytes, BytesMut};
use floor_gen::{FloorSpec, Kind, SpecError};
use floor_proto::{
    FRAME_PREFIX_BYTES,
    limits::{DEFAULT_MESSAGE_BYTES, MAX_BATCH, MAX_BATCH_CELLS, MAX_FLOOR, MAX_STREAM},
    v1,
};
use http_body::Body;
use http_body_util::BodyExt;
use prost::Message;
use tokio::sync::{Semaphore, SemaphorePermit};
use tonic::Status;

use super::status::{Violation, invalid, malformed, too_much_unread};

/// Requests of up to this size are put together without asking anybody: twice a full batch.
const SMALL: usize = 16 << 10;
/// What larger requests that have come in part may take of the server's memory together.
const PARTLY_READ: usize = 64 << 20;

/// Bounds the memory of large requests that have come in part, over all connections.
#[derive(Debug)]
pub(super) struct Room(Semaphore);

impl Default for Room {
    fn default() -> Self {
        Self(Semaphore::new(PARTLY_READ))
    }
}

/// The one message of a unary request's body, without its frame prefix, once the body is at its end.
pub(super) async fn message<B>(body: B, room: &Room) -> Result<Bytes, Status>
where
    B: Body<Data = Bytes>,
    B::Error: std::fmt::Display,
{
    let mut body = pin!(body);
    let mut read = Read { so_far: BytesMut::new(), room, taken: None };
    let message = loop {
        let Some(frame) = body.as_mut().frame().await else {
            let come = read.so_far.len();
            return Err(Status::invalid_argument(format!("the request ended after {come} bytes of its message")));
        };
        if let Ok(data) = frame.map_err(|error| broke_off(&error))?.into_data()
            && let Some(message) = read.push(data)?
        {
            break message;
        }
    };
    read_on(body).await?;
    Ok(message)
}

/// Takes a body to its end, which mostly has come with the message. To drop it sooner would be to reset the call, and of
/// a peer who goes on to end many calls that are reset already h2 thinks ill, and hangs up.
async fn read_on<B>(mut body: Pin<&mut B>) -> Result<(), Status>
where
    B: Body<Data = Bytes>,
    B::Error: std::fmt::Display,
{
    let mut beyond = 0;
    while !body.is_end_stream()
        && let Some(frame) = body.as_mut().frame().await
    {
        beyond += frame.map_err(|error| broke_off(&error))?.into_data().map_or(0, |data| data.len());
        if beyond > DEFAULT_MESSAGE_BYTES {
            return Err(Status::out_of_range(format!(
                "more than {DEFAULT_MESSAGE_BYTES} bytes come after the request message"
            )));
        }
    }
    Ok(())
}

fn broke_off(error: &impl std::fmt::Display) -> Status {
    Status::cancelled(format!("the request broke off: {error}"))
}

/// Puts a message together from however many pieces it comes in; mostly it is one.
struct Read<'a> {
    so_far: BytesMut,
    room: &'a Room,
    /// What a large message takes, from when it is known to be one.
    taken: Option<SemaphorePermit<'a>>,
}

impl Read<'_> {
    fn push(&mut self, mut data: Bytes) -> Result<Option<Bytes>, Status> {
        if self.so_far.is_empty()
            && let Some(length) = length(&data)?
            && data.len() >= FRAME_PREFIX_BYTES + length
        {
            data.advance(FRAME_PREFIX_BYTES);
            data.truncate(length);
            return Ok(Some(data));
        }
        self.so_far.extend_from_slice(&data);
        match length(&self.so_far)? {
            Some(length) if self.so_far.len() >= FRAME_PREFIX_BYTES + length => {
                self.so_far.advance(FRAME_PREFIX_BYTES);
                Ok(Some(self.so_far.split_to(length).freeze()))
            }
            Some(length) if length > SMALL && self.taken.is_none() => {
                let bytes = u32::try_from(length).unwrap_or(u32::MAX);
                self.taken = Some(self.room.0.try_acquire_many(bytes).map_err(|_| too_much_unread())?);
                // Once, so that it does not grow to twice its size.
                self.so_far.reserve(FRAME_PREFIX_BYTES + length - self.so_far.len());
                Ok(None)
            }
            _ => Ok(None),
        }
    }
}

/// The length that a frame's prefix announces, once all five bytes of it are there.
fn length(data: &[u8]) -> Result<Option<usize>, Status> {
    let Some((prefix, _)) = data.split_first_chunk::<FRAME_PREFIX_BYTES>() else {
        return Ok(None);
    };
    let [compressed, length @ ..] = *prefix;
    match compressed {
        0 => {}
        1 => return Err(Status::unimplemented("the request is compressed; this server takes identity only")),
        flag => return Err(Status::invalid_argument(format!("the message begins with flag {flag}, which must be 0"))),
    }
    let length = u32::from_be_bytes(length) as usize;
    if length > DEFAULT_MESSAGE_BYTES {
        return Err(Status::out_of_range(format!(
            "the request message has {length} bytes; the limit is {DEFAULT_MESSAGE_BYTES}"
        )));
    }
    Ok(Some(length))
}

/// The floor asked for, and whether it is what its tower's schedule has there (and not a kind asked for by name).
pub(super) fn get_floor(message: &[u8]) -> Result<(FloorSpec, bool), Status> {
    let request = v1::GetFloorRequest::decode(message).map_err(|error| malformed(&error))?;
    let spec = spec(request.spec.as_ref(), "spec").map_err(invalid)?;
    Ok((spec, request.spec.is_some_and(|asked| asked.kind == 0)))
}

pub(super) fn batch_get_floors(message: &[u8]) -> Result<Vec<FloorSpec>, Status> {
    let request = v1::BatchGetFloorsRequest::decode(message).map_err(|error| malformed(&error))?;
    let count = request.specs.len();
    if !(1..=MAX_BATCH).contains(&count) {
        let says = format!("a batch holds 1 ..= {MAX_BATCH} specs, this one holds {count}");
        return Err(invalid(vec![Violation::new("specs", says)]));
    }
    let mut specs = Vec::with_capacity(count);
    let mut violations = Vec::new();
    for (i, asked) in request.specs.iter().enumerate() {
        match spec(Some(asked), format_args!("specs[{i}]")) {
            Ok(spec) => specs.push(spec),
            Err(wrong) => violations.extend(wrong),
        }
    }
    if !violations.is_empty() {
        return Err(invalid(violations));
    }
    let cells: u64 = specs.iter().map(|spec| spec.cells() as u64).sum();
    if cells > MAX_BATCH_CELLS {
        let says = format!("the floors of a batch have {MAX_BATCH_CELLS} cells at the most, these have {cells}");
        return Err(invalid(vec![Violation::new("specs", says)]));
    }
    Ok(specs)
}

/// The floors of a stream: consecutive numbers from `first` on, each of the kind asked for or scheduled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Climb {
    first: FloorSpec,
    kind: Option<Kind>,
    next: u32,
    count: u32,
}

impl Climb {
    /// Cells of each of its floors.
    pub(super) const fn cells(&self) -> usize {
        self.first.cells()
    }
}

impl Iterator for Climb {
    type Item = FloorSpec;

    fn next(&mut self) -> Option<FloorSpec> {
        if self.next == self.count {
            return None;
        }
        let number = self.first.number() + self.next;
        self.next += 1;
        let (width, height) = (self.first.width().into(), self.first.height().into());
        let spec = FloorSpec::resolve(self.first.seed(), number, width, height, self.kind);
        Some(spec.expect("checked when the stream was asked for"))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.count - self.next) as usize;
        (left, Some(left))
    }
}

pub(super) fn stream_floors(message: &[u8]) -> Result<Climb, Status> {
    let request = v1::StreamFloorsRequest::decode(message).map_err(|error| malformed(&error))?;
    let count = request.count;
    let mut violations = Vec::new();
    if !(1..=MAX_STREAM).contains(&count) {
        violations.push(Violation::new("count", format!("a stream holds 1 ..= {MAX_STREAM} floors, not {count}")));
    }
    match spec(request.first.as_ref(), "first") {
        Err(wrong) => violations.extend(wrong),
        Ok(first) if u64::from(first.number()) + u64::from(count) > u64::from(MAX_FLOOR) + 1 => {
            let says = format!("{count} floors from {} on pass floor {MAX_FLOOR}, the last of a tower", first.number());
            violations.push(Violation::new("count", says));
        }
        Ok(first) if violations.is_empty() => {
            let kind = request.first.and_then(|first| Kind::from_number(u32::try_from(first.kind).ok()?));
            return Ok(Climb { first, kind, next: 0, count });
        }
        Ok(_) => {}
    }
    Err(invalid(violations))
}

/// Refuses bytes that are no `GetServerInfoRequest`, in which nothing is asked.
pub(super) fn get_server_info(message: &[u8]) -> Result<(), Status> {
    v1::GetServerInfoRequest::decode(message).map(|_| ()).map_err(|error| malformed(&error))
}

/// Resolves a spec that stands at `path` in the request.
fn spec(asked: Option<&v1::FloorSpec>, path: impl std::fmt::Display) -> Result<FloorSpec, Vec<Violation>> {
    let Some(asked) = asked else {
        return Err(vec![Violation::new(path.to_string(), "missing: it must name a floor")]);
    };
    let kind = match asked.kind {
        0 => Some(None),
        number => u32::try_from(number).ok().and_then(Kind::from_number).map(Some),
    };
    let resolved = kind.map(|kind| FloorSpec::resolve(asked.seed, asked.number, asked.width, asked.height, kind));
    match resolved {
        Some(Ok(spec)) => Ok(spec),
        _ => Err(wrong_fields(asked, kind.is_some(), &path)),
    }
}

/// Every field that is wrong, each looked at with all the others right.
fn wrong_fields(asked: &v1::FloorSpec, kind_is_right: bool, path: &impl std::fmt::Display) -> Vec<Violation> {
    let alone = |number, width, height| FloorSpec::resolve(asked.seed, number, width, height, None).err();
    let errors = [alone(asked.number, 0, 0), alone(1, asked.width, 0), alone(1, 0, asked.height)];
    let wrong = |error: SpecError| Violation::new(format!("{path}.{}", error.field()), error.to_string());
    let mut wrong: Vec<_> = errors.into_iter().flatten().map(wrong).collect();
    if !kind_is_right {
        let says = format!("{} is no FloorKind; offered: {}", asked.kind, offered());
        wrong.push(Violation::new(format!("{path}.kind"), says));
    }
    wrong
}

fn offered() -> String {
    Kind::ALL.iter().map(|kind| format!("{} ({})", *kind as u8, kind)).collect::<Vec<_>>().join(", ")
}
