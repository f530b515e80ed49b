//! A cell of the grid: a store, a load and a number of servers. It builds the requests of its load.

use std::{fmt, iter, num::NonZero, sync::Arc, thread, time::Duration};

use bytes::Bytes;
use floor_cache::TierKind;
use floor_proto::{limits, v1};
use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};
use rand_distr::{Distribution as _, Zipf};

use crate::{
    floors::TOWER,
    load::{self, Rpc, Shape},
    redis_server::RedisServer,
    server::Setup,
};

/// The store below memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreKind {
    /// Its tier.
    pub tier: TierKind,
    /// Microseconds by which a proxy delays the replies of Redis; 0 means no proxy.
    pub delay_us: u64,
}

impl StoreKind {
    /// The store of `tier`, without a delay.
    pub const fn of(tier: TierKind) -> Self {
        Self { tier, delay_us: 0 }
    }

    /// Redis with `delay_us`.
    pub const fn redis(delay_us: u64) -> Self {
        Self { tier: TierKind::Redis, delay_us }
    }

    /// Whether several servers can share it.
    pub fn is_shared(self) -> bool {
        self.tier == TierKind::Redis
    }

    /// The additional delay of its replies.
    pub const fn delay(self) -> Duration {
        Duration::from_micros(self.delay_us)
    }
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.delay_us {
            0 => write!(f, "{}", self.tier),
            micros => write!(f, "{}+{}ms", self.tier, micros as f64 / 1e3),
        }
    }
}

/// Which floors the calls request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// Zipf's law: floor `n` with a probability proportional to `n^-(tenths / 10)`.
    Zipf {
        /// The exponent times ten.
        tenths: u8,
    },
    /// Every floor with the same probability.
    Uniform,
    /// Floors in order, repeated.
    Scan,
}

impl Keys {
    /// The numbers of the requested floors, of 1 ..= `count`, without end. They are the same in every run.
    pub fn numbers(self, count: u32) -> Box<dyn Iterator<Item = u32>> {
        let mut rng = SmallRng::seed_from_u64(TOWER);
        match self {
            Self::Zipf { tenths } => {
                let zipf = Zipf::new(f64::from(count), f64::from(tenths) / 10.0).expect("floors, an exponent above 0");
                Box::new(zipf.sample_iter(rng).map(|number: f64| number as u32))
            }
            Self::Uniform => Box::new(iter::repeat_with(move || rng.random_range(1..=count))),
            Self::Scan => Box::new((1..=count).cycle()),
        }
    }
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zipf { tenths } => write!(f, "zipf{:.1}", f64::from(*tenths) / 10.0),
            Self::Uniform => f.write_str("uniform"),
            Self::Scan => f.write_str("scan"),
        }
    }
}

/// Floors in the messages that are built before the clock runs. After them the messages repeat.
const TABLE: u32 = 1 << 16;

/// Most floors of a batch that fills a store. Of slow ones, four batches still fit into the queue.
const FILLING_BATCH: usize = 64;

/// One combination of store, load and servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The store.
    pub store: StoreKind,
    /// Calls in flight.
    pub shape: Shape,
    /// Which floors the calls request.
    pub keys: Keys,
    /// The side of a floor, in cells.
    pub side: u16,
    /// Floors in a call.
    pub batch: u32,
    /// Server processes.
    pub servers: usize,
}

impl Cell {
    /// The plain cell. Others differ from it in one or two fields.
    pub const PLAIN: Self = Self {
        store: StoreKind::redis(0),
        shape: Shape::new(4, 10),
        keys: Keys::Uniform,
        side: 100,
        batch: 1,
        servers: 1,
    };

    /// Whether this is low load, which latency judges. Other loads are saturation, which answers a second judge.
    pub const fn is_low_load(&self) -> bool {
        self.shape.in_flight() == 1
    }

    /// Whether this machine has every process that it needs, and threads enough that the server refuses no call: 1024
    /// floors may wait for each.
    pub fn can_run(&self) -> bool {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        Setup::is_available()
            && self.shape.in_flight() * self.batch as usize <= 1024 * threads
            && (!self.store.is_shared() || RedisServer::is_available())
    }

    /// Distinct floors of the load: few enough that the store fills in seconds, and enough that a tenth of them fills
    /// the least memory that can be configured, 1 MiB.
    pub const fn floors(&self) -> u32 {
        match self.side {
            0..=32 => 16_000,
            33..=100 => 5000,
            101..=256 => 2000,
            _ => 600,
        }
    }

    /// The RPC that is called.
    pub const fn rpc(&self) -> Rpc {
        if self.batch == 1 { Rpc::GetFloor } else { Rpc::BatchGetFloors }
    }

    /// The framed messages of the calls, the same for every variant.
    pub fn messages(&self) -> Arc<[Bytes]> {
        let mut numbers = self.keys.numbers(self.floors());
        // A whole number of passes, so that a repeated scan continues with floor 1.
        let calls = if self.keys == Keys::Scan { self.floors() } else { TABLE / self.batch };
        (0..calls).map(|_| self.message(numbers.by_ref().take(self.batch as usize))).collect()
    }

    /// Batches with every floor once, to fill a store.
    pub fn filling(&self) -> Arc<[Bytes]> {
        let cells = u64::from(self.side).pow(2);
        let most = ((limits::MAX_BATCH_CELLS / cells) as usize).clamp(1, FILLING_BATCH);
        let numbers: Vec<u32> = (1..=self.floors()).collect();
        numbers.chunks(most).map(|numbers| self.batch(numbers.iter().copied())).collect()
    }

    fn message(&self, numbers: impl Iterator<Item = u32>) -> Bytes {
        if self.batch > 1 {
            return self.batch(numbers);
        }
        let spec = numbers.map(|number| self.spec(number)).next();
        load::framed(&v1::GetFloorRequest { spec })
    }

    fn batch(&self, numbers: impl Iterator<Item = u32>) -> Bytes {
        load::framed(&v1::BatchGetFloorsRequest { specs: numbers.map(|number| self.spec(number)).collect() })
    }

    fn spec(&self, number: u32) -> v1::FloorSpec {
        let side = u32::from(self.side);
        v1::FloorSpec { seed: TOWER, number, width: side, height: side, ..v1::FloorSpec::default() }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { store, shape, keys, side, batch, servers } = self;
        write!(f, "{store} {shape} {keys} {side} b{batch} s{servers}")
    }
}
