//! Reads requests for `service`: a message from a body, valid specs from a message.

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

use super::status::{Violation, invalid, malformed, request_budget_exhausted};

/// Larger requests need a permit of the budget. Twice a full batch.
const UNBUDGETED_BYTES: usize = 16 << 10;
/// Budget for partially received large requests, over all connections.
const BUDGET_BYTES: usize = 64 << 20;

/// Bounds the memory of partially received large requests.
#[derive(Debug)]
pub(super) struct MemoryBudget(Semaphore);

impl Default for MemoryBudget {
    fn default() -> Self {
        Self(Semaphore::new(BUDGET_BYTES))
    }
}

/// Reads a unary request body to its end. Returns its message without the frame prefix.
pub(super) async fn message<B>(body: B, budget: &MemoryBudget) -> Result<Bytes, Status>
where
    B: Body<Data = Bytes>,
    B::Error: std::fmt::Display,
{
    let mut body = pin!(body);
    let mut assembler = MessageAssembler { received: BytesMut::new(), budget, permit: None };
    let message = loop {
        let Some(frame) = body.as_mut().frame().await else {
            let received = assembler.received.len();
            return Err(Status::invalid_argument(format!("the request ended after {received} bytes of its message")));
        };
        if let Ok(data) = frame.map_err(|error| body_error(&error))?.into_data()
            && let Some(message) = assembler.push(data)?
        {
            break message;
        }
    };
    read_to_end(body).await?;
    Ok(message)
}

/// Reads the rest of a body, mostly nothing. Dropping it earlier would reset the call, and h2 closes a connection on
/// which many frames arrive for reset calls.
async fn read_to_end<B>(mut body: Pin<&mut B>) -> Result<(), Status>
where
    B: Body<Data = Bytes>,
    B::Error: std::fmt::Display,
{
    let mut extra_bytes = 0;
    while !body.is_end_stream()
        && let Some(frame) = body.as_mut().frame().await
    {
        extra_bytes += frame.map_err(|error| body_error(&error))?.into_data().map_or(0, |data| data.len());
        if extra_bytes > DEFAULT_MESSAGE_BYTES {
            return Err(Status::out_of_range(format!(
                "more than {DEFAULT_MESSAGE_BYTES} bytes follow the request message"
            )));
        }
    }
    Ok(())
}

fn body_error(error: &impl std::fmt::Display) -> Status {
    Status::cancelled(format!("the request body failed: {error}"))
}

/// Assembles a message from the chunks of a body. Mostly there is one chunk.
struct MessageAssembler<'a> {
    received: BytesMut,
    budget: &'a MemoryBudget,
    /// The permit of a large message.
    permit: Option<SemaphorePermit<'a>>,
}

impl MessageAssembler<'_> {
    fn push(&mut self, mut data: Bytes) -> Result<Option<Bytes>, Status> {
        if self.received.is_empty()
            && let Some(length) = length(&data)?
            && data.len() >= FRAME_PREFIX_BYTES + length
        {
            data.advance(FRAME_PREFIX_BYTES);
            data.truncate(length);
            return Ok(Some(data));
        }
        self.received.extend_from_slice(&data);
        match length(&self.received)? {
            Some(length) if self.received.len() >= FRAME_PREFIX_BYTES + length => {
                self.received.advance(FRAME_PREFIX_BYTES);
                Ok(Some(self.received.split_to(length).freeze()))
            }
            Some(length) if length > UNBUDGETED_BYTES && self.permit.is_none() => {
                let bytes = u32::try_from(length).unwrap_or(u32::MAX);
                self.permit = Some(self.budget.0.try_acquire_many(bytes).map_err(|_| request_budget_exhausted())?);
                // Reserve once, so that the buffer does not double.
                self.received.reserve(FRAME_PREFIX_BYTES + length - self.received.len());
                Ok(None)
            }
            _ => Ok(None),
        }
    }
}

/// The message length in a frame prefix. `None` if the prefix is incomplete.
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

/// The requested floor, and whether its kind is the scheduled one (not requested by name).
pub(super) fn get_floor(message: &[u8]) -> Result<(FloorSpec, bool), Status> {
    let request = v1::GetFloorRequest::decode(message).map_err(|error| malformed(&error))?;
    let spec = spec(request.spec.as_ref(), "spec").map_err(invalid)?;
    Ok((spec, request.spec.is_some_and(|requested| requested.kind == 0)))
}

pub(super) fn batch_get_floors(message: &[u8]) -> Result<Vec<FloorSpec>, Status> {
    let request = v1::BatchGetFloorsRequest::decode(message).map_err(|error| malformed(&error))?;
    let count = request.specs.len();
    if !(1..=MAX_BATCH).contains(&count) {
        let description = format!("a batch holds 1 ..= {MAX_BATCH} specs, this one holds {count}");
        return Err(invalid(vec![Violation::new("specs", description)]));
    }
    let mut specs = Vec::with_capacity(count);
    let mut violations = Vec::new();
    for (i, requested) in request.specs.iter().enumerate() {
        match spec(Some(requested), format_args!("specs[{i}]")) {
            Ok(spec) => specs.push(spec),
            Err(wrong) => violations.extend(wrong),
        }
    }
    if !violations.is_empty() {
        return Err(invalid(violations));
    }
    let cells: u64 = specs.iter().map(|spec| spec.cells() as u64).sum();
    if cells > MAX_BATCH_CELLS {
        let description = format!("the floors of a batch have {MAX_BATCH_CELLS} cells at most, these have {cells}");
        return Err(invalid(vec![Violation::new("specs", description)]));
    }
    Ok(specs)
}

/// The floors of a stream: consecutive numbers from `first`, each of the requested or the scheduled kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct FloorRange {
    first: FloorSpec,
    kind: Option<Kind>,
    next: u32,
    count: u32,
}

impl FloorRange {
    /// Cells per floor.
    pub(super) const fn cells(&self) -> usize {
        self.first.cells()
    }
}

impl Iterator for FloorRange {
    type Item = FloorSpec;

    fn next(&mut self) -> Option<FloorSpec> {
        if self.next == self.count {
            return None;
        }
        let number = self.first.number() + self.next;
        self.next += 1;
        let (width, height) = (self.first.width().into(), self.first.height().into());
        let spec = FloorSpec::resolve(self.first.seed(), number, width, height, self.kind);
        Some(spec.expect("validated by stream_floors"))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.count - self.next) as usize;
        (left, Some(left))
    }
}

pub(super) fn stream_floors(message: &[u8]) -> Result<FloorRange, Status> {
    let request = v1::StreamFloorsRequest::decode(message).map_err(|error| malformed(&error))?;
    let count = request.count;
    let mut violations = Vec::new();
    if !(1..=MAX_STREAM).contains(&count) {
        violations.push(Violation::new("count", format!("a stream holds 1 ..= {MAX_STREAM} floors, not {count}")));
    }
    match spec(request.first.as_ref(), "first") {
        Err(wrong) => violations.extend(wrong),
        Ok(first) if u64::from(first.number()) + u64::from(count) > u64::from(MAX_FLOOR) + 1 => {
            let description =
                format!("{count} floors from {} on pass floor {MAX_FLOOR}, the last of a tower", first.number());
            violations.push(Violation::new("count", description));
        }
        Ok(first) if violations.is_empty() => {
            let kind = request.first.and_then(|first| Kind::from_number(u32::try_from(first.kind).ok()?));
            return Ok(FloorRange { first, kind, next: 0, count });
        }
        Ok(_) => {}
    }
    Err(invalid(violations))
}

/// Checks that the bytes are a `GetServerInfoRequest`, which has no fields.
pub(super) fn get_server_info(message: &[u8]) -> Result<(), Status> {
    v1::GetServerInfoRequest::decode(message).map(|_| ()).map_err(|error| malformed(&error))
}

/// Resolves the spec in `field` of the request.
fn spec(requested: Option<&v1::FloorSpec>, field: impl std::fmt::Display) -> Result<FloorSpec, Vec<Violation>> {
    let Some(requested) = requested else {
        return Err(vec![Violation::new(field.to_string(), "missing: it must name a floor")]);
    };
    let kind = match requested.kind {
        0 => Some(None),
        number => u32::try_from(number).ok().and_then(Kind::from_number).map(Some),
    };
    let resolved =
        kind.map(|kind| FloorSpec::resolve(requested.seed, requested.number, requested.width, requested.height, kind));
    match resolved {
        Some(Ok(spec)) => Ok(spec),
        _ => Err(field_violations(requested, kind.is_some(), &field)),
    }
}

/// The violations of every invalid field. Each is checked with valid values for the others.
fn field_violations(requested: &v1::FloorSpec, kind_is_valid: bool, field: &impl std::fmt::Display) -> Vec<Violation> {
    let alone = |number, width, height| FloorSpec::resolve(requested.seed, number, width, height, None).err();
    let errors = [alone(requested.number, 0, 0), alone(1, requested.width, 0), alone(1, 0, requested.height)];
    let wrong = |error: SpecError| Violation::new(format!("{field}.{}", error.field()), error.to_string());
    let mut wrong: Vec<_> = errors.into_iter().flatten().map(wrong).collect();
    if !kind_is_valid {
        let description = format!("{} is not a FloorKind; offered: {}", requested.kind, offered());
        wrong.push(Violation::new(format!("{field}.kind"), description));
    }
    wrong
}

fn offered() -> String {
    Kind::ALL.iter().map(|kind| format!("{} ({})", *kind as u8, kind)).collect::<Vec<_>>().join(", ")
}
