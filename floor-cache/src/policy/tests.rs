//! The rule against made-up tiers.

use super::*;
use crate::key::Class;

const STANDARD: Class = Class::new(1);
const BOSS: Class = Class::new(7);

fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

fn wanted(class: Class, generation: u64, keys: usize) -> Vec<Wanted> {
    vec![Wanted { key: Key::new([7; Key::LEN - 1], class), generation: Some(micros(generation)) }; keys]
}

/// Asks `policy` for `count` times `keys` keys of `class`, each time answered as a tier would in which a question costs
/// `cost` and that finds `hits` in 10; how many times it was asked on the caller's way.
fn ask_many(policy: &Policy, keys: usize, class: Class, generation: u64, count: u64, cost: u64, hits: u64) -> u64 {
    let mut probed = 0;
    for number in 0..count {
        let found = |keys: usize| if number % 10 < hits { keys } else { 0 };
        let mut asked = wanted(class, generation, keys);
        let sampled = policy.choose(&mut asked);
        if !asked.is_empty() {
            policy.learn(Asked::OnTheWay, asked.len(), found(asked.len()), micros(cost));
        }
        if !sampled.is_empty() {
            policy.learn(Asked::Beside, sampled.len(), found(sampled.len()), micros(cost));
        }
        probed += u64::from(!asked.is_empty());
    }
    probed
}

/// The same, one key at a time.
fn ask(policy: &Policy, class: Class, generation: u64, count: u64, cost: u64, hits: u64) -> u64 {
    ask_many(policy, 1, class, generation, count, cost, hits)
}

fn learn(policy: &Policy, hits: usize, took: Duration) {
    policy.learn(Asked::OnTheWay, 1, hits, took);
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

/// One class pays although the other does not: then the tier is not passed by as a whole, and yet the samples of the other
/// are all that there is to learn from.
#[test]
fn a_class_returns_within_200_of_its_requests_whatever_another_does() {
    let slow_for_the_cheap = || {
        let policy = Policy::new(Bypass::Auto);
        ask(&policy, BOSS, 10_000, 20, 6190, 10);
        assert_eq!(ask(&policy, STANDARD, 550, 100, 6190, 10), 0);
        assert_eq!(ask(&policy, BOSS, 10_000, 1, 6190, 10), 1);
        assert_eq!(policy.standing().verdict, "bypassed in part");
        policy
    };
    let policy = slow_for_the_cheap();
    ask(&policy, STANDARD, 550, 200, 50, 10);
    assert_eq!(ask(&policy, STANDARD, 550, 100, 50, 10), 100, "the other class is not asked for at all");

    let policy = slow_for_the_cheap();
    for _ in 0..200 {
        ask(&policy, STANDARD, 550, 1, 50, 10);
        ask(&policy, BOSS, 10_000, 1, 50, 10);
    }
    assert_eq!(ask(&policy, STANDARD, 550, 100, 50, 10), 100, "the other class is asked for as often");
}

#[test]
fn a_class_returns_within_200_of_its_requests_when_it_is_found_again() {
    let empty_for_the_cheap = || {
        let policy = Policy::new(Bypass::Auto);
        ask(&policy, STANDARD, 550, 20, 200, 10);
        ask(&policy, BOSS, 10_000, 200, 200, 0);
        ask(&policy, STANDARD, 550, 100, 200, 0);
        assert_eq!(ask(&policy, BOSS, 10_000, 1, 200, 0), 1);
        assert_eq!(ask(&policy, STANDARD, 550, 1, 200, 0), 0);
        policy
    };
    let policy = empty_for_the_cheap();
    ask(&policy, STANDARD, 550, 200, 200, 9);
    assert_eq!(ask(&policy, STANDARD, 550, 100, 200, 9), 100, "the other class is not asked for at all");

    let policy = empty_for_the_cheap();
    for _ in 0..20 {
        ask(&policy, STANDARD, 550, 10, 200, 9);
        ask(&policy, BOSS, 10_000, 10, 200, 9);
    }
    assert_eq!(ask(&policy, STANDARD, 550, 100, 200, 9), 100, "the other class is asked for as often");
}

/// Samples of a class that does not pay are no reason to doubt what pays for another.
#[test]
fn one_slow_sample_among_many_questions_is_an_accident() {
    let policy = Policy::new(Bypass::Auto);
    for _ in 0..20 {
        ask(&policy, BOSS, 50, 20, 100, 10);
        ask(&policy, STANDARD, 200, 20, 100, 10);
    }
    policy.learn(Asked::Beside, 1, 1, Duration::from_secs(1));
    assert_eq!(ask(&policy, STANDARD, 200, 10, 100, 10), 10);
}

/// Each key of a batch of 64 costs 5 us, and the same key alone 300.
#[test]
fn a_batch_comes_back_that_pays_although_a_single_question_does_not() {
    let policy = Policy::new(Bypass::Auto);
    assert_eq!(ask_many(&policy, 64, STANDARD, 200, 500, 300, 9), 500);
    let asked = ask_many(&policy, 64, STANDARD, 200, 200, 60_000, 9);
    assert!(asked < 50, "asked {asked} times after it had stalled");
    assert_eq!(policy.standing().verdict, "bypassed");
    ask_many(&policy, 64, STANDARD, 200, 200, 300, 9);
    assert_eq!(policy.standing().verdict, "probed");
    assert_eq!(ask_many(&policy, 64, STANDARD, 200, 100, 300, 9), 100);
}

#[test]
fn what_batches_cost_misleads_nobody_about_single_questions() {
    let policy = Policy::new(Bypass::Auto);
    assert_eq!(ask_many(&policy, 64, STANDARD, 200, FIRST_QUESTIONS, 300, 9), FIRST_QUESTIONS);
    for round in 0..100 {
        assert_eq!(ask_many(&policy, 64, STANDARD, 200, 10, 300, 9), 10, "round {round}");
        assert_eq!(ask(&policy, STANDARD, 200, 10, 300, 9), 0, "round {round}");
    }
    assert_eq!(policy.standing().verdict, "bypassed in part");
    ask(&policy, STANDARD, 200, 2 * u64::from(STRETCH), 300, 9);
    assert_eq!(policy.standing().verdict, "bypassed", "nobody asks for batches any more");
}

/// Of a mixed batch only the dear keys are worth their share; alone they would not be worth the question.
#[test]
fn keys_that_are_left_over_of_a_batch_are_judged_as_the_smaller_question_that_they_are() {
    let policy = Policy::new(Bypass::Auto);
    (0..50).for_each(|_| policy.learn(Asked::OnTheWay, 64, 64, micros(3200)));
    (0..50).for_each(|_| policy.learn(Asked::OnTheWay, 1, 1, micros(3200)));
    let batch = |dear, worth| [wanted(STANDARD, 20, 60), wanted(BOSS, worth, dear)].concat();
    let mut asked = batch(4, 400);
    policy.choose(&mut asked);
    assert!(asked.is_empty(), "4 x 400 us < 3,200 us");
    let mut asked = batch(4, 1000);
    policy.choose(&mut asked);
    assert_eq!(asked.len(), 4, "4 x 1,000 us > 3,200 us");
}

#[test]
fn of_16_walks_that_pass_by_one_asks_beside_the_call_for_all_its_keys_at_once() {
    let policy = Policy::new(Bypass::Auto);
    ask_many(&policy, 64, STANDARD, 200, 100, 60_000, 10);
    let mut samples = Vec::new();
    for _ in 0..160 {
        let mut asked = wanted(STANDARD, 200, 64);
        samples.push(policy.choose(&mut asked).len());
        assert!(asked.is_empty());
    }
    assert_eq!(samples.iter().filter(|keys| **keys == 64).count(), 10);
    assert_eq!(samples.iter().sum::<usize>(), 640);
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
    assert_eq!(ask(&policy, STANDARD, 500, 1, 100, 10), 1);
    assert_eq!(ask(&policy, BOSS, 50, 1, 100, 10), 0);
    assert_eq!(policy.standing().verdict, "bypassed in part");
}

#[test]
fn a_tier_that_is_forbidden_is_neither_asked_nor_sampled_however_well_it_did() {
    let policy = Policy::new(Bypass::Forced);
    (0..100).for_each(|_| learn(&policy, 1, micros(2)));
    for generation in [None, Some(micros(550))] {
        for _ in 0..1000 {
            let mut asked = vec![Wanted { generation, ..wanted(STANDARD, 0, 1)[0] }];
            assert!(policy.choose(&mut asked).is_empty() && asked.is_empty());
        }
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
    learn(&policy, 1, Duration::from_secs(1));
    assert_eq!(ask(&policy, STANDARD, 550, 1, 50, 10), 1);
}

#[test]
fn patience_is_what_95_in_100_do_not_exceed() {
    let policy = Policy::new(Bypass::Auto);
    assert_eq!(policy.patience(), None);
    // 1 to 100 microseconds, in an order without pattern.
    (0..20_000_u64).for_each(|number| learn(&policy, 1, micros(1 + number * 61 % 100)));
    let patience = policy.patience().unwrap();
    assert!((micros(85)..micros(106)).contains(&patience), "{patience:?}");
}

#[test]
fn no_more_than_a_twentieth_is_made_beside_questions() {
    let policy = Policy::new(Bypass::Auto);
    assert_eq!(policy.may_hedge(1), 0);
    let mut hedged = 0;
    for _ in 0..1000 {
        learn(&policy, 1, micros(100));
        hedged += policy.may_hedge(1);
    }
    assert!((49..=50).contains(&hedged), "{hedged}");
    (0..1000).for_each(|_| learn(&policy, 1, micros(100)));
    assert_eq!([3, 9, 1].map(|keys| policy.may_hedge(keys)), [3, 5, 0], "8 in a row");
}

#[test]
fn of_batches_too_no_more_than_a_twentieth_is_made_beside_questions_but_a_whole_one_at_times() {
    let policy = Policy::new(Bypass::Auto);
    let batch = || policy.learn(Asked::OnTheWay, 256, 256, micros(1000));
    let mut hedged = 0;
    for _ in 0..1000 {
        batch();
        hedged += policy.may_hedge(256);
    }
    assert!((12_700..=12_800).contains(&hedged), "{hedged} of 256,000");
    (0..1000).for_each(|_| batch());
    learn(&policy, 1, micros(100));
    assert_eq!([256, 256].map(|keys| policy.may_hedge(keys)), [256, 0]);
}

#[test]
fn a_batch_counts_by_its_keys() {
    let (one, many) = (Policy::new(Bypass::Auto), Policy::new(Bypass::Auto));
    (0..64).for_each(|_| learn(&one, 0, micros(100)));
    many.learn(Asked::OnTheWay, 64, 0, micros(6400));
    let (one, many) = (one.standing(), many.standing());
    assert!((one.hit_ratio - many.hit_ratio).abs() < 1e-9);
    assert_eq!(one.cost, many.cost);
}

#[test]
fn off_means_always_asked_and_so_does_not_knowing() {
    let policy = Policy::new(Bypass::Off);
    assert_eq!(ask(&policy, STANDARD, 550, 1000, 6190, 0), 1000);
    let policy = Policy::new(Bypass::Auto);
    (0..1000).for_each(|_| learn(&policy, 0, micros(6190)));
    let mut asked = vec![Wanted { generation: None, ..wanted(STANDARD, 0, 1)[0] }];
    assert!(policy.choose(&mut asked).is_empty());
    assert_eq!(asked.len(), 1);
}
