//! `SearchFloors`: the floors of a range that meet a condition, as far as the work of one call goes.

use std::{iter, pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use floor_cache::Served;
use floor_gen::{FloorSpec, Kind};
use floor_pack::{ModuleError, ResolveError};
use floor_proto::{
    FRAME_PREFIX_BYTES,
    limits::{MAX_BATCH, MAX_BATCH_CELLS, MAX_FLOOR, MAX_SEEDS},
    v1,
};
use floor_query::{Candidate, Condition};
use prost::Message;
use tonic::Status;

use super::{
    Call, Services,
    resolve::{Refused, Unresolved, decoded, resolve, validity},
    window_of,
};
use crate::{
    grpc::{
        answer::{Answer, ServedBy, ServedCounts, Validity},
        status::{self, Violation, invalid, malformed},
    },
    key,
    packs::{FoundPack, VisiblePacks},
};

/// Floors whose names are tested at once: at first few, on the thread of the connection, then more, on one for such work.
const FIRST_NAMES: usize = 256;
const NAMES: usize = 4096;
/// Floors whose names a call tests. Most conditions need the floor itself, and a batch of those is the limit then.
const MAX_NAMES: usize = 4 * NAMES;

/// About how long it takes to test a name by a condition of so many characters.
const fn name_time(condition: usize) -> Duration {
    Duration::from_nanos(100 + 5 * condition as u64)
}

/// About how long it takes to decode so many floors of `bytes` together, and to test them.
const fn floors_time(floors: usize, bytes: usize, condition: usize) -> Duration {
    Duration::from_nanos((4 * bytes + 100 * condition * floors) as u64)
}

/// The matches so far, of as many floors as a batch may have, or until half of the caller's time is over. An error after the
/// first floors ends the answer, and belongs to the call that goes on.
pub(super) async fn answer(services: &Services, call: &Call<'_>, message: Bytes) -> Result<Answer, Status> {
    let (range, mut at, limit, mut validity) = decoded(services, call, message, decode).await?;
    let (mut work, mut counts, mut matches) = (Work::new(range.first.cells()), ServedCounts::default(), Vec::new());
    let begin = at;
    while at < range.floors() && matches.len() < limit && !work.is_done() {
        if at > begin && is_half_over(call) {
            validity = Validity::Now;
            break;
        }
        let next = match step(services, call, &range, at, &mut work).await {
            Ok(next) => next,
            Err(status) if at == begin => return Err(status),
            Err(_) => {
                // Another call may come further.
                validity = Validity::Now;
                break;
            }
        };
        counts.add(&next.served);
        let wanted = limit - matches.len();
        at = next.matches.get(wanted - 1).map_or(next.end, |(index, _)| index + 1);
        matches.extend(next.matches.into_iter().take(wanted).map(|(_, found)| found));
    }
    let next = if at < range.floors() { at } else { 0 };
    let found = Answer::of_message(&v1::SearchFloorsResponse { matches, next });
    Ok(Answer { served: ServedBy::Several(counts), validity, ..found })
}

/// Whether the caller, if it waits for so long only, has waited for half of its time.
fn is_half_over(call: &Call<'_>) -> bool {
    let (started, options) = (call.options.started, &call.options);
    options.deadline.is_some_and(|deadline| started.elapsed() > deadline.saturating_duration_since(started) / 2)
}

/// What is left of the work of a call.
struct Work {
    names: usize,
    floors: usize,
    /// The most floors at once.
    window: usize,
}

impl Work {
    fn new(cells: usize) -> Self {
        Self { names: MAX_NAMES, floors: MAX_BATCH.min(MAX_BATCH_CELLS as usize / cells), window: window_of(cells) }
    }

    const fn is_done(&self) -> bool {
        self.names == 0 || self.floors == 0
    }
}

/// Some floors of the range, tested.
struct Tested {
    /// The index after the last of them.
    end: u64,
    matches: Vec<(u64, v1::FloorMatch)>,
    served: Vec<Served>,
}

/// Tests the next floors from the index `at` on.
async fn step(
    services: &Services,
    call: &Call<'_>,
    range: &Arc<Range>,
    at: u64,
    work: &mut Work,
) -> Result<Tested, Status> {
    let names = if work.names == MAX_NAMES { FIRST_NAMES } else { NAMES.min(work.names) };
    let floors = work.window.min(work.floors);
    let (of_names, time) =
        (Arc::clone(range), (range.pack.resolving_time() + name_time(range.characters)) * names as u32);
    let named = services.offload.run(call.caller, time, move || of_names.candidates(at, names, floors));
    let named = call.options.with_deadline(pin!(named)).await?;
    let (end, candidates) = named.map_err(|error| status::from_module_error(&services.packs.note(error)))?;
    let keys: Vec<_> = candidates.iter().map(|(_, spec)| key::of(spec)).collect();
    let served = if keys.is_empty() { Vec::new() } else { services.get_many(call, &keys).await? };
    (work.names, work.floors) = (work.names - (end - at) as usize, work.floors - keys.len());
    let messages: Vec<_> = served.iter().map(|served| served.value.slice(FRAME_PREFIX_BYTES..)).collect();
    let time = floors_time(messages.len(), messages.iter().map(Bytes::len).sum(), range.characters);
    let range = Arc::clone(range);
    let test =
        move || candidates.into_iter().zip(messages).filter_map(|(one, floor)| range.tested(one, floor)).collect();
    let matches = call.options.with_deadline(pin!(services.offload.run(call.caller, time, test))).await?;
    Ok(Tested { end, matches, served })
}

/// The floors that a call may look at, by index: all of the first tower, then those of the next.
#[derive(Debug)]
struct Range {
    pack: FoundPack,
    condition: Condition,
    /// Of the condition.
    characters: usize,
    first: FloorSpec,
    /// Width and height in the request, which may be 0.
    sides: (u32, u32),
    kind: Option<Kind>,
    /// Floors of each tower.
    count: u64,
    seeds: Vec<u64>,
}

impl Range {
    const fn floors(&self) -> u64 {
        self.count * self.seeds.len() as u64
    }

    /// From the index `at` on the first `floors` that may meet the condition, among at most `names`; and the index behind.
    fn candidates(&self, at: u64, names: usize, floors: usize) -> Result<(u64, Vec<(u64, FloorSpec)>), ModuleError> {
        let mut found = Vec::new();
        for index in (at..self.floors()).take(names) {
            if found.len() == floors {
                return Ok((index, found));
            }
            let spec = match self.spec(index) {
                Ok(spec) => spec,
                // The pack's own generator has no such floor.
                Err(ModuleError::Refused { .. }) => continue,
                Err(error) => return Err(error),
            };
            if self.condition.holds(&Candidate::sent(&self.pack, spec, None)) != Some(false) {
                found.push((index, spec));
            }
        }
        Ok(((at + names as u64).min(self.floors()), found))
    }

    fn spec(&self, index: u64) -> Result<FloorSpec, ModuleError> {
        let (seed, number) = (self.seeds[(index / self.count) as usize], (index % self.count) as u32);
        let (width, height) = self.sides;
        match self.pack.resolve(seed, self.first.number() + number, width, height, self.kind) {
            Err(ResolveError::Module(error)) => Err(error),
            spec => Ok(spec.expect("validated by decode").with_view(self.first.view())),
        }
    }

    /// A floor as it is sent, if it meets the condition.
    fn tested(&self, (index, spec): (u64, FloorSpec), floor: Bytes) -> Option<(u64, v1::FloorMatch)> {
        // The chain has checked what it holds.
        let mut floor = v1::Floor::decode(floor).ok()?;
        let (resolved, name) = (floor.spec.take(), floor.name.clone());
        let holds = self.condition.holds(&Candidate::sent(&self.pack, spec, Some(floor))) == Some(true);
        holds.then_some((index, v1::FloorMatch { spec: resolved, name }))
    }
}

/// The range, where to begin in it, and the most matches.
type Requested = (Arc<Range>, u64, usize, Validity);

fn decode(packs: VisiblePacks<'_>, message: &[u8], mut allowed: Duration) -> Result<Requested, Refused> {
    let v1::SearchFloorsRequest { first, count, condition, mut seeds, skip, limit } =
        Message::decode(message).map_err(|error| malformed(&error))?;
    let spec = match resolve(packs, first.as_ref(), "first", &mut allowed) {
        Err(Unresolved::Refused(refused)) => return Err(refused),
        Err(Unresolved::Invalid(wrong)) => Err(wrong),
        Ok(spec) => Ok(spec),
    };
    let first = first.unwrap_or_default();
    if seeds.is_empty() {
        seeds.push(first.seed);
    }
    let mut violations = range_violations(first.number.clamp(1, MAX_FLOOR), count, seeds.len(), skip);
    let spec = spec.map_err(|wrong| invalid(wrong.into_iter().chain(violations.drain(..)).collect()))?;
    // The version of the first floor, also if a newer one is in use by now.
    let pack = packs.of(spec.pack()).expect("a version stays until the server ends");
    let characters = condition.len();
    let condition = Condition::of_pack(pack.pack(), &condition).map_err(|error| {
        // Without the text and the carets under it.
        violations.push(Violation::new("condition", error.lines().next().unwrap_or_default()));
        invalid(std::mem::take(&mut violations))
    })?;
    if !violations.is_empty() {
        return Err(invalid(violations).into());
    }
    let validity = validity(packs, iter::once(&*first.pack));
    let kind = u32::try_from(first.kind).ok().and_then(Kind::from_number);
    let sides = (first.width, first.height);
    let range = Range { pack, condition, characters, first: spec, sides, kind, count: count.into(), seeds };
    let limit = if limit == 0 { usize::MAX } else { limit as usize };
    Ok((Arc::new(range), skip, limit, validity))
}

/// What is wrong with a range of `count` floors from `first` on in each of so many towers, of which `skip` are skipped.
fn range_violations(first: u32, count: u32, towers: usize, skip: u64) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut wrong = |field: &str, description: String| violations.push(Violation::new(field, description));
    let most = MAX_FLOOR - first + 1;
    if !(1..=most).contains(&count) {
        wrong("count", format!("from floor {first} on a tower has 1 ..= {most} floors, not {count}"));
    }
    if towers > MAX_SEEDS {
        wrong("seeds", format!("a search takes {MAX_SEEDS} towers at most, not {towers}"));
    }
    let floors = u64::from(count) * towers as u64;
    if skip > floors {
        wrong("skip", format!("the range has {floors} floors, so {skip} cannot be skipped"));
    }
    violations
}
