//! What a call asks for, and what it gets.

use std::{fmt, time::Duration};

use bytes::Bytes;

use crate::{flight::Found, source::Priority, tier::TierErrorKind};

/// How a call wants its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Skip every lookup: have the value made, and refresh every tier with it.
    pub no_cache: bool,
    /// Tell what each tier answered and cost.
    pub trace: bool,
    /// Who waits.
    pub priority: Priority,
}

/// A value and where it came from.
#[derive(Debug, Clone)]
pub struct Served {
    /// The value.
    pub value: Bytes,
    /// The tier that had it, or `generated`.
    pub by: &'static str,
    /// Whether the call waited for the work of another.
    pub coalesced: bool,
    /// What was asked on the way, in order; only when [`Options::trace`] was set.
    pub trace: Option<Box<[Step]>>,
}

/// One tier's part in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The tier, or `generated`.
    pub tier: &'static str,
    /// What it answered.
    pub outcome: Outcome,
    /// How long that took, of a batch the whole.
    pub took: Duration,
}

/// What a tier answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It had the value (or made it).
    Hit,
    /// It had not.
    Miss,
    /// It failed.
    Error,
    /// It did not answer in time.
    Timeout,
    /// It did not answer as soon as it usually does, and the value was made beside it.
    Slow,
    /// It was not asked, since that would not pay.
    Bypass,
    /// It was not asked, since its breaker is open.
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
            Self::Slow => "slow",
            Self::Bypass => "bypass",
            Self::Open => "open",
        }
    }

    pub(crate) const fn from_error(kind: TierErrorKind) -> Self {
        match kind {
            TierErrorKind::Timeout => Self::Timeout,
            TierErrorKind::Open => Self::Open,
            TierErrorKind::Unreachable | TierErrorKind::Refused | TierErrorKind::Internal => Self::Error,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Served {
    pub(crate) fn found(found: Found, coalesced: bool, options: Options, before: &[Step]) -> Self {
        let trace = options.trace.then(|| before.iter().chain(found.steps.iter()).copied().collect());
        Self { value: found.value, by: found.by, coalesced, trace }
    }
}

/// The source's name among the tiers.
pub(crate) const GENERATED: &str = "generated";
