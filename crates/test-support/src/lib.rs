//! What the tests of the server share: the server's program in a child process, and clients that choose their bytes.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

mod http1;
pub mod http2;
mod redis;
mod server;
pub mod tls;

#[cfg(target_os = "linux")]
use std::net::TcpStream;
use std::time::{Duration, Instant};

use bytes::Bytes;
use floor_proto::v1::FloorSpec;
use http_body_util::Full;
pub use http1::{http1, parsed, web, web_of};
use prost::Message;
pub use redis::Redis;
pub use server::{Server, Setup};
use tonic::{Code, Status};

/// Time limit for every wait.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// A floor of the default size and the scheduled kind.
pub fn spec(seed: u64, number: u32) -> FloorSpec {
    FloorSpec { seed, number, ..FloorSpec::default() }
}

/// A message with its frame prefix.
pub fn frame(message: &impl Message) -> Vec<u8> {
    let message = message.encode_to_vec();
    let prefix = [&[0][..], &u32::try_from(message.len()).unwrap().to_be_bytes()].concat();
    [prefix, message].concat()
}

/// The body of a call: a message with its frame prefix.
pub fn framed(message: &impl Message) -> Full<Bytes> {
    Full::new(Bytes::from(frame(message)))
}

/// The invalid fields that a status names.
pub fn invalid_fields(status: &Status) -> Vec<String> {
    use tonic_types::StatusExt;
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    let details = status.get_error_details();
    let fields = details.bad_request().map(|bad| bad.field_violations.clone()).unwrap_or_default();
    fields.into_iter().map(|violation| violation.field).collect()
}

/// Waits until `condition` holds, up to [`TIMEOUT`].
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !condition() {
        assert!(Instant::now() < deadline, "timed out waiting until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The result of `attempt` as soon as it has one, up to [`TIMEOUT`]. For code that runs in tokio.
pub async fn wait_for<T>(what: &str, mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(result) = attempt().await {
            return result;
        }
        assert!(Instant::now() < deadline, "timed out waiting until {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A connection from `source`, another loopback address. Not for code that runs in tokio.
#[cfg(target_os = "linux")]
pub fn connect_from(source: &str, address: &str) -> TcpStream {
    use std::{net::SocketAddr, sync::LazyLock};

    use tokio::{net::TcpSocket, runtime::Runtime};

    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
    let connected = RUNTIME.block_on(async {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::new(source.parse().unwrap(), 0))?;
        socket.connect(address.parse().unwrap()).await?.into_std()
    });
    let stream = connected.unwrap();
    stream.set_nonblocking(false).unwrap();
    stream
}
