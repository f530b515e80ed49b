//! Frames in, frames out.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake},
};

use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use proptest::prelude::*;

use super::{bounds::ConnectionBudget, *};
use crate::{
    error::StreamEnded,
    frame::{flag, setting},
    head::HeadBuilder,
};

const LIMITS: Limits =
    Limits { max_streams: 4, max_header_bytes: 1024, stream_window: 20_000, connection_window: 70_000 };
/// `POST http:/`.
const POST: [u8; 3] = [0x83, 0x86, 0x84];

/// A frame that was sent: its kind, its stream, whether it has the first flag (`END_STREAM` or `ACK`), its payload.
type Sent = (u8, u32, bool, Vec<u8>);

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::put_header(&mut bytes, payload.len(), kind, flags, stream);
    bytes.extend_from_slice(payload);
    bytes
}

fn headers(stream: u32, ends: bool, block: &[u8]) -> Vec<u8> {
    frame(kind::HEADERS, flag::END_HEADERS | u8::from(ends), stream, block)
}

fn data(stream: u32, ends: bool, length: usize) -> Vec<u8> {
    frame(kind::DATA, u8::from(ends), stream, &vec![b'd'; length])
}

fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(kind::WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

fn reset(stream: u32) -> Vec<u8> {
    frame(kind::RST_STREAM, 0, stream, &Reason::Cancel.code().to_be_bytes())
}

fn settings(settings: &[(u16, u32)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::put_settings(&mut bytes, settings);
    bytes
}

/// `POST http:/` with a literal field.
fn post_with(name: &str, value: &str) -> Vec<u8> {
    let mut block = POST.to_vec();
    block.extend_from_slice(&[0, name.len() as u8]);
    block.extend_from_slice(name.as_bytes());
    block.push(value.len() as u8);
    block.extend_from_slice(value.as_bytes());
    block
}

/// A header block whose only entry of the table is used so often that the fields are above the limit.
fn large_block() -> Vec<u8> {
    let mut block = POST.to_vec();
    block.extend_from_slice(&[0x40, 1, b'x', 100]);
    block.extend_from_slice(&[b'v'; 100]);
    block.extend_from_slice(&[0xbe; 20]);
    block
}

fn new(limits: Limits) -> State {
    let mut state = State::new(limits, Box::new(ConnectionBudget::new()));
    state.set_room(1 << 30);
    state.receive(PREFACE).unwrap();
    state
}

/// A connection after the exchange of settings.
fn connected() -> State {
    let mut state = new(LIMITS);
    state.receive(&settings(&[])).unwrap();
    sent(&mut state);
    state
}

/// A connection with one accepted call, whose request may go on.
fn with_call(ends: bool) -> State {
    let mut state = connected();
    state.receive(&headers(1, ends, &POST)).unwrap();
    assert_eq!(state.next_request().unwrap().0, 1);
    state
}

/// Takes what was sent.
fn sent(state: &mut State) -> Vec<Sent> {
    let output = std::mem::take(&mut state.output);
    let (mut rest, mut frames) = (&output[..], Vec::new());
    while let Some((header, after)) = rest.split_first_chunk() {
        let header = FrameHeader::parse(header);
        let (payload, after) = after.split_at(header.length);
        frames.push((header.kind, header.stream, header.has(1), payload.to_vec()));
        rest = after;
    }
    frames
}

fn reset_of(stream: u32, reason: Reason) -> Sent {
    (kind::RST_STREAM, stream, false, reason.code().to_be_bytes().to_vec())
}

fn update_of(stream: u32, increment: u32) -> Sent {
    (kind::WINDOW_UPDATE, stream, false, increment.to_be_bytes().to_vec())
}

/// What the server tells a client whose bytes end the connection.
fn error(state: &mut State, bytes: &[u8]) -> Reason {
    let Err(ConnectionError::Protocol { reason, .. }) = state.receive(bytes) else { panic!("accepted") };
    let (kind, _, _, payload) = sent(state).pop().unwrap();
    assert_eq!((kind, &payload[4..8]), (kind::GOAWAY, &reason.code().to_be_bytes()[..]));
    reason
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Wakes {
    fn take(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// A waker that counts.
fn waker() -> (Arc<Wakes>, Waker) {
    let wakes = Arc::<Wakes>::default();
    (Arc::clone(&wakes), wakes.into())
}

fn poll_send(state: &mut State, id: u32, data: &[u8], waker: &Waker) -> Poll<Result<usize, StreamEnded>> {
    state.poll_send(id, &mut { data }, false, &mut Context::from_waker(waker))
}

fn poll_data(state: &mut State, id: u32) -> Poll<Option<Result<Bytes, StreamEnded>>> {
    state.poll_data(id, &mut Context::from_waker(Waker::noop()))
}

#[test]
fn settings_are_exchanged_first() {
    let mut state = new(LIMITS);
    state.receive(&settings(&[])).unwrap();
    let frames = sent(&mut state);
    let kinds: Vec<_> = frames.iter().map(|frame| (frame.0, frame.2)).collect();
    assert_eq!(kinds, [(kind::SETTINGS, false), (kind::WINDOW_UPDATE, false), (kind::SETTINGS, true)]);
    assert_eq!(frames[1], update_of(0, LIMITS.connection_window - DEFAULT_WINDOW));
    assert_eq!(error(&mut new(LIMITS), &headers(1, true, &POST)), Reason::ProtocolError);
    assert_eq!(
        error(&mut State::new(LIMITS, Box::new(ConnectionBudget::new())), b"GET / HTTP/1.1\r\n"),
        Reason::ProtocolError
    );
}

#[test]
fn a_unary_call_is_answered() {
    let mut state = connected();
    let request: Vec<u8> = [headers(1, false, &POST), data(1, true, 5)].concat();
    for byte in request {
        state.receive(&[byte]).unwrap();
    }
    let (id, request) = state.next_request().unwrap();
    assert_eq!((id, request.method().as_str(), request.uri().path()), (1, "POST", "/"));
    assert_eq!(poll_data(&mut state, 1), Poll::Ready(Some(Ok(Bytes::from_static(b"ddddd")))));
    assert!(state.is_body_ended(1));
    assert_eq!(poll_data(&mut state, 1), Poll::Ready(None));
    state.send_head(1, StatusCode::OK, &HeaderMap::new(), None, false).unwrap();
    assert_eq!(poll_send(&mut state, 1, b"floor", Waker::noop()), Poll::Ready(Ok(5)));
    state.send_trailers(1, &HeaderMap::new()).unwrap();
    let expected = [
        (kind::HEADERS, 1, false, vec![0x88]),
        (kind::DATA, 1, false, b"floor".to_vec()),
        (kind::HEADERS, 1, true, vec![]),
    ];
    assert_eq!(sent(&mut state), expected);
    assert!(!state.has_streams() && state.send_trailers(1, &HeaderMap::new()).is_err());
}

#[test]
fn a_request_that_is_not_needed_to_its_end_is_reset_without_error() {
    let mut state = with_call(false);
    state.send_head(1, StatusCode::OK, &HeaderMap::new(), None, true).unwrap();
    assert_eq!(sent(&mut state)[1..], [reset_of(1, Reason::NoError)]);
    // Sent before the client knew.
    state.receive(&[data(1, false, 5), headers(1, true, &[])].concat()).unwrap();
    assert_eq!(sent(&mut state), []);
}

#[test]
fn the_trailers_of_a_request_follow_its_data() {
    let mut state = with_call(false);
    state.receive(&[data(1, false, 5), headers(1, true, &post_with("x", "y")[3..])].concat()).unwrap();
    assert!(matches!(poll_data(&mut state, 1), Poll::Ready(Some(Ok(_)))));
    assert!(!state.is_body_ended(1) && poll_data(&mut state, 1) == Poll::Ready(None));
    assert_eq!(state.take_trailers(1).unwrap()["x"], "y");
    for block in [&POST[..], &post_with("connection", "close")[3..]] {
        let mut state = with_call(false);
        state.receive(&headers(1, true, block)).unwrap();
        assert_eq!(sent(&mut state), [reset_of(1, Reason::ProtocolError)]);
    }
    let mut state = with_call(false);
    state.receive(&headers(1, false, &[])).unwrap();
    assert_eq!(sent(&mut state), [reset_of(1, Reason::ProtocolError)]);
}

#[test]
fn data_waits_for_the_windows() {
    let mut state = with_call(true);
    let (wakes, waker) = waker();
    let body = [7; 100];
    state.receive(&settings(&[(setting::INITIAL_WINDOW_SIZE, 10)])).unwrap();
    assert_eq!(poll_send(&mut state, 1, &body, &waker), Poll::Ready(Ok(10)));
    assert_eq!(poll_send(&mut state, 1, &body, &waker), Poll::Pending);
    state.receive(&window_update(0, 5)).unwrap();
    assert_eq!(wakes.take(), 0, "it waits for its own window");
    // Now it may send -3, then 1 byte.
    state.receive(&settings(&[(setting::INITIAL_WINDOW_SIZE, 7)])).unwrap();
    assert_eq!(poll_send(&mut state, 1, &body, &waker), Poll::Pending);
    wakes.take();
    state.receive(&window_update(1, 4)).unwrap();
    assert_eq!(wakes.take(), 1);
    assert_eq!(poll_send(&mut state, 1, &body, &waker), Poll::Ready(Ok(1)));
    state.receive(&settings(&[(setting::INITIAL_WINDOW_SIZE, MAX_STREAM)])).unwrap();
    while poll_send(&mut state, 1, &body, &waker).is_ready() {}
    let bytes: usize = sent(&mut state).iter().filter(|frame| frame.0 == kind::DATA).map(|frame| frame.3.len()).sum();
    assert_eq!(bytes, DEFAULT_WINDOW as usize + 5, "the window of the connection");
    wakes.take();
    state.receive(&window_update(0, 2)).unwrap();
    assert_eq!((wakes.take(), poll_send(&mut state, 1, &body, &waker)), (1, Poll::Ready(Ok(2))));
    // An empty end needs no window.
    let end = state.poll_send(1, &mut &b""[..], true, &mut Context::from_waker(&waker));
    assert_eq!(end, Poll::Ready(Ok(0)));
    assert_eq!(sent(&mut state).pop(), Some((kind::DATA, 1, true, vec![])));
}

#[test]
fn windows_do_not_overflow() {
    let mut state = with_call(true);
    state.receive(&window_update(1, MAX_STREAM)).unwrap();
    assert_eq!(sent(&mut state), [reset_of(1, Reason::FlowControlError)]);
    let mut state = with_call(true);
    state.receive(&window_update(1, 0)).unwrap();
    assert_eq!(sent(&mut state), [reset_of(1, Reason::ProtocolError)]);
    assert_eq!(error(&mut connected(), &window_update(0, MAX_STREAM)), Reason::FlowControlError);
    assert_eq!(error(&mut connected(), &window_update(0, 0)), Reason::ProtocolError);
    let too_large = settings(&[(setting::INITIAL_WINDOW_SIZE, MAX_STREAM + 1)]);
    assert_eq!(error(&mut connected(), &too_large), Reason::FlowControlError);
    let mut state = with_call(true);
    state.receive(&window_update(1, MAX_STREAM - DEFAULT_WINDOW)).unwrap();
    let larger = settings(&[(setting::INITIAL_WINDOW_SIZE, DEFAULT_WINDOW + 1)]);
    assert_eq!(error(&mut state, &larger), Reason::FlowControlError);
}

#[test]
fn data_waits_for_the_room_of_the_output() {
    let mut state = with_call(true);
    let (wakes, waker) = waker();
    state.set_room(6);
    assert_eq!(poll_send(&mut state, 1, b"floors", &waker), Poll::Ready(Ok(6)));
    assert!(!state.has_room() && poll_send(&mut state, 1, b"floors", &waker).is_pending());
    sent(&mut state);
    state.set_room(0);
    assert_eq!(wakes.take(), 0);
    state.set_room(1);
    assert_eq!((wakes.take(), poll_send(&mut state, 1, b"floors", &waker)), (1, Poll::Ready(Ok(1))));
}

#[test]
fn a_client_may_send_what_was_read() {
    let mut state = with_call(false);
    let (wakes, waker) = waker();
    assert!(state.poll_data(1, &mut Context::from_waker(&waker)).is_pending());
    state.receive(&data(1, false, 12_000)).unwrap();
    assert_eq!((wakes.take(), sent(&mut state)), (1, vec![]));
    assert!(poll_data(&mut state, 1).is_ready());
    assert_eq!(sent(&mut state), [update_of(1, 12_000)]);
    // Padding is given back at once: 256 bytes of each frame.
    let padded = frame(kind::DATA, flag::PADDED, 1, &[&[255; 1][..], &[0; 300]].concat());
    for _ in 0..40 {
        state.receive(&padded).unwrap();
    }
    assert_eq!(sent(&mut state), [update_of(1, 40 * 256)]);
    state.drop_body(1);
    assert_eq!(sent(&mut state), [], "45 bytes of each were unread");
    for _ in 0..20 {
        state.receive(&data(1, false, 15_000)).unwrap();
    }
    assert!(sent(&mut state).contains(&update_of(1, 15_000)), "data of a dropped body");
    let open = |window: &Window| window.open + i64::from(window.read);
    assert_eq!(open(&state.receive_window), LIMITS.connection_window.into());
    assert_eq!(open(&state.streams[&1].receive_window), LIMITS.stream_window.into());
}

#[test]
fn more_data_than_the_windows_is_refused() {
    let mut state = with_call(false);
    state.receive(&[data(1, false, 16_000), data(1, false, 4_001)].concat()).unwrap();
    assert_eq!(sent(&mut state), [reset_of(1, Reason::FlowControlError)]);
    // All was given back, also what had not been read.
    assert_eq!(state.receive_window.open + i64::from(state.receive_window.read), 70_000);
    let mut state = connected();
    for id in [1, 3, 5] {
        state.receive(&[headers(id, false, &POST), data(id, false, 16_000), data(id, false, 4_000)].concat()).unwrap();
    }
    let more = [headers(7, false, &POST), data(7, false, 10_001)].concat();
    assert_eq!(error(&mut state, &more), Reason::FlowControlError);
}

#[test]
fn the_content_length_is_checked() {
    let refused = [reset_of(1, Reason::ProtocolError)];
    for (length, frames, is_refused) in [
        ("5", vec![data(1, false, 2), data(1, true, 3)], false),
        ("5", vec![data(1, true, 4)], true),
        ("5", vec![data(1, false, 6)], true),
        ("5", vec![headers(1, true, &[])], true),
        ("0", vec![data(1, true, 0)], false),
        ("+5", vec![], true),
        ("", vec![], true),
        ("99999999999999999999", vec![], true),
    ] {
        let mut state = connected();
        state.receive(&headers(1, false, &post_with("content-length", length))).unwrap();
        frames.iter().for_each(|frame| state.receive(frame).unwrap());
        assert_eq!(sent(&mut state) == refused, is_refused, "{length:?} {frames:?}");
    }
    let mut state = connected();
    state.receive(&headers(1, true, &post_with("content-length", "5"))).unwrap();
    assert_eq!(sent(&mut state), refused);
}

#[test]
fn malformed_requests_are_reset_and_do_not_reach_the_caller() {
    let authority = [0x41, 1, b'a'];
    for block in [
        &[0x83, 0x86][..],
        &[0x83, 0x84],
        &[0x86, 0x84],
        &[0x83, 0x83, 0x86, 0x84],
        &[&post_with("x", "y")[..], &authority].concat(),
        &[&POST[..], &authority, &authority].concat(),
        &post_with("transfer-encoding", "chunked"),
        &post_with("Upper", ""),
        &post_with("x", "a\r\nb"),
        &post_with("", ""),
        &post_with(":protocol", "websocket"),
        // As nghttpd.
        &post_with("x", " y"),
        &post_with("x", "y\t"),
        &[&post_with("host", "a")[..], &[0, 4], b"host", &[1], b"a"].concat(),
        &[0x83, 0x86, 0x44, 3, b'/', b'#', b'a'],
        &[0x83, 0x86, 0x44, 1, b'*'],
        &[0x83, 0x46, 0, 0x84],
        &[0x83, 0x46, 3, b'a', b' ', b'b', 0x84],
        &[&POST[..], &[0x41, 3, b'a', b' ', b'b']].concat(),
        // `:authority` of the static table, which is empty.
        &[&POST[..], &[0x81]].concat(),
        &[&[0x42, 7][..], b"CONNECT", &[0x84], &authority].concat(),
    ] {
        let mut state = connected();
        state.receive(&headers(1, true, block)).unwrap();
        assert_eq!(sent(&mut state), [reset_of(1, Reason::ProtocolError)], "{block:?}");
        assert!(state.next_request().is_none() && !state.has_streams());
    }
}

#[test]
fn requests_that_are_too_large_or_have_no_valid_path_are_answered() {
    let invalid_path = [0x83, 0x86, 0x44, 2, b'/', 0x80];
    for (block, status) in [(&large_block()[..], &b"\x08\x03431"[..]), (&invalid_path, b"\x8c")] {
        let mut state = connected();
        state.receive(&headers(1, false, block)).unwrap();
        let frames = sent(&mut state);
        assert!(frames[0].0 == kind::HEADERS && matches!(&frames[1], (kind::DATA, 1, true, text) if !text.is_empty()));
        assert_eq!(frames[2], reset_of(1, Reason::NoError));
        assert!(frames[0].3.starts_with(status), "{:?}", frames[0].3);
        assert!(!state.has_streams() && state.next_request().is_none());
    }
}

#[test]
fn a_block_of_thousands_of_references_is_not_decoded_to_its_end() {
    let mut block = large_block();
    block.extend_from_slice(&[0xbe; 3000]);
    let mut state = connected();
    let error = state.receive(&headers(1, false, &block)).unwrap_err();
    assert!(matches!(error, ConnectionError::Protocol { reason: Reason::EnhanceYourCalm, .. }), "{error:?}");
    assert!(sent(&mut state)[0].3.starts_with(b"\x08\x03431"));
}

#[test]
fn a_change_of_the_window_wakes_only_writers_that_may_go_on() {
    let mut state = with_call(true);
    state.send_head(1, StatusCode::OK, &HeaderMap::new(), None, false).unwrap();
    state.receive(&settings(&[(setting::INITIAL_WINDOW_SIZE, 0)])).unwrap();
    let (wakes, waker) = waker();
    assert_eq!(poll_send(&mut state, 1, b"x", &waker), Poll::Pending);
    state.receive(&settings(&[(setting::INITIAL_WINDOW_SIZE, 0)])).unwrap();
    assert_eq!(wakes.take(), 0);
    // The last value counts.
    state.receive(&settings(&[(setting::INITIAL_WINDOW_SIZE, 1), (setting::INITIAL_WINDOW_SIZE, 0)])).unwrap();
    assert_eq!(wakes.take(), 0);
    state.receive(&settings(&[(setting::INITIAL_WINDOW_SIZE, 1)])).unwrap();
    assert_eq!(wakes.take(), 1);
    // A call that waits for its floor, not for its window.
    assert!(state.poll_ended(1, &mut Context::from_waker(&waker)).is_pending());
    state.receive(&settings(&[(setting::INITIAL_WINDOW_SIZE, 0)])).unwrap();
    state.receive(&settings(&[(setting::INITIAL_WINDOW_SIZE, 1)])).unwrap();
    assert_eq!(wakes.take(), 0);
}

#[test]
fn a_setting_that_opens_windows_by_a_byte_is_charged_for_each_stream() {
    let mut state = connected();
    let streams = [1, 3, 5, 7];
    for stream in streams {
        state.receive(&headers(stream, true, &POST)).unwrap();
        state.next_request().unwrap();
        state.send_head(stream, StatusCode::OK, &HeaderMap::new(), None, false).unwrap();
    }
    state.receive(&settings(&[(setting::INITIAL_WINDOW_SIZE, 0)])).unwrap();
    let mut sent = 0;
    let end = loop {
        for stream in streams {
            while poll_send(&mut state, stream, b"x", Waker::noop()).is_ready() {}
        }
        sent += 1;
        assert!(sent < 30_000);
        if let Err(error) = state.receive(&settings(&[(setting::INITIAL_WINDOW_SIZE, sent)])) {
            break error;
        }
    };
    assert!(matches!(end, ConnectionError::Protocol { reason: Reason::EnhanceYourCalm, .. }), "{end:?}");
    // Each is charged for itself, and for four streams.
    assert!(sent <= FRAMES_AT_ONCE / 5 + 10, "{sent} frames");
}

#[test]
fn streams_that_wait_for_the_connection_are_woken_only_by_its_window() {
    let mut state = with_call(true);
    state.receive(&window_update(1, 1 << 20)).unwrap();
    let (wakes, waker) = waker();
    while poll_send(&mut state, 1, &[0; 10_000], &waker).is_ready() {}
    state.set_room(1 << 20);
    assert_eq!(wakes.take(), 0, "an empty output does not open the window");
    state.receive(&window_update(0, 3000)).unwrap();
    assert_eq!(wakes.take(), 1);
}

#[test]
fn streams_beyond_the_limit_are_refused() {
    let mut state = connected();
    for id in [1, 3, 5, 7, 9] {
        state.receive(&headers(id, true, &POST)).unwrap();
    }
    assert_eq!(sent(&mut state), [reset_of(9, Reason::RefusedStream)]);
    state.receive(&reset(3)).unwrap();
    state.receive(&headers(11, true, &POST)).unwrap();
    assert_eq!((sent(&mut state), state.streams.len()), (vec![], 4));
}

#[test]
fn a_reset_ends_a_call() {
    let mut state = with_call(false);
    let (wakes, waker) = waker();
    let mut cx = Context::from_waker(&waker);
    assert!(state.poll_data(1, &mut cx).is_pending() && state.poll_ended(1, &mut cx).is_pending());
    state.receive(&reset(1)).unwrap();
    assert_eq!(wakes.take(), 2);
    assert!(
        state.poll_ended(1, &mut cx).is_ready()
            && state.send_head(1, StatusCode::OK, &HeaderMap::new(), None, true).is_err()
    );
    assert_eq!((poll_send(&mut state, 1, b"x", &waker), sent(&mut state)), (Poll::Ready(Err(StreamEnded)), vec![]));
    // The body is cut off, and does not seem complete.
    assert_eq!((poll_data(&mut state, 1), state.is_body_ended(1)), (Poll::Ready(Some(Err(StreamEnded))), false));
    state.reset_open(1, Reason::Cancel);
    state.drop_body(1);
    assert_eq!(sent(&mut state), []);
}

#[test]
fn requests_that_were_reset_are_not_started() {
    // As in CVE-2023-44487, and as in CVE-2025-8671, where the client makes the server reset.
    for end in [reset(1), window_update(1, 0), window_update(1, MAX_STREAM), data(1, false, 1)] {
        let mut state = connected();
        state.receive(&[headers(1, true, &POST), end, headers(3, true, &POST)].concat()).unwrap();
        assert_eq!((state.requests.len(), state.next_request().unwrap().0), (1, 3));
    }
}

#[test]
fn streams_that_waited_and_ended_leave_nothing() {
    let mut state = with_call(true);
    while poll_send(&mut state, 1, &[0; 10_000], Waker::noop()).is_ready() {}
    for id in (3..2000).step_by(2) {
        state.receive(&headers(id, true, &POST)).unwrap();
        assert!(state.next_request().is_some() && poll_send(&mut state, id, b"x", Waker::noop()).is_pending());
        state.receive(&reset(id)).unwrap();
    }
    assert!(state.waiting.len() <= 1, "{}", state.waiting.len());
}

#[test]
fn a_client_that_does_not_confirm_the_close_may_not_go_on() {
    let mut state = with_call(true);
    state.close();
    sent(&mut state);
    state.close();
    let last = [1_u32.to_be_bytes(), [0; 4]].concat();
    assert_eq!(sent(&mut state), [(kind::GOAWAY, 0, false, last)]);
    state.receive(&headers(3, true, &POST)).unwrap();
    assert!(state.next_request().is_none());
}

#[test]
fn a_connection_closes_after_its_calls() {
    let mut state = with_call(true);
    state.close();
    let go_away = |id: u32| (kind::GOAWAY, 0, false, [id.to_be_bytes(), [0; 4]].concat());
    assert_eq!(sent(&mut state), [go_away(MAX_STREAM), (kind::PING, 0, false, CLOSE_PING.to_vec())]);
    // Sent before the client knew.
    state.receive(&headers(3, true, &POST)).unwrap();
    assert_eq!(state.next_request().unwrap().0, 3);
    state.receive(&frame(kind::PING, flag::ACK, 0, &CLOSE_PING)).unwrap();
    assert_eq!(sent(&mut state), [(kind::PING, 0, false, CLOSE_PING.to_vec())]);
    // Opened before the client knew, and sent after its answer.
    state.receive(&headers(5, true, &POST)).unwrap();
    assert_eq!(state.next_request().unwrap().0, 5);
    state.receive(&frame(kind::PING, flag::ACK, 0, &CLOSE_PING)).unwrap();
    assert_eq!(sent(&mut state), [go_away(5)]);
    state.receive(&[headers(7, false, &POST), data(7, true, 10_000), reset(7), window_update(7, 1)].concat()).unwrap();
    assert!(state.next_request().is_none() && sent(&mut state).is_empty());
    assert_eq!(state.receive_window.open + i64::from(state.receive_window.read), 70_000);
    for id in [1, 3, 5] {
        assert!(!state.is_done());
        state.send_head(id, StatusCode::OK, &HeaderMap::new(), None, true).unwrap();
    }
    assert!(state.is_done());
}

#[test]
fn the_end_of_a_connection_ends_its_calls() {
    let mut state = with_call(false);
    let (wakes, waker) = waker();
    state.receive(&headers(3, true, &POST)).unwrap();
    assert!(state.poll_ended(1, &mut Context::from_waker(&waker)).is_pending());
    state.end();
    assert_eq!(wakes.take(), 1);
    assert!(state.next_request().is_none() && poll_send(&mut state, 1, b"x", &waker).is_ready());
}

#[test]
fn pings_are_answered() {
    let mut state = connected();
    state.receive(&frame(kind::PING, 0, 0, b"whatever")).unwrap();
    state.receive(&frame(kind::PING, flag::ACK, 0, b"whatever")).unwrap();
    assert_eq!(sent(&mut state), [(kind::PING, 0, true, b"whatever".to_vec())]);
}

#[test]
fn frames_that_lead_to_nothing_are_limited() {
    let empty = |kind, flags, payload: &[u8]| frame(kind, flags, 1, payload);
    let call_and_reset = |id: u32, end: &[u8]| [&headers(id, false, &POST)[..], end].concat();
    type Flood<'a> = (&'a str, &'a dyn Fn(u32) -> Vec<u8>);
    let floods: [Flood<'_>; 15] = [
        ("pings", &|_| frame(kind::PING, 0, 0, &[0; 8])),
        ("answers to pings", &|_| frame(kind::PING, flag::ACK, 0, &[0; 8])),
        ("settings", &|_| settings(&[])),
        ("acknowledgements", &|_| frame(kind::SETTINGS, flag::ACK, 0, &[])),
        ("GOAWAY", &|_| frame(kind::GOAWAY, 0, 0, &[0; 8])),
        ("priorities", &|_| empty(kind::PRIORITY, 0, &[0; 5])),
        ("unknown frames", &|_| empty(77, 0, &[])),
        ("updates of a stream", &|_| window_update(1, 1)),
        ("empty data", &|_| data(1, false, 0)),
        ("padding", &|_| empty(kind::DATA, flag::PADDED, &[3, 0, 0, 0])),
        ("rapid resets", &|id| call_and_reset(id, &reset(id))),
        ("made resets", &|id| call_and_reset(id, &window_update(id, 0))),
        ("malformed requests", &|id| headers(id, true, &[0x83])),
        ("large heads", &|id| headers(id, true, &large_block())),
        ("refused streams", &|id| [headers(id, true, &POST), headers(id + 2, true, &POST)].concat()),
    ];
    for (name, frame) in floods {
        let mut state = with_call(false);
        let end = (1..30_000).find_map(|i| {
            state.output.clear();
            state.receive(&frame(4 * i + 3)).err()
        });
        let is_calm = matches!(end, Some(ConnectionError::Protocol { reason: Reason::EnhanceYourCalm, .. }));
        assert!(is_calm, "{name}: {end:?}");
        assert!(state.requests.len() <= LIMITS.max_streams as usize, "{name}");
    }
}

/// Charges resets to the value of `x`, and has no end.
#[derive(Debug)]
struct Payers(Arc<std::sync::Mutex<Vec<Option<u64>>>>);

impl FrameBudget for Payers {
    fn take(&mut self, payer: Option<u64>) -> bool {
        self.0.lock().unwrap().push(payer);
        true
    }

    fn payer(&self, headers: &HeaderMap) -> Option<u64> {
        headers.get("x")?.to_str().ok()?.parse().ok()
    }

    fn is_shared(&self) -> bool {
        true
    }
}

#[test]
fn resets_are_charged_to_the_payer_of_their_request() {
    let taken = Arc::default();
    let mut state = State::new(LIMITS, Box::new(Payers(Arc::clone(&taken))));
    state.receive(&[&PREFACE[..], &settings(&[])].concat()).unwrap();
    for (id, payer, end) in [(1, "7", reset(1)), (3, "8", window_update(3, 0)), (5, "9", data(5, false, 0))] {
        state.receive(&[headers(id, false, &post_with("x", payer)), end].concat()).unwrap();
    }
    let mut late = reset(3);
    while state.free_frames > 0 {
        state.receive(&late).unwrap();
    }
    late.extend(headers(7, true, &[0x83]));
    state.receive(&late).unwrap();
    assert_eq!(*taken.lock().unwrap(), [Some(7), Some(8), Some(9), None, None]);
    // As HAProxy does for a call that it has not sent.
    state.receive(&reset(11)).unwrap();
    assert_eq!(error(&mut state, &window_update(11, 1)), Reason::ProtocolError);
}

#[test]
fn data_for_a_call_that_was_reset_is_limited() {
    let mut state = with_call(false);
    state.reset_open(1, Reason::Cancel);
    assert!((0..30_000).any(|_| state.receive(&data(1, false, 1)).is_err()));
    // As after the last GOAWAY.
    let mut state = with_call(false);
    state.close();
    state.receive(&frame(kind::PING, flag::ACK, 0, &CLOSE_PING).repeat(2)).unwrap();
    assert!((0..30_000).any(|i| state.receive(&headers(2 * i + 3, true, &POST)).is_err()));
}

#[test]
fn small_updates_of_a_window_for_which_streams_wait_are_limited() {
    let mut state = with_call(true);
    state.receive(&window_update(1, 1 << 30)).unwrap();
    while poll_send(&mut state, 1, &[0; 10_000], Waker::noop()).is_ready() {}
    let mut updates = 0;
    while state.receive(&window_update(0, 1)).is_ok() {
        assert_eq!(poll_send(&mut state, 1, b"x", Waker::noop()), Poll::Ready(Ok(1)));
        assert!(poll_send(&mut state, 1, b"x", Waker::noop()).is_pending());
        updates += 1;
        assert!(updates < 30_000);
    }
}

#[test]
fn a_window_that_is_opened_byte_by_byte_is_limited() {
    let mut state = with_call(true);
    let (wakes, waker) = waker();
    state.receive(&window_update(0, 1 << 30)).unwrap();
    while poll_send(&mut state, 1, &[0; 10_000], &waker).is_ready() {}
    let mut updates = 0;
    while state.receive(&window_update(1, 1)).is_ok() {
        assert_eq!(wakes.take(), 1);
        assert_eq!(poll_send(&mut state, 1, &[0; 10_000], &waker), Poll::Ready(Ok(1)));
        assert!(poll_send(&mut state, 1, &[0; 10_000], &waker).is_pending());
        updates += 1;
        assert!(updates < 30_000);
    }
}

#[test]
fn an_update_of_a_stream_wakes_only_a_writer_that_waits_for_it() {
    let mut state = with_call(true);
    let (wakes, waker) = waker();
    assert!(state.poll_ended(1, &mut Context::from_waker(&waker)).is_pending());
    state.receive(&window_update(1, 5000)).unwrap();
    assert_eq!(wakes.take(), 0);
}

#[test]
fn a_client_that_gives_back_each_frame_of_large_answers_is_not_limited() {
    let mut state = with_call(true);
    state.send_head(1, StatusCode::OK, &HeaderMap::new(), None, false).unwrap();
    sent(&mut state);
    // Messages of all sizes, most of them larger than the window, whose last frames are small.
    for message in 1..1000 {
        let mut body = &vec![0; message * 7919 % 200_000 + 1][..];
        while !body.is_empty() {
            let _ = state.poll_send(1, &mut body, false, &mut Context::from_waker(Waker::noop()));
            let updates = sent(&mut state).into_iter().flat_map(|(_, _, _, data)| {
                let increment = data.len() as u32;
                [window_update(0, increment), window_update(1, increment)].concat()
            });
            state.receive(&updates.collect::<Vec<_>>()).unwrap();
        }
    }
}

#[test]
fn late_frames_are_ignored_however_many_streams_were_reset_since() {
    let mut state = with_call(false);
    state.reset_open(1, Reason::Cancel);
    for id in (3..2001).step_by(2) {
        state.receive(&headers(id, false, &POST)).unwrap();
        assert!(state.next_request().is_some());
        state.reset_open(id, Reason::Cancel);
    }
    sent(&mut state);
    state.receive(&[data(1, false, 5), headers(3, true, &post_with("x", "y")[3..]), reset(5)].concat()).unwrap();
    assert_eq!(sent(&mut state), []);
    // A stream that the client has closed since.
    state.receive(&[headers(2001, true, &POST), reset(2001), data(2001, false, 1)].concat()).unwrap();
    assert_eq!(sent(&mut state), [reset_of(2001, Reason::StreamClosed)]);
}

#[test]
fn pings_and_late_updates_of_a_client_that_gets_data_are_not_limited() {
    // A gRPC client sends a ping and an update of the window for each response.
    let mut state = connected();
    for id in (1..100_000).step_by(2) {
        state.receive(&headers(id, true, &POST)).unwrap();
        assert!(state.next_request().is_some());
        state.send_head(id, StatusCode::OK, &HeaderMap::new(), None, false).unwrap();
        assert_eq!(poll_send(&mut state, id, &[0; 2000], Waker::noop()), Poll::Ready(Ok(2000)));
        state.send_trailers(id, &HeaderMap::new()).unwrap();
        let late = if id % 4 == 1 { window_update(id, 2000) } else { frame(kind::PING, 0, 0, &[0; 8]) };
        state.receive(&[window_update(0, 2000), late].concat()).unwrap();
        sent(&mut state);
    }
}

#[test]
fn header_blocks_and_settings_are_limited() {
    let mut state = connected();
    let first = frame(kind::HEADERS, 0, 1, &POST);
    let more = frame(kind::CONTINUATION, 0, 1, &[0xbe; 1000]);
    state.receive(&[&first[..], &more.repeat(4)].concat()).unwrap();
    assert_eq!(error(&mut state, &more), Reason::EnhanceYourCalm);
    let mut state = connected();
    state.receive(&first).unwrap();
    assert_eq!(error(&mut state, &frame(kind::CONTINUATION, 0, 1, &[]).repeat(30_000)), Reason::EnhanceYourCalm);
    // Each change of the window would be applied to all streams.
    let many = settings(&[(setting::INITIAL_WINDOW_SIZE, 1); 2000]);
    assert_eq!(error(&mut connected(), &many), Reason::EnhanceYourCalm);
}

#[test]
fn violations_of_the_protocol_end_the_connection() {
    let block = |stream| frame(kind::HEADERS, 0, stream, &POST);
    for (bytes, reason) in [
        (data(0, false, 1), Reason::ProtocolError),
        (data(3, false, 1), Reason::ProtocolError),
        (headers(2, true, &POST), Reason::ProtocolError),
        (headers(1, true, &[0xff; 4]), Reason::CompressionError),
        (frame(kind::DATA, flag::PADDED, 1, &[5, 0]), Reason::ProtocolError),
        (frame(kind::DATA, flag::PADDED, 1, &[]), Reason::FrameSizeError),
        (frame(kind::HEADERS, flag::PRIORITY, 3, &[0; 4]), Reason::FrameSizeError),
        (frame(kind::CONTINUATION, 0, 1, &[]), Reason::ProtocolError),
        ([block(3), data(1, false, 1)].concat(), Reason::ProtocolError),
        ([block(3), frame(kind::CONTINUATION, 0, 5, &[])].concat(), Reason::ProtocolError),
        (reset(3), Reason::ProtocolError),
        (frame(kind::RST_STREAM, 0, 1, &[0; 3]), Reason::FrameSizeError),
        (window_update(3, 1), Reason::ProtocolError),
        (frame(kind::WINDOW_UPDATE, 0, 1, &[0; 3]), Reason::FrameSizeError),
        (frame(kind::PING, 0, 0, &[0; 7]), Reason::FrameSizeError),
        (frame(kind::PING, 0, 1, &[0; 8]), Reason::ProtocolError),
        (frame(kind::SETTINGS, 0, 0, &[0; 5]), Reason::FrameSizeError),
        (frame(kind::SETTINGS, flag::ACK, 0, &[0; 6]), Reason::FrameSizeError),
        (settings(&[(setting::ENABLE_PUSH, 2)]), Reason::ProtocolError),
        (settings(&[(setting::MAX_FRAME_SIZE, 1)]), Reason::ProtocolError),
        (frame(kind::PUSH_PROMISE, 0, 1, &[0; 4]), Reason::ProtocolError),
        (frame(kind::GOAWAY, 0, 1, &[0; 8]), Reason::ProtocolError),
        (frame(kind::GOAWAY, 0, 0, &[0; 7]), Reason::FrameSizeError),
        (frame(kind::DATA, 0, 1, &[0; MAX_FRAME_BYTES + 1]), Reason::FrameSizeError),
    ] {
        let start = &bytes[..bytes.len().min(20)];
        assert_eq!(error(&mut with_call(false), &bytes), reason, "{start:?}");
    }
}

#[test]
fn a_connection_that_waits_keeps_little_memory() {
    let mut state = with_call(false);
    let bytes = [data(1, false, 16_000), data(1, false, 2)].concat();
    let (first, rest) = bytes.split_at(10_000);
    let (second, _) = rest.split_at(rest.len() - 5);
    state.receive(first).unwrap();
    state.receive(second).unwrap();
    assert!(state.pending.len() == 6 && state.pending.capacity() <= MAX_IDLE_CAPACITY, "{}", state.pending.capacity());
}

proptest! {
    #[test]
    fn no_frames_panic_or_exceed_the_limits(
        frames in prop::collection::vec(
            (0_u8..11, any::<u8>(), 0_u32..12, prop::collection::vec(any::<u8>(), 0..12), any::<bool>(), 1_usize..40), 0..80,
        ),
    ) {
        let mut state = connected();
        for (kind, flags, stream, mut payload, is_request, step) in frames {
            let bytes = if is_request {
                headers(stream | 1, flags & 1 == 1, &POST)
            } else {
                payload.resize(match kind { 3 | 8 => 4, 6 => 8, 5 => 5, 4 => payload.len() / 6 * 6, _ => payload.len() }, 0);
                frame(kind, flags, stream, &payload)
            };
            if bytes.chunks(step).any(|part| state.receive(part).is_err()) {
                break;
            }
            if let Some((id, _)) = state.next_request().filter(|_| step % 2 == 0) {
                let _ = state.send_head(id, StatusCode::OK, &HeaderMap::new(), None, step == 2);
            }
            let ids: Vec<_> = state.streams.keys().copied().collect();
            for id in ids {
                let _ = poll_send(&mut state, id, &[1; 5000], Waker::noop());
                if step % 3 == 0 {
                    let _ = poll_data(&mut state, id);
                }
            }
            prop_assert!(state.streams.len() <= 4 && state.requests.len() <= 4 && state.waiting.len() <= 4);
            let unread: usize = state.streams.values().map(|stream| stream.data.len()).sum();
            let window = &state.receive_window;
            prop_assert_eq!(window.open + i64::from(window.read) + unread as i64, 70_000);
            sent(&mut state);
        }
    }
}

/// `POST http:/` with a new entry of the table: `x`, and a value of one byte that follows.
const ADD_X: [u8; 7] = [0x83, 0x86, 0x84, 0x40, 1, b'x', 1];

/// The heads of requests with these header blocks, one after the other on one connection.
fn heads_of(state: &mut State, first_stream: u32, blocks: &[Vec<u8>]) -> Vec<Request<()>> {
    let streams = (first_stream..).step_by(2);
    streams
        .zip(blocks)
        .map(|(stream, block)| {
            state.receive(&headers(stream, true, block)).unwrap();
            let (_, request) = state.next_request().unwrap();
            state.receive(&reset(stream)).unwrap();
            request
        })
        .collect()
}

#[test]
fn a_block_that_is_repeated_is_not_decoded_again() {
    let mut state = connected();
    let block = post_with("authorization", "Bearer hush");
    heads_of(&mut state, 1, &[block.clone(), block.clone()]);
    let allocated = |state: &mut State, stream| {
        let mut requests = Vec::new();
        let counted = allocation_counter::measure(|| requests = heads_of(state, stream, std::slice::from_ref(&block)));
        assert_eq!(requests[0].headers()["authorization"], "Bearer hush");
        assert!(requests[0].headers()["authorization"].is_sensitive());
        counted.count_total
    };
    let repeated = allocated(&mut state, 5);
    state.ping();
    let decoded = allocated(&mut state, 7);
    assert!(repeated < decoded, "{repeated} allocations, and {decoded} after a silence");
}

#[test]
fn a_repeated_block_means_what_the_table_says_now() {
    let mut state = connected();
    let (one, two) = ([&ADD_X[..], b"1"].concat(), [&ADD_X[..], b"2"].concat());
    let newest = [&POST[..], &[0xbe]].concat();
    let blocks = [one, newest.clone(), newest.clone(), newest.clone(), two, newest.clone(), newest];
    let values = heads_of(&mut state, 1, &blocks).into_iter().map(|request| request.headers()["x"].clone());
    assert_eq!(values.collect::<Vec<_>>(), ["1", "1", "1", "1", "2", "2", "2"]);
    // The table is emptied, so the index refers to nothing.
    let emptied = [&[0x20], &POST[..]].concat();
    heads_of(&mut state, 101, &[emptied]);
    assert_eq!(error(&mut state, &headers(201, true, &[&POST[..], &[0xbe]].concat())), Reason::CompressionError);
}

#[test]
fn a_repeated_block_is_checked_like_a_new_one() {
    let mut state = connected();
    let block = post_with("content-length", "5");
    for stream in [1, 3] {
        state.receive(&[headers(stream, false, &block), reset(stream)].concat()).unwrap();
    }
    sent(&mut state);
    assert!(state.last_head.find(&block, state.decoder.table_version()).is_some());
    let itself = [&[0, 0, 0, 9, 0], &block[..]].concat();
    for (stream, frames) in [
        (5, headers(5, true, &block)),
        // As trailers.
        (7, [headers(7, false, &block), data(7, false, 5), headers(7, true, &block)].concat()),
        (9, frame(kind::HEADERS, flag::END_HEADERS | flag::PRIORITY, 9, &itself)),
    ] {
        state.receive(&frames).unwrap();
        assert_eq!(sent(&mut state), [reset_of(stream, Reason::ProtocolError)]);
    }
    state.requests.clear();
    let (begin, end) = block.split_at(4);
    let padded = [&[2, 0, 0, 0, 0, 0], begin, &[0, 0]].concat();
    let begin = frame(kind::HEADERS, flag::PADDED | flag::PRIORITY, 11, &padded);
    state.receive(&[begin, frame(kind::CONTINUATION, flag::END_HEADERS, 11, end)].concat()).unwrap();
    let (stream, request) = state.next_request().unwrap();
    assert_eq!((stream, &request.headers()["content-length"]), (11, &HeaderValue::from_static("5")));
    state.receive(&data(11, true, 6)).unwrap();
    assert_eq!(sent(&mut state), [reset_of(11, Reason::ProtocolError)]);
    (13..23).step_by(2).for_each(|stream| state.receive(&headers(stream, false, &block)).unwrap());
    assert_eq!(sent(&mut state).last(), Some(&reset_of(21, Reason::RefusedStream)));
    let mut state = with_call(true);
    state.receive(&[headers(3, false, &block), headers(5, false, &block), reset(3)].concat()).unwrap();
    assert_eq!(error(&mut state, &headers(3, false, &block)), Reason::StreamClosed);
}

#[test]
fn remembered_heads_take_little_memory() {
    let mut state = new(Limits { max_header_bytes: 16 << 10, ..LIMITS });
    state.receive(&settings(&[])).unwrap();
    let fields = (0..56).flat_map(|name| [0, 2, b'a' + name / 26, b'a' + name % 26, 0]);
    let block: Vec<u8> = POST.into_iter().chain(fields).collect();
    heads_of(&mut state, 1, &[block.clone(), block.clone()]);
    assert!(state.last_head.find(&block, state.decoder.table_version()).is_some());
    let freed = allocation_counter::measure(|| drop(std::mem::take(&mut state.last_head)));
    assert!((-10 << 10..0).contains(&freed.bytes_current), "{freed:?}");
}

#[test]
fn large_heads_are_not_remembered() {
    let mut state = new(Limits { max_header_bytes: 16 << 10, ..LIMITS });
    state.receive(&settings(&[])).unwrap();
    // Few bytes that refer to the same field again and again.
    let add = [&ADD_X[..6], &[100], &[b'v'; 100]].concat();
    let large = [&POST[..], &[0xbe; 40]].concat();
    heads_of(&mut state, 1, &[add, large.clone(), large.clone()]);
    assert_eq!(state.last_head.remembered_bytes(), 0);
    let long = post_with("x", &"v".repeat(100));
    heads_of(&mut state, 101, &[long.clone(), long.clone()]);
    assert_eq!(state.last_head.remembered_bytes(), long.len());
}

proptest! {
    #[test]
    fn requests_do_not_depend_on_what_was_remembered(picks in prop::collection::vec(0_usize..9, 0..40)) {
        let literal = |kind: u8, value: &str| [&POST[..], &[kind, 1, b'x', value.len() as u8], value.as_bytes()].concat();
        let parts: [Vec<u8>; 9] = [
            POST.to_vec(),
            literal(0, "1"),
            literal(0, "2"),
            literal(0x10, "1"),
            literal(0x40, "3"),
            literal(0x40, "4"),
            // The table is emptied first.
            [&[0x20, 0x3f, 0xe1, 0x1f], &literal(0x40, "5")[..]].concat(),
            [&POST[..], &[0xbe]].concat(),
            [&POST[..], &[0xbf]].concat(),
        ];
        // Two entries to refer to.
        let blocks = [4, 5, 6, 4].into_iter().chain(picks).map(|pick| parts[pick].clone());
        let (mut state, mut decoder) = (connected(), Decoder::default());
        for (stream, block) in (1..).step_by(2).zip(blocks) {
            let mut head = HeadBuilder::new(LIMITS.max_header_bytes as usize);
            let is_valid = decoder.decode(&block, |field, size| head.push(field, size)).is_ok();
            prop_assert_eq!(state.receive(&headers(stream, true, &block)).is_ok(), is_valid);
            if !is_valid {
                break;
            }
            let (_, request) = state.next_request().unwrap();
            state.receive(&reset(stream)).unwrap();
            let expected = head.request().unwrap();
            prop_assert_eq!(request.headers(), expected.headers());
            prop_assert_eq!((request.method(), request.uri()), (expected.method(), expected.uri()));
        }
    }
}
