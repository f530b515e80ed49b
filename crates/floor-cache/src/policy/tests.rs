//! Tests of the policy against simulated tiers, and of the price of CPU time.

use super::{
    cpu_clock::Totals,
    load::{INTERVAL, Load},
    *,
};

/// Time between two lookups.
const PACE: Duration = Duration::from_millis(10);

const NO_PRICE: CpuCost = CpuCost { price: 0.0, price_by_length: 0.0, highest_price: 100.0, overhead: 10e-6 };

/// A second of CPU delays the other calls by 20 seconds.
const SATURATED: CpuCost = CpuCost { price: 20.0, ..NO_PRICE };

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
                Decision::AskInBackground => self.policy.learn(self.now, Asked::InBackground, keys, hits, took),
                Decision::Skip => {}
            }
        }
        asked
    }

    fn look_up(&mut self, generation: f64, count: u64, tier: Tier) -> u64 {
        self.look_up_many(1, generation, count, tier)
    }

    fn usage(&self) -> Usage {
        self.policy.status().usage
    }

    fn reason(&self) -> Reason {
        self.policy.status().reason
    }
}

const FAST: Tier = Tier { micros: 50, hits: 9 };
const SLOW: Tier = Tier { micros: 6190, hits: 10 };

/// The figures of an earlier game: a fetch of 6.19 ms before a generation of 0.55 ms.
#[test]
fn a_tier_slower_than_generating_is_skipped_even_if_it_always_hits() {
    let mut setup = Setup::new(Bypass::Auto);
    assert_eq!(setup.look_up(550.0, 1000, SLOW), MIN_QUERIES);
    assert_eq!((setup.usage(), setup.reason()), (Usage::Skipped, Reason::Slower));
    assert!(!setup.policy.is_written());
}

#[test]
fn a_change_of_speed_is_followed_within_200_lookups() {
    let mut setup = Setup::new(Bypass::Auto);
    assert_eq!(setup.look_up(550.0, 1000, FAST), 1000);
    assert_eq!((setup.usage(), setup.reason()), (Usage::Asked, Reason::AnswersSooner));
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
    assert_eq!(setup.usage(), Usage::AskedInPart);
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
fn of_16_lookups_that_skip_one_asks_in_the_background() {
    let mut setup = Setup::new(Bypass::Auto);
    setup.look_up(550.0, 100, SLOW);
    let samples = (0..160)
        .filter(|_| {
            setup.now += PACE;
            let decision = setup.policy.decide(setup.now, 1, Setup::generation(1, 550.0), NO_PRICE);
            decision == Decision::AskInBackground
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
    assert_eq!((setup.usage(), setup.reason()), (Usage::Skipped, Reason::FewHits));
    assert!(setup.policy.is_written(), "a tier that is not written to finds nothing for ever");
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
            assert_eq!(setup.policy.decide(setup.now, 1, generation, NO_PRICE), Decision::Skip);
        }
    }
    let status = setup.policy.status();
    assert_eq!((status.usage, status.reason, status.asked_ratio), (Usage::Off, Reason::Configured, 0.0));
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
fn the_price_rises_with_the_utilisation() {
    let price = |machine| loaded(40, f64::min(machine, 0.3), machine, 10).cpu_cost().price;
    assert_eq!(price(0.0), 0.0, "idle cores");
    let prices = [0.3, 0.6, 0.8, 0.95, 1.0].map(price);
    assert!(prices.is_sorted() && prices[0] < 1.0 && prices[2] > 10.0, "{prices:?}");
    assert_eq!(loaded(1, 0.3, 0.8, 10).cpu_cost().price, 0.0, "a call that is alone delays no other");
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
fn the_price_rises_with_the_length_of_a_job() {
    let cost = |own, jobs| loaded(40, own, own, 10).cpu_cost().of(1.0, jobs);
    // 10,000 operations a second. On half idle cores jobs of 100 us add a tenth, and those of 1.3 ms double the price.
    let [short, floor, module] = [1e9, 10_000.0, 770.0].map(|jobs| cost(0.5, jobs));
    assert!(
        (1.0..1.3).contains(&(floor / short)) && (1.7..4.0).contains(&(module / short)),
        "{short} {floor} {module}"
    );
    assert_eq!(cost(1.0, 1e9), cost(1.0, 1.0), "at saturation the price is the highest");
    assert_eq!(loaded(1, 0.5, 0.5, 10).cpu_cost().of(1.0, 770.0), 0.0, "a call that is alone delays no other");
}

#[test]
fn the_overhead_of_an_operation_excludes_generation() {
    // In 100 ms two cores at a half give 100 ms of CPU, half of it for generation, for 1,000 operations.
    let overhead = loaded(40, 0.5, 1.0, 3).cpu_cost().overhead;
    assert!((overhead - 50e-6).abs() < 1e-9, "{overhead}");
}
