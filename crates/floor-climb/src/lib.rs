//! What both ends of a verified climb share: receipts, floors of the wire as the rules need them, and heroes in both forms.
//! The server signs receipts; floorctl and games verify them, offline.
#![forbid(unsafe_code)]

mod floor;
mod hero;
mod receipt;

pub use ed25519_dalek::{SigningKey, VerifyingKey};
pub use floor::{rolls, rules_floor};
pub use hero::{hero, hero_message};
pub use receipt::{InvalidReceipt, acts_hash, sign, verify};
