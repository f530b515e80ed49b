//! A server under load, and what its clients have counted.

use std::{
    fmt,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use test_support::{Server, tls::TlsClient};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpSocket,
};

/// How many failures are kept with their text.
const MAX_FAILURES: usize = 20;

/// Of how many connections one may have a call that its GOAWAY refuses. Clients that use the h2 crate have a race there.
const MIN_CONNECTIONS_PER_REFUSED_CALL: u64 = 1000;

/// A connection, with TLS or without.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) server: Server,
    /// How clients speak TLS, if the server does.
    pub(crate) tls: Option<TlsClient>,
    end: Instant,
    counts: Counts,
    failures: Mutex<Vec<String>>,
}

#[derive(Default)]
pub(crate) struct Counts {
    /// Honest calls that were answered as they should.
    pub(crate) answered: AtomicU64,
    pub(crate) failed: AtomicU64,
    /// Honest calls that a GOAWAY refused, and that were made again.
    pub(crate) refused: AtomicU64,
    /// Connections of honest clients.
    pub(crate) connections: AtomicU64,
    /// Honest calls that their clients gave up.
    pub(crate) abandoned: AtomicU64,
    pub(crate) attacks: AtomicU64,
    /// Attacks that the server ended with ENHANCE_YOUR_CALM.
    pub(crate) calmed: AtomicU64,
    /// Certificates that were replaced.
    pub(crate) certificates: AtomicU64,
}

impl Target {
    pub(crate) fn new(name: &'static str, server: Server, tls: Option<TlsClient>, end: Instant) -> Self {
        Self { name, server, tls, end, counts: Counts::default(), failures: Mutex::default() }
    }

    /// A connection from this address that offers `protocol` if it speaks TLS.
    pub(crate) async fn connect(&self, source: &str, protocol: &str) -> std::io::Result<Box<dyn Stream>> {
        let stream = self.connect_without_tls(source).await?;
        match &self.tls {
            None => Ok(Box::new(stream)),
            Some(client) => Ok(Box::new(client.offering(&[protocol]).handshake(stream).await?)),
        }
    }

    pub(crate) async fn connect_without_tls(&self, source: &str) -> std::io::Result<tokio::net::TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(format!("{source}:0").parse().unwrap())?;
        let stream = socket.connect(self.server.grpc.parse().unwrap()).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Waits for this time. Returns whether the run goes on.
    pub(crate) async fn pause(&self, time: Duration) -> bool {
        let next = Instant::now() + time;
        tokio::time::sleep_until(next.min(self.end).into()).await;
        next < self.end
    }

    /// The rest of the run.
    pub(crate) fn rest(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    pub(crate) fn count(&self, counter: impl Fn(&Counts) -> &AtomicU64) {
        counter(&self.counts).fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an honest call that failed.
    pub(crate) fn fail(&self, text: String) {
        self.count(|counts| &counts.failed);
        let mut failures = self.failures.lock().unwrap();
        if failures.len() < MAX_FAILURES {
            println!("{}: a call has failed: {text}", self.name);
            failures.push(text);
        }
    }

    /// Expects that all honest calls succeeded, and that there were calls, drains and attacks.
    pub(crate) fn assert_served(&self) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counts { answered, failed, refused, connections, attacks, calmed, certificates, .. } = &self.counts;
        assert_eq!(count(failed), 0, "{}: {:#?}", self.name, self.failures.lock().unwrap());
        // A client may find at the same moment that a connection is closed and that it has a call to make.
        assert!(count(refused) <= 1 + count(connections) / MIN_CONNECTIONS_PER_REFUSED_CALL, "{}: {self}", self.name);
        assert!(count(answered) > 0 && count(attacks) > 0 && count(calmed) > 0, "{}: {self}", self.name);
        assert!(self.tls.is_none() || count(certificates) > 0, "{}: {self}", self.name);
        assert_eq!(self.server.page("/readyz").0, 200);
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counts { answered, failed, refused, connections, abandoned, attacks, calmed, certificates } = &self.counts;
        write!(
            f,
            "{} calls answered, {} failed, {} refused by GOAWAY, {} abandoned, {} connections drained or new, {} attacks, {} calmed, \
             {} certificates",
            count(answered),
            count(failed),
            count(refused),
            count(abandoned),
            count(connections),
            count(attacks),
            count(calmed),
            count(certificates)
        )
    }
}
