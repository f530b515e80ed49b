//! The response metadata: which tiers served a call, and how long they took.

use std::{fmt, time::Duration};

use tonic::metadata::MetadataMap;

/// The result of a call, and how the server produced it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<T> {
    /// The floors that were requested.
    pub value: T,
    /// The response metadata.
    pub served: Served,
}

/// How the server answered a call. The default if the response has no such metadata, as from another implementation
/// of the .proto.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Served {
    /// Number of floors from each tier: `floor-served-by`.
    pub by: ServedBy,
    /// Number of floors for which this call waited on another call for the same floor: `floor-coalesced`.
    pub coalesced: u64,
    /// Time spent in the server: `floor-server-us`, if [tracing](crate::CallOptions::trace) is on.
    pub server_time: Option<Duration>,
    /// Result and time of each tier, in lookup order: `floor-trace`, if tracing is on.
    pub trace: Vec<TraceStep>,
}

impl Served {
    /// Reads headers or trailers. Ignores unknown and malformed values, since they only describe the response.
    pub(crate) fn from_metadata(metadata: &MetadataMap) -> Self {
        let text = |key: &str| metadata.get(key).and_then(|value| value.to_str().ok());
        Self {
            by: text("floor-served-by").map(ServedBy::parse).unwrap_or_default(),
            coalesced: text("floor-coalesced").and_then(|count| count.trim().parse().ok()).unwrap_or(0),
            server_time: text("floor-server-us").and_then(|us| us.trim().parse().ok()).map(Duration::from_micros),
            trace: text("floor-trace").map(TraceStep::parse_all).unwrap_or_default(),
        }
    }

    /// Floors of which it is not known where they came from.
    pub(crate) fn unknown(floors: u32) -> Self {
        let by = if floors == 0 { Vec::new() } else { vec![("unknown".to_owned(), floors.into())] };
        Self { by: ServedBy(by), ..Self::default() }
    }

    /// Adds the counts of another call. Does not add times and traces.
    pub fn add(&mut self, other: &Self) {
        self.by.add(&other.by);
        self.coalesced += other.coalesced;
    }
}

/// Number of floors from each tier, in the order in which the tiers were first named.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServedBy(Vec<(String, u64)>);

impl ServedBy {
    /// One floor from `tier`.
    #[cfg(feature = "offline")]
    pub(crate) fn one_from(tier: &str) -> Self {
        Self(vec![(tier.to_owned(), 1)])
    }

    /// Reads `lru` (one floor) or `lru=3,lmdb=5,generated=8`.
    fn parse(text: &str) -> Self {
        let mut counts = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (tier, count) = part.split_once('=').unwrap_or((part, "1"));
            if let Ok(count) = count.trim().parse() {
                counts.count(tier.trim(), count);
            }
        }
        counts
    }

    /// The tiers and their numbers of floors.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(tier, count)| (tier.as_str(), *count))
    }

    /// Number of floors in all tiers.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        for (tier, count) in other.iter() {
            self.count(tier, count);
        }
    }

    fn count(&mut self, tier: &str, floors: u64) {
        match self.0.iter_mut().find(|(name, _)| name == tier) {
            Some((_, count)) => *count += floors,
            None => self.0.push((tier.to_owned(), floors)),
        }
    }
}

impl fmt::Display for ServedBy {
    /// `lru` for a single floor, otherwise `lru 3, lmdb 5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("unknown"),
            [(tier, 1)] => f.write_str(tier),
            counts => {
                for (i, (tier, count)) in counts.iter().enumerate() {
                    write!(f, "{}{tier} {count}", if i == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
        }
    }
}

/// One step of a traced call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceStep {
    /// A tier's name, or `generated`.
    pub tier: String,
    /// Result of the lookup: hit, miss, error, timeout or bypass. `None` for generation.
    pub outcome: Option<String>,
    /// Duration, in whole microseconds.
    pub cost: Duration,
}

impl TraceStep {
    /// Reads `lru=miss:1us,lmdb=miss:4us,generated:212us`.
    fn parse_all(text: &str) -> Vec<Self> {
        text.split(',').filter_map(|step| Self::parse(step.trim())).collect()
    }

    fn parse(step: &str) -> Option<Self> {
        let (what, cost) = step.rsplit_once(':')?;
        let cost = Duration::from_micros(cost.strip_suffix("us")?.parse().ok()?);
        let (tier, outcome) = match what.split_once('=') {
            Some((tier, outcome)) => (tier, Some(outcome.to_owned())),
            None => (what, None),
        };
        Some(Self { tier: tier.to_owned(), outcome, cost })
    }
}

impl fmt::Display for TraceStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Some(outcome) => write!(f, "{} {outcome} {} us", self.tier, self.cost.as_micros()),
            None => write!(f, "{} {} us", self.tier, self.cost.as_micros()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(pairs: &[(&'static str, &'static str)]) -> MetadataMap {
        let mut map = MetadataMap::new();
        for (key, value) in pairs {
            map.insert(*key, value.parse().unwrap());
        }
        map
    }

    #[test]
    fn a_single_answer_counts_one_floor() {
        let served = Served::from_metadata(&metadata(&[("floor-served-by", "lmdb"), ("floor-coalesced", "1")]));
        assert_eq!(served.by.iter().collect::<Vec<_>>(), [("lmdb", 1)]);
        assert_eq!(served.coalesced, 1);
        assert_eq!(served.by.to_string(), "lmdb");
    }

    #[test]
    fn batches_add_up() {
        let mut sum =
            Served::from_metadata(&metadata(&[("floor-served-by", "lru=3,lmdb=5"), ("floor-coalesced", "2")]));
        sum.add(&Served::from_metadata(&metadata(&[("floor-served-by", "generated=8,lru=1")])));
        assert_eq!(sum.by.to_string(), "lru 4, lmdb 5, generated 8");
        assert_eq!((sum.by.total(), sum.coalesced), (17, 2));
    }

    #[test]
    fn a_trace_keeps_its_order() {
        let served = Served::from_metadata(&metadata(&[
            ("floor-trace", "lru=miss:1us,lmdb=miss:4us,generated:212us"),
            ("floor-server-us", "220"),
        ]));
        let steps = served.trace.iter().map(TraceStep::to_string).collect::<Vec<_>>();
        assert_eq!(steps, ["lru miss 1 us", "lmdb miss 4 us", "generated 212 us"]);
        assert_eq!(served.server_time, Some(Duration::from_micros(220)));
    }

    #[test]
    fn malformed_values_are_ignored() {
        let served = Served::from_metadata(&metadata(&[
            ("floor-served-by", "lru=many,,=,lmdb=2"),
            ("floor-coalesced", "yes"),
            ("floor-trace", "lru,lmdb=hit:fast,sled=hit:3us"),
            ("floor-server-us", "-1"),
        ]));
        assert_eq!(served.by.to_string(), "lmdb 2");
        assert_eq!((served.coalesced, served.server_time), (0, None));
        assert_eq!(served.trace.len(), 1);
        assert_eq!(Served::from_metadata(&MetadataMap::new()), Served::default());
    }
}
