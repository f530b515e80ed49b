//! The bypass policy of a lower tier: a lookup asks the tier if that costs less than generating, in response time and
//! CPU time.
//!
//! For a query of `n` keys, of which the share `h` is found, asking costs `T(n)` and saves the generation of `h n`
//! values. Both sides are response time as callers see it, queueing included, plus CPU time at the price that [`load`]
//! measures. docs/chain.md derives the formula and works examples.

use std::time::{Duration, Instant};

use query_cost::QueryCost;

use crate::{config::Bypass, ewma::Ewma, sampler::Draw, source::Forecast, sync::Mutex};

mod cpu_clock;
mod load;
mod query_cost;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub(crate) use cpu_clock::thread_cpu_time;
pub(crate) use load::{CpuCost, LoadMonitor};

/// The estimates of one tier, and the decisions based on them.
#[derive(Debug)]
pub(crate) struct Policy {
    mode: Bypass,
    /// Whether the tier is in another process. The time of a query to a local tier is CPU time of this process.
    is_remote: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// `h`. Starts at 1, so that a new tier is asked.
    hit_ratio: f64,
    /// `T(n)`.
    cost: QueryCost,
    /// Queries measured.
    queries: u64,
    /// Seconds of response time to generate one of the values decided on, for reports.
    generation: Ewma,
    /// Lookups that skipped the tier since it was last asked in the background.
    skipped: u32,
    /// Queries for callers since the last one in the background.
    asked: u32,
    /// When the last answer was measured, and when the last decision was made.
    learnt: Option<Instant>,
    decided: Instant,
    /// Recent share of lookups that asked.
    asked_ratio: f64,
    /// The reason of the last decision.
    reason: Reason,
    usage: Usage,
    since: Instant,
}

/// The decision for one lookup at one tier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Decision {
    /// Ask the tier and wait for its answer.
    Ask,
    /// Skip the tier.
    Skip,
    /// Skip the tier, and ask it in the background to measure its cost.
    AskInBackground,
}

/// Who waits for a measured answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A caller.
    ForCaller,
    /// No caller: the query measures whether the tier has changed.
    InBackground,
}

/// The reason of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Asked: too few measurements to compare.
    Learning,
    /// Asked: its answer comes sooner than a generated value.
    AnswersSooner,
    /// Asked: slower than generating, but it saves CPU time that other calls need.
    SavesCpu,
    /// Skipped: slower than generating, even if every key were a hit.
    Slower,
    /// Skipped: its hit ratio is too low.
    FewHits,
    /// Skipped: it takes too much CPU time.
    CostsCpu,
    /// The configuration decides.
    Configured,
}

/// How lookups use the tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Usage {
    Asked,
    AskedInPart,
    Skipped,
    /// By configuration.
    Off,
}

/// The state of a policy, for reports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PolicyStatus {
    pub(crate) hit_ratio: f64,
    /// Seconds of a query for one key, and of generating one value; 0 while unknown.
    pub(crate) cost: f64,
    pub(crate) generation: f64,
    /// Recent share of lookups that asked.
    pub(crate) asked_ratio: f64,
    pub(crate) reason: Reason,
    pub(crate) usage: Usage,
    pub(crate) since: Instant,
}

/// Queries needed before the estimates are meaningful.
const MIN_QUERIES: u64 = 16;

/// A query faster than this, in seconds, costs less than any value worth caching: the cheapest values worth a cache take some tens of
/// microseconds to generate.
const EXPENSIVE: f64 = 50e-6;

/// The weights of a new cost and of a new answer in the hit ratio. Ratios are noisier than costs, and a tier much
/// faster than generating pays from a ratio of a hundredth, so ratios have a longer memory.
const COST_WEIGHTS: Weights = Weights { least: 1.0 / 16.0, greatest: 1.0 / 3.0, memory: 0.25 };
const RATIO_WEIGHTS: Weights = Weights { least: 1.0 / 128.0, greatest: 1.0 / 16.0, memory: 1.0 };

/// Within this factor between the two costs, a part of the lookups asks. Estimates are noisy, and if all calls switched
/// at once, they would change the costs that they were decided by.
const TIE: f64 = 1.35;

/// One in this many lookups that skip the tier asks it in the background, unless an answer was measured just before: where
/// values take microseconds to generate, asking costs as much as generating.
const BACKGROUND: u32 = 16;
const BACKGROUND_GAP: Duration = Duration::from_millis(4);

/// Memory of the share of lookups that asked, in seconds, and the largest weight of one lookup.
const SHARE_MEMORY: f64 = 1.0;
const MAX_SHARE_WEIGHT: f64 = 1.0 / 32.0;

/// A tier becomes asked or skipped when this share of lookups agrees, and remains so until the share falls below the
/// second value. The hysteresis prevents flicker.
const ENTER: f64 = 0.95;
const EXIT: f64 = 0.7;

impl Policy {
    pub(crate) fn new(mode: Bypass, is_remote: bool) -> Self {
        let (reason, usage) = match mode {
            Bypass::Auto => (Reason::Learning, Usage::Asked),
            Bypass::Off => (Reason::Configured, Usage::Asked),
            Bypass::Forced => (Reason::Configured, Usage::Off),
        };
        let state = State {
            hit_ratio: 1.0,
            cost: QueryCost::new(is_remote),
            queries: 0,
            generation: Ewma::new(),
            skipped: 0,
            asked: 0,
            learnt: None,
            decided: Instant::now(),
            asked_ratio: if mode == Bypass::Forced { 0.0 } else { 1.0 },
            reason,
            usage,
            since: Instant::now(),
        };
        Self { mode, is_remote, state: Mutex::new(state) }
    }

    /// Decides whether to ask for `keys` keys. `generation` is the cost of generating their values, if known; `cpu` is
    /// the price of CPU time.
    pub(crate) fn decide(&self, now: Instant, keys: usize, generation: Option<Forecast>, cpu: CpuCost) -> Decision {
        let mut state = self.state.lock();
        if let Some(forecast) = generation {
            state.generation.add(forecast.response / keys as f64, RATIO_WEIGHTS.least);
        }
        match self.mode {
            Bypass::Auto => {}
            Bypass::Off => return Decision::Ask,
            Bypass::Forced => return Decision::Skip,
        }
        let comparison = generation.and_then(|generation| state.compare(keys, generation, cpu, self.is_remote));
        let asks = match comparison {
            None => true,
            Some(comparison) => {
                state.reason = comparison.reason;
                comparison.asked > Draw::next().fraction()
            }
        };
        let gap = now.saturating_duration_since(state.decided).as_secs_f64();
        state.decided = now;
        let weight = (gap / SHARE_MEMORY).min(MAX_SHARE_WEIGHT);
        state.asked_ratio += weight * (f64::from(u8::from(asks)) - state.asked_ratio);
        state.update_usage(now);
        if asks {
            return Decision::Ask;
        }
        state.skipped += 1;
        let is_recent = |learnt: Instant| now.saturating_duration_since(learnt) < BACKGROUND_GAP;
        if state.skipped < BACKGROUND || state.learnt.is_some_and(is_recent) {
            return Decision::Skip;
        }
        state.skipped = 0;
        Decision::AskInBackground
    }

    /// Records a query for `keys` keys with `hits` hits. A failure is a query without hits.
    pub(crate) fn learn(&self, now: Instant, asked: Asked, keys: usize, hits: usize, took: Duration) {
        if keys == 0 {
            return;
        }
        let mut state = self.state.lock();
        // While callers ask, their queries are enough, and one in the background has the least weight.
        let alone = asked == Asked::InBackground && state.asked < BACKGROUND;
        let gap = state.learnt.map_or(0.0, |learnt| now.saturating_duration_since(learnt).as_secs_f64());
        state.learnt = Some(now);
        let [cost_weight, ratio_weight] =
            [COST_WEIGHTS, RATIO_WEIGHTS].map(|weights| if alone { weights.after(gap) } else { weights.least });
        state.asked = if asked == Asked::ForCaller { state.asked.saturating_add(1) } else { 0 };
        state.cost.learn(keys, took.as_secs_f64(), cost_weight);
        // A batch of n keys changes the ratio like n queries.
        let kept = (1.0 - ratio_weight).powf(keys as f64);
        state.hit_ratio = state.hit_ratio * kept + hits as f64 / keys as f64 * (1.0 - kept);
        state.queries += 1;
    }

    /// Whether the policy decides, and not the configuration.
    pub(crate) fn is_automatic(&self) -> bool {
        self.mode == Bypass::Auto
    }

    /// Whether values are written to the tier. They are not while lookups skip it because it takes too long: writing
    /// takes long then too. A tier with few hits is written to, because it may be new.
    pub(crate) fn is_written(&self) -> bool {
        let state = self.state.lock();
        state.usage != Usage::Skipped || matches!(state.reason, Reason::FewHits | Reason::Learning)
    }

    /// Whether a query takes long enough for the generation cost to matter.
    pub(crate) fn is_expensive(&self) -> bool {
        let state = self.state.lock();
        self.mode == Bypass::Auto
            && state.queries >= MIN_QUERIES
            && state.cost.seconds(1).is_some_and(|seconds| seconds > EXPENSIVE)
    }

    pub(crate) fn status(&self) -> PolicyStatus {
        let state = self.state.lock();
        PolicyStatus {
            hit_ratio: state.hit_ratio,
            cost: state.cost.seconds(1).unwrap_or_default(),
            generation: state.generation.get().unwrap_or_default(),
            asked_ratio: state.asked_ratio,
            reason: state.reason,
            usage: state.usage,
            since: state.since,
        }
    }
}

/// Bounds of the weight of a new value. Between them, an estimate has a memory of `memory` seconds.
#[derive(Debug, Clone, Copy)]
struct Weights {
    least: f64,
    greatest: f64,
    memory: f64,
}

impl Weights {
    /// The weight of a value that follows a gap of `gap` seconds.
    fn after(self, gap: f64) -> f64 {
        (gap / self.memory).clamp(self.least, self.greatest)
    }
}

/// The result of comparing both costs.
struct Comparison {
    /// The share of such lookups that should ask.
    asked: f64,
    reason: Reason,
}

impl State {
    fn compare(&self, keys: usize, generation: Forecast, cpu: CpuCost, is_remote: bool) -> Option<Comparison> {
        if self.queries < MIN_QUERIES {
            return None;
        }
        let response = self.cost.seconds(keys)?;
        let keys = keys as f64;
        let handling = cpu.overhead * keys;
        // A local tier answers a query in one job.
        let asking = response + if is_remote { cpu.of(handling.min(response), keys) } else { cpu.of(response, 1.0) };
        let generating = generation.response + cpu.of(generation.cpu, keys) + cpu.of(handling, keys);
        let saved = self.hit_ratio * generating;
        let asked = (0.5 + (saved / asking).ln() / (2.0 * TIE.ln())).clamp(0.0, 1.0);
        let reason = if asked > 0.5 {
            if self.hit_ratio * generation.response > response { Reason::AnswersSooner } else { Reason::SavesCpu }
        } else if generating > asking {
            Reason::FewHits
        } else if self.hit_ratio * generation.response > response {
            Reason::CostsCpu
        } else {
            Reason::Slower
        };
        Some(Comparison { asked, reason })
    }

    fn update_usage(&mut self, now: Instant) {
        let (asked, skipped) = (self.asked_ratio, 1.0 - self.asked_ratio);
        let usage = match self.usage {
            Usage::Asked if asked >= EXIT => Usage::Asked,
            Usage::Skipped if skipped >= EXIT => Usage::Skipped,
            _ if asked >= ENTER => Usage::Asked,
            _ if skipped >= ENTER => Usage::Skipped,
            _ => Usage::AskedInPart,
        };
        if usage != self.usage {
            self.usage = usage;
            self.since = now;
        }
    }
}

impl Reason {
    /// The reason in words, as reports and metrics show it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Learning => "learning",
            Self::AnswersSooner => "answers sooner",
            Self::SavesCpu => "saves CPU",
            Self::Slower => "slower than generating",
            Self::FewHits => "few hits",
            Self::CostsCpu => "costs CPU",
            Self::Configured => "configured",
        }
    }
}

impl Usage {
    /// The verdict in words, as reports and metrics show it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "probed",
            Self::AskedInPart => "bypassed in part",
            Self::Skipped => "bypassed",
            Self::Off => "bypassed by configuration",
        }
    }
}
