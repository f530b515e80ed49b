//! The answers about climbs of sealed towers, checked.

use bytes::Bytes;
use floor_proto::{
    limits::{MAX_FLOOR, is_tower_name},
    rpc::Rpc,
    v1::{Climb, Daily, FloorSpec, Receipt},
};
use prost::Message;

use crate::{ClientError, EncodedFloor, Floor};

/// A floor that a climb revealed, and the receipt for the climb up to it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClimbFloor {
    /// To submit with the acts on this floor, and to show to others. Its signature is not checked.
    pub receipt: Receipt,
    /// What the receipt says.
    pub climb: Climb,
    /// The floor, complete and with seed 0. `None` after the last of the tower.
    pub floor: Option<Floor>,
    /// The seed of the rolls on it.
    pub rolls: u128,
}

/// `floors.v1.ClimbFloor` with an encoded floor. An embedded message and a byte string are the same on the wire.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct EncodedClimbFloor {
    #[prost(message, optional, tag = "1")]
    receipt: Option<Receipt>,
    #[prost(bytes = "bytes", optional, tag = "2")]
    floor: Option<Bytes>,
    #[prost(bytes = "vec", tag = "3")]
    rolls: Vec<u8>,
}

impl EncodedClimbFloor {
    /// Checks that `rpc` answered with floor `number` of `tower` and its receipt.
    pub(crate) fn check(self, rpc: Rpc, tower: &str, number: u32) -> Result<ClimbFloor, ClientError> {
        let malformed = |reason: String| ClientError::Malformed { rpc: rpc.name(), reason };
        let receipt = self.receipt.ok_or_else(|| malformed("it has no receipt".to_owned()))?;
        let climb = Climb::decode(&*receipt.climb).map_err(|error| malformed(format!("its receipt: {error}")))?;
        if (climb.tower.as_str(), climb.floor) != (tower, number) {
            let reason = format!("floor {} of {} instead of floor {number} of {tower}", climb.floor, climb.tower);
            return Err(malformed(reason));
        }
        let spec = FloorSpec::new(0, number).with_size(climb.width, climb.height).with_pack(climb.pack.clone());
        let floor = match self.floor {
            None if number > MAX_FLOOR => return Ok(ClimbFloor { receipt, climb, floor: None, rolls: 0 }),
            None => return Err(malformed("it has no floor".to_owned())),
            Some(encoded) => EncodedFloor::new(encoded).decode_for(&spec)?,
        };
        let rolls = <[u8; 16]>::try_from(self.rolls)
            .map_err(|rolls| malformed(format!("its rolls have {} bytes instead of 16", rolls.len())))?;
        Ok(ClimbFloor { receipt, climb, floor: Some(floor), rolls: u128::from_le_bytes(rolls) })
    }
}

/// Checks the name of the tower, of which games make names of files.
pub(crate) fn check_daily(daily: Daily) -> Result<Daily, ClientError> {
    if is_tower_name(&daily.tower) {
        return Ok(daily);
    }
    Err(ClientError::Malformed { rpc: Rpc::GetDaily.name(), reason: format!("{:?} names no tower", daily.tower) })
}
