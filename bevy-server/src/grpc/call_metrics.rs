//! Counts the calls of the floor service that have ended, for `floors_requests_total{rpc,code,tenant}`
//! and `floors_request_seconds{rpc}`. Each core counts in a part of its own.

use std::{
    array,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use bevy::prelude::*;
use floor_cache::metrics::Times;
use floor_proto::{rpc::Rpc, status::code_name};
use prometheus::Registry;
use tonic::Code;

use crate::{
    metrics::{Family, register_families},
    tenants::{TenantId, TenantNames},
};

/// Upper bounds of the buckets, from a hit in memory to a wait for the generation queue, in microseconds.
const BUCKETS: [u64; 16] =
    [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000];

/// The status codes of gRPC: 0 to 16.
const CODES: usize = 17;

/// Counts the calls that have ended. Cheap to clone.
#[derive(Resource, Debug, Clone)]
pub struct RequestMetrics {
    part: Part,
    parts: Parts,
}

/// What one core counts: of callers without a tenant, then of each tenant.
type Part = Arc<[EndedCalls]>;

/// The parts of all cores.
type Parts = Arc<Mutex<Vec<Part>>>;

/// The calls of one tenant on one core, by RPC, on cache lines of their own.
#[derive(Debug)]
#[repr(align(128))]
struct EndedCalls([EndedCallsOf; Rpc::COUNT]);

#[derive(Debug)]
struct EndedCallsOf {
    codes: [AtomicU64; CODES],
    /// The last has what is longer than every bound.
    buckets: [AtomicU64; BUCKETS.len() + 1],
    nanoseconds: AtomicU64,
}

impl RequestMetrics {
    /// Registers the metrics, with every method and code at 0: a rate needs a sample from before the first call.
    ///
    /// # Errors
    /// If `registry` already has metrics with these names.
    pub fn register(tenants: TenantNames, registry: &Registry) -> prometheus::Result<Self> {
        let (parts, count) = (Parts::default(), 1 + tenants.iter().count());
        let read = Arc::clone(&parts);
        let this = Self::part_of(parts, count);
        register_families(registry, move || families(&tenants, &lock(&read)))?;
        Ok(this)
    }

    fn part_of(parts: Parts, tenants: usize) -> Self {
        let zeros = || EndedCallsOf {
            codes: array::from_fn(|_| AtomicU64::new(0)),
            buckets: array::from_fn(|_| AtomicU64::new(0)),
            nanoseconds: AtomicU64::new(0),
        };
        let part: Part = (0..tenants).map(|_| EndedCalls(array::from_fn(|_| zeros()))).collect();
        lock(&parts).push(Arc::clone(&part));
        Self { part, parts }
    }

    /// The same, with a part of its own for another core.
    #[must_use]
    pub(crate) fn for_core(&self) -> Self {
        Self::part_of(Arc::clone(&self.parts), self.part.len())
    }

    /// Records a finished call of a caller of `tenant`.
    pub fn record(&self, rpc: Rpc, code: Code, tenant: Option<TenantId>, took: Duration) {
        let calls = &self.part[tenant.map_or(0, |tenant| 1 + tenant.index())].0[rpc as usize];
        calls.codes[code as usize].fetch_add(1, Relaxed);
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BUCKETS.partition_point(|bound| bound * 1000 < nanoseconds);
        calls.buckets[bucket].fetch_add(1, Relaxed);
        calls.nanoseconds.fetch_add(nanoseconds, Relaxed);
    }
}

/// The sums of all parts. The calls of a tenant are there from its first call of a method on; the times are those of all.
fn families(tenants: &TenantNames, parts: &[Part]) -> Vec<Family> {
    let names: Vec<_> = [""].into_iter().chain(tenants.iter().map(|(_, name)| name)).collect();
    let mut counts = Vec::new();
    for (place, tenant) in names.iter().enumerate() {
        for rpc in Rpc::ALL {
            let count = |code: usize| -> u64 {
                parts.iter().map(|part| part[place].0[rpc as usize].codes[code].load(Relaxed)).sum()
            };
            let codes: [u64; CODES] = array::from_fn(count);
            if tenant.is_empty() || codes.iter().any(|count| *count > 0) {
                let name = |code| code_name(Code::from_i32(code));
                counts.extend((0..).zip(codes).map(|(code, count)| ([*tenant, rpc.name(), name(code)], count)));
            }
        }
    }
    let times = Rpc::ALL.map(|rpc| {
        let mut times = Times::default();
        let calls = || parts.iter().flat_map(|part| part.iter()).map(|calls| &calls.0[rpc as usize]);
        let in_bucket = |bucket: usize| calls().map(|calls| calls.buckets[bucket].load(Relaxed)).sum::<u64>();
        for (bucket, bound) in BUCKETS.into_iter().enumerate() {
            times.count += in_bucket(bucket);
            times.buckets.push((Duration::from_micros(bound), times.count));
        }
        times.count += in_bucket(BUCKETS.len());
        times.sum = Duration::from_nanos(calls().map(|calls| calls.nanoseconds.load(Relaxed)).sum());
        times
    });
    let series = Rpc::ALL.into_iter().zip(&times).map(|(rpc, times)| ([rpc.name()], times));
    vec![
        Family::counter("floors_requests_total", "Calls by method and status code.", ["tenant", "rpc", "code"], counts),
        Family::histogram("floors_request_seconds", "Time inside the server by method, in seconds.", ["rpc"], series),
    ]
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use prometheus::TextEncoder;

    use super::*;

    #[test]
    fn every_code_of_every_method_has_a_zero_before_its_first_call() {
        let registry = Registry::new();
        let metrics = RequestMetrics::register(TenantNames::new(["acme", "globex"]), &registry).unwrap();
        let counts = || {
            let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
            let counts = text.lines().filter(|line| line.starts_with("floors_requests_total{"));
            counts.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(counts().len(), CODES * Rpc::COUNT);
        assert!(counts().iter().all(|count| count.ends_with(" 0")));
        let cores = [metrics.clone(), metrics.for_core()];
        for code in 0..CODES as i32 {
            cores[code as usize % 2].record(Rpc::StreamFloors, Code::from_i32(code), None, Duration::ZERO);
        }
        let of_streams = counts().iter().filter(|count| count.ends_with("rpc=\"StreamFloors\"} 1")).count();
        assert_eq!(of_streams, CODES);
        let tenant = TenantNames::new(["acme", "globex"]).find("globex");
        metrics.record(Rpc::GetFloor, Code::Ok, tenant, Duration::ZERO);
        let of_tenants: Vec<_> = counts().into_iter().filter(|count| count.contains("tenant")).collect();
        assert_eq!(of_tenants.len(), CODES, "{of_tenants:?}");
        let called = "floors_requests_total{code=\"OK\",rpc=\"GetFloor\",tenant=\"globex\"} 1";
        assert!(of_tenants.iter().any(|count| count == called), "{of_tenants:?}");
    }
}
