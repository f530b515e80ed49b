//! The cases of the guard: our code with the peer that it is compared with.

use std::{
    hint::black_box,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use benches::{
    floors::{self, Entries},
    peers::{self, Dashmap, Moka, OurChain, Peer, QuickCache},
    stores::Store,
    tile_floor,
    timing::answered,
};
use floor_cache::TierKind;
use floor_gen::{Generator, Kind};
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
    peer: Rc<Work>,
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

/// All cases, ready to run.
pub(crate) fn all() -> Vec<Case> {
    let entries = Arc::new(Entries::floors(COUNT));
    let made = Rc::new(floors::standard(COUNT));
    let tiles_out: Rc<Work> = Rc::new({
        let made = Rc::clone(&made);
        Box::new(move || {
            each(COUNT / 16, |n| {
                let floor = &made[n as usize];
                let bytes = tile_floor::message(floor).encode_to_vec();
                assert!(bytes.len() > floor.spec.cells());
            })
        })
    });
    let tiles_in: Rc<Work> = Rc::new({
        let bytes: Vec<_> = made.iter().take(16).map(|floor| tile_floor::message(floor).encode_to_vec()).collect();
        Box::new(move || {
            each(bytes.len() as u32, |n| {
                let floor = tile_floor::TileFloor::decode(&bytes[n as usize][..]).expect("our own bytes");
                black_box(floor);
            })
        })
    });
    let case = |name, ours, peer: Rc<Work>| Case { name, ours, peer };
    vec![
        case(
            "a hit of the chain / of quick_cache",
            peer_hit::<OurChain>(&entries),
            Rc::new(peer_hit::<QuickCache>(&entries)),
        ),
        case("a hit of the chain / of moka", peer_hit::<OurChain>(&entries), Rc::new(peer_hit::<Moka>(&entries))),
        case("a hit of LMDB / of a map", lmdb_hits(&entries), Rc::new(peer_hit::<Dashmap>(&entries))),
        case("encoding a floor / a message a tile", encode(&made), Rc::clone(&tiles_out)),
        case("decoding a floor / a message a tile", decode(&made), tiles_in),
        case("making a floor / encoding one a message a tile", generate(), tiles_out),
    ]
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

fn encode(made: &Rc<Vec<floor_gen::Floor>>) -> Work {
    let made = Rc::clone(made);
    Box::new(move || each(COUNT, |n| assert!(black_box(floor_wire::framed(&made[n as usize])).len() > 100)))
}

fn decode(made: &[floor_gen::Floor]) -> Work {
    let bytes = floors::encoded(made);
    Box::new(move || {
        each(COUNT, |n| {
            black_box(floors::decoded(&bytes[n as usize]));
        })
    })
}

fn generate() -> Work {
    let specs = floors::specs(Kind::Standard, floors::SIDE, COUNT / 16);
    Box::new(move || {
        let mut generator = Generator::new();
        black_box(generator.generate(&specs[0]));
        let took = each(specs.len() as u32, |n| {
            black_box(generator.generate(&specs[n as usize]));
        });
        assert_eq!(generator.fallbacks(), 0, "no fallback floor was generated");
        took
    })
}

/// The mean time of `count` runs.
fn each(count: u32, mut work: impl FnMut(u32)) -> Duration {
    let started = Instant::now();
    (0..count).for_each(&mut work);
    started.elapsed() / count
}

/// The time of a thousand lookups, all of which must be hits.
fn lookups(found: impl Fn(u64) -> bool) -> Duration {
    let started = Instant::now();
    let hits = (0..LOOKUPS).filter(|step| black_box(found(*step))).count() as u64;
    let took = started.elapsed();
    assert_eq!(hits, LOOKUPS, "every lookup was a hit");
    took / (LOOKUPS / PER_THOUSAND) as u32
}
