//! The JSON documents of the server's operations port, which the server writes and floorctl reads. Their keys are in
//! lowerCamelCase, as in the JSON of messages.

use serde::{Deserialize, Serialize};

/// The answer to `POST /purge`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purged {
    /// The number of floors that were to be removed.
    pub floors: u64,
    /// What each tier did.
    pub tiers: Vec<TierResult>,
}

/// The answer to `POST /purge` of a tower or of everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgedTiers {
    /// What each tier did.
    pub tiers: Vec<PurgedTier>,
}

/// What a tier did for a purge of a tower, of a pack or of everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgedTier {
    /// Whether it has looked through all of its entries.
    #[serde(flatten)]
    pub done: TierResult,
    /// The floors that it removed, also if it failed later.
    pub removed: u64,
}

/// The result of an operation in one tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierResult {
    /// The name of the tier.
    pub tier: String,
    /// The tenant whose floors these are; missing for callers without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Whether the operation was done.
    pub done: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The answer to `GET /contains`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Contained {
    /// The floors in the order of the query, those of each chain after one another.
    pub floors: Vec<FloorTiers>,
}

/// The tiers that hold a floor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FloorTiers {
    /// The floor in the notation of floorctl.
    pub floor: String,
    /// `NAME@HASH` of the pack that it is of; missing for the built-in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack: Option<String>,
    /// The tenant whose floors these are; missing for callers without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The names of the tiers.
    pub tiers: Vec<String>,
    /// The tiers that did not tell; missing if all did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedTier>,
}

/// A tier that did not answer a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTier {
    /// The name of the tier.
    pub tier: String,
    /// Why.
    pub error: String,
}

/// The answer to `GET /stats`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// The tiers in the order of lookups.
    pub tiers: Vec<TierHoldings>,
}

/// What a tier holds, and the counts of its writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TierHoldings {
    /// The name of the tier.
    pub tier: String,
    /// The tenant whose floors these are; missing for callers without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The number of floors; null if the tier does not tell.
    pub entries: Option<u64>,
    /// Their size in bytes; null if the tier does not tell.
    pub bytes: Option<u64>,
    /// The limit of `bytes`; null if the tier has none of its own.
    pub limit_bytes: Option<u64>,
    /// The size of the tier's files in bytes; null if it has none on this machine.
    pub disk_bytes: Option<u64>,
    /// The damaged entries that were found.
    pub corrupt: u64,
    /// Null for memory, which stores floors at once.
    pub writes: Option<Writes>,
}

/// The queued writes of a tier, in floors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writes {
    /// Stored since the start.
    pub stored: u64,
    /// Not stored, because the tier failed.
    pub failed: u64,
    /// Not stored, because the queue was full.
    pub dropped: u64,
    /// In the queue now.
    pub waiting: u64,
}

/// The answer to `POST /compact`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    /// The tiers that were compacted.
    pub tiers: Vec<CompactedTier>,
}

/// A tier that was compacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactedTier {
    /// Whether it succeeded.
    #[serde(flatten)]
    pub done: TierResult,
    /// The size before.
    pub before: Size,
    /// The size after.
    pub after: Size,
}

/// The answer to `POST /backup`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackedUp {
    /// Whether it succeeded.
    #[serde(flatten)]
    pub done: TierResult,
    /// The directory of the copy, on the server's machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The length of its files in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// The size of a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Size {
    /// The size of the floors in bytes.
    pub bytes: u64,
    /// The size of the tier's files in bytes; null if it has none on this machine.
    pub disk_bytes: Option<u64>,
}
