//! What the calls of a climb share: whether the server has sealed towers, and how it reveals a floor of one.

use std::{
    collections::VecDeque,
    pin::pin,
    slice,
    time::{SystemTime, UNIX_EPOCH},
};

use bytes::{BufMut, Bytes, BytesMut};
use floor_cache::Served;
use floor_gen::{FloorSpec, Kind, View};
use floor_pack::ResolveError;
use floor_proto::{FRAME_PREFIX_BYTES, limits::MAX_FLOOR, v1};
use prost::Message as _;
use tonic::Status;

use super::{Call, Services};
use crate::{
    grpc::{
        answer::{Answer, Frame, ServedBy, Validity, put_prefix},
        status::from_source_error,
    },
    observer::LookupTimer,
    packs::FoundPack,
    tower_keys::TowerKey,
    towers::SealedTowers,
};

/// A call of a climb, by the server's key and the pack of that climb.
pub(super) struct ClimbCall<'a> {
    pub(super) services: &'a Services,
    pub(super) call: &'a Call<'a>,
    pub(super) towers: &'a SealedTowers,
    pub(super) tower_key: &'a TowerKey,
    pub(super) pack: FoundPack,
}

/// A floor of a climb.
pub(super) struct Revealed {
    pub(super) served: Served,
    /// The seed of its rolls.
    pub(super) rolls: [u8; 16],
}

/// The sealed towers, for a caller who may have everything of a floor.
pub(super) fn towers<'a>(services: &'a Services, call: &Call<'_>) -> Result<&'a SealedTowers, Status> {
    if call.options.only.is_some_and(|only| only != View::Everything) {
        return Err(Status::permission_denied(
            "the token is for the player's view, and a climb reveals everything of its floors",
        ));
    }
    services.towers.as_ref().ok_or_else(|| {
        Status::failed_precondition("this server has no key for sealed towers; its operator sets towers.key_file")
    })
}

/// Milliseconds since 1970 UTC.
pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl ClimbCall<'_> {
    /// The floor on which the hero of `climb` is. Its seed is in no error.
    pub(super) async fn reveal(&self, climb: &v1::Climb) -> Result<Revealed, Status> {
        let Self { services, call, towers, tower_key, pack } = self;
        let (options, &v1::Climb { floor, width, height, .. }) = (&call.options, climb);
        let no_floor =
            || Status::failed_precondition(format!("the pack has no floor {floor} of {width}x{height} cells"));
        let any = FloorSpec::of_pack(pack.pack().hash(), 0, floor, width, height, Kind::Standard);
        let any = any.map_err(|_| no_floor())?;
        let key_of = |spec| tower_key.key(towers.tenant_name(options.tenant), &climb.tower, spec);
        let (seed, time, pack) = (tower_key.seed(&key_of(&any)), pack.resolving_time(), pack.clone());
        let resolve = move || pack.resolve(seed, floor, width, height, None);
        let resolved = options.with_deadline(pin!(services.offload.run(call.caller, time, resolve))).await?;
        let resolved = resolved.map_err(|error| {
            if let ResolveError::Module(error) = error {
                services.packs.note(error);
            }
            no_floor()
        })?;
        let key = key_of(&resolved);
        let timer = LookupTimer::start(call.record);
        let chain = towers.chain(options.tenant);
        let get = async { chain.get(key, options.of_lookup()).await.map_err(from_source_error) };
        let served = options.with_deadline(pin!(get)).await?;
        timer.finish(slice::from_ref(&served));
        Ok(Revealed { served, rolls: tower_key.rolls(&key) })
    }

    /// The answer with the receipt of `climb` and the floor that it reaches, which is none above the last.
    pub(super) async fn answer(&self, climb: &v1::Climb) -> Result<Answer, Status> {
        let receipt = Some(self.tower_key.sign(climb));
        if climb.floor > MAX_FLOOR {
            return Ok(Answer::of_message(&v1::ClimbFloor { receipt, ..v1::ClimbFloor::default() }));
        }
        let Revealed { served, rolls } = self.reveal(climb).await?;
        Ok(Answer {
            frame: frame(v1::ClimbFloor { receipt, floor: None, rolls: rolls.to_vec() }, &served.value),
            served: ServedBy::Tier { name: served.by, coalesced: served.coalesced },
            steps: served.trace,
            validity: Validity::Now,
        })
    }
}

/// The message with a floor as the chain has it. Fields may have any order.
fn frame(message: v1::ClimbFloor, floor: &Bytes) -> Frame {
    /// Field 2, length-delimited.
    const FLOOR_TAG: u8 = 2 << 3 | 2;
    let (floor, others) = (floor.slice(FRAME_PREFIX_BYTES..), message.encode_to_vec());
    let length = others.len() + 1 + prost::length_delimiter_len(floor.len()) + floor.len();
    let mut first = BytesMut::with_capacity(FRAME_PREFIX_BYTES + length - floor.len());
    put_prefix(&mut first, length);
    first.extend_from_slice(&others);
    first.put_u8(FLOOR_TAG);
    prost::encode_length_delimiter(floor.len(), &mut first).expect("a BytesMut grows");
    Frame::of_slices(first.freeze(), VecDeque::from([floor]))
}
