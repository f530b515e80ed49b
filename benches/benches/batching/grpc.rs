//! Batches over gRPC: unary calls, one batch, or one stream, from the generated client to a server on this machine.
//!
//! Every floor is in the server's memory, so that the benches compare the calls. The client decodes each floor.

use std::{
    cell::LazyCell,
    time::{Duration, Instant},
};

use benches::{
    floors::TOWER,
    server::{Server, Setup},
    stores,
};
use criterion::{BenchmarkId, Criterion, Throughput};
use floor_proto::v1::{
    BatchGetFloorsRequest, Floor, FloorSpec, GetFloorRequest, StreamFloorsRequest,
    floor_service_client::FloorServiceClient,
};
use futures_util::future::try_join_all;
use tokio::runtime::Runtime;
use tonic::{Status, transport::Channel};

/// Floors that are requested together.
const COUNTS: [u32; 3] = [1, 16, 64];

/// Floors in the server's memory, from number 1: a multiple of each count.
const WARM: u32 = 1024;

type Client = FloorServiceClient<Channel>;

pub(crate) fn grpc(criterion: &mut Criterion) {
    if !Setup::is_available() {
        return;
    }
    let fixture = LazyCell::new(Fixture::open);
    let mut group = criterion.benchmark_group("batching/grpc");
    for count in COUNTS {
        group.throughput(Throughput::Elements(count.into()));
        group.bench_function(BenchmarkId::new("calls-in-turn", count), |bencher| {
            bencher.iter_custom(|steps| fixture.timed(steps, count, calls_in_turn));
        });
        group.bench_function(BenchmarkId::new("calls-at-once", count), |bencher| {
            bencher.iter_custom(|steps| fixture.timed(steps, count, calls_at_once));
        });
        group.bench_function(BenchmarkId::new("batch", count), |bencher| {
            bencher.iter_custom(|steps| fixture.timed(steps, count, batch));
        });
        group.bench_function(BenchmarkId::new("stream", count), |bencher| {
            bencher.iter_custom(|steps| fixture.timed(steps, count, stream));
        });
    }
}

/// A server with every floor in memory, and one connection to it.
struct Fixture {
    runtime: Runtime,
    client: Client,
    server: Server,
}

impl Fixture {
    fn open() -> Self {
        let runtime = stores::runtime();
        // Consecutive floors are a climb, and prefetched floors would be counted too.
        let setup = Setup::new().with("GENERATION__PREFETCH", "false");
        let server = setup.start().expect("the server starts");
        let address = format!("http://{}", server.grpc);
        let connected = runtime.block_on(FloorServiceClient::connect(address)).expect("it takes a connection");
        let fixture = Self { runtime, client: connected, server };
        fixture.run(1, WARM, stream);
        fixture
    }

    /// Times `steps` calls of `ask` for `count` floors. Asserts that every floor came from memory and in order.
    fn timed(
        &self,
        steps: u64,
        count: u32,
        ask: impl AsyncFn(&mut Client, u32, u32) -> Result<Vec<Floor>, Status>,
    ) -> Duration {
        let before = self.hits();
        let took = self.run(steps, count, ask);
        assert_eq!(self.hits() - before, steps * u64::from(count), "every floor came from memory");
        took
    }

    /// The server's hits in memory so far.
    fn hits(&self) -> u64 {
        self.server.hits("lru").expect("the server's metrics can be read") as u64
    }

    fn run(
        &self,
        steps: u64,
        count: u32,
        ask: impl AsyncFn(&mut Client, u32, u32) -> Result<Vec<Floor>, Status>,
    ) -> Duration {
        let mut client = self.client.clone();
        self.runtime.block_on(async {
            let started = Instant::now();
            for step in 0..steps {
                let first = 1 + (step % u64::from(WARM / count)) as u32 * count;
                let floors = ask(&mut client, first, count).await.expect("the server answers");
                let numbers = floors.iter().map(|floor| floor.spec.as_ref().map_or(0, |spec| spec.number));
                assert!(numbers.eq(first..first + count), "the floors asked for, in order");
            }
            started.elapsed()
        })
    }
}

fn spec(number: u32) -> FloorSpec {
    FloorSpec { seed: TOWER, number, ..FloorSpec::default() }
}

async fn get_floor(mut client: Client, number: u32) -> Result<Floor, Status> {
    Ok(client.get_floor(GetFloorRequest { spec: Some(spec(number)) }).await?.into_inner())
}

async fn calls_in_turn(client: &mut Client, first: u32, count: u32) -> Result<Vec<Floor>, Status> {
    let mut floors = Vec::with_capacity(count as usize);
    for number in first..first + count {
        floors.push(get_floor(client.clone(), number).await?);
    }
    Ok(floors)
}

async fn calls_at_once(client: &mut Client, first: u32, count: u32) -> Result<Vec<Floor>, Status> {
    try_join_all((first..first + count).map(|number| get_floor(client.clone(), number))).await
}

async fn batch(client: &mut Client, first: u32, count: u32) -> Result<Vec<Floor>, Status> {
    let specs = (first..first + count).map(spec).collect();
    Ok(client.batch_get_floors(BatchGetFloorsRequest { specs }).await?.into_inner().floors)
}

async fn stream(client: &mut Client, first: u32, count: u32) -> Result<Vec<Floor>, Status> {
    let request = StreamFloorsRequest { first: Some(spec(first)), count };
    let mut answers = client.stream_floors(request).await?.into_inner();
    let mut floors = Vec::with_capacity(count as usize);
    while let Some(floor) = answers.message().await? {
        floors.push(floor);
    }
    Ok(floors)
}
