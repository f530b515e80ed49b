//! Limits per connection: slow readers, partial requests, and connections during a drain.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{
    io::{Read, Write},
    time::Duration,
};

use bytes::Bytes;
use floor_proto::{
    limits::DEFAULT_MESSAGE_BYTES,
    rpc::Rpc,
    v1::{BatchGetFloorsRequest, FloorKind, FloorSpec, GetFloorRequest, StreamFloorsRequest},
};
use futures_util::{StreamExt, future::join_all, stream};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use prost::Message;
use tempfile::TempDir;
use test_support::{
    Server, Setup, frame, framed, http1,
    http2::{LARGE_WINDOW, RawFrame, RawHttp2, SMALL_WINDOW, connect},
    parsed, spec, wait_until, web,
};
use tonic::Code;

fn batch() -> BatchGetFloorsRequest {
    BatchGetFloorsRequest { specs: (1..=256).map(|number| spec(7, number)).collect() }
}

/// Starts a drain and waits for longer than a connection without unsent bytes may stay.
async fn drain_past_close_grace(server: &Server) {
    server.signal("-TERM");
    wait_until("the server is no longer ready", || server.page("/readyz").0 == 503);
    tokio::time::sleep(Duration::from_secs(3)).await;
}

/// Base64, as in gRPC-Web text.
fn base64(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let four = |three: &[u8]| {
        let mut bits = [0; 4];
        bits[1..=three.len()].copy_from_slice(three);
        let bits = u32::from_be_bytes(bits);
        [0, 1, 2, 3].map(|i| if i <= three.len() { DIGITS[(bits >> (18 - 6 * i) & 63) as usize] } else { b'=' })
    };
    bytes.chunks(3).flat_map(four).collect()
}

fn status(headers: &http::HeaderMap) -> i32 {
    headers["grpc-status"].to_str().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_a_small_window_gets_the_whole_batch_during_a_drain() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__DRAIN", "60s").start();
    let (mut peer, switch) = connect(&server, SMALL_WINDOW).await;
    switch.allow_reads();
    let request = server.request("BatchGetFloors", &[]).body(framed(&batch())).unwrap();
    let mut answer = peer.send_request(request).await.unwrap().into_body();
    let first = answer.frame().await.unwrap().unwrap().into_data().unwrap();
    drain_past_close_grace(&server).await;
    let rest = answer.collect().await.unwrap();
    assert_eq!(status(rest.trailers().unwrap()), 0);
    let announced = u32::from_be_bytes(first[1..5].try_into().unwrap()) as usize;
    assert_eq!(first.len() + rest.to_bytes().len(), 5 + announced);
    drop(peer);
    server.assert_ended("complete=true");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_a_full_socket_gets_every_response_during_a_drain() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__DRAIN", "60s").start();
    let (peer, switch) = connect(&server, LARGE_WINDOW).await;
    // More than the socket buffers hold.
    let answers = (0..12).map(|_| {
        let (mut peer, request) = (peer.clone(), server.request("BatchGetFloors", &[]).body(framed(&batch())).unwrap());
        tokio::spawn(async move { peer.send_request(request).await.unwrap().into_body().collect().await.unwrap() })
    });
    let answers: Vec<_> = answers.collect();
    wait_until("every response is being sent", || server.calls("BatchGetFloors", "OK") == 12.0);
    drain_past_close_grace(&server).await;
    switch.allow_reads();
    for answer in answers {
        let answer = answer.await.unwrap();
        assert_eq!(status(answer.trailers().unwrap()), 0);
        let bytes = answer.to_bytes();
        assert_eq!(bytes.len(), 5 + u32::from_be_bytes(bytes[1..5].try_into().unwrap()) as usize);
    }
    drop(peer);
    server.assert_ended("complete=true");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_reads_is_cut_off_at_the_drain_deadline_and_logged() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__DRAIN", "1s").start();
    let (mut peer, switch) = connect(&server, SMALL_WINDOW).await;
    switch.allow_reads();
    let request = server.request("BatchGetFloors", &[]).body(framed(&batch())).unwrap();
    let answer = peer.send_request(request).await.unwrap();
    server.signal("-TERM");
    server.assert_ended("complete=false");
    drop(answer);
}

#[test]
fn a_grpc_web_stream_completes_during_a_drain_and_an_idle_connection_does_not_delay_the_exit() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__DRAIN", "60s").start();
    let send = |method, body: &[u8]| {
        let mut peer = std::net::TcpStream::connect(&server.grpc).unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        peer.write_all(web(method, "", body.len()).as_bytes()).unwrap();
        peer.write_all(body).unwrap();
        let mut first_bytes = vec![0; 1024];
        peer.read_exact(&mut first_bytes).unwrap();
        (peer, first_bytes)
    };
    let (idle, _) = send("GetFloor", &frame(&GetFloorRequest { spec: Some(spec(1, 1)) }));
    let first = Some(FloorSpec { width: 256, height: 256, ..spec(1, 2) });
    let (mut peer, mut answer) = send("StreamFloors", &frame(&StreamFloorsRequest { first, count: 200 }));
    server.signal("-TERM");
    wait_until("the server is no longer ready", || server.page("/readyz").0 == 503);
    peer.read_to_end(&mut answer).unwrap();
    let (status, _, body) = parsed(&answer);
    assert_eq!(status, 200);
    let mut frames = Vec::new();
    let mut rest = &body[..];
    while let Some((prefix, after)) = rest.split_at_checked(5) {
        let (message, after) = after.split_at(u32::from_be_bytes(prefix[1..].try_into().unwrap()) as usize);
        frames.push((prefix[0], message));
        rest = after;
    }
    let (trailers, floors) = frames.split_last().unwrap();
    assert!(floors.len() == 200 && floors.iter().all(|(flags, _)| *flags == 0), "{} floors", floors.len());
    assert_eq!((trailers.0, rest), (0x80, &[][..]), "trailers end the response");
    assert!(String::from_utf8_lossy(trailers.1).contains("grpc-status:0"));
    server.assert_ended("complete=true");
    drop(idle);
}

/// Requests a batch by gRPC-Web and reads it only during a drain. Expects all of it.
async fn assert_grpc_web_batch_completes(kind: &str, window: impl Fn(usize) -> u32, write: impl Fn(&[u8]) -> Vec<u8>) {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__DRAIN", "60s").start();
    let message = server.raw("BatchGetFloors", Bytes::from(batch().encode_to_vec())).await.unwrap().into_inner();
    let prefix = [&[0][..], &u32::try_from(message.len()).unwrap().to_be_bytes()].concat();
    let message = [&prefix[..], &message].concat();
    let expected = [write(&message), write(b"\x80\0\0\0\x0fgrpc-status:0\r\n")].concat();
    let (mut peer, switch) = connect(&server, window(message.len())).await;
    switch.allow_reads();
    let uri = format!("http://{}/floors.v1.FloorService/BatchGetFloors", server.grpc);
    let head = http::Request::post(uri).header("content-type", kind).header("accept", kind);
    let request = head.body(Full::new(Bytes::from(write(&frame(&batch()))))).unwrap();
    let answer = peer.send_request(request).await.unwrap().into_body();
    drain_past_close_grace(&server).await;
    let whole = answer.collect().await.unwrap().to_bytes();
    assert!(whole == expected, "{} bytes and not {}", whole.len(), expected.len());
    drop(peer);
    server.assert_ended("complete=true");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grpc_web_text_client_with_a_small_window_gets_the_whole_batch_during_a_drain() {
    assert_grpc_web_batch_completes("application/grpc-web-text", |_| SMALL_WINDOW, base64).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grpc_web_client_whose_window_fits_only_the_message_gets_its_trailers_during_a_drain() {
    let message_window = |message| u32::try_from(message).unwrap();
    assert_grpc_web_batch_completes("application/grpc-web+proto", message_window, <[u8]>::to_vec).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unread_stream_ends_at_its_deadline_and_does_not_delay_the_exit() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__DRAIN", "60s").start();
    let (mut peer, switch) = connect(&server, SMALL_WINDOW).await;
    switch.allow_reads();
    let wanted = StreamFloorsRequest { first: Some(spec(8, 1)), count: 10_000 };
    let request = server.request("StreamFloors", &[("grpc-timeout", "2S")]).body(framed(&wanted)).unwrap();
    let answer = peer.send_request(request).await.unwrap();
    wait_until("the stream has ended", || server.calls("StreamFloors", "DEADLINE_EXCEEDED") == 1.0);
    server.signal("-TERM");
    server.assert_ended("complete=true");
    drop(answer);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_with_an_unread_last_floor_ends_at_its_deadline_and_does_not_delay_the_exit() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__DRAIN", "60s").start();
    let (plain, web) = ("application/grpc", "application/grpc-web+proto");
    let mut answers = Vec::new();
    // The window takes nothing, or the start of a large floor.
    for (kind, window) in [(plain, 0), (web, 0), (plain, SMALL_WINDOW)] {
        let (mut peer, switch) = connect(&server, window).await;
        switch.allow_reads();
        let first = Some(FloorSpec { width: 512, height: 512, ..spec(8, 1) });
        let wanted = framed(&StreamFloorsRequest { first, count: 1 });
        let mut request = server.request("StreamFloors", &[("grpc-timeout", "2S")]).body(wanted).unwrap();
        request.headers_mut().insert("content-type", kind.parse().unwrap());
        answers.push((peer.send_request(request).await.unwrap(), peer));
    }
    // The transport takes no more of a floor than the window allows.
    wait_until("all streams have exceeded their deadline", || server.calls("StreamFloors", "DEADLINE_EXCEEDED") == 3.0);
    assert_eq!(server.calls("StreamFloors", "OK"), 0.0);
    server.signal("-TERM");
    server.assert_ended("complete=true");
    drop(answers);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_cannot_start_returns_a_status_without_a_body() {
    use tonic_types::StatusExt;
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GENERATION__THREADS", "1").start();
    let mut calls = Vec::new();
    // Always more floors than the 1024 that may wait for the thread.
    for seed in 1..=9 {
        let client = server.client().await;
        for first in 1..=125 {
            let mut client = client.clone();
            calls.push(tokio::spawn(async move {
                for number in (first..).step_by(125) {
                    let kind = FloorKind::Standard.into();
                    let wanted = FloorSpec { width: 512, height: 512, kind, ..spec(seed, number) };
                    let _ = client.get_floor(GetFloorRequest { spec: Some(wanted) }).await;
                }
            }));
        }
    }
    let mut client = server.client().await;
    wait_until("the queue is full", || server.refusals("generation") > 0.0);
    // A place may be free for a moment. Then the stream starts, and its floors are cached.
    let mut seeds = 10..100;
    let status = loop {
        let first = Some(spec(seeds.next().expect("a stream does not start"), 1));
        if let Err(status) = client.stream_floors(StreamFloorsRequest { first, count: 100 }).await {
            break status;
        }
    };
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    assert!(status.get_error_details().retry_info().is_some(), "{status:?}");
    calls.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test(flavor = "multi_thread")]
async fn partial_requests_are_bounded_in_memory_and_time() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let (peer, switch) = connect(&server, SMALL_WINDOW).await;
    switch.allow_reads();
    // Announces a message of one size and sends fewer bytes.
    let send_partial = |announced: usize, sent: usize| {
        let prefix = [&[0][..], &u32::try_from(announced).unwrap().to_be_bytes()].concat();
        let frame = Frame::data(Bytes::from([prefix, vec![0; sent]].concat()));
        let body = StreamBody::new(stream::iter([Ok::<_, std::io::Error>(frame)]).chain(stream::pending()).boxed());
        let (mut peer, request) = (peer.clone(), server.request("GetFloor", &[]).body(body).unwrap());
        async move { status(peer.send_request(request).await.unwrap().headers()) }
    };
    // The memory budget is for 16 of the largest requests, and one client gets at most half of it.
    let large = (0..20).map(|_| send_partial(DEFAULT_MESSAGE_BYTES, 20 << 10));
    let (mut large, small) = tokio::join!(join_all(large), send_partial(100, 50));
    large.sort_unstable();
    let (late, refused) = (Code::DeadlineExceeded as i32, Code::ResourceExhausted as i32);
    assert_eq!(large, [vec![late; 8], vec![refused; 12]].concat());
    assert_eq!(small, late);
    server
        .client()
        .await
        .get_floor(GetFloorRequest { spec: Some(spec(1, 1)) })
        .await
        .expect("the server keeps serving");
    let whole = server.raw("GetFloor", Bytes::from(vec![0; DEFAULT_MESSAGE_BYTES])).await.unwrap_err();
    assert_eq!(whole.code(), Code::InvalidArgument, "the memory budget is free again: {whole:?}");
}

#[test]
fn a_connection_survives_many_calls_whose_end_of_stream_arrives_late() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut peer = RawHttp2::connect(&server);
    // Far more at once than the streams that the server remembers as reset. Late frames for others count as errors
    // of the client.
    let (rounds, calls) = (12, 125);
    for round in 0..rounds {
        let streams = || (round * calls..(round + 1) * calls).map(|call| 2 * call + 1);
        let requests = streams().flat_map(|stream| {
            let head = RawHttp2::headers("/floors.v1.FloorService/GetServerInfo", stream, &[]);
            [head, RawHttp2::frame(RawHttp2::DATA, 0, stream, &[0; 5])].concat()
        });
        peer.send_and_wait(requests.collect());
        let ended: Vec<_> =
            streams().flat_map(|stream| RawHttp2::frame(RawHttp2::DATA, RawHttp2::LAST, stream, &[])).collect();
        peer.send(&ended);
        while peer.responses < (round + 1) * calls {
            peer.read_frame();
        }
    }
    assert_eq!(server.calls("GetServerInfo", "OK"), f64::from(rounds * calls));
}

#[test]
fn a_path_that_is_too_long_gets_a_status_and_a_text() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).start();
    // Beyond 64 KiB, the connection ends after the response.
    for (length, ends) in [(20_000, false), (60_000, false), (100_000, true), (300_000, true)] {
        let mut peer = RawHttp2::connect(&server);
        // Fails when the server closes the connection meanwhile.
        let _ = peer.stream.write_all(&RawHttp2::get("/floors.v1.FloorService/GetFloor?message=", length));
        let mut frames = Vec::new();
        while frames.last().is_none_or(|frame: &RawFrame| !frame.ends_stream()) {
            frames.push(peer.next_frame().expect("a response"));
        }
        let [.., head, body] = &frames[..] else { panic!("{frames:?}") };
        assert!(String::from_utf8_lossy(&head.payload).contains("431"), "{length}: {head:?}");
        assert!(String::from_utf8_lossy(&body.payload).contains("more than 16384 bytes"), "{length}: {body:?}");
        if ends {
            let last = peer.read_to_end();
            assert!(last.iter().any(|frame| frame.kind == RawHttp2::GO_AWAY), "{length}: {last:?}");
        } else {
            peer.send_and_wait(Vec::new());
        }
    }
    wait_until("no connection is left", || server.metric("floors_connections") == 0.0);
}

#[test]
fn a_request_of_http1_has_one_host_on_both_ports() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let body = r#"{"spec":{"seed":"1","number":1}}"#;
    let call = format!(
        "POST {} HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        Rpc::GetFloor.path(),
        body.len()
    );
    let page = "GET /readyz HTTP/1.1\r\n".to_owned();
    for (address, head, body) in [(&server.grpc, &call, body.as_bytes()), (&server.ops, &page, &[][..])] {
        let status = |hosts: &str| http1(address, &format!("{head}{hosts}connection: close\r\n\r\n"), body);
        for hosts in ["host: floors\r\n", "host: 127.0.0.1:1\r\n", "host: [::1]:1\r\n", "host:\r\n"] {
            assert_eq!(status(hosts).0, 200, "{address} {hosts:?}");
        }
        for (hosts, expected) in [
            ("", "has a host"),
            ("host: floors\r\nhost: floors\r\n", "has several"),
            ("host: floors\r\nhost: other\r\n", "has several"),
            ("host: user@floors\r\n", "is no host"),
            ("host: floors/other\r\n", "is no host"),
            ("host: a b\r\n", "is no host"),
        ] {
            let (status, head, body) = status(hosts);
            let body = String::from_utf8_lossy(&body);
            assert!(status == 400 && body.contains(expected), "{address} {hosts:?}: {status} {body}");
            assert!(head.contains("connection: close"), "{head}");
        }
    }
    // HTTP/1.0 had no hosts.
    assert_eq!(http1(&server.ops, "GET /readyz HTTP/1.0\r\n\r\n", &[]).0, 200);
}
