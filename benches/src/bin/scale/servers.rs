//! The cost of a call when servers share one Redis: for a floor generated, found in Redis, and found in memory.

use std::{sync::Arc, thread, time::Duration};

use anyhow::ensure;
use benches::{
    floors::TOWER,
    load::{self, ClosedLoop, Rpc, Shape},
    process::{cpu_time, wait_until},
    redis_server::RedisServer,
    server::{Server, Setup},
};
use bytes::Bytes;
use floor_proto::v1;

use crate::Curve;

const SERVERS: [usize; 3] = [1, 2, 4];

/// Distinct floors. Each server generates its share.
const FLOORS: u32 = 2400;

/// Calls to each server after it has every floor in memory.
const HITS: u64 = 12_000;

/// Connections to a server and calls in flight on each.
const SHAPE: Shape = Shape::new(2, 10);

/// Settings of every server. Redis is asked even where generating is cheaper, and may be slow on a busy machine. Without
/// prefetching each floor is generated once.
const SETTINGS: [(&str, &str); 4] = [
    ("CACHE__CHAIN", "[\"lru\",\"redis\"]"),
    ("CACHE__BYPASS", "off"),
    ("CACHE__REDIS__TIMEOUT", "5s"),
    ("PREFETCH__AHEAD", "0"),
];

pub(crate) fn measure() -> anyhow::Result<Vec<Curve>> {
    if !RedisServer::is_available() {
        return Ok(Vec::new());
    }
    let (mut made, mut found, mut hit) = (Vec::new(), Vec::new(), Vec::new());
    for count in SERVERS {
        let size = count as f64;
        let fleet = Fleet::start(count)?;
        made.push((size, fleet.generate_shares()?));
        if count > 1 {
            found.push((size, fleet.find_others()?));
        }
        hit.push((size, fleet.hit_memory()?));
        let generations = fleet.servers.iter().map(Server::generations).sum::<anyhow::Result<f64>>()?;
        ensure!(generations == f64::from(FLOORS), "{generations} floors were generated, not {FLOORS}");
    }
    let curve = |what: &str, points| Curve { what: what.to_owned(), size: "servers", cost: "us of CPU", points };
    Ok(vec![
        curve("a floor made and given to the shared Redis", made),
        curve("a floor found in Redis that another server made", found),
        curve("a hit in a server's own memory", hit),
    ])
}

struct Fleet {
    servers: Vec<Server>,
    redis: RedisServer,
}

impl Fleet {
    fn start(count: usize) -> anyhow::Result<Self> {
        let redis = RedisServer::start()?;
        let setup = Setup::new().with_all(&SETTINGS).with("CACHE__REDIS__URL", redis.tcp_url());
        let servers = (0..count).map(|_| setup.start()).collect::<anyhow::Result<Vec<_>>>()?;
        Ok(Self { servers, redis })
    }

    /// Requests each of the floors 1 ..= [`FLOORS`] from one server, which generates and stores it.
    fn generate_shares(&self) -> anyhow::Result<f64> {
        let count = self.servers.len();
        let cost = self.cost(|server| (1..=FLOORS).filter(|number| *number as usize % count == server).collect())?;
        self.wait_until_redis_has_all()?;
        Ok(cost)
    }

    /// Requests from each server the floors that the others generated.
    fn find_others(&self) -> anyhow::Result<f64> {
        let count = self.servers.len();
        let before = self.redis_hits()?;
        let cost = self.cost(|server| (1..=FLOORS).filter(|number| *number as usize % count != server).collect())?;
        let (found, asked) = (self.redis_hits()? - before, f64::from(FLOORS) * (count - 1) as f64);
        ensure!(found == asked, "{found} of {asked} floors were found in Redis");
        Ok(cost)
    }

    /// Requests from each server floors that it has in memory.
    fn hit_memory(&self) -> anyhow::Result<f64> {
        self.cost(|_| (1..=FLOORS).cycle().take(HITS as usize).collect())
    }

    /// CPU microseconds of a call, of all servers and Redis, while each server is called for its `numbers` at once.
    fn cost(&self, numbers: impl Fn(usize) -> Vec<u32>) -> anyhow::Result<f64> {
        let shares: Vec<Arc<[Bytes]>> = (0..self.servers.len())
            .map(|server| numbers(server).into_iter().map(request).collect::<Vec<_>>().into())
            .collect();
        let calls: usize = shares.iter().map(|share| share.len()).sum();
        let before = self.cpu()?;
        thread::scope(|scope| {
            let load = |(server, share): (&Server, Arc<[Bytes]>)| {
                let calls = share.len() as u64;
                let mut load = ClosedLoop::new([server.grpc], Rpc::GetFloor, SHAPE, share);
                scope.spawn(move || load.run_calls(calls))
            };
            let loads: Vec<_> = self.servers.iter().zip(shares).map(load).collect();
            loads.into_iter().try_for_each(|load| load.join().expect("a load does not panic").map(drop))
        })?;
        Ok((self.cpu()? - before).as_secs_f64() * 1e6 / calls as f64)
    }

    fn cpu(&self) -> anyhow::Result<Duration> {
        let servers = self.servers.iter().map(|server| Ok(cpu_time(server.pid())?));
        Ok(servers.sum::<anyhow::Result<Duration>>()? + cpu_time(self.redis.pid())?)
    }

    fn redis_hits(&self) -> anyhow::Result<f64> {
        self.servers.iter().map(|server| server.hits("redis")).sum()
    }

    /// Servers write to Redis after the answers.
    fn wait_until_redis_has_all(&self) -> anyhow::Result<()> {
        const WRITTEN: &str = "floors_tier_writes_total{outcome=\"stored\",tier=\"redis\"}";
        wait_until("every floor written to Redis", Duration::from_secs(20), || {
            let written = self.servers.iter().map(|server| server.metric(WRITTEN)).sum::<anyhow::Result<f64>>()?;
            Ok(written >= f64::from(FLOORS))
        })
    }
}

/// A request for a STANDARD floor. With one kind all shares cost the same.
fn request(number: u32) -> Bytes {
    let kind = v1::FloorKind::Standard.into();
    load::framed(&v1::GetFloorRequest {
        spec: Some(v1::FloorSpec { seed: TOWER, number, kind, ..v1::FloorSpec::default() }),
    })
}
