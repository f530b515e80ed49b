//! Which chain to use: the one with the least CPU, and of those within a few percent the one with the fewest tiers.

use benches::{
    sample::{Ratio, Samples},
    timing::mean_and_interval,
};

use crate::{all_cpu, chains::Candidate};

/// A chain is as good as the cheapest if the lower end of its interval is at most this much above it, and its mean at
/// most [`MOST`]: a tier must be operated. With the interval alone a noisy machine would excuse any chain.
const AS_GOOD: f64 = 1.03;
const MOST: f64 = 1.1;

/// The chain to use under `loads`, which count the same, and the reason, in Markdown. `chains` are not empty.
pub(crate) fn choose(samples: &Samples, chains: &[Candidate], loads: &[&str]) -> (Candidate, String) {
    let costs = |chain: Candidate| costs(samples, chain, loads);
    let cost = |chain: &Candidate| mean_and_interval(&costs(*chain)).0;
    // The ratio of the CPU of one chain to that of another, within rounds.
    let to = |one: Candidate, other: Candidate| Ratio::of(costs(one).into_iter().zip(costs(other)));
    let cheapest = chains.iter().min_by(|one, other| cost(one).total_cmp(&cost(other)));
    let cheapest = cheapest.expect("a chain was measured");
    let is_as_good = |chain: &&Candidate| {
        let ratio = to(**chain, *cheapest);
        ratio.low <= AS_GOOD && ratio.value <= MOST
    };
    let chosen = chains.iter().filter(is_as_good).min_by_key(|chain| chain.0.len()).unwrap_or(cheapest);
    let mut text = format!(
        "**Use `{:?}` for one server here.** A million requests take {:.0} CPU seconds{}",
        chosen.0,
        cost(chosen),
        if loads.len() > 1 { ", the mean of cold and warm" } else { "" }
    );
    if let Some(generation) = chains.iter().find(|chain| chain.0.is_empty() && *chain != chosen) {
        let ratio = to(*generation, *chosen);
        text += &format!("; generating every floor takes {} times as many", interval(&ratio));
    }
    text += ".";
    if chosen == cheapest {
        text += " No chain takes fewer.";
    } else {
        let ratio = to(*chosen, *cheapest);
        let has_more = cheapest.0.len() > chosen.0.len();
        let reason = if has_more { "has more tiers to operate" } else { "costs the same within the noise" };
        text += &format!(" That is {} times those of `{:?}`, which {reason}.", interval(&ratio), cheapest.0);
    }
    (*chosen, text + " Several servers that share floors need Redis: docs/operating.md has the cases.")
}

/// CPU microseconds of a request in each round, the mean over `loads`.
fn costs(samples: &Samples, chain: Candidate, loads: &[&str]) -> Vec<f64> {
    let mut rounds = Vec::new();
    for load in loads {
        for (round, cpu) in samples.figures(load, &chain.name(), all_cpu).into_iter().enumerate() {
            rounds.resize(rounds.len().max(round + 1), 0.0);
            rounds[round] += cpu / loads.len() as f64;
        }
    }
    rounds
}

fn interval(ratio: &Ratio) -> String {
    format!("{:.2} ({:.2} to {:.2})", ratio.value, ratio.low, ratio.high)
}

#[cfg(test)]
mod tests {
    use benches::sample::Sample;

    use super::*;
    use crate::workload::{COLD, WARM};

    fn samples(costs: &[(Candidate, f64)]) -> Samples {
        let mut samples = Samples::default();
        for (round, drift) in [1.0, 1.3, 0.8].into_iter().enumerate() {
            for (chain, cost) in costs {
                for load in [COLD, WARM] {
                    let sample = Sample { server_cpu_us: cost * drift, ..Sample::default() };
                    samples.push(sample.named(load, chain.name(), round));
                }
            }
        }
        samples
    }

    #[test]
    fn of_chains_that_cost_the_same_the_shorter_is_chosen() {
        let costs =
            [(Candidate(&[]), 90.0), (Candidate(&["lru", "lmdb"]), 20.2), (Candidate(&["lru", "lmdb", "redis"]), 20.0)];
        let (_, text) = choose(&samples(&costs), &costs.map(|(chain, _)| chain), &[COLD, WARM]);
        assert!(text.contains("Use `[\"lru\", \"lmdb\"]`") && text.contains("4.46 ("), "{text}");
        assert!(text.contains("1.01 (1.01 to 1.01) times those of"), "{text}");
        assert!(text.contains("take 21 CPU seconds, the mean of cold and warm"), "{text}");
    }

    #[test]
    fn a_cheaper_chain_is_chosen_though_it_is_longer() {
        let costs = [(Candidate(&["lru"]), 30.0), (Candidate(&["lru", "lmdb"]), 20.0)];
        let (_, text) = choose(&samples(&costs), &costs.map(|(chain, _)| chain), &[COLD, WARM]);
        assert!(text.contains("Use `[\"lru\", \"lmdb\"]`") && text.contains("No chain takes fewer"), "{text}");
    }
}
