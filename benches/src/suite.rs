//! What the suites of criterion share: how long each bench takes, the announcement of the duration, and `--quick`.

use std::{env, time::Duration};

/// A suite, and how long each of its benches takes.
#[derive(Debug, Clone, Copy)]
pub struct Suite {
    name: &'static str,
    /// Benches, with redis-server and the server.
    benches: u32,
    warm_up: Duration,
    measured: Duration,
}

/// Resamples of criterion's bootstrap. The charts of their distributions take a time that grows with them: two seconds for
/// each bench with criterion's default of 100,000.
pub const RESAMPLES: usize = 10_000;

/// The configuration of the suite `$name`, with `$samples` samples of each bench; announces the suite. A macro, because
/// this library does not depend on criterion.
#[macro_export]
macro_rules! suite {
    ($name:literal, $samples:literal samples) => {{
        let suite = $crate::suite::Suite::start($name);
        ::criterion::Criterion::default()
            .sample_size($samples)
            .nresamples($crate::suite::RESAMPLES)
            .warm_up_time(suite.warm_up())
            .measurement_time(suite.measured())
    }};
}

const fn suite(name: &'static str, benches: u32, warm_up_millis: u64, measured_millis: u64) -> Suite {
    let (warm_up, measured) = (Duration::from_millis(warm_up_millis), Duration::from_millis(measured_millis));
    Suite { name, benches, warm_up, measured }
}

/// All suites, in the order in which cargo runs them. `cargo bench -- --list` prints the benches. A test compares their
/// numbers.
const SUITES: [Suite; 7] = [
    suite("batching", 44, 1000, 1500),
    suite("chain", 31, 1000, 1000),
    suite("envelope", 8, 500, 1000),
    suite("generation", 62, 500, 2000),
    suite("peers", 37, 1000, 1000),
    suite("protobuf", 14, 1000, 3000),
    suite("tiers", 33, 1000, 1000),
];

/// The most that criterion measures a bench with `--quick`. It stops earlier when two measurements agree.
const QUICK: Duration = Duration::from_millis(300);

/// Time of a bench with `--quick`, with set-up and analysis.
const QUICK_BENCH: Duration = Duration::from_millis(450);

/// Time of a bench beside warm-up and measurement: set-up and analysis.
const BESIDE: Duration = Duration::from_millis(700);

/// The names of all suites, in that order.
pub fn names() -> [&'static str; SUITES.len()] {
    SUITES.map(|suite| suite.name)
}

impl Suite {
    /// The suite `name`. Announces on standard error how long it takes and, in the first suite, how long all take.
    ///
    /// # Panics
    /// When no suite has this name.
    pub fn start(name: &str) -> Self {
        let suite = SUITES.into_iter().find(|suite| suite.name == name).expect("every suite is in the list");
        let arguments: Vec<String> = env::args().skip(1).collect();
        if let Some(text) = announcement(&suite, &arguments) {
            eprintln!("{text}");
        }
        suite
    }

    /// Warm-up of a bench. Criterion leaves it out with `--quick`.
    pub const fn warm_up(&self) -> Duration {
        self.warm_up
    }

    /// Measured time of a bench.
    pub fn measured(&self) -> Duration {
        if is_quick(&env::args().collect::<Vec<_>>()) { QUICK } else { self.measured }
    }

    fn duration(&self, quick: bool) -> Duration {
        self.benches * if quick { QUICK_BENCH } else { self.warm_up + self.measured + BESIDE }
    }
}

fn is_quick(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| argument == "--quick")
}

/// What to say at the start of `suite`. Nothing where nothing is measured or a filter selects benches.
fn announcement(suite: &Suite, arguments: &[String]) -> Option<String> {
    let measures_nothing = |argument: &String| ["--list", "--test", "--help", "-h"].contains(&argument.as_str());
    // An argument after an option may be its value, as in `--save-baseline main`.
    let is_filter = |at: usize| {
        let is_value = at > 0
            && arguments[at - 1].starts_with('-')
            && arguments[at - 1] != "--bench"
            && arguments[at - 1] != "--quick";
        !arguments[at].starts_with('-') && !is_value
    };
    if arguments.iter().any(measures_nothing) || (0..arguments.len()).any(is_filter) {
        return None;
    }
    let quick = is_quick(arguments);
    let Suite { name, benches, .. } = suite;
    let mut text = format!("{name}: {benches} benches, about {}", minutes(suite.duration(quick)));
    if SUITES.first().is_some_and(|first| first.name == *name) {
        let all: Duration = SUITES.iter().map(|suite| suite.duration(quick)).sum();
        let names = names().join(", ");
        let hint = if quick { "" } else { "; `cargo bench -- --quick` is shorter and less certain" };
        text = format!("cargo bench: about {} for {names}{hint}\n{text}", minutes(all));
    }
    Some(text)
}

/// `duration` in minutes, rounded up; below one in seconds.
fn minutes(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ ..60 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::output_of;

    fn said(name: &str, arguments: &[&str]) -> Option<String> {
        let suite = SUITES.into_iter().find(|suite| suite.name == name).unwrap();
        announcement(&suite, &arguments.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn the_first_suite_announces_all_and_each_its_own() {
        let first = said("batching", &["--bench"]).unwrap();
        assert!(
            first.starts_with("cargo bench: about ") && first.contains("\nbatching: 44 benches, about "),
            "{first}"
        );
        assert!(said("tiers", &["--bench"]).unwrap().starts_with("tiers: 33 benches, about "));
        assert!(said("batching", &["--save-baseline", "main", "--bench"]).is_some());
        assert_eq!(said("batching", &["tiers", "--bench"]), None);
        assert_eq!(said("batching", &["--quick", "tiers"]), None);
        assert_eq!(said("batching", &["--list", "--bench"]), None);
    }

    #[test]
    #[ignore = "builds the benches, and needs redis-server and the release server"]
    fn every_suite_has_as_many_benches_as_it_announces() {
        // As .ci/run builds them: with `--bench` or `-p`, cargo selects other features and compiles them again.
        let listed = output_of(env!("CARGO"), &["bench", "--workspace", "--locked", "--", "--list"]);
        for Suite { name, benches, .. } in SUITES {
            let is_of_suite = |line: &&str| line.starts_with(&format!("{name}/")) && line.ends_with(": benchmark");
            let counted = listed.lines().filter(is_of_suite).count();
            assert_eq!(counted, benches as usize, "{name}: correct the number in the list of suites");
        }
    }

    #[test]
    fn quick_takes_less_than_five_minutes() {
        let all: Duration = SUITES.iter().map(|suite| suite.duration(true)).sum();
        assert!(all < Duration::from_secs(300), "{all:?}");
        assert!(said("batching", &["--quick", "--bench"]).unwrap().contains("cargo bench: about 2 min"));
    }
}
