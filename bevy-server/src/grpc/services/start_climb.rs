//! `StartClimb`: the first floor of a sealed tower, and a receipt that nothing is climbed yet.

use bytes::Bytes;
use floor_gen::{FloorSpec, GENERATOR_VERSION, Kind};
use floor_proto::{
    limits::{MAX_TOWER_BYTES, is_tower_name},
    v1,
};
use floor_rules::Hero;
use prost::Message;
use tonic::Status;

use super::{
    Call, Services,
    climb::{self, ClimbCall},
    resolve::{Unresolved, find_pack},
};
use crate::grpc::{
    answer::Answer,
    status::{Violation, invalid, malformed},
};

/// The longest name of a player, in bytes.
const MAX_PLAYER: usize = 64;

pub(super) async fn answer(services: &Services, call: &Call<'_>, message: Bytes) -> Result<Answer, Status> {
    let towers = climb::towers(services, call)?;
    let v1::StartClimbRequest { tower, width, height, pack, player } =
        Message::decode(message).map_err(|error| malformed(&error))?;
    let spec = FloorSpec::resolve(0, 1, width, height, Some(Kind::Standard));
    let mut violations = name_violations(&tower, &player);
    if let Err(error) = &spec {
        violations.push(Violation::new(error.field(), error.to_string()));
    }
    let packs = services.packs.for_caller(call.options.tenant);
    let pack = match find_pack(packs, &pack, "pack") {
        Err(Unresolved::Refused(refused)) => return Err(refused.into()),
        Err(Unresolved::Invalid(wrong)) => Err(wrong),
        Ok(pack) => Ok(pack),
    };
    let (pack, spec) = match (pack, spec) {
        (Ok(pack), Ok(spec)) if violations.is_empty() => (pack, spec),
        (pack, _) => return Err(invalid(violations.into_iter().chain(pack.err().unwrap_or_default()).collect())),
    };
    let now = climb::now_ms();
    let climb = v1::Climb {
        tower,
        floor: 1,
        width: spec.width().into(),
        height: spec.height().into(),
        pack: pack.reference().to_owned(),
        generator_version: GENERATOR_VERSION,
        rules_version: floor_rules::VERSION,
        tenant: towers.tenant_name(call.options.tenant).to_owned(),
        player,
        hero: Some(floor_climb::hero_message(&Hero::default())),
        started_ms: now,
        reached_ms: now,
        acts_hash: Vec::new(),
    };
    ClimbCall { services, call, towers, tower_key: towers.keys().current(), pack }.answer(&climb).await
}

fn name_violations(tower: &str, player: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    if !is_tower_name(tower) {
        let description = format!("write 1 to {MAX_TOWER_BYTES} lowercase letters, digits, '-', '_' or '.'");
        violations.push(Violation::new("tower", description));
    }
    if player.len() > MAX_PLAYER || player.chars().any(char::is_control) {
        let description = format!("write at most {MAX_PLAYER} bytes without control characters");
        violations.push(Violation::new("player", description));
    }
    violations
}
