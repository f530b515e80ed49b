//! `SubmitFloor`: replays the acts of a climber on the floor of a receipt, and reveals the next floor.

use std::{pin::pin, time::Duration};

use bytes::Bytes;
use floor_gen::GENERATOR_VERSION;
use floor_proto::{FRAME_PREFIX_BYTES, v1};
use floor_rules::{Hero, MAX_ACTS, replay};
use prost::Message;
use tonic::Status;

use super::{
    Call, Services,
    climb::{self, ClimbCall, Revealed},
    resolve::find_pack,
};
use crate::{
    grpc::{
        answer::Answer,
        status::{Violation, from_source_error, invalid, malformed},
    },
    packs::FoundPack,
    towers::SealedTowers,
};

/// The cells that a worker generates in the time in which an act is replayed, for the caller's quota: 7 us on the worst of
/// the generator's floors (`cargo run --release -p floor-rules --example speed`).
const ACT_CELLS: u64 = 200;
/// As many acts take the time of what a call costs beside them: its two signatures, and the start of a replay.
const BASE_ACTS: usize = 20;

/// About how long it takes to replay so many acts on a floor of so many cells.
const fn replay_time(acts: usize, cells: usize) -> Duration {
    Duration::from_nanos(7_000 * acts as u64 + 10 * cells as u64)
}

pub(super) async fn answer(services: &Services, call: &Call<'_>, message: Bytes) -> Result<Answer, Status> {
    let (options, towers) = (&call.options, climb::towers(services, call)?);
    let v1::SubmitFloorRequest { receipt, acts } = Message::decode(message).map_err(|error| malformed(&error))?;
    let receipt = receipt.unwrap_or_default();
    if acts.len() > MAX_ACTS.into() {
        return Err(wrong("acts", format!("a floor has {MAX_ACTS} acts at most, these are {}", acts.len())));
    }
    let Some(tower_key) = towers.keys().find(receipt.key) else {
        return Err(wrong("receipt.key", format!("this server has no key {} for sealed towers", receipt.key)));
    };
    let cells = (acts.len() + BASE_ACTS) as u64 * ACT_CELLS;
    towers.charge(call.caller.id(), options.tenant, cells).map_err(from_source_error)?;
    let before = floor_climb::verify(&receipt, &tower_key.verifying_key());
    let before = before.map_err(|error| wrong("receipt", error.to_string()))?;
    let pack = check(services, call, towers, &before)?;
    let climb_call = ClimbCall { services, call, towers, tower_key, pack };
    let Revealed { served, rolls } = climb_call.reveal(&before).await?;
    let time = replay_time(acts.len(), (before.width * before.height) as usize);
    let work = move || climbed(before, &served.value, u128::from_le_bytes(rolls), &acts);
    let climb = options.with_deadline(pin!(services.offload.run(call.caller, time, work))).await??;
    climb_call.answer(&climb).await
}

/// The pack of a climb, if this server can go on with it.
fn check(services: &Services, call: &Call<'_>, towers: &SealedTowers, climb: &v1::Climb) -> Result<FoundPack, Status> {
    if climb.tenant != towers.tenant_name(call.options.tenant) {
        return Err(Status::permission_denied("the receipt is of another tenant"));
    }
    let versions = [
        ("generator", climb.generator_version, GENERATOR_VERSION),
        ("rules", climb.rules_version, floor_rules::VERSION),
    ];
    if let Some((what, of_climb, here)) = versions.into_iter().find(|(_, of_climb, here)| of_climb != here) {
        return Err(Status::failed_precondition(format!(
            "the climb began with version {of_climb} of the {what}, and this server has {here}; begin a new climb, or call \
             a server of that version"
        )));
    }
    if climb.pack.is_empty() {
        return Ok(FoundPack::BuiltIn);
    }
    let packs = services.packs.for_caller(call.options.tenant);
    find_pack(packs, &climb.pack, "receipt").map_err(|unresolved| unresolved.or_invalid(invalid).into())
}

/// The climb after these acts on its floor, as the chain has it.
fn climbed(before: v1::Climb, floor: &Bytes, rolls: u128, acts: &[u8]) -> Result<v1::Climb, Status> {
    let hero = play(floor, &floor_climb::hero(&before.hero.unwrap_or_default()), rolls, acts)?;
    Ok(v1::Climb {
        floor: before.floor + 1,
        hero: Some(floor_climb::hero_message(&hero)),
        // A clock that was set back does not undo time.
        reached_ms: climb::now_ms().max(before.reached_ms),
        acts_hash: floor_climb::acts_hash(&before.acts_hash, acts),
        ..before
    })
}

/// The hero as they leave a floor, as the chain has it, by these acts.
fn play(floor: &Bytes, hero: &Hero, rolls: u128, acts: &[u8]) -> Result<Hero, Status> {
    let own = |error: String| Status::internal(format!("a floor of this server cannot be played: {error}"));
    let floor = v1::Floor::decode(&floor[FRAME_PREFIX_BYTES..]).map_err(|error| own(error.to_string()))?;
    let floor = floor_climb::rules_floor(&floor).map_err(|error| own(error.to_string()))?;
    let level = replay(&floor, hero, rolls, acts).map_err(|error| wrong("acts", error.to_string()))?;
    level.next_hero().ok_or_else(|| {
        let (count, at, exit) = (acts.len(), level.at(), level.exit());
        let end = if level.is_lost() {
            format!("the hero has died after {count} acts")
        } else {
            format!("after {count} acts the hero is at {at}, and not on the stairs at {exit}")
        };
        wrong("acts", end)
    })
}

fn wrong(field: &str, description: String) -> Status {
    invalid(vec![Violation::new(field, description)])
}
