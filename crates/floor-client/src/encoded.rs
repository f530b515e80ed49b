//! A floor in its encoded form.

use bytes::Bytes;
use floor_proto::{hash, v1::FloorSpec};

use crate::{ClientError, Floor, InvalidFloor};

/// The encoded message of one floor, as received and not yet checked.
///
/// Proxies, caches and load tests use it to avoid the cost of decoding. Others call [`decode`](Self::decode).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedFloor(Bytes);

impl EncodedFloor {
    /// Wraps the bytes of a `floors.v1.Floor`. Any source is allowed, since nothing is checked yet.
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
    /// [`InvalidFloor`] if the bytes are not a valid floor.
    pub fn decode(&self) -> Result<Floor, InvalidFloor> {
        Floor::from_wire(hash::verify_encoded(&self.0)?, self.0.len())
    }

    /// Decodes the floor and checks that it is the one that `requested` names. Fields that the request left unset
    /// (size 0, no kind, no pack) may have any value.
    ///
    /// # Errors
    /// [`ClientError::Invalid`] if the bytes are not a valid floor, or are another floor.
    pub fn decode_for(&self, requested: &FloorSpec) -> Result<Floor, ClientError> {
        let checked = self.decode().and_then(|floor| floor.check_spec(requested));
        checked.map_err(|invalid| ClientError::Invalid { spec: Box::new(requested.clone()), source: Box::new(invalid) })
    }
}
