//! The options and the result of a lookup.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;

use crate::{
    key::Key,
    source::{CallerId, Demand, GenerationRequest, Priority},
    tier::TierErrorKind,
};

/// The options of a lookup.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Skip every tier: generate the value and store it in every tier.
    pub no_cache: bool,
    /// Return the outcome and time of each tier.
    pub trace: bool,
    /// Whether a caller waits for the value.
    pub priority: Priority,
    /// The caller that asks.
    pub caller: CallerId,
}

impl Options {
    /// A request to generate `key` with these options.
    pub(crate) fn request(&self, key: Key, demand: Demand) -> GenerationRequest {
        GenerationRequest { key, priority: self.priority, caller: self.caller, demand }
    }
}

/// A value and where it came from.
#[derive(Debug, Clone)]
pub struct Served {
    /// The value.
    pub value: Bytes,
    /// The tier that had it, or `generated`.
    pub by: &'static str,
    /// Whether the value came from another call's lookup.
    pub coalesced: bool,
    /// The steps of the lookup, in order; `None` unless [`Options::trace`] was set. In an [`Arc`], whose steps are dropped in
    /// a function of its own: in that of a hit it would cost a twentieth of it.
    pub trace: Option<Arc<[Step]>>,
}

/// One tier's part in a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The tier, or `generated`.
    pub tier: &'static str,
    /// Its answer.
    pub outcome: Outcome,
    /// When it was asked, or when the generation started on a worker.
    pub started: Instant,
    /// How long it took; for a batch, the whole query.
    pub took: Duration,
    /// How long the value waited for a worker before `started`; 0 for a tier.
    pub waited: Duration,
    /// What a tier said that failed.
    pub error: Option<Arc<str>>,
}

impl Step {
    /// Whether the value was generated.
    #[must_use]
    pub fn is_generation(&self) -> bool {
        self.tier == GENERATED
    }

    /// The answer of `tier`, which was asked at `started`.
    pub(crate) const fn of_tier(tier: &'static str, outcome: Outcome, started: Instant, took: Duration) -> Self {
        Self { tier, outcome, started, took, waited: Duration::ZERO, error: None }
    }
}

/// The answer of a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It had the value, or generated it.
    Hit,
    /// It did not have the value.
    Miss,
    /// It failed.
    Error,
    /// It did not answer within its deadline.
    Timeout,
    /// It was not asked, because generating costs less.
    Bypass,
    /// It was not asked, because its breaker is open.
    Open,
}

impl Outcome {
    /// Its name in metrics and traces.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Bypass => "bypass",
            Self::Open => "open",
        }
    }

    pub(crate) const fn from_error(kind: TierErrorKind) -> Self {
        match kind {
            TierErrorKind::Timeout => Self::Timeout,
            TierErrorKind::Open => Self::Open,
            TierErrorKind::Unreachable | TierErrorKind::Refused | TierErrorKind::Full | TierErrorKind::Internal => {
                Self::Error
            }
        }
    }
}

impl Served {
    pub(crate) fn found(found: Found, coalesced: bool, options: Options, before: &[Step]) -> Self {
        let trace = options.trace.then(|| before.iter().chain(found.steps.iter()).cloned().collect());
        Self { value: found.value, by: found.by, coalesced, trace }
    }
}

/// The name of the source in reports and traces.
pub(crate) const GENERATED: &str = "generated";

/// A value, the tier that had it, and the steps of the lookup.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) value: Bytes,
    pub(crate) by: &'static str,
    pub(crate) steps: Arc<[Step]>,
}
