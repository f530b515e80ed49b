//! The cases of the guard: our code with the peer that it is compared with.

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use benches::{
    floors::{self, Entries},
    peers::{self, Dashmap, Moka, OurChain, Peer, QuickCache},
    stores::Store,
    tile_floor::{self, TileFloor},
    timing::answered,
};
use floor_cache::TierKind;
use prost::Message;

/// Floors of each case.
const COUNT: u32 = 256;

/// Lookups of a turn, which take about a millisecond.
const LOOKUPS: u64 = 10_000;

/// Times are those of a thousand lookups, since a `Duration` has only nanoseconds.
const PER_THOUSAND: u64 = 1000;

/// Our code and a peer that does the same work.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    ours: Work,
    peer: Work,
}

/// Does the work of a turn and checks it. Returns the time of one unit.
type Work = Box<dyn Fn() -> Duration>;

impl Case {
    /// Runs one turn of each. Returns our time divided by the peer's.
    pub(crate) fn turn(&mut self) -> f64 {
        let (ours, peer) = ((self.ours)(), (self.peer)());
        ours.as_secs_f64() / peer.as_secs_f64()
    }
}

/// All cases, ready to run. The bench `instructions` guards encoding and generating.
pub(crate) fn all() -> Vec<Case> {
    let entries = Arc::new(Entries::floors(COUNT));
    let chain = || peer_hit::<OurChain>(&entries);
    let case = |name, ours, peer| Case { name, ours, peer };
    vec![
        case("a hit of the chain / of quick_cache", chain(), peer_hit::<QuickCache>(&entries)),
        case("a hit of the chain / of moka", chain(), peer_hit::<Moka>(&entries)),
        case("a hit of LMDB / of a map", lmdb_hits(&entries), peer_hit::<Dashmap>(&entries)),
        decoding(),
    ]
}

fn decoding() -> Case {
    let made = floors::standard(COUNT);
    let bytes = floors::encoded(&made);
    let tiles: Vec<_> = made.iter().take(16).map(|floor| tile_floor::message(floor).encode_to_vec()).collect();
    Case {
        name: "decoding a floor / a message a tile",
        ours: Box::new(move || each(&bytes, |bytes| drop(black_box(floors::decoded(bytes))))),
        peer: Box::new(move || {
            each(&tiles, |bytes| drop(black_box(TileFloor::decode(&bytes[..]).expect("our own bytes"))))
        }),
    }
}

fn peer_hit<P: Peer>(entries: &Arc<Entries>) -> Work {
    let (peer, entries) = (peers::filled::<P>(entries), Arc::clone(entries));
    Box::new(move || lookups(|step| peer.get(&entries.at(step).0).is_some()))
}

fn lmdb_hits(entries: &Arc<Entries>) -> Work {
    let (store, entries) = (Store::filled(TierKind::Lmdb, &[entries]), Arc::clone(entries));
    Box::new(move || {
        store.runtime.block_on(async {
            let started = Instant::now();
            for step in 0..PER_THOUSAND {
                let found = black_box(answered(store.tier.get(&entries.at(step).0)).await);
                assert!(found.is_ok_and(|found| found.is_some()), "every lookup is a hit");
            }
            started.elapsed()
        })
    })
}

/// The mean time of `work` over `inputs`.
pub(crate) fn each<I>(inputs: &[I], work: impl FnMut(&I)) -> Duration {
    let started = Instant::now();
    inputs.iter().for_each(work);
    started.elapsed() / inputs.len() as u32
}

/// The time of a thousand lookups, all of which must be hits.
fn lookups(found: impl Fn(u64) -> bool) -> Duration {
    let started = Instant::now();
    let hits = (0..LOOKUPS).filter(|step| black_box(found(*step))).count() as u64;
    let took = started.elapsed();
    assert_eq!(hits, LOOKUPS, "every lookup was a hit");
    took / (LOOKUPS / PER_THOUSAND) as u32
}
