//! Clients that send half of something and then nothing.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::harness::{Server, TIMEOUT, http2::RawHttp2};

/// Limit for half-sent requests of all kinds. The server's own is 10 seconds.
const LIMIT: Duration = Duration::from_secs(15);

#[test]
fn half_sent_requests_end() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let started = Instant::now();
    std::thread::scope(|threads| {
        for half in
            ["PRI * HTTP/2.0\r\n", "POST /floors.v1.FloorService/GetFloor HTTP/1.1\r\nhost: floors\r\ncontent-l"]
        {
            let address = &server.grpc;
            threads.spawn(move || {
                let mut peer = TcpStream::connect(address).unwrap();
                peer.set_read_timeout(Some(TIMEOUT)).unwrap();
                peer.write_all(half.as_bytes()).unwrap();
                let ended = peer.read_to_end(&mut Vec::new());
                ended.unwrap_or_else(|error| panic!("{half:?}: {error}"));
            });
        }
        threads.spawn(|| {
            let mut peer = RawHttp2::connect(&server);
            peer.send(&RawHttp2::headers("/grpc.health.v1.Health/Check", 1, &[]));
            while peer.responses == 0 {
                peer.next_frame().expect("a status ends the call");
            }
        });
    });
    assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
    assert_eq!(server.page("/readyz").0, 200);
}
