//! Counts the allocations of a hit: none in the chain, and in the service a few for the HTTP types.
//!
//! Counts are the same on every machine, so tests can assert them. They come from the global allocator.
#![allow(clippy::unwrap_used, reason = "a failed set-up shows its line")]

use std::{future::Future, net::Ipv4Addr, slice};

use benches::{floors::Entries, load, pregenerated::layers_in_memory, stores};
use bevy_server::{
    callers::{Budgets, Callers},
    config::{CallerIdentity, NoCache},
    grpc::{FloorService, InFlight, RequestMetrics, ServiceDeps},
    metrics::Refusals,
    tenants::TenantNames,
};
use bytes::Bytes;
use floor_cache::{Chain, LruConfig, Options, Tuning};
use floor_proto::v1;
use futures_util::FutureExt;
use http::Request;
use http_body_util::{BodyExt, Full};
use prometheus::Registry;
use tokio::runtime::Runtime;

/// Operations that are counted together, so that rare allocations count too.
const TIMES: u64 = 500;

/// Floors in the chain.
const COUNT: u32 = 64;

/// Allocations that one answered call may make: two for the header map of the response, and two for that of the trailers.
const MAX_PER_CALL: u64 = 4;

struct Fixture {
    chain: Chain,
    entries: Entries,
    _runtime: Runtime,
}

impl Fixture {
    /// Two layers in memory that hold every floor.
    fn warm() -> Self {
        let (runtime, entries) = (stores::runtime(), Entries::floors(COUNT));
        let tuning = Tuning::default();
        let layers = [LruConfig::default(), LruConfig::default()];
        let chain = layers_in_memory(&layers, &tuning, &entries, runtime.handle());
        entries.all().iter().for_each(|(key, _)| assert!(chain.get_now(key).is_some()));
        Self { chain, entries, _runtime: runtime }
    }
}

/// Allocations in [`TIMES`] runs of `work`, after one uncounted run.
fn allocations(mut work: impl FnMut(u64)) -> u64 {
    work(0);
    allocation_counter::measure(|| (1..=TIMES).for_each(&mut work)).count_total
}

fn ready<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().expect("a hit in memory is ready at once")
}

#[test]
fn a_hit_in_memory_allocates_nothing() {
    let Fixture { chain, entries, .. } = &Fixture::warm();
    assert_eq!(allocations(|step| assert!(chain.get_now(&entries.at(step).0).is_some())), 0, "get_now");
    let get = |step| ready(chain.get(entries.at(step).0, Options::default())).unwrap();
    assert_eq!(allocations(|step| assert_eq!(get(step).by, "first")), 0, "get");
    assert_eq!(allocations(|step| assert!(chain.contains_now(&entries.at(step).0))), 0, "contains_now");
}

#[test]
fn removing_from_two_layers_allocates_nothing() {
    let Fixture { chain, entries, .. } = &Fixture::warm();
    assert_eq!(allocations(|step| ready(chain.remove_many(slice::from_ref(&entries.at(step).0)))), 0);
    assert!(!chain.contains_now(&entries.at(0).0));
}

#[test]
fn an_answered_call_allocates_what_http_takes_and_no_floor() {
    let Fixture { chain, .. } = &Fixture::warm();
    let (registry, clients) = (Registry::new(), Callers::new(CallerIdentity::default()));
    let client = clients.at(Ipv4Addr::LOCALHOST.into());
    let deps = ServiceDeps {
        chains: chain.clone().into(),
        packs: bevy_server::packs::Packs::built_in(),
        metrics: RequestMetrics::register(TenantNames::default(), &registry).unwrap(),
        refusals: Refusals::register(&registry).unwrap(),
        in_flight: InFlight::default(),
        access_recorder: None,
        towers: None,
        budgets: Budgets::new(usize::MAX, false),
        no_cache: NoCache::None,
        observer: None,
    };
    let service = FloorService::new(deps);
    let spec = v1::FloorSpec { seed: benches::floors::TOWER, number: 1, kind: 1, ..v1::FloorSpec::default() };
    let message = load::framed(&v1::GetFloorRequest { spec: Some(spec) });
    let request = || {
        let request = Request::post("http://floors/floors.v1.FloorService/GetFloor");
        request.header("content-type", "application/grpc").body(Full::<Bytes>::new(message.clone())).unwrap()
    };
    let mut requests: Vec<_> = (0..=TIMES).map(|_| request()).collect();
    let mut answers = Vec::with_capacity(requests.len());
    let count = allocations(|_| {
        let mut answer = ready(service.clone().answer(requests.pop().unwrap(), client.clone()));
        // The trailers are made when they are sent.
        while let Some(frame) = ready(answer.body_mut().frame()) {
            assert!(frame.is_ok());
        }
        answers.push(answer);
    });
    assert!(answers.iter().all(|answer| answer.headers()["floor-served-by"] == "first"));
    println!("{TIMES} answered calls: {count} allocations");
    assert!(count <= TIMES * MAX_PER_CALL, "{count} allocations for {TIMES} calls");
}
