//! A road to a server on which every reply is held up for as long as the test says, and which is as narrow as it says.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

pub(crate) struct SlowRoad {
    port: u16,
    delay: Arc<AtomicU64>,
    /// Nanoseconds that a byte to the server takes, on each connection.
    each_byte: Arc<AtomicU64>,
    keeper: JoinHandle<()>,
}

impl SlowRoad {
    /// A road to `port` on this machine without delay.
    pub(crate) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let road = listener.local_addr().expect("an address").port();
        let (delay, each_byte) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let keeper = tokio::spawn(keep(listener, port, delay.clone(), each_byte.clone()));
        Self { port: road, delay, each_byte, keeper }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn hold_up(&self, delay: Duration) {
        self.delay.store(delay.as_nanos().try_into().expect("a short delay"), SeqCst);
    }

    /// Has a mebibyte to the server take so long, on each connection by itself.
    pub(crate) fn narrow(&self, a_mebibyte: Duration) {
        self.each_byte.store(a_mebibyte.as_nanos() as u64 >> 20, SeqCst);
    }
}

async fn keep(listener: TcpListener, port: u16, delay: Arc<AtomicU64>, each_byte: Arc<AtomicU64>) {
    while let Ok((traveller, _)) = listener.accept().await {
        let server = TcpStream::connect(("127.0.0.1", port)).await.expect("the server is there");
        traveller.set_nodelay(true).expect("an option");
        server.set_nodelay(true).expect("an option");
        let (from_traveller, to_traveller) = traveller.into_split();
        let (from_server, to_server) = server.into_split();
        tokio::spawn(carry(from_traveller, to_server, Arc::default(), each_byte.clone()));
        tokio::spawn(carry(from_server, to_traveller, delay.clone(), Arc::default()));
    }
}

async fn carry(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    delay: Arc<AtomicU64>,
    each_byte: Arc<AtomicU64>,
) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(len @ 1..) = from.read(&mut bytes).await {
        let delay = Duration::from_nanos(delay.load(SeqCst) + each_byte.load(SeqCst) * len as u64);
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        if to.write_all(&bytes[..len]).await.is_err() {
            return;
        }
    }
}

impl Drop for SlowRoad {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}
