//! What a connection may hold and for how long: slow readers, peers that stop in the middle, and the end of the server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod harness;

use std::{
    io::{Read, Write},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use floor_proto::{
    limits::DEFAULT_MESSAGE_BYTES,
    v1::{BatchGetFloorsRequest, FloorKind, FloorSpec, GetFloorRequest, StreamFloorsRequest},
};
use futures_util::{StreamExt, future::join_all, stream, task::AtomicWaker};
use harness::{Server, Setup, frame, framed, parsed, spec, wait_until, web};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, StreamBody};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tempfile::TempDir;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tonic::Code;

/// The smallest windows that HTTP/2 begins with.
const NARROW: u32 = 65_535;
/// Windows that are never full.
const WIDE: u32 = 1 << 30;

/// A peer that reads from its socket only once it is told to.
struct Deaf {
    stream: TcpStream,
    ear: Arc<Ear>,
}

#[derive(Default)]
struct Ear {
    open: AtomicBool,
    waiting: AtomicWaker,
}

impl Ear {
    fn open(&self) {
        self.open.store(true, Ordering::SeqCst);
        self.waiting.wake();
    }
}

impl AsyncRead for Deaf {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        self.ear.waiting.register(cx.waker());
        if !self.ear.open.load(Ordering::SeqCst) {
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for Deaf {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A connection with windows of that size, and what makes it read.
async fn connect<B>(server: &Server, window: u32) -> (SendRequest<B>, Arc<Ear>)
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let stream = TcpStream::connect(&server.grpc).await.unwrap();
    let ear = Arc::new(Ear::default());
    let deaf = Deaf { stream, ear: Arc::clone(&ear) };
    let mut peer = http2::Builder::new(TokioExecutor::new());
    peer.initial_stream_window_size(window).initial_connection_window_size(window);
    let (sender, connection) = peer.handshake(TokioIo::new(deaf)).await.unwrap();
    tokio::spawn(connection);
    (sender, ear)
}

fn batch() -> BatchGetFloorsRequest {
    BatchGetFloorsRequest { specs: (1..=256).map(|number| spec(7, number)).collect() }
}

/// Has the server drain, for longer than a connection without anything to send may stay then.
async fn drain_past_the_parting(server: &Server) {
    server.signal("-TERM");
    wait_until("the server is not ready any more", || server.page("/readyz").0 == 503);
    tokio::time::sleep(Duration::from_secs(3)).await;
}

/// Waits until the server has ended, well, and looks for `word` in what it logged.
fn assert_ended(server: Server, word: &str) {
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains(word), "{log}");
}

fn status(headers: &http::HeaderMap) -> i32 {
    headers["grpc-status"].to_str().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_with_a_narrow_window_gets_the_whole_batch_although_the_server_drains() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__DRAIN", "60s").start();
    let (mut peer, ear) = connect(&server, NARROW).await;
    ear.open();
    let request = server.request("BatchGetFloors", &[]).body(framed(&batch())).unwrap();
    let mut answer = peer.send_request(request).await.unwrap().into_body();
    let first = answer.frame().await.unwrap().unwrap().into_data().unwrap();
    drain_past_the_parting(&server).await;
    let rest = answer.collect().await.unwrap();
    assert_eq!(status(rest.trailers().unwrap()), 0);
    let announced = u32::from_be_bytes(first[1..5].try_into().unwrap()) as usize;
    assert_eq!(first.len() + rest.to_bytes().len(), 5 + announced);
    drop(peer);
    assert_ended(server, "complete=true");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_whose_socket_is_full_gets_every_answer_although_the_server_drains() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__DRAIN", "60s").start();
    let (peer, ear) = connect(&server, WIDE).await;
    // More than the system keeps for a socket.
    let answers = (0..12).map(|_| {
        let (mut peer, request) = (peer.clone(), server.request("BatchGetFloors", &[]).body(framed(&batch())).unwrap());
        tokio::spawn(async move { peer.send_request(request).await.unwrap().into_body().collect().await.unwrap() })
    });
    let answers: Vec<_> = answers.collect();
    wait_until("every answer is on its way", || server.calls("BatchGetFloors", "OK") == 12.0);
    drain_past_the_parting(&server).await;
    ear.open();
    for answer in answers {
        let answer = answer.await.unwrap();
        assert_eq!(status(answer.trailers().unwrap()), 0);
        let bytes = answer.to_bytes();
        assert_eq!(bytes.len(), 5 + u32::from_be_bytes(bytes[1..5].try_into().unwrap()) as usize);
    }
    drop(peer);
    assert_ended(server, "complete=true");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_who_never_takes_an_answer_is_cut_off_at_the_end_and_the_log_says_so() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__DRAIN", "1s").start();
    let (mut peer, ear) = connect(&server, NARROW).await;
    ear.open();
    let request = server.request("BatchGetFloors", &[]).body(framed(&batch())).unwrap();
    let answer = peer.send_request(request).await.unwrap();
    server.signal("-TERM");
    assert_ended(server, "complete=false");
    drop(answer);
}

#[test]
fn a_browsers_stream_comes_whole_although_the_server_drains_and_its_other_connection_holds_nobody_up() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__DRAIN", "60s").start();
    let send = |method, body: &[u8]| {
        let mut peer = std::net::TcpStream::connect(&server.grpc).unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        peer.write_all(web(method, "", body.len()).as_bytes()).unwrap();
        peer.write_all(body).unwrap();
        let mut begun = vec![0; 1024];
        peer.read_exact(&mut begun).unwrap();
        (peer, begun)
    };
    let (idle, _) = send("GetFloor", &frame(&GetFloorRequest { spec: Some(spec(1, 1)) }));
    let first = Some(FloorSpec { width: 256, height: 256, ..spec(1, 2) });
    let (mut peer, mut answer) = send("StreamFloors", &frame(&StreamFloorsRequest { first, count: 200 }));
    server.signal("-TERM");
    wait_until("the server is not ready any more", || server.page("/readyz").0 == 503);
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
    assert_eq!((trailers.0, rest), (0x80, &[][..]), "trailers end the answer");
    assert!(String::from_utf8_lossy(trailers.1).contains("grpc-status:0"));
    assert_ended(server, "complete=true");
    drop(idle);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_not_read_ends_at_its_deadline_and_holds_up_no_end() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__DRAIN", "60s").start();
    let (mut peer, ear) = connect(&server, NARROW).await;
    ear.open();
    let wanted = StreamFloorsRequest { first: Some(spec(8, 1)), count: 10_000 };
    let request = server.request("StreamFloors", &[("grpc-timeout", "2S")]).body(framed(&wanted)).unwrap();
    let answer = peer.send_request(request).await.unwrap();
    wait_until("the stream has ended", || server.calls("StreamFloors", "DEADLINE_EXCEEDED") == 1.0);
    server.signal("-TERM");
    assert_ended(server, "complete=true");
    drop(answer);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_cannot_begin_has_a_status_and_no_body() {
    use tonic_types::StatusExt;
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GENERATION__QUEUE", "256").with("GENERATION__THREADS", "1").start();
    let mut calls = Vec::new();
    for seed in 1..=2 {
        let client = server.client().await;
        for number in 1..=250 {
            let mut client = client.clone();
            let wanted = FloorSpec { width: 512, height: 512, kind: FloorKind::Standard.into(), ..spec(seed, number) };
            calls.push(tokio::spawn(async move { client.get_floor(GetFloorRequest { spec: Some(wanted) }).await }));
        }
    }
    let mut client = server.client().await;
    wait_until("the queue is all but full", || server.metric("floors_generation_queue") > 250.0);
    let request = StreamFloorsRequest { first: Some(spec(3, 1)), count: 100 };
    let status = client.stream_floors(request).await.expect_err("the stream does not begin");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    assert!(status.get_error_details().retry_info().is_some(), "{status:?}");
    calls.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_stop_in_the_middle_are_bounded_in_memory_and_time() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let (peer, ear) = connect(&server, NARROW).await;
    ear.open();
    // A message of that size is announced, and some of it sent.
    let begun = |announced: usize, sent: usize| {
        let prefix = [&[0][..], &u32::try_from(announced).unwrap().to_be_bytes()].concat();
        let frame = Frame::data(Bytes::from([prefix, vec![0; sent]].concat()));
        let body = StreamBody::new(stream::iter([Ok::<_, std::io::Error>(frame)]).chain(stream::pending()).boxed());
        let (mut peer, request) = (peer.clone(), server.request("GetFloor", &[]).body(body).unwrap());
        async move { status(peer.send_request(request).await.unwrap().headers()) }
    };
    // 16 of the largest requests fill the room for such.
    let large = (0..20).map(|_| begun(DEFAULT_MESSAGE_BYTES, 20 << 10));
    let (mut large, small) = tokio::join!(join_all(large), begun(100, 50));
    large.sort_unstable();
    let (late, refused) = (Code::DeadlineExceeded as i32, Code::ResourceExhausted as i32);
    assert_eq!(large, [vec![late; 16], vec![refused; 4]].concat());
    assert_eq!(small, late);
    server.client().await.get_floor(GetFloorRequest { spec: Some(spec(1, 1)) }).await.expect("the server goes on");
    let whole = server.raw("GetFloor", Bytes::from(vec![0; DEFAULT_MESSAGE_BYTES])).await.unwrap_err();
    assert_eq!(whole.code(), Code::InvalidArgument, "and the room is free again: {whole:?}");
}

#[test]
fn a_peer_that_stops_in_its_first_word_is_let_go() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut peer = std::net::TcpStream::connect(&server.grpc).unwrap();
    peer.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    peer.write_all(b"PRI * HTTP").unwrap();
    assert_eq!(peer.read(&mut [0; 64]).unwrap(), 0, "the server hangs up");
}
