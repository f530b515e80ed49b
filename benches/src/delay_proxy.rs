//! A TCP proxy that delays every reply of its server. The command `regret` puts it in front of a Redis.
//!
//! Bytes that the server sends at time `t` reach the client at `t + delay`, in order. Any number of replies can be
//! delayed at the same time, so pipelined replies are each delayed once. Requests are not delayed. Each direction of a
//! connection has its own threads, which sleep until a reply is due: tokio's timer is too coarse for 0.2 ms.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    num::NonZeroU64,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};

/// Bytes of one read.
const BUFFER: usize = 64 << 10;

/// How late the kernel may wake a thread of the proxy, in nanoseconds. Linux's default is 50 us.
const TIMER_SLACK: NonZeroU64 = NonZeroU64::new(1_000).expect("not zero");

/// A running proxy. A connection ends when its client or its server closes it. Dropping the proxy ends its listener.
#[derive(Debug)]
pub struct DelayProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// The state that the threads of a proxy share.
#[derive(Debug)]
struct Shared {
    upstream: SocketAddr,
    delay_nanos: AtomicU64,
    /// How many of a million deliveries stall.
    stalls_per_million: AtomicU64,
    stall_nanos: AtomicU64,
    is_closed: AtomicBool,
}

impl DelayProxy {
    /// Starts a proxy in front of `upstream` on a free port of this machine.
    pub fn start(upstream: SocketAddr, delay: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            upstream,
            delay_nanos: AtomicU64::new(nanos(delay)),
            stalls_per_million: AtomicU64::new(0),
            stall_nanos: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        thread::Builder::new().name("delay-accept".to_owned()).spawn(move || accepting.accept(&listener))?;
        Ok(Self { address, shared })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the delay of replies that the server sends from now on.
    pub fn set_delay(&self, delay: Duration) {
        self.shared.delay_nanos.store(nanos(delay), Relaxed);
    }

    /// Delays a `share` (0 to 1) of the deliveries by `stall` in addition. A delivery is the result of one read from
    /// the server: one reply or several. Later replies on the connection wait behind it.
    pub fn set_stalls(&self, share: f64, stall: Duration) {
        self.shared.stalls_per_million.store((share * 1e6) as u64, Relaxed);
        self.shared.stall_nanos.store(nanos(stall), Relaxed);
    }
}

impl Drop for DelayProxy {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Relaxed);
        // A connection wakes the accepting thread, which then ends.
        let _ = TcpStream::connect(self.address);
    }
}

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Shared {
    fn accept(self: Arc<Self>, listener: &TcpListener) {
        for (seed, client) in listener.incoming().enumerate() {
            if self.is_closed.load(Relaxed) {
                return;
            }
            if let Err(error) = client.and_then(|client| self.connect(client, seed as u64)) {
                eprintln!("the delay proxy drops a connection: {error}");
            }
        }
    }

    fn connect(self: &Arc<Self>, client: TcpStream, seed: u64) -> io::Result<()> {
        let server = TcpStream::connect(self.upstream)?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
        let (sender, receiver) = mpsc::channel();
        let shared = Arc::clone(self);
        let thread = |name: &str| thread::Builder::new().name(name.to_owned());
        thread("delay-requests").spawn(move || {
            let _ = io::copy(&mut from_client, &mut to_server);
            let _ = to_server.shutdown(Shutdown::Write);
        })?;
        thread("delay-replies").spawn(move || {
            let _ = shared.receive(server, &sender, SmallRng::seed_from_u64(seed));
        })?;
        thread("delay-line").spawn(move || {
            let _ = deliver(client, &receiver);
        })?;
        Ok(())
    }

    /// Reads from the server and queues each part with the time when it is due.
    fn receive(
        &self,
        mut server: TcpStream,
        queue: &mpsc::Sender<(Instant, Vec<u8>)>,
        mut random: SmallRng,
    ) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER];
        loop {
            let read = server.read(&mut buffer)?;
            if read == 0 {
                return Ok(());
            }
            let mut delay = Duration::from_nanos(self.delay_nanos.load(Relaxed));
            let stalls = self.stalls_per_million.load(Relaxed);
            if stalls > 0 && random.random_range(0..1_000_000) < stalls {
                delay += Duration::from_nanos(self.stall_nanos.load(Relaxed));
            }
            if queue.send((Instant::now() + delay, buffer[..read].to_vec())).is_err() {
                return Ok(());
            }
        }
    }
}

/// Writes each part to the client when it is due.
fn deliver(mut client: TcpStream, queue: &mpsc::Receiver<(Instant, Vec<u8>)>) -> io::Result<()> {
    rustix::thread::set_current_timer_slack(Some(TIMER_SLACK))?;
    while let Ok((due, bytes)) = queue.recv() {
        let now = Instant::now();
        if now < due {
            thread::sleep(due - now);
        }
        client.write_all(&bytes)?;
    }
    client.shutdown(Shutdown::Write)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that echoes bytes.
    fn echo_server() -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                let mut out = stream.try_clone().unwrap();
                thread::spawn(move || io::copy(&mut stream, &mut out));
            }
        });
        address
    }

    #[test]
    fn pipelined_replies_are_each_delayed_once() {
        const REPLIES: usize = 40;
        let delay = Duration::from_millis(50);
        let proxy = DelayProxy::start(echo_server(), delay).unwrap();
        let mut stream = TcpStream::connect(proxy.address()).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut reader = stream.try_clone().unwrap();
        let received = thread::spawn(move || {
            let mut reply = [0; 8];
            let mut receive = |number: usize| {
                reader.read_exact(&mut reply).unwrap();
                assert_eq!(u64::from_be_bytes(reply), number as u64, "replies keep their order");
                Instant::now()
            };
            (0..REPLIES).map(&mut receive).collect::<Vec<_>>()
        });
        let sent: Vec<Instant> = (0..REPLIES as u64)
            .map(|number| {
                let now = Instant::now();
                stream.write_all(&number.to_be_bytes()).unwrap();
                // The pause between requests makes each a delivery of its own.
                while now.elapsed() < Duration::from_millis(2) {
                    thread::yield_now();
                }
                now
            })
            .collect();
        let received = received.join().unwrap();
        for (sent, received) in sent.iter().zip(&received) {
            assert!(*received - *sent >= delay, "no reply comes before it is due");
        }
        // Delayed one after the other they would take 40 times 50 ms.
        let took = received[REPLIES - 1] - sent[0];
        assert!(took < delay * REPLIES as u32 / 2, "{REPLIES} pipelined replies took {took:?}");
    }

    #[test]
    fn delay_and_stalls_can_be_changed() {
        let proxy = DelayProxy::start(echo_server(), Duration::from_millis(30)).unwrap();
        let mut stream = TcpStream::connect(proxy.address()).unwrap();
        let mut round_trip = || {
            let started = Instant::now();
            stream.write_all(b"x").unwrap();
            stream.read_exact(&mut [0]).unwrap();
            started.elapsed()
        };
        assert!(round_trip() >= Duration::from_millis(30));
        proxy.set_delay(Duration::ZERO);
        proxy.set_stalls(1.0, Duration::from_millis(20));
        let stalled = round_trip();
        assert!(stalled >= Duration::from_millis(20), "{stalled:?}");
        proxy.set_stalls(0.0, Duration::ZERO);
        let started = Instant::now();
        while round_trip() >= Duration::from_millis(20) {
            assert!(started.elapsed() < Duration::from_secs(10), "without a delay a reply comes at once");
        }
    }
}
