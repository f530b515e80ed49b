//! `StreamFloors`: a window of floors at a time, in order.

use std::{pin::pin, time::Duration};

use bytes::Bytes;
use floor_cache::{Key, Served};
use floor_gen::{FloorSpec, Kind};
use floor_pack::{ModuleError, ResolveError};
use floor_proto::{
    limits::{MAX_FLOOR, MAX_STREAM},
    v1,
};
use prost::Message;
use tonic::Status;

use super::{
    Call, Services,
    resolve::{Refused, Unresolved, decoded, resolve},
};
use crate::{
    grpc::status::{self, Violation, invalid, malformed},
    key,
    packs::{FoundPack, VisiblePacks},
};

/// Maximum of floors per window: enough for batch lookups in every tier and for generation on every core.
const WINDOW_FLOORS: usize = 16;
/// Maximum of cells per window, unless one floor has more. A caller that stops reading makes the server hold one
/// window, about 100 KiB for any floor size.
const WINDOW_CELLS: usize = 160_000;

/// The floors of a window, of so many cells each.
pub(super) fn window_of(cells: usize) -> usize {
    (WINDOW_CELLS / cells).clamp(1, WINDOW_FLOORS)
}

/// The floors that a call of `StreamFloors` requests.
#[derive(Debug)]
pub(in crate::grpc) struct FloorWindows {
    range: FloorRange,
    /// The most floors of a window.
    window: usize,
}

impl FloorWindows {
    /// The floors that `message` names.
    pub(in crate::grpc) async fn of(services: &Services, call: &Call<'_>, message: Bytes) -> Result<Self, Status> {
        let range = decoded(services, call, message, decode).await?;
        let window = window_of(range.cells());
        Ok(Self { range, window })
    }

    /// The floors of the next window. None after the last one.
    pub(in crate::grpc) async fn next(&mut self, services: &Services, call: &Call<'_>) -> Result<Vec<Served>, Status> {
        let keys = call.options.with_deadline(pin!(self.next_keys(services, call))).await?;
        if keys.is_empty() { Ok(Vec::new()) } else { services.get_many(call, &keys).await }
    }

    /// Whether every window was returned.
    pub(in crate::grpc) fn is_at_end(&self) -> bool {
        self.range.size_hint().0 == 0
    }

    async fn next_keys(&mut self, services: &Services, call: &Call<'_>) -> Result<Vec<Key>, Status> {
        let (mut range, window) = (self.range.clone(), self.window);
        let time = range.pack.resolving_time() * window as u32;
        let resolve = move || {
            let specs = range.by_ref().take(window);
            let keys = specs.map(|spec| spec.map(|spec| key::of(&spec))).collect::<Result<Vec<_>, _>>();
            (range, keys)
        };
        let keys;
        (self.range, keys) = services.offload.run(call.caller, time, resolve).await?;
        keys.map_err(|error| status::from_module_error(&services.packs.note(error)))
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
            spec => Some(Ok(spec.expect("validated by decode").with_view(self.first.view()))),
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
