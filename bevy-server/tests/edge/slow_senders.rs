//! Clients that send half of something and then nothing.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::harness::{Server, TIMEOUT, http2::RawHttp2};

const GET_FLOOR: &str = "/floors.v1.FloorService/GetFloor";
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
        // A part of a body, whatever the service and the protocol, is no more time.
        let unary = ["/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch", GET_FLOOR];
        for (path, sent) in unary.into_iter().flat_map(|path| [(path, &b""[..]), (path, &[0])]) {
            let server = &server;
            threads.spawn(move || {
                let mut peer = RawHttp2::connect(server);
                peer.send(&RawHttp2::headers(path, 1, &[]));
                if !sent.is_empty() {
                    peer.send(&RawHttp2::frame(RawHttp2::DATA, 0, 1, sent));
                }
                while peer.responses == 0 {
                    peer.next_frame().expect("a status ends the call");
                }
            });
        }
        for content_type in ["application/json", "application/proto", "application/grpc-web+proto", "text/plain"] {
            let address = &server.grpc;
            threads.spawn(move || {
                let mut peer = TcpStream::connect(address).unwrap();
                peer.set_read_timeout(Some(TIMEOUT)).unwrap();
                let head = format!(
                    "POST {GET_FLOOR} HTTP/1.1\r\nhost: floors\r\ncontent-type: {content_type}\r\ncontent-length: 99\r\n\r\n{{"
                );
                peer.write_all(head.as_bytes()).unwrap();
                let read = peer.read(&mut [0; 1024]);
                read.unwrap_or_else(|error| panic!("{content_type}: {error}"));
            });
        }
        // The rest of a request that is answered early.
        threads.spawn(|| {
            let mut peer = TcpStream::connect(&server.grpc).unwrap();
            peer.set_read_timeout(Some(TIMEOUT)).unwrap();
            let head = "POST /nothing HTTP/1.1\r\nhost: floors\r\ncontent-type: application/grpc-web\r\n\
                transfer-encoding: chunked\r\n\r\n4\r\nAA";
            peer.write_all(head.as_bytes()).unwrap();
            let mut answer = Vec::new();
            peer.read_to_end(&mut answer).unwrap();
            assert!(String::from_utf8_lossy(&answer).contains("grpc-status: 12"), "an answer before the end");
        });
    });
    assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
    assert_eq!(server.page("/readyz").0, 200);
}
