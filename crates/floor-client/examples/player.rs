//! A fake player for `.ci/restart`: `player SERVER SECONDS`. It calls and streams for that time, prints a line for each
//! failure, and a summary.

use std::{
    env,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::{Duration, Instant},
};

use floor_client::{ClientError, FloorClient, FloorSpec};
use tokio::time::sleep;

const PAUSE: Duration = Duration::from_millis(5);
/// Floors of a stream.
const STREAM: u32 = 300;
const SIDE: u32 = 32;

/// What the player got until the end.
struct Player {
    client: FloorClient,
    end: Instant,
    calls: AtomicU32,
    floors: AtomicU32,
    failed: AtomicU32,
    longest_ms: AtomicU32,
}

impl Player {
    fn plays(&self) -> bool {
        Instant::now() < self.end
    }

    /// Awaits a step, and counts it if it fails.
    async fn timed<T>(&self, name: &str, step: impl Future<Output = Result<T, ClientError>>) -> Option<T> {
        let started = Instant::now();
        let result = step.await;
        self.longest_ms.fetch_max(started.elapsed().as_millis() as u32, Relaxed);
        result
            .inspect_err(|error| {
                self.failed.fetch_add(1, Relaxed);
                println!("{name}: {error}");
            })
            .ok()
    }

    async fn call(&self) {
        for number in 1.. {
            let spec = FloorSpec::new(42, number).with_size(SIDE, SIDE);
            if self.timed("call", self.client.get(spec)).await.is_some() {
                self.calls.fetch_add(1, Relaxed);
            }
            if !self.plays() {
                return;
            }
            sleep(PAUSE).await;
        }
    }

    async fn stream(&self) {
        loop {
            let first = FloorSpec::new(43, 1).with_size(SIDE, SIDE);
            if let Some(mut stream) = self.timed("stream", self.client.stream(first, STREAM)).await {
                let mut expected = 1;
                while let Some(Some(floor)) = self.timed("stream", stream.next()).await {
                    assert_eq!(floor.spec().number, expected, "a floor is lost or comes twice");
                    expected += 1;
                    self.floors.fetch_add(1, Relaxed);
                    if !self.plays() {
                        return;
                    }
                    sleep(PAUSE).await;
                }
            }
            if !self.plays() {
                return;
            }
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), ClientError> {
    let mut arguments = env::args().skip(1);
    let (Some(server), Some(seconds)) = (arguments.next(), arguments.next().and_then(|text| text.parse().ok())) else {
        eprintln!("usage: player SERVER SECONDS");
        std::process::exit(2);
    };
    let player = Player {
        client: FloorClient::connect_lazily(&server)?,
        end: Instant::now() + Duration::from_secs(seconds),
        calls: AtomicU32::new(0),
        floors: AtomicU32::new(0),
        failed: AtomicU32::new(0),
        longest_ms: AtomicU32::new(0),
    };
    tokio::join!(player.call(), player.stream());
    let Player { calls, floors, failed, longest_ms, .. } = player;
    println!(
        "{} calls, {} floors streamed, {} failed, longest {:.1} s",
        calls.into_inner(),
        floors.into_inner(),
        failed.into_inner(),
        f64::from(longest_ms.into_inner()) / 1_000.0
    );
    Ok(())
}
