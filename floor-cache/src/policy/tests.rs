//! Tests of the policy against simulated tiers, and of the price of CPU time.

use super::{
    load::{INTERVAL, Load, Totals},
    *,
};

/// Time between two lookups.
const PACE: Duration = Duration::from_millis(10);

const NO_PRICE: CpuCost = CpuCost { price: 0.0, overhead: 10e-6 };

/// A second of CPU delays the other calls by 20 seconds.
const SATURATED: CpuCost = CpuCost { price: 20.0, overhead: 10e-6 };

/// A policy and a simulated clock.
struct Setup {
    policy: Policy,
    now: Instant,
    cpu: CpuCost,
}

/// A simulated tier: its response time, and its hits in 10 queries.
#[derive(Clone, Copy)]
struct Tier {
    micros: u64,
    hits: u64,
}

impl Setup {
    fn new(mode: Bypass) -> Self {
        Self { policy: Policy::new(mode, true), now: Instant::now(), cpu: NO_PRICE }
    }

    fn generation(keys: usize, micros: f64) -> Option<Forecast> {
        let seconds = keys as f64 * micros * 1e-6;
        Some(Forecast { response: seconds, run: seconds, cpu: seconds })
    }

    /// Makes `count` lookups of `keys` keys that cost `generation` microseconds each. Returns how many asked `tier`.
    fn look_up_many(&mut self, keys: usize, generation: f64, count: u64, tier: Tier) -> u64 {
        let mut asked = 0;
        for number in 0..count {
            self.now += PACE;
            let hits = if number % 10 < tier.hits { keys } else { 0 };
            let took = Duration::from_micros(tier.micros);
            match self.policy.decide(self.now, keys, Self::generation(keys, generation), self.cpu) {
                Decision::Ask => {
                    asked += 1;
                    self.policy.learn(self.now, Asked::ForCaller, keys, hits, took);
                }
                Decision::BypassAndSample => self.policy.learn(self.now, Asked::InBackground, keys, hits, took),
                Decision::Bypass | Decision::BypassAndCollect(_) => {}
            }
        }
        asked
    }

    fn look_up(&mut self, generation: f64, count: u64, tier: Tier) -> u64 {
        self.look_up_many(1, generation, count, tier)
    }

    fn verdict(&self) -> Verdict {
        self.policy.status().verdict
    }

    fn reason(&self) -> Reason {
        self.policy.status().reason
    }
}

const FAST: Tier = Tier { micros: 50, hits: 9 };
const SLOW: Tier = Tier { micros: 6190, hits: 10 };

/// The figures of an earlier game: a fetch of 6.19 ms before a generation of 0.55 ms.
#[test]
fn a_tier_slower_than_generating_is_bypassed_even_if_it_always_hits() {
    let mut setup = Setup::new(Bypass::Auto);
    assert_eq!(setup.look_up(550.0, 1000, SLOW), MIN_QUERIES);
    assert_eq!((setup.verdict(), setup.reason()), (Verdict::Bypassed, Reason::Slower));
}

#[test]
fn a_change_of_speed_is_followed_within_200_lookups() {
    let mut setup = Setup::new(Bypass::Auto);
    assert_eq!(setup.look_up(550.0, 1000, FAST), 1000);
    assert_eq!((setup.verdict(), setup.reason()), (Verdict::Probed, Reason::AnswersSooner));
    let asked = setup.look_up(550.0, 200, SLOW);
    assert!(asked < 50, "asked {asked} times after it had slowed");
    assert_eq!(setup.look_up(550.0, 1000, SLOW), 0);
    setup.look_up(550.0, 200, FAST);
    let asked = setup.look_up(550.0, 1000, FAST);
    assert!(asked > 900, "asked {asked} times after it had recovered");
}

/// With idle cores the response time decides, at saturation the CPU time.
#[test]
fn the_price_of_cpu_time_decides_at_saturation() {
    let remote = Tier { micros: 900, hits: 10 };
    let mut setup = Setup::new(Bypass::Auto);
    setup.look_up(300.0, 100, remote);
    assert_eq!(setup.look_up(300.0, 100, remote), 0);
    setup.cpu = SATURATED;
    assert_eq!(setup.look_up(300.0, 100, remote), 100, "900 us + 20 x 10 us < 300 us + 20 x 310 us");
    assert_eq!(setup.reason(), Reason::SavesCpu);
    setup.cpu = NO_PRICE;
    assert_eq!(setup.look_up(300.0, 100, remote), 0);
    assert_eq!(setup.reason(), Reason::Slower);
}

/// A query to a local tier is CPU time.
#[test]
fn a_slow_store_in_this_process_costs_cpu_time() {
    let setup = Setup { policy: Policy::new(Bypass::Auto, false), ..Setup::new(Bypass::Auto) };
    let store = Tier { micros: 200, hits: 10 };
    // Many values are queued, so generating takes long.
    let queued = Some(Forecast { response: 400e-6, run: 50e-6, cpu: 50e-6 });
    let decide = |cpu| setup.policy.decide(setup.now, 1, queued, cpu);
    (0..100).for_each(|_| setup.policy.learn(setup.now, Asked::ForCaller, 1, 1, Duration::from_micros(store.micros)));
    assert_eq!(decide(NO_PRICE), Decision::Ask);
    assert_ne!(decide(SATURATED), Decision::Ask);
    assert_eq!(setup.reason(), Reason::CostsCpu);
}

/// A key costs 5 us in a batch of 64, and 300 us alone.
#[test]
fn a_batch_asks_where_a_single_query_bypasses() {
    let tier = Tier { micros: 300, hits: 10 };
    let mut setup = Setup::new(Bypass::Auto);
    assert_eq!(setup.look_up_many(64, 200.0, 100, tier), 100);
    for _ in 0..20 {
        assert_eq!(setup.look_up_many(64, 200.0, 10, tier), 10);
        assert_eq!(setup.look_up(200.0, 10, tier), 0);
    }
    assert_eq!(setup.verdict(), Verdict::InPart);
    let share = setup.policy.status().asked_ratio;
    assert!((0.3..0.7).contains(&share), "{share}");
}

#[test]
fn batches_ask_again_after_a_stall() {
    let tier = Tier { micros: 300, hits: 9 };
    let mut setup = Setup::new(Bypass::Auto);
    assert_eq!(setup.look_up_many(64, 200.0, 100, tier), 100);
    let asked = setup.look_up_many(64, 200.0, 200, Tier { micros: 60_000, ..tier });
    assert!(asked < 50, "asked {asked} times after it had stalled");
    setup.look_up_many(64, 200.0, 200, tier);
    assert_eq!(setup.look_up_many(64, 200.0, 100, tier), 100);
}

#[test]
fn of_16_lookups_that_bypass_one_asks_in_the_background() {
    let mut setup = Setup::new(Bypass::Auto);
    setup.look_up(550.0, 100, SLOW);
    let samples = (0..160)
        .filter(|_| {
            setup.now += PACE;
            let decision = setup.policy.decide(setup.now, 1, Setup::generation(1, 550.0), NO_PRICE);
            decision == Decision::BypassAndSample
        })
        .count();
    assert_eq!(samples, 10);
}

#[test]
fn a_fast_tier_that_finds_little_still_pays() {
    let mut setup = Setup::new(Bypass::Auto);
    assert_eq!(setup.look_up(300.0, 5000, Tier { micros: 2, hits: 1 }), 5000, "0.1 x 300 us > 2 us");
}

#[test]
fn a_tier_that_finds_nothing_is_bypassed_until_it_does() {
    let mut setup = Setup::new(Bypass::Auto);
    setup.look_up(300.0, 2000, Tier { micros: 2, hits: 0 });
    assert_eq!((setup.verdict(), setup.reason()), (Verdict::Bypassed, Reason::FewHits));
    setup.look_up(300.0, 200, Tier { micros: 2, hits: 10 });
    assert_eq!(setup.look_up(300.0, 100, Tier { micros: 2, hits: 10 }), 100);
}

/// The decision uses the cost of the values asked for.
#[test]
fn expensive_values_are_asked_for_where_cheap_ones_are_not() {
    let tier = Tier { micros: 100, hits: 10 };
    let mut setup = Setup::new(Bypass::Auto);
    for _ in 0..100 {
        setup.look_up(500.0, 10, tier);
        setup.look_up(50.0, 10, tier);
    }
    assert_eq!((setup.look_up(500.0, 10, tier), setup.look_up(50.0, 10, tier)), (10, 0));
}

#[test]
fn at_equal_costs_half_of_the_lookups_ask() {
    let mut setup = Setup::new(Bypass::Auto);
    setup.look_up(300.0, 100, Tier { micros: 300, hits: 10 });
    let asked = setup.look_up(300.0, 1000, Tier { micros: 300, hits: 10 });
    assert!((450..=550).contains(&asked), "{asked}");
}

#[test]
fn one_slow_answer_changes_nothing() {
    let mut setup = Setup::new(Bypass::Auto);
    setup.look_up(550.0, 100, FAST);
    setup.policy.learn(setup.now, Asked::ForCaller, 1, 1, Duration::from_secs(1));
    assert_eq!(setup.look_up(550.0, 1, FAST), 1);
}

#[test]
fn a_forced_bypass_neither_asks_nor_samples() {
    let mut setup = Setup::new(Bypass::Forced);
    (0..100).for_each(|_| setup.policy.learn(setup.now, Asked::ForCaller, 1, 1, Duration::from_micros(2)));
    for generation in [None, Setup::generation(1, 550.0)] {
        for _ in 0..1000 {
            setup.now += PACE;
            assert_eq!(setup.policy.decide(setup.now, 1, generation, NO_PRICE), Decision::Bypass);
        }
    }
    let status = setup.policy.status();
    assert_eq!((status.verdict, status.reason, status.asked_ratio), (Verdict::Forced, Reason::Configured, 0.0));
}

#[test]
fn bypass_off_and_an_unknown_generation_cost_always_ask() {
    assert_eq!(Setup::new(Bypass::Off).look_up(550.0, 1000, SLOW), 1000);
    let setup = Setup::new(Bypass::Auto);
    (0..1000).for_each(|_| setup.policy.learn(setup.now, Asked::ForCaller, 1, 0, Duration::from_micros(6190)));
    assert_eq!(setup.policy.decide(setup.now, 1, None, NO_PRICE), Decision::Ask);
}

#[test]
fn the_reported_generation_cost_follows_the_decisions() {
    let mut setup = Setup::new(Bypass::Off);
    for micros in [500.0, 900.0] {
        setup.look_up(micros, 2000, FAST);
        let shown = setup.policy.status().generation;
        assert!((shown / (micros * 1e-6) - 1.0).abs() < 0.01, "{shown}");
    }
}

#[test]
fn a_batch_moves_the_hit_ratio_as_its_keys_would_one_by_one() {
    let (one, many) = (Setup::new(Bypass::Auto), Setup::new(Bypass::Auto));
    (0..64).for_each(|_| one.policy.learn(one.now, Asked::ForCaller, 1, 0, Duration::from_micros(100)));
    many.policy.learn(many.now, Asked::ForCaller, 64, 0, Duration::from_micros(6400));
    let [one, many] = [one, many].map(|setup| setup.policy.status().hit_ratio);
    assert!((one - many).abs() < 1e-9, "{one} against {many}");
}

/// A local tier whose queries block. While they do, generated values arrive late: generating takes 200 us, and its answer
/// comes after 20 ms.
struct Blocking {
    policy: Policy,
    now: Instant,
    run: f64,
}

/// What became of lookups at a local tier.
#[derive(Debug, Default, PartialEq)]
struct Tally {
    asked: u64,
    sampled: u64,
    collected: u64,
}

impl Blocking {
    fn new() -> Self {
        Self { policy: Policy::new(Bypass::Auto, false), now: Instant::now(), run: 200e-6 }
    }

    /// Makes `count` lookups of one key, one after the other, whose queries take what `query` says, in microseconds.
    fn look_up(&mut self, count: u64, cpu: CpuCost, query: impl Fn(u64) -> u64) -> Tally {
        let mut tally = Tally::default();
        for number in 0..count {
            let forecast = Some(Forecast { response: 20e-3, run: self.run, cpu: self.run });
            let took = Duration::from_micros(query(number));
            let by = match self.policy.decide(self.now, 1, forecast, cpu) {
                Decision::Ask => Some(Asked::ForCaller),
                Decision::BypassAndSample => Some(Asked::InBackground),
                Decision::BypassAndCollect(allowance) => {
                    assert!((200e-6..1e-3).contains(&allowance), "{allowance}");
                    tally.collected += 1;
                    None
                }
                Decision::Bypass => None,
            };
            self.now += Duration::from_micros(100);
            if let Some(by) = by {
                self.now += took;
                self.policy.learn(self.now, by, 1, 1, took);
                *(if by == Asked::ForCaller { &mut tally.asked } else { &mut tally.sampled }) += 1;
            }
        }
        tally
    }

    /// A recheck of 256 keys that takes `micros` for each.
    fn recheck(&mut self, micros: u32) {
        let took = Duration::from_micros(256 * u64::from(micros));
        self.now += took;
        self.policy.end_recheck(self.now, took, 256.0 * 2.0 * self.run);
    }
}

/// A disk that is asked by callers may block all of their threads, and generated values arrive as late as its answers.
#[test]
fn a_store_that_blocks_threads_is_bypassed_however_late_generated_values_arrive() {
    for (disk, query) in [
        ("3 ms a query", (|_| 3000) as fn(u64) -> u64),
        ("2.2 times generating", |_| 440),
        ("30 queries at once, then a wait", |number| if number % 30 == 29 { 100_000 } else { 100 }),
        ("one query in 20 misses the page cache", |number| if number % 20 == 0 { 20_000 } else { 5 }),
    ] {
        let mut tier = Blocking::new();
        let first = tier.look_up(1000, NO_PRICE, query);
        assert!(first.asked < 300 && first.sampled == 0, "{disk}: {first:?}");
        assert_eq!(tier.look_up(1000, NO_PRICE, query).asked, 0, "{disk}");
        assert_eq!(tier.policy.status().reason, Reason::Slower);
    }
}

#[test]
fn a_fast_store_is_asked_at_saturation_and_through_stalls() {
    for (store, query) in [
        ("in the page cache", (|_| 5) as fn(u64) -> u64),
        ("on a disk, two thirds of generating", |_| 133),
        ("in part on a fast disk", |number| if number % 2 == 0 { 300 } else { 5 }),
        ("a thread suspended for a time slice", |number| if number % 100 == 50 { 4000 } else { 5 }),
        ("a machine suspended for 10 s", |number| if number == 500 { 10_000_000 } else { 5 }),
    ] {
        for cpu in [NO_PRICE, SATURATED] {
            let expected = Tally { asked: 2000, ..Tally::default() };
            assert_eq!(Blocking::new().look_up(2000, cpu, query), expected, "{store} at {cpu:?}");
        }
    }
}

#[test]
fn a_recheck_of_a_fast_disk_admits_callers_again() {
    let mut tier = Blocking::new();
    tier.look_up(100, NO_PRICE, |_| 3000);
    let waiting = tier.look_up(1000, NO_PRICE, |_| 5);
    assert_eq!(waiting, Tally::default(), "no recheck within half a second");
    tier.now += Duration::from_millis(500);
    let due = tier.look_up(100, NO_PRICE, |_| 5);
    assert_eq!(due, Tally { collected: 100, ..Tally::default() });
    tier.recheck(3000);
    tier.now += Duration::from_secs(7);
    assert_eq!(tier.look_up(100, NO_PRICE, |_| 5), Tally::default(), "a pause of ten times 768 ms");
    tier.now += Duration::from_secs(1);
    assert_eq!(tier.look_up(100, NO_PRICE, |_| 5).collected, 100);
    tier.recheck(5);
    assert_eq!(tier.look_up(1000, NO_PRICE, |_| 5).asked, 1000);
}

#[test]
fn a_disk_that_only_rechecks_find_fast_is_asked_less_and_less_often() {
    let mut tier = Blocking::new();
    let mut hold = Duration::ZERO;
    for expected in [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 16.0] {
        while tier.look_up(1, NO_PRICE, |_| 3000).asked > 0 {}
        let excluded = tier.now;
        while tier.look_up(1, NO_PRICE, |_| 3000).collected == 0 {
            tier.now += Duration::from_millis(10);
        }
        hold = tier.now - excluded;
        assert!((hold.as_secs_f64() - expected).abs() < 0.1, "{hold:?} of {expected} s");
        tier.recheck(5);
    }
    // After it was fast for long, the hold is short again.
    for _ in 0..20 {
        assert_eq!(tier.look_up(100, NO_PRICE, |_| 5).asked, 100);
        tier.now += 10 * hold / 20;
    }
    while tier.look_up(1, NO_PRICE, |_| 3000).asked > 0 {}
    tier.now += Duration::from_millis(600);
    assert_eq!(tier.look_up(1, NO_PRICE, |_| 5).collected, 1);
}

#[test]
fn a_fast_store_is_asked_for_values_that_were_never_generated() {
    let mut tier = Blocking::new();
    assert_eq!(tier.look_up(100, NO_PRICE, |_| 5).asked, 100);
    // Of a kind that the store has all of. Batches take longer than one value may.
    for number in 0..20_000 {
        let keys = if number % 2 == 0 { 1 } else { 256 };
        let took = Duration::from_micros(5 * keys as u64);
        assert_eq!(tier.policy.decide(tier.now, keys, None, NO_PRICE), Decision::Ask, "lookup {number}");
        tier.now += took;
        tier.policy.learn(tier.now, Asked::ForCaller, keys, keys, took);
    }
}

#[test]
fn a_store_that_blocks_is_bypassed_for_values_that_were_never_generated() {
    let mut tier = Blocking::new();
    assert_eq!(tier.look_up(100, NO_PRICE, |_| 5).asked, 100);
    let took = Duration::from_millis(3);
    let ask = |_: &u32| tier.policy.decide(tier.now, 1, None, NO_PRICE) == Decision::Ask;
    let learn = |_| tier.policy.learn(tier.now, Asked::ForCaller, 1, 1, took);
    assert!((0..1000).take_while(ask).map(learn).count() < 300);
}

#[test]
fn a_disk_that_hung_during_a_recheck_is_asked_again_within_a_minute() {
    let mut tier = Blocking::new();
    tier.look_up(100, NO_PRICE, |_| 3000);
    for hung in [Duration::from_secs(3600), Duration::MAX] {
        tier.policy.end_recheck(tier.now, hung, 0.1);
        assert_eq!(tier.look_up(1, NO_PRICE, |_| 5), Tally::default());
        tier.now += Duration::from_secs(60);
        assert_eq!(tier.look_up(1, NO_PRICE, |_| 5).collected, 1);
    }
}

#[test]
fn samples_on_callers_threads_count_like_callers() {
    let mut tier = Blocking::new();
    // Without hits the tier is bypassed, until a sample finds some.
    (0..2000).for_each(|_| tier.policy.learn(tier.now, Asked::InRecheck, 1, 0, Duration::from_micros(5)));
    let tally = tier.look_up(2000, NO_PRICE, |_| 3000);
    assert!(tally.sampled > 0 && tally.asked + tally.sampled < 60, "{tally:?}");
}

/// A load of `calls` calls in flight, whose process and whose machine use this share of two cores, for `seconds`.
fn loaded(calls: usize, own: f64, machine: f64, seconds: u32) -> Load {
    const CORES: f64 = 2.0;
    let (mut load, mut now, mut totals) = (Load::new(CORES, None), Instant::now(), Totals::default());
    for _ in 0..10 * seconds {
        now += INTERVAL;
        let passed = INTERVAL.as_secs_f64() * CORES;
        totals.capacity += passed;
        totals.busy += passed * machine;
        totals.own += passed * own;
        totals.generation += passed * own / 2.0;
        totals.operations += 1000;
        load.call(calls);
        load.measure(now, totals);
    }
    load
}

#[test]
fn idle_cores_cost_nothing() {
    assert_eq!(loaded(40, 0.3, 0.6, 10).cpu_cost().price, 0.0);
}

#[test]
fn at_saturation_the_price_grows_with_the_calls_in_flight() {
    let price = |calls| loaded(calls, 0.5, 1.0, 3).cpu_cost().price;
    assert_eq!(price(1), 0.0, "a call that is alone delays no other");
    let (some, many) = (price(11), price(41));
    assert!(some >= 10.0 && (many / some - 4.0).abs() < 0.01, "{some} and {many}");
}

#[test]
fn a_process_at_its_cpu_limit_is_saturated_on_an_idle_machine() {
    let load = loaded(40, 1.0, 0.1, 3);
    assert!(load.is_saturated() && load.cpu_cost().price > 0.0);
}

#[test]
fn the_overhead_of_an_operation_excludes_generation() {
    // In 100 ms two cores at a half give 100 ms of CPU, half of it for generation, for 1,000 operations.
    let overhead = loaded(40, 0.5, 1.0, 3).cpu_cost().overhead;
    assert!((overhead - 50e-6).abs() < 1e-9, "{overhead}");
}
