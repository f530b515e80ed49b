//! Which chain to use: the one with the least CPU, and of those within a few percent the one with the fewest tiers.

use benches::{
    chains::Candidate,
    sample::{Ratio, Samples},
};

use crate::{
    all_cpu,
    workload::{COLD, WARM},
};

/// A chain is as good as the cheapest if the lower end of its interval is at most this much above it, and its mean at
/// most [`MOST`]: a tier must be operated. With the interval alone a noisy machine would excuse any chain.
const AS_GOOD: f64 = 1.03;
const MOST: f64 = 1.1;

/// The chain to use and the reason, in Markdown.
pub(crate) fn choose(samples: &Samples, chains: &[Candidate]) -> String {
    let cost = |chain: &Candidate| cpu(samples, *chain);
    let Some(cheapest) = chains.iter().min_by(|one, other| cost(one).total_cmp(&cost(other))) else {
        return "No chain was measured.".to_owned();
    };
    let is_as_good = |chain: &&Candidate| {
        let ratio = to(samples, **chain, *cheapest);
        ratio.low <= AS_GOOD && ratio.value <= MOST
    };
    let chosen = chains.iter().filter(is_as_good).min_by_key(|chain| chain.tiers().len()).unwrap_or(cheapest);
    let mut text = format!(
        "**Use `{:?}` for one server here.** A million requests take {:.0} CPU seconds, the mean of cold and warm",
        chosen.tiers(),
        cost(chosen)
    );
    if let Some(generation) = chains.iter().find(|chain| **chain == Candidate::GenerationOnly && *chain != chosen) {
        let ratio = to(samples, *generation, *chosen);
        text += &format!("; generating every floor takes {} times as many", interval(&ratio));
    }
    text += ".";
    if chosen == cheapest {
        text += " No chain takes fewer.";
    } else {
        let ratio = to(samples, *chosen, *cheapest);
        let has_more = cheapest.tiers().len() > chosen.tiers().len();
        let reason = if has_more { "has more tiers to operate" } else { "costs the same within the noise" };
        text += &format!(" That is {} times those of `{:?}`, which {reason}.", interval(&ratio), cheapest.tiers());
    }
    text + " Several servers that share floors need Redis: docs/operating.md has the cases."
}

/// CPU microseconds of a request, the mean of cold and warm.
fn cpu(samples: &Samples, chain: Candidate) -> f64 {
    let name = chain.name();
    (samples.mean(COLD, &name, all_cpu) + samples.mean(WARM, &name, all_cpu)) / 2.0
}

/// The ratio of the CPU of `one` to that of `other`, within rounds.
fn to(samples: &Samples, one: Candidate, other: Candidate) -> Ratio {
    let rounds = |chain: Candidate| {
        let [cold, warm] = [COLD, WARM].map(|load| samples.figures(load, &chain.name(), all_cpu));
        cold.into_iter().zip(warm).map(|(cold, warm)| cold + warm).collect::<Vec<_>>()
    };
    Ratio::of(rounds(one).into_iter().zip(rounds(other)))
}

fn interval(ratio: &Ratio) -> String {
    format!("{:.2} ({:.2} to {:.2})", ratio.value, ratio.low, ratio.high)
}

#[cfg(test)]
mod tests {
    use benches::sample::Sample;

    use super::*;

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
        let costs = [(Candidate::GenerationOnly, 90.0), (Candidate::LruLmdb, 20.2), (Candidate::LruLmdbRedis, 20.0)];
        let text = choose(&samples(&costs), &costs.map(|(chain, _)| chain));
        assert!(text.contains("Use `[\"lru\", \"lmdb\"]`") && text.contains("4.46 ("), "{text}");
        assert!(text.contains("1.01 (1.01 to 1.01) times those of"), "{text}");
    }

    #[test]
    fn a_cheaper_chain_is_chosen_though_it_is_longer() {
        let costs = [(Candidate::Lru, 30.0), (Candidate::LruLmdb, 20.0)];
        let text = choose(&samples(&costs), &costs.map(|(chain, _)| chain));
        assert!(text.contains("Use `[\"lru\", \"lmdb\"]`") && text.contains("No chain takes fewer"), "{text}");
    }
}
