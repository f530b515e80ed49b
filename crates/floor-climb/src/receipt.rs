//! Receipts: what a server vouches for with an Ed25519 signature (RFC 8032).

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use floor_proto::v1::{Climb, Receipt};
use prost::Message as _;
use sha2::{Digest as _, Sha256};

/// What is signed begins with this, so that no signature of something else passes for one of a receipt.
const CONTEXT: &[u8] = b"floors.v1.Receipt";

/// Why a receipt proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidReceipt {
    /// It was altered, or another key signed it.
    #[error("the signature is not of this climb and this key")]
    Signature,
    /// It is signed, but its climb cannot be read.
    #[error("the climb is no message floors.v1.Climb")]
    Climb,
}

/// The receipt of `climb`, signed with the key of this id.
#[must_use]
pub fn sign(climb: &Climb, id: u32, key: &SigningKey) -> Receipt {
    let climb = climb.encode_to_vec();
    let signature = key.sign(&signed(&climb)).to_bytes().to_vec();
    Receipt { climb, signature, key: id }
}

/// What a receipt says, if the owner of `key` signed it. Neither its id nor a clock is looked at.
///
/// # Errors
/// [`InvalidReceipt`].
pub fn verify(receipt: &Receipt, key: &VerifyingKey) -> Result<Climb, InvalidReceipt> {
    let signature = Signature::from_slice(&receipt.signature).map_err(|_| InvalidReceipt::Signature)?;
    // Strict: of no climb is there a second signature.
    key.verify_strict(&signed(&receipt.climb), &signature).map_err(|_| InvalidReceipt::Signature)?;
    Climb::decode(&*receipt.climb).map_err(|_| InvalidReceipt::Climb)
}

/// `Climb.acts_hash` after the floor on which `acts` were played; `before` is that of the receipt with which the floor came.
#[must_use]
pub fn acts_hash(before: &[u8], acts: &[u8]) -> Vec<u8> {
    Sha256::new().chain_update(before).chain_update(acts).finalize().to_vec()
}

fn signed(climb: &[u8]) -> Vec<u8> {
    [CONTEXT, climb].concat()
}
