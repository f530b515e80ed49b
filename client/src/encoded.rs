//! A floor as it travels.

use bytes::Bytes;
use floor_proto::{hash, v1::FloorSpec};

use crate::{ClientError, Floor, InvalidFloor};

/// The encoded message of one floor, as received: not yet looked at.
///
/// Proxies, caches and load tests pass it on without paying for decoding; everyone else calls [`decode`](Self::decode).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedFloor(Bytes);

impl EncodedFloor {
    /// Takes the bytes of a `floors.v1.Floor`, from wherever.
    #[must_use]
    pub const fn new(message: Bytes) -> Self {
        Self(message)
    }

    /// The bytes of the message, without gRPC framing.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// Checks the content hash against the bytes and decodes the floor.
    ///
    /// # Errors
    /// Says what is wrong with bytes that are no floor.
    pub fn decode(&self) -> Result<Floor, InvalidFloor> {
        Floor::from_wire(hash::verify_encoded(&self.0)?, self.0.len())
    }

    /// Decodes the floor and checks that it is the one that `requested` names, not merely a good one. What the request left
    /// open (size 0, no kind) may be anything.
    ///
    /// # Errors
    /// [`ClientError::Invalid`], which says what is wrong with bytes that are no floor, or another floor.
    pub fn decode_for(&self, requested: &FloorSpec) -> Result<Floor, ClientError> {
        let checked = self.decode().and_then(|floor| floor.check_spec(requested));
        checked.map_err(|invalid| ClientError::Invalid { spec: Box::new(*requested), source: Box::new(invalid) })
    }
}
