//! What each tier did in the last minute, for `floorctl tiers --watch`: drawn for a terminal, or as lines.

use std::{collections::VecDeque, fmt::Write as _, time::Duration};

use floor_client::{ServerInfo, TierInfo};
use floor_export::escape::escaped;
use indicatif::HumanCount;

use crate::chart::sparkline;

/// The most intervals that are drawn.
const INTERVALS: usize = 60;
/// The characters of a line besides the name of the tier and the intervals.
const BESIDE: usize = 24;

/// The rates of the tiers, from one reading of their counts to the next.
#[derive(Default)]
pub(crate) struct TierRates {
    tiers: Vec<Tier>,
    /// Of the last reading. A server that has started since counts from 0.
    uptime_seconds: u64,
}

struct Tier {
    name: String,
    hits: u64,
    misses: u64,
    /// The last ones, the newest at the end; `None` while the server did not answer.
    intervals: VecDeque<Option<Rates>>,
}

/// What a tier did in an interval.
#[derive(Debug, Clone, Copy)]
struct Rates {
    /// Floors looked up a second; for generation, floors generated.
    lookups: f64,
    /// The share that was found, `None` without a lookup.
    hits: Option<f64>,
}

impl TierRates {
    /// Adds the interval between the last reading and `info`, `elapsed` later. The first reading has none.
    pub(crate) fn add(&mut self, info: &ServerInfo, elapsed: Duration) {
        let restarted = info.uptime_seconds < self.uptime_seconds;
        let known = std::mem::take(&mut self.tiers);
        let tier = |now: &TierInfo| {
            let TierInfo { ref name, hits, misses, .. } = *now;
            let mut intervals = VecDeque::new();
            if let Some(last) = known.iter().find(|last| last.name == *name) {
                let counted = |last: u64, now: u64| if restarted { now } else { now.saturating_sub(last) } as f64;
                let (found, missed) = (counted(last.hits, hits), counted(last.misses, misses));
                let lookups = found + missed;
                let rates =
                    Rates { lookups: lookups / elapsed.as_secs_f64(), hits: (lookups > 0.0).then(|| found / lookups) };
                intervals.clone_from(&last.intervals);
                push(&mut intervals, Some(rates));
            }
            Tier { name: name.clone(), hits, misses, intervals }
        };
        self.tiers = info.tiers.iter().map(tier).collect();
        self.uptime_seconds = info.uptime_seconds;
    }

    /// Adds an interval in which the server did not answer.
    pub(crate) fn skip(&mut self) {
        self.tiers.iter_mut().for_each(|tier| push(&mut tier.intervals, None));
    }

    /// Two lines for each tier, one for generation, of at most `width` characters.
    pub(crate) fn drawing(&self, width: usize) -> String {
        let names: Vec<_> = self.tiers.iter().map(|tier| escaped(&tier.name)).collect();
        let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
        let columns = width.saturating_sub(longest + BESIDE).clamp(1, INTERVALS);
        let mut text = String::new();
        for (tier, name) in self.tiers.iter().zip(names) {
            let mut line = |name: &str, what, value: fn(Rates) -> Option<f64>, most: Option<f64>, last: String| {
                let skipped = tier.intervals.len().saturating_sub(columns);
                let values: Vec<_> = tier.intervals.iter().skip(skipped).map(|rates| rates.and_then(value)).collect();
                let most = most.unwrap_or_else(|| values.iter().flatten().fold(0.0, |most, value| value.max(most)));
                let bars = sparkline(values, most);
                let _ = write!(text, "\n{name:<longest$}  {what:<9}  {bars:>columns$}  {last:>9}");
            };
            let (what, lookups, hits) = tier.last();
            line(&name, what, |rates| Some(rates.lookups), None, lookups);
            if let Some(hits) = hits {
                line("", "hit rate", |rates| rates.hits, Some(1.0), hits);
            }
        }
        text
    }

    /// A line for each tier with its last interval.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.tiers.iter().map(|tier| match tier.last() {
            (what, lookups, None) => format!("{}  {lookups} {what}", tier.name),
            (what, lookups, Some(hits)) => format!("{}  {lookups} {what}, hit rate {hits}", tier.name),
        })
    }
}

impl Tier {
    /// What is counted, its rate in the last interval, and the hit rate. Generation has none.
    fn last(&self) -> (&'static str, String, Option<String>) {
        let rates = self.intervals.back().copied().flatten();
        let number = |rates: Rates| HumanCount(rates.lookups.round() as u64).to_string();
        let percent = |hits: f64| format!("{:.1} %", hits * 100.0);
        let none = || "-".to_owned();
        let lookups = rates.map_or_else(none, number);
        if self.name == "generated" {
            return ("floors/s", lookups, None);
        }
        ("lookups/s", lookups, Some(rates.and_then(|rates| rates.hits).map_or_else(none, percent)))
    }
}

fn push(intervals: &mut VecDeque<Option<Rates>>, rates: Option<Rates>) {
    intervals.push_back(rates);
    if intervals.len() > INTERVALS {
        intervals.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(uptime_seconds: u64, counts: &[(&str, u64, u64)]) -> ServerInfo {
        let tier =
            |&(name, hits, misses): &_| TierInfo { name: String::from(name), hits, misses, ..TierInfo::default() };
        ServerInfo { uptime_seconds, tiers: counts.iter().map(tier).collect(), ..ServerInfo::default() }
    }

    fn lines(rates: &TierRates) -> Vec<String> {
        rates.lines().collect()
    }

    #[test]
    fn rates_are_those_of_the_interval_also_after_a_restart() {
        let (mut rates, two_seconds) = (TierRates::default(), Duration::from_secs(2));
        rates.add(&info(100, &[("lru", 5_000, 1_000), ("generated", 1_000, 0)]), Duration::ZERO);
        assert_eq!(lines(&rates), ["lru  - lookups/s, hit rate -", "generated  - floors/s"]);
        rates.add(&info(102, &[("lru", 8_000, 2_000), ("generated", 2_000, 0)]), two_seconds);
        assert_eq!(lines(&rates), ["lru  2,000 lookups/s, hit rate 75.0 %", "generated  500 floors/s"]);
        rates.add(&info(104, &[("lru", 8_000, 2_000), ("generated", 2_000, 0)]), two_seconds);
        assert_eq!(lines(&rates), ["lru  0 lookups/s, hit rate -", "generated  0 floors/s"]);
        rates.skip();
        assert_eq!(lines(&rates), ["lru  - lookups/s, hit rate -", "generated  - floors/s"]);
        rates.add(&info(1, &[("lru", 10, 30), ("lmdb", 3, 27), ("generated", 27, 0)]), Duration::from_secs(4));
        let expected = ["lru  10 lookups/s, hit rate 25.0 %", "lmdb  - lookups/s, hit rate -", "generated  7 floors/s"];
        assert_eq!(lines(&rates), expected);
    }

    #[test]
    fn a_drawing_has_the_intervals_that_fit() {
        let mut rates = TierRates::default();
        for (second, hits) in [(0, 0), (1, 80), (2, 120), (3, 220)] {
            rates.add(&info(second, &[("l\x1bu", hits, 2 * second), ("generated", second, 0)]), Duration::from_secs(1));
        }
        rates.skip();
        let expected = "\n\
            l\\u001bu   lookups/s                  ▇▄█           -\n           \
                       hit rate                   ███           -\n\
            generated  floors/s                   ███           -";
        assert_eq!(rates.drawing(53), expected);
        assert_eq!(rates.drawing(36).lines().nth(1), Some("l\\u001bu   lookups/s  ▄█           -"));
        assert!(rates.drawing(53).lines().all(|line| line.chars().count() <= 53));
        assert!(rates.drawing(0).contains("lookups/s"));
    }
}
