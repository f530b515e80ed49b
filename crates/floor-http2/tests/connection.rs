//! Connections over a transport that takes little at a time, with the client of the `h2` crate.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{
    future::poll_fn,
    io,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::{Buf, Bytes};
use floor_http2::{Accepted, Connection, Limits, PREFACE, RequestBody, Responder, StreamEnded, Transport};
use h2::client::SendRequest;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::Body;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf};

const LIMITS: Limits =
    Limits { max_streams: 8, max_header_bytes: 4096, stream_window: 10_000, connection_window: 70_000 };
/// Bytes that the transport holds.
const ROOM: usize = 3000;

struct Io {
    stream: DuplexStream,
    unsent: Vec<u8>,
}

impl AsyncRead for Io {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl Transport for Io {
    fn poll_send(&mut self, cx: &mut Context<'_>, output: &mut Vec<u8>) -> io::Result<usize> {
        self.unsent.append(output);
        while !self.unsent.is_empty()
            && let Poll::Ready(sent) = Pin::new(&mut self.stream).poll_write(cx, &self.unsent)
        {
            self.unsent.drain(..sent?);
        }
        Ok(ROOM.saturating_sub(self.unsent.len()))
    }
}

/// A connection, and a client with small windows.
async fn connect() -> (Connection<Io>, SendRequest<Bytes>) {
    let (ours, theirs) = tokio::io::duplex(1000);
    let mut client = h2::client::Builder::new();
    // The limit of the server, which the client would know only later.
    client.initial_max_send_streams(LIMITS.max_streams as usize);
    client.initial_window_size(5000).initial_connection_window_size(70_000);
    let (sender, connection) = client.handshake(theirs).await.unwrap();
    tokio::spawn(connection);
    (Connection::new(Io { stream: ours, unsent: Vec::new() }, LIMITS), sender)
}

fn request(path: &str) -> Request<()> {
    Request::post(format!("http://floors{path}")).body(()).unwrap()
}

async fn accept(connection: &mut Connection<Io>) -> Accepted {
    connection.accept().await.unwrap().unwrap()
}

/// Accepts calls in a task, and answers each in another one.
fn serve(mut connection: Connection<Io>) {
    tokio::spawn(async move {
        while let Some(accepted) = connection.accept().await {
            let (request, responder) = accepted.unwrap();
            tokio::spawn(async { echo(request.into_body(), responder).await.unwrap() });
        }
    });
}

/// Answers with the body of the request, and trailers.
async fn echo(mut body: RequestBody, mut responder: Responder) -> Result<(), StreamEnded> {
    responder.send_head(&Response::new(()).into_parts().0, None, false)?;
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let mut data = frame?.into_data().unwrap_or_default();
        while data.has_remaining() {
            poll_fn(|cx| responder.poll_send(&mut data, false, cx)).await?;
        }
    }
    responder.send_trailers(&HeaderMap::from_iter([(http::header::ETAG, HeaderValue::from_static("end"))]))
}

/// Sends `length` bytes, and reads as many.
async fn call(mut sender: SendRequest<Bytes>, length: usize) {
    poll_fn(|cx| sender.poll_ready(cx)).await.unwrap();
    let (response, mut stream) = sender.send_request(request("/"), false).unwrap();
    let send = async {
        let mut left = length;
        while left > 0 {
            stream.reserve_capacity(left);
            let granted = poll_fn(|cx| stream.poll_capacity(cx)).await.unwrap().unwrap();
            stream.send_data(vec![7; granted].into(), false).unwrap();
            left -= granted;
        }
        stream.send_trailers(HeaderMap::new()).unwrap();
    };
    let receive = async {
        let mut body = response.await.unwrap().into_body();
        let mut received = 0;
        while let Some(data) = body.data().await {
            let count = data.unwrap().len();
            received += count;
            tokio::task::yield_now().await;
            body.flow_control().release_capacity(count).unwrap();
        }
        assert_eq!(body.trailers().await.unwrap().unwrap()["etag"], "end");
        received
    };
    assert_eq!(tokio::join!(send, receive).1, length);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_calls_with_large_bodies_are_answered() {
    let (connection, sender) = connect().await;
    serve(connection);
    let calls: Vec<_> = (0..64).map(|i| tokio::spawn(call(sender.clone(), i * i * 50))).collect();
    for call in calls {
        tokio::time::timeout(Duration::from_secs(60), call).await.expect("a wake-up was lost").unwrap();
    }
}

#[tokio::test]
async fn a_reset_ends_the_call_and_a_dropped_responder_resets_it() {
    let (mut connection, mut sender) = connect().await;
    let (_response, mut stream) = sender.send_request(request("/"), false).unwrap();
    let (_request, mut responder) = accept(&mut connection).await;
    stream.send_reset(h2::Reason::CANCEL);
    tokio::select! {
        _ = connection.accept() => panic!("no request"),
        () = poll_fn(|cx| responder.poll_ended(cx)) => {}
    }
    let (response, _stream) = sender.send_request(request("/"), true).unwrap();
    let (_request, responder) = accept(&mut connection).await;
    drop(responder);
    tokio::select! {
        _ = connection.accept() => panic!("no request"),
        response = response => assert_eq!(response.unwrap_err().reason(), Some(h2::Reason::INTERNAL_ERROR)),
    }
}

// The clock of the test advances when nothing else is left to do, so the answer comes after the close.
#[tokio::test(start_paused = true)]
async fn a_closed_connection_answers_its_calls_and_ends() {
    let (mut connection, mut sender) = connect().await;
    let (response, _stream) = sender.send_request(request("/"), true).unwrap();
    let (request, responder) = accept(&mut connection).await;
    connection.close();
    let answer = tokio::spawn(async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        echo(request.into_body(), responder).await
    });
    assert!(connection.accept().await.is_none());
    assert!(answer.await.unwrap().is_ok());
    assert_eq!(response.await.unwrap().status(), 200);
    assert!(connection.accept().await.is_none());
}

#[tokio::test]
async fn calls_end_with_their_connection() {
    let (mut connection, mut sender) = connect().await;
    let (_response, _stream) = sender.send_request(request("/"), false).unwrap();
    let (request, mut responder) = accept(&mut connection).await;
    let mut body = request.into_body();
    let next = tokio::spawn(async move { poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await });
    tokio::task::yield_now().await;
    drop(connection);
    assert_eq!(next.await.unwrap().unwrap().unwrap_err(), StreamEnded);
    assert!(responder.send_head(&Response::new(()).into_parts().0, None, true).is_err());
    poll_fn(|cx| responder.poll_ended(cx)).await;
}

#[tokio::test]
async fn a_client_that_breaks_the_protocol_is_told_why() {
    let (ours, mut theirs) = tokio::io::duplex(1000);
    let mut connection = Connection::new(Io { stream: ours, unsent: Vec::new() }, LIMITS);
    theirs.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    assert!(connection.accept().await.unwrap().is_err());
    assert!(connection.accept().await.is_none());
    drop(connection);
    let mut received = Vec::new();
    theirs.read_to_end(&mut received).await.unwrap();
    assert!(String::from_utf8_lossy(&received).contains("preface"));
}

/// A client that always has sent more calls.
struct Endless {
    /// Fields of a head, of 38 bytes each, beside `POST http:/`.
    fields: u8,
    next_stream: u32,
    unread: Vec<u8>,
    read_bytes: Arc<AtomicUsize>,
}

impl AsyncRead for Endless {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        /// `POST http:/`, and `accept` without a value.
        const POST: [u8; 3] = [0x83, 0x86, 0x84];
        const ACCEPT: u8 = 0x93;
        while self.unread.len() < buffer.remaining() {
            // HEADERS with END_STREAM and END_HEADERS.
            let header = [0, 0, self.fields + POST.len() as u8, 1, 5];
            let stream = self.next_stream.to_be_bytes();
            let fields = vec![ACCEPT; self.fields.into()];
            self.unread.extend_from_slice(&[&header[..], &stream, &POST, &fields].concat());
            self.next_stream += 2;
        }
        let count = buffer.remaining();
        buffer.put_slice(&self.unread[..count]);
        self.unread.drain(..count);
        self.read_bytes.fetch_add(count, Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl Transport for Endless {
    fn poll_send(&mut self, _: &mut Context<'_>, output: &mut Vec<u8>) -> io::Result<usize> {
        output.clear();
        Ok(1 << 20)
    }
}

/// A connection to a client that always has sent more calls, whose heads have so many `fields` more than three, and the
/// bytes that were read.
fn endless(fields: u8) -> (Connection<Endless>, Arc<AtomicUsize>) {
    let read_bytes = Arc::new(AtomicUsize::new(0));
    let unread = [&PREFACE[..], &[0, 0, 0, 4, 0, 0, 0, 0, 0]].concat();
    let client = Endless { fields, next_stream: 1, unread, read_bytes: Arc::clone(&read_bytes) };
    // So that no call is refused.
    (Connection::new(client, Limits { max_streams: 10_000, ..LIMITS }), read_bytes)
}

/// Answers calls until the connection gives way. Returns their number.
fn turn(connection: &mut Connection<Endless>) -> usize {
    let mut calls = 0;
    while let Poll::Ready(accepted) = pin!(connection.accept()).poll(&mut Context::from_waker(Waker::noop())) {
        let (_, mut responder) = accepted.unwrap().unwrap();
        responder.send_head(&Response::new(()).into_parts().0, None, true).unwrap();
        calls += 1;
    }
    calls
}

#[test]
fn a_connection_gives_way_after_64_kib_of_input() {
    let (mut connection, read_bytes) = endless(0);
    for number in 1..=10 {
        let calls = turn(&mut connection);
        assert!(calls > 250, "turn {number}");
        assert_eq!(read_bytes.load(Relaxed), number * (64 << 10));
    }
}

#[test]
fn a_connection_gives_way_after_32_kib_of_decoded_fields() {
    /// Bytes of a head on the wire, and as HPACK counts its fields at least.
    const HEAD: usize = 112;
    const FIELDS: usize = 3800;
    const READ: usize = 32 << 10;
    let (mut connection, read_bytes) = endless(100);
    let mut calls = 0;
    for number in 1..=40 {
        let in_turn = turn(&mut connection);
        // What is left of one read and the beginning of the next may be in one turn.
        let most = (64 << 10) / FIELDS + 1;
        assert!((1..=most).contains(&in_turn), "turn {number}: {in_turn} calls, {most} at most");
        calls += in_turn;
    }
    // All calls were accepted that it has read, but those of the last read.
    let read = read_bytes.load(Relaxed).div_ceil(HEAD);
    assert!((calls..=calls + READ / HEAD + 1).contains(&read), "{calls} calls of {read}");
}
