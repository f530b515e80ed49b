//! Whether a tier earns its place: it is asked while asking is cheaper than generating, by measurement.
//!
//! With `h` the share of questions that find a value, `T` what a question costs and `G` what generating costs, asking
//! pays while `h x G > T`: of so many questions, that is what they spare and what they cost. docs/chain.md works an
//! example.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::{config::Bypass, key::Class};

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
    /// `T`, a key's share of a question, in seconds.
    cost: f64,
    /// `G` of the values that were decided on, in seconds. For people: a decision goes by the `G` of its own class.
    generation: f64,
    /// What 95 of 100 questions do not exceed, in seconds.
    slow: f64,
    /// Keys that may be made beside a question that is slow.
    allowance: f64,
    /// Questions learnt from.
    questions: u64,
    /// The classes for which asking does not pay, a bit each.
    bypassed: u16,
    /// The classes that were decided on, a bit each.
    seen: u16,
    /// When `bypassed` last changed.
    since: Instant,
    /// Keys passed by since the last one that was asked all the same.
    passed: u32,
}

/// What to do with one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Ask for it.
    Probe,
    /// Pass the tier by.
    Bypass,
    /// Pass it by, and ask it beside the call, to learn whether it has changed.
    Sample,
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

/// The weight of a new cost while the tier is asked, and while it is only sampled: then there are few, and a change is
/// what they are for. Seven samples undo a factor of fifteen.
const COST_WEIGHT: f64 = 1.0 / 16.0;
const SAMPLED_COST_WEIGHT: f64 = 1.0 / 3.0;

/// The weights of a new answer in the hit ratio. Ratios are noisier than costs, and a tier much faster than generating
/// pays from a ratio of a hundredth, so the memory is long.
const RATIO_WEIGHT: f64 = 1.0 / 128.0;
const SAMPLED_RATIO_WEIGHT: f64 = 1.0 / 16.0;

/// One slow answer in a fast tier is an accident: it counts as no more than so many times the usual.
const OUTLIER: f64 = 8.0;

/// A tier that was passed by must pay by this factor before it is asked again, so that one on the line does not flap.
const RETURN_MARGIN: f64 = 1.2;

/// How fast the estimate of the 95th percentile moves: by a tenth at the most. Moving up by 95 parts and down by 5, it
/// comes to rest where one answer in twenty lies above it (frugal streaming: Ma, Muthukrishnan and Sandler, 2013).
const SLOW_STEP: f64 = 0.1;
const PERCENTILE: f64 = 0.95;

/// Values made beside slow questions are at the most so many a key asked for, and so many in a row.
const HEDGES: f64 = 0.05;
const HEDGES_IN_A_ROW: f64 = 8.0;

/// While a tier is passed by, one key in this many is asked for beside the call. The caller does not wait for it.
const SAMPLE: u32 = 16;

/// The verdicts on a tier that is not asked.
const BYPASSED: &str = "bypassed";
const FORCED: &str = "bypassed by configuration";

impl Policy {
    pub(crate) fn new(mode: Bypass) -> Self {
        let state = State {
            hit_ratio: 1.0,
            cost: 0.0,
            generation: 0.0,
            slow: 0.0,
            allowance: 0.0,
            questions: 0,
            bypassed: 0,
            seen: 0,
            since: Instant::now(),
            passed: 0,
        };
        Self { mode, state: Mutex::new(state) }
    }

    /// Whether to ask for a value of `class`, which costs `generation` to make, if that is known.
    pub(crate) fn decide(&self, class: Class, generation: Option<Duration>) -> Decision {
        let otherwise = if self.mode == Bypass::Forced { Decision::Bypass } else { Decision::Probe };
        let Some(generation) = generation.as_ref().map(Duration::as_secs_f64) else { return otherwise };
        let mut state = self.state.lock();
        state.weigh(generation);
        if self.mode != Bypass::Auto {
            return otherwise;
        }
        state.judge(class, generation);
        if state.bypassed & bit(class) == 0 {
            return Decision::Probe;
        }
        state.passed += 1;
        if state.passed < SAMPLE {
            return Decision::Bypass;
        }
        state.passed = 0;
        Decision::Sample
    }

    /// Learns from a question for `keys` keys, of which `hits` were found. A failure is a question that found nothing.
    pub(crate) fn learn(&self, keys: usize, hits: usize, took: Duration) {
        if keys == 0 {
            return;
        }
        let (keys, hits) = (keys as f64, hits as f64);
        let cost = took.as_secs_f64() / keys;
        let mut state = self.state.lock();
        let sampled = state.bypassed != 0 && state.bypassed == state.seen;
        let (cost_weight, ratio_weight) =
            if sampled { (SAMPLED_COST_WEIGHT, SAMPLED_RATIO_WEIGHT) } else { (COST_WEIGHT, RATIO_WEIGHT) };
        let took = took.as_secs_f64();
        state.allowance = (state.allowance + keys * HEDGES).min(HEDGES_IN_A_ROW);
        if state.questions == 0 {
            state.cost = cost;
            state.slow = took;
        } else {
            let step = if took > state.slow { PERCENTILE } else { PERCENTILE - 1.0 };
            state.slow *= 1.0 + SLOW_STEP * step;
            let cost = cost.min(state.cost * OUTLIER);
            state.cost += (cost - state.cost) * cost_weight;
        }
        // A batch of n keys moves the ratio as n questions would.
        let kept = (1.0 - ratio_weight).powf(keys);
        state.hit_ratio = state.hit_ratio * kept + hits / keys * (1.0 - kept);
        state.questions += 1;
    }

    /// Whether a question costs so much that it matters what making costs.
    pub(crate) fn is_dear(&self) -> bool {
        let state = self.state.lock();
        self.mode == Bypass::Auto && state.questions >= FIRST_QUESTIONS && state.cost > DEAR
    }

    /// How long a question may take before it is slow for this tier; `None` while that is not known.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let state = self.state.lock();
        (state.questions >= FIRST_QUESTIONS).then(|| Duration::from_secs_f64(state.slow))
    }

    /// Whether `keys` values may be made beside a slow question. To ask is to use the leave.
    pub(crate) fn may_hedge(&self, keys: usize) -> bool {
        let mut state = self.state.lock();
        let may = state.allowance >= keys as f64;
        if may {
            state.allowance -= keys as f64;
        }
        may
    }

    pub(crate) fn standing(&self) -> Standing {
        let state = self.state.lock();
        let verdict = match state.bypassed {
            _ if self.mode == Bypass::Forced => FORCED,
            0 => "probed",
            all if all == state.seen => BYPASSED,
            _ => "bypassed in part",
        };
        Standing {
            hit_ratio: state.hit_ratio,
            cost: Duration::from_secs_f64(state.cost),
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

    fn judge(&mut self, class: Class, generation: f64) {
        self.seen |= bit(class);
        if self.questions < FIRST_QUESTIONS {
            return;
        }
        let was = self.bypassed & bit(class) != 0;
        let margin = if was { RETURN_MARGIN } else { 1.0 };
        let pays = self.hit_ratio * generation > self.cost * margin;
        if pays == was {
            self.bypassed ^= bit(class);
            self.since = Instant::now();
            self.passed = 0;
        }
    }
}

const fn bit(class: Class) -> u16 {
    1 << class.index()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANDARD: Class = Class::new(1);
    const BOSS: Class = Class::new(7);

    fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    /// Asks `policy` for `count` keys of `class`, each answered as a tier would that costs `cost` and finds `hits` in
    /// 10; how many were asked on the caller's way.
    fn ask(policy: &Policy, class: Class, generation: u64, count: u64, cost: u64, hits: u64) -> u64 {
        let mut probed = 0;
        for number in 0..count {
            let decision = policy.decide(class, Some(micros(generation)));
            if decision != Decision::Bypass {
                policy.learn(1, usize::from(number % 10 < hits), micros(cost));
            }
            probed += u64::from(decision == Decision::Probe);
        }
        probed
    }

    /// The earlier game's figures: a fetch of 6.19 ms before a generation of 0.55 ms.
    #[test]
    fn a_tier_slower_than_generating_is_passed_by_even_if_it_always_hits() {
        let policy = Policy::new(Bypass::Auto);
        assert_eq!(ask(&policy, STANDARD, 550, 1000, 6190, 10), FIRST_QUESTIONS);
        assert_eq!(policy.standing().verdict, "bypassed");
    }

    #[test]
    fn it_is_noticed_within_200_requests_that_a_tier_has_slowed_and_that_it_is_back() {
        let policy = Policy::new(Bypass::Auto);
        assert_eq!(ask(&policy, STANDARD, 550, 1000, 50, 9), 1000);
        let asked = ask(&policy, STANDARD, 550, 200, 6190, 9);
        assert!(asked < 50, "asked {asked} times after it had slowed");
        assert_eq!(ask(&policy, STANDARD, 550, 1000, 6190, 9), 0);
        ask(&policy, STANDARD, 550, 200, 50, 9);
        assert_eq!(policy.standing().verdict, "probed");
        assert_eq!(ask(&policy, STANDARD, 550, 1000, 50, 9), 1000);
    }

    #[test]
    fn a_fast_tier_that_finds_little_still_pays() {
        let policy = Policy::new(Bypass::Auto);
        assert_eq!(ask(&policy, STANDARD, 300, 5000, 2, 1), 5000, "0.1 x 300 us > 2 us");
    }

    #[test]
    fn a_tier_that_finds_nothing_is_passed_by_until_it_does() {
        let policy = Policy::new(Bypass::Auto);
        ask(&policy, STANDARD, 300, 2000, 2, 0);
        assert_eq!(policy.standing().verdict, "bypassed");
        ask(&policy, STANDARD, 300, 2 * u64::from(SAMPLE), 2, 10);
        assert_eq!(policy.standing().verdict, "probed");
    }

    #[test]
    fn each_class_is_judged_by_its_own_cost() {
        let policy = Policy::new(Bypass::Auto);
        for _ in 0..100 {
            ask(&policy, STANDARD, 500, 10, 100, 10);
            ask(&policy, BOSS, 50, 10, 100, 10);
        }
        assert_eq!(policy.decide(STANDARD, Some(micros(500))), Decision::Probe);
        assert_ne!(policy.decide(BOSS, Some(micros(50))), Decision::Probe);
        assert_eq!(policy.standing().verdict, "bypassed in part");
    }

    #[test]
    fn a_tier_that_is_forbidden_is_neither_asked_nor_sampled_however_well_it_did() {
        let policy = Policy::new(Bypass::Forced);
        (0..100).for_each(|_| policy.learn(1, 1, micros(2)));
        for known in [None, Some(micros(550))] {
            assert!((0..1000).all(|_| policy.decide(STANDARD, known) == Decision::Bypass));
        }
        let standing = policy.standing();
        assert!(standing.is_bypassed() && standing.verdict == FORCED, "{standing:?}");
    }

    #[test]
    fn what_is_shown_of_generation_follows_what_was_decided_on() {
        let policy = Policy::new(Bypass::Off);
        assert_eq!(policy.standing().generation, Duration::ZERO);
        ask(&policy, STANDARD, 500, 2000, 50, 10);
        let shown = policy.standing().generation;
        assert!((micros(499)..=micros(501)).contains(&shown), "{shown:?}");
        ask(&policy, BOSS, 900, 2000, 50, 10);
        let shown = policy.standing().generation;
        assert!((micros(899)..=micros(901)).contains(&shown), "{shown:?}");
    }

    #[test]
    fn one_slow_answer_is_an_accident() {
        let policy = Policy::new(Bypass::Auto);
        ask(&policy, STANDARD, 550, 100, 50, 10);
        policy.learn(1, 1, Duration::from_secs(1));
        assert_eq!(policy.decide(STANDARD, Some(micros(550))), Decision::Probe);
    }

    #[test]
    fn patience_is_what_95_in_100_do_not_exceed() {
        let policy = Policy::new(Bypass::Auto);
        assert_eq!(policy.patience(), None);
        // 1 to 100 microseconds, in an order without pattern.
        (0..20_000_u64).for_each(|number| policy.learn(1, 1, micros(1 + number * 61 % 100)));
        let patience = policy.patience().unwrap();
        assert!((micros(85)..micros(106)).contains(&patience), "{patience:?}");
    }

    #[test]
    fn no_more_than_a_twentieth_is_made_beside_questions() {
        let policy = Policy::new(Bypass::Auto);
        assert!(!policy.may_hedge(1));
        let mut hedged = 0;
        for _ in 0..1000 {
            policy.learn(1, 1, micros(100));
            hedged += u32::from(policy.may_hedge(1));
        }
        assert!((49..=50).contains(&hedged), "{hedged}");
        (0..1000).for_each(|_| policy.learn(1, 1, micros(100)));
        assert!(!policy.may_hedge(9) && policy.may_hedge(8) && !policy.may_hedge(1));
    }

    #[test]
    fn a_batch_counts_by_its_keys() {
        let (one, many) = (Policy::new(Bypass::Auto), Policy::new(Bypass::Auto));
        (0..64).for_each(|_| one.learn(1, 0, micros(100)));
        many.learn(64, 0, micros(6400));
        let (one, many) = (one.standing(), many.standing());
        assert!((one.hit_ratio - many.hit_ratio).abs() < 1e-9);
        assert_eq!(one.cost, many.cost);
    }

    #[test]
    fn off_means_always_asked_and_so_does_not_knowing() {
        let policy = Policy::new(Bypass::Off);
        assert_eq!(ask(&policy, STANDARD, 550, 1000, 6190, 0), 1000);
        let policy = Policy::new(Bypass::Auto);
        (0..1000).for_each(|_| policy.learn(1, 0, micros(6190)));
        assert_eq!(policy.decide(STANDARD, None), Decision::Probe);
    }
}
