//! Whether a tier earns its place: it is asked while asking is cheaper than generating, by measurement.
//!
//! With `h` the share of keys that are found, `T(n)` what each key costs in a question for `n`, and `G` what generating costs,
//! asking pays while `h x G > T(n)`: of so many keys, that is what they spare and what they cost. docs/chain.md works
//! an example.

use std::time::{Duration, Instant};

use cost::Cost;
use parking_lot::Mutex;

use crate::{config::Bypass, key::Key};

mod cost;
#[cfg(test)]
mod tests;

/// One tier's estimates, and what follows from them.
#[derive(Debug)]
pub(crate) struct Policy {
    mode: Bypass,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// `h`, 0 to 1. A tier has the benefit of the doubt: it starts at 1 and sinks.
    hit_ratio: f64,
    /// `T(n)`.
    cost: Cost,
    /// `G` of the values that were decided on, in seconds. For people: a decision goes by the `G` of its own class.
    generation: f64,
    /// What 95 of 100 questions do not exceed, in seconds.
    slow: f64,
    /// Keys that may be made beside a question that is slow.
    allowance: f64,
    /// Questions learnt from.
    questions: u64,
    /// For what asking does not pay.
    bypassed: Marks,
    /// What was decided on in this stretch of walks and the one before, and how many walks this one has seen.
    lately: [Marks; 2],
    walks: u32,
    /// When `bypassed` last changed.
    since: Instant,
    /// Walks that passed by since the last one that asked all the same.
    passed: u32,
    /// Questions on a caller's way since the last sample.
    asked: u32,
}

/// Classes, a bit each, by the size of the question: for one key, for two or three, for four to seven and so on.
type Marks = [u16; SIZES];

/// The last size is of 256 keys and more.
const SIZES: usize = 9;

/// A key that may be asked for, and what its value costs to make, if that is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) key: Key,
    pub(crate) generation: Option<Duration>,
}

/// Whose answer a policy learns from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// One that a caller waits for.
    OnTheWay,
    /// One to a question beside the call, to learn whether the tier has changed.
    Beside,
}

/// What a policy has come to, for people.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing {
    pub(crate) hit_ratio: f64,
    pub(crate) cost: Duration,
    pub(crate) generation: Duration,
    pub(crate) verdict: &'static str,
    pub(crate) since: Instant,
}

/// How many questions must be asked before the answers mean anything.
const FIRST_QUESTIONS: u64 = 16;

/// A question that costs less, in seconds, pays for any value that is worth a tier: of floors, the smallest take some tens of
/// microseconds to make.
const DEAR: f64 = 50e-6;

/// The weight of a new cost while the tier is asked, and of one that was sampled: there are few of these, and a change is
/// what they are for. Seven samples undo a factor of fifteen.
const COST_WEIGHT: f64 = 1.0 / 16.0;
const SAMPLED_COST_WEIGHT: f64 = 1.0 / 3.0;

/// The weights of a new answer in the hit ratio. Ratios are noisier than costs, and a tier much faster than generating
/// pays from a ratio of a hundredth, so the memory is long.
const RATIO_WEIGHT: f64 = 1.0 / 128.0;
const SAMPLED_RATIO_WEIGHT: f64 = 1.0 / 16.0;

/// A tier that was passed by must pay by this factor before it is asked again, so that one on the line does not flap.
const RETURN_MARGIN: f64 = 1.2;

/// How fast the estimate of the 95th percentile moves: by a tenth at the most. Moving up by 95 parts and down by 5, it
/// comes to rest where one answer in twenty lies above it (frugal streaming: Ma, Muthukrishnan and Sandler, 2013).
const SLOW_STEP: f64 = 0.1;
const PERCENTILE: f64 = 0.95;

/// Values made beside slow questions are at the most so many a key asked for. Leave for so many may be saved up, or for a whole
/// batch: that waits for all its keys, so a few of them are of little use to it.
const HEDGES: f64 = 0.05;
const HEDGES_IN_A_ROW: f64 = 8.0;

/// Of the walks that pass a tier by, one in this many has it asked beside the call. The caller does not wait for it.
const SAMPLE: u32 = 16;

/// What no walk has wanted for one to two stretches of so many has no part in the verdict.
const STRETCH: u32 = 100;

/// The verdicts on a tier that is not asked.
const BYPASSED: &str = "bypassed";
const FORCED: &str = "bypassed by configuration";

impl Policy {
    pub(crate) fn new(mode: Bypass) -> Self {
        let state = State {
            hit_ratio: 1.0,
            cost: Cost::default(),
            generation: 0.0,
            slow: 0.0,
            allowance: 0.0,
            questions: 0,
            bypassed: Marks::default(),
            lately: Default::default(),
            walks: 0,
            since: Instant::now(),
            passed: 0,
            asked: 0,
        };
        Self { mode, state: Mutex::new(state) }
    }

    /// Leaves of `wanted`, one walk's keys, those to ask for. What it gives back is passed by, and asked for beside the call
    /// all the same: all of the walk's, in one question as the walk would have asked it, or nothing.
    pub(crate) fn choose(&self, wanted: &mut Vec<Wanted>) -> Vec<Key> {
        let mut state = self.state.lock();
        wanted.iter().filter_map(|wanted| wanted.generation).for_each(|cost| state.weigh(cost.as_secs_f64()));
        match self.mode {
            Bypass::Auto => {}
            Bypass::Off => return Vec::new(),
            Bypass::Forced => {
                wanted.clear();
                return Vec::new();
            }
        }
        state.begin_walk();
        let mut passed_by = Vec::new();
        loop {
            let keys = wanted.len();
            wanted.retain(|wanted| {
                let pays = state.pays(wanted, keys);
                if !pays {
                    passed_by.push(wanted.key);
                }
                pays
            });
            // Those that are left share the question among fewer.
            if wanted.is_empty() || wanted.len() == keys {
                break;
            }
        }
        if passed_by.is_empty() {
            return passed_by;
        }
        state.passed += 1;
        if state.passed < SAMPLE {
            return Vec::new();
        }
        state.passed = 0;
        passed_by
    }

    /// Learns from a question for `keys` keys, of which `hits` were found. A failure is a question that found nothing.
    pub(crate) fn learn(&self, asked: Asked, keys: usize, hits: usize, took: Duration) {
        if keys == 0 {
            return;
        }
        let (keys, hits, took) = (keys as f64, hits as f64, took.as_secs_f64());
        let mut state = self.state.lock();
        // What callers ask is followed anyhow; a sample is one of many then.
        let alone = asked == Asked::Beside && state.asked < SAMPLE;
        let (cost_weight, ratio_weight) =
            if alone { (SAMPLED_COST_WEIGHT, SAMPLED_RATIO_WEIGHT) } else { (COST_WEIGHT, RATIO_WEIGHT) };
        state.asked = if asked == Asked::Beside { 0 } else { state.asked.saturating_add(1) };
        let most = HEDGES_IN_A_ROW.max(keys);
        if state.allowance < most {
            state.allowance = (state.allowance + keys * HEDGES).min(most);
        }
        state.cost.learn(keys, took, cost_weight);
        if state.questions == 0 {
            state.slow = took;
        } else {
            let step = if took > state.slow { PERCENTILE } else { PERCENTILE - 1.0 };
            state.slow *= 1.0 + SLOW_STEP * step;
        }
        // A batch of n keys moves the ratio as n questions would.
        let kept = (1.0 - ratio_weight).powf(keys);
        state.hit_ratio = state.hit_ratio * kept + hits / keys * (1.0 - kept);
        state.questions += 1;
    }

    /// Whether a question costs so much that it matters what making costs.
    pub(crate) fn is_dear(&self) -> bool {
        let state = self.state.lock();
        self.mode == Bypass::Auto && state.questions >= FIRST_QUESTIONS && state.cost.of_each(1) > DEAR
    }

    /// How long a question may take before it is slow for this tier; `None` while that is not known.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let state = self.state.lock();
        (state.questions >= FIRST_QUESTIONS).then(|| Duration::from_secs_f64(state.slow))
    }

    /// How many values may be made beside a slow question for `keys`. To ask is to use the leave.
    pub(crate) fn may_hedge(&self, keys: usize) -> usize {
        let mut state = self.state.lock();
        let may = keys.min(state.allowance as usize);
        state.allowance -= may as f64;
        may
    }

    /// What a question for one key costs: a round trip of its own.
    pub(crate) fn cost_of_one(&self) -> Duration {
        Duration::from_secs_f64(self.state.lock().cost.of_each(1))
    }

    pub(crate) fn standing(&self) -> Standing {
        let state = self.state.lock();
        let verdict = if self.mode == Bypass::Forced { FORCED } else { state.verdict() };
        Standing {
            hit_ratio: state.hit_ratio,
            cost: Duration::from_secs_f64(state.cost.of_a_key()),
            generation: Duration::from_secs_f64(state.generation),
            verdict,
            since: state.since,
        }
    }
}

impl Standing {
    /// Whether nothing at all is asked of the tier on a caller's way.
    pub(crate) fn is_bypassed(&self) -> bool {
        [BYPASSED, FORCED].contains(&self.verdict)
    }
}

impl State {
    /// Takes in what making one more value that was decided on costs.
    fn weigh(&mut self, generation: f64) {
        let change = if self.generation == 0.0 { generation } else { (generation - self.generation) * RATIO_WEIGHT };
        self.generation += change;
    }

    fn begin_walk(&mut self) {
        self.walks += 1;
        if self.walks == STRETCH {
            self.walks = 0;
            self.lately = [Marks::default(), self.lately[0]];
        }
    }

    /// Whether asking for `wanted` pays in a question for `keys` keys.
    fn pays(&mut self, wanted: &Wanted, keys: usize) -> bool {
        let Some(generation) = wanted.generation else { return true };
        let (size, bit) = (keys.ilog2().min(SIZES as u32 - 1) as usize, 1 << wanted.key.class().index());
        self.lately[0][size] |= bit;
        if self.questions < FIRST_QUESTIONS {
            return true;
        }
        let was = self.bypassed[size] & bit != 0;
        let margin = if was { RETURN_MARGIN } else { 1.0 };
        let pays = self.hit_ratio * generation.as_secs_f64() > self.cost.of_each(keys) * margin;
        if pays == was {
            self.bypassed[size] ^= bit;
            self.since = Instant::now();
        }
        pays
    }

    fn verdict(&self) -> &'static str {
        let [now, before] = &self.lately;
        let (mut probed, mut bypassed) = (0, 0);
        for size in 0..SIZES {
            let lately = now[size] | before[size];
            probed |= lately & !self.bypassed[size];
            bypassed |= lately & self.bypassed[size];
        }
        match (probed, bypassed) {
            (_, 0) => "probed",
            (0, _) => BYPASSED,
            _ => "bypassed in part",
        }
    }
}
