//! What is measured of a traced call.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use floor_cache::{Outcome, Served, Step};
use floor_proto::rpc::Rpc;
use tonic::Code;

use super::Origin;

/// A traced call that has ended.
#[derive(Debug)]
pub(crate) struct TracedCall {
    pub(crate) origin: Origin,
    pub(crate) rpc: Rpc,
    pub(crate) code: Code,
    /// The message of an error.
    pub(crate) message: Option<String>,
    pub(crate) caller: IpAddr,
    /// The name of the caller's token, or the subject of its certificate.
    pub(crate) name: Option<String>,
    pub(crate) started: Instant,
    pub(crate) took: Duration,
    pub(crate) served_by: String,
    pub(crate) floors: usize,
    pub(crate) bytes: u64,
    pub(crate) lookups: Vec<Lookup>,
}

/// A lookup of the floors of a call: of its window, if the call is a stream.
#[derive(Debug)]
pub(crate) struct Lookup {
    pub(super) started: Instant,
    pub(super) took: Duration,
    /// `None` if the lookup failed or was cut off.
    pub(super) found: Option<Found>,
}

/// The answers to a lookup.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) floors: usize,
    /// Floors that another call's lookup had asked for.
    pub(super) coalesced: usize,
    pub(super) tiers: Vec<TierPart>,
    /// The first [`MAX_GENERATIONS`] generations.
    pub(super) generations: Vec<Step>,
    pub(super) generated: usize,
}

/// A tier's part in a lookup: one query for all floors, or for memory a query for each.
#[derive(Debug)]
pub(super) struct TierPart {
    pub(super) tier: &'static str,
    /// Whether another call asked.
    pub(super) is_coalesced: bool,
    pub(super) started: Instant,
    pub(super) ended: Instant,
    /// Floors by outcome.
    pub(super) outcomes: Vec<(Outcome, usize)>,
    /// What the tier said, if it failed.
    pub(super) error: Option<Arc<str>>,
}

/// Generations of a lookup that have spans. A batch has 256 floors.
const MAX_GENERATIONS: usize = 32;

impl Lookup {
    /// A lookup from `started` until now. `served`: its answers, unless it failed.
    pub(crate) fn ended(started: Instant, served: Option<&[Served]>) -> Self {
        Self { started, took: started.elapsed(), found: served.map(Found::new) }
    }
}

impl Found {
    fn new(served: &[Served]) -> Self {
        let coalesced = served.iter().filter(|served| served.coalesced).count();
        let mut found =
            Self { floors: served.len(), coalesced, tiers: Vec::new(), generations: Vec::new(), generated: 0 };
        for served in served {
            for step in served.trace.as_deref().unwrap_or_default() {
                found.add(step, served.coalesced);
            }
        }
        found
    }

    fn add(&mut self, step: &Step, is_coalesced: bool) {
        if step.is_generation() {
            self.generated += 1;
            if self.generations.len() < MAX_GENERATIONS {
                self.generations.push(step.clone());
            }
            return;
        }
        let (started, ended) = (step.started, step.started + step.took);
        let is_same = |part: &&mut TierPart| part.tier == step.tier && part.is_coalesced == is_coalesced;
        let Some(part) = self.tiers.iter_mut().find(is_same) else {
            let outcomes = vec![(step.outcome, 1)];
            let error = step.error.clone();
            self.tiers.push(TierPart { tier: step.tier, is_coalesced, started, ended, outcomes, error });
            return;
        };
        part.started = part.started.min(started);
        part.ended = part.ended.max(ended);
        part.error = part.error.take().or_else(|| step.error.clone());
        match part.outcomes.iter_mut().find(|(outcome, _)| *outcome == step.outcome) {
            Some((_, count)) => *count += 1,
            None => part.outcomes.push((step.outcome, 1)),
        }
    }
}
