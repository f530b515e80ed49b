//! A connection between a client and a caller that do what a program says. The program is any bytes: the tests generate
//! them, and the fuzz target `http2_frames` runs what a fuzzer finds. Panics when the connection breaks the protocol, waits
//! for something that is there, or holds more memory than its limits allow.

mod frames;
mod view;

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, VecDeque},
    io,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::{Pin, pin},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use allocation_counter::{measure, opt_out};
use bytes::{Buf as _, Bytes};
use floor_http2::{Connection, ConnectionError, Limits, Reason, RequestBody, Responder, StreamEnded, Transport};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body::Body as _;
use tokio::io::{AsyncRead, ReadBuf};

use frames::Program;
use view::{Fields, View};

const LARGE_LIMITS: Limits =
    Limits { max_streams: 100, max_header_bytes: 16 << 10, stream_window: 64 << 10, connection_window: 256 << 10 };

/// Bytes that a thread keeps for the next connection.
const THREAD_BUFFER: i64 = 64 << 10;

const LARGE_ROOM: usize = 64 << 10;

/// The largest room of the transport.
const MAX_ROOM: usize = 1 << 20;

/// Polls until a program counts as a loop that never ends.
const MAX_POLLS: usize = 20_000;

thread_local! {
    /// Whether the thread has what all connections share: buffers and tables.
    static IS_WARM: Cell<bool> = const { Cell::new(false) };
}

/// Runs `program`.
pub(crate) fn run(program: &[u8]) {
    if !IS_WARM.replace(true) {
        let mut simulation = Simulation::new(LARGE_LIMITS);
        let request = Program::new(&[]).frames(0, &mut simulation.last_stream);
        let sent = [view::PREFACE, &frames::frame(4, 0, 0, &[]), &request].concat();
        simulation.wire.borrow_mut().input.extend(sent);
        simulation.wire.borrow_mut().arrive(usize::MAX);
        simulation.run_until_idle();
        assert_eq!(simulation.calls.len(), 1, "a valid request is accepted");
    }
    let mut program = Program::new(program);
    let limits = Limits {
        max_streams: program.pick(&[100, 1, 3]),
        max_header_bytes: program.pick(&[16 << 10, 150, 600]),
        stream_window: program.pick(&[64 << 10, 0, 1, 7, 100, 1 << 20]),
        connection_window: program.pick(&[256 << 10, 0, 65_535, 65_536, 70_000]),
    };
    let mut simulation = Simulation::new(limits);
    if !program.is_fatal() {
        let settings = program.settings();
        simulation.wire.borrow_mut().input.extend(view::PREFACE.iter().chain(&settings));
    }
    while !program.is_at_end() {
        simulation.step(&mut program);
    }
    simulation.finish();
}

/// Whether a task was woken.
struct Flag(AtomicBool);

impl Flag {
    fn new() -> Arc<Self> {
        Arc::new(Self(AtomicBool::new(true)))
    }

    fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What is between the client and the connection.
struct Wire {
    view: View,
    /// What the client has sent and the connection has not read.
    input: VecDeque<u8>,
    /// How much of `input` has arrived.
    arrived: usize,
    /// Bytes that one read returns at most.
    max_read: usize,
    end: Option<End>,
    reader: Option<Waker>,
    /// What the next `poll_send` returns.
    room: usize,
    /// How often `room` is returned if it is small. With less than a large room forever, a program takes too long.
    small_rooms: usize,
    /// What the last `poll_send` returned.
    last_room: usize,
    sender: Option<Waker>,
    /// Streams of which the caller knows. Their data obeys the room, unlike that of refusals.
    accepted: Vec<u32>,
}

#[derive(Clone, Copy)]
enum End {
    Closed,
    Failed,
}

impl Wire {
    fn arrive(&mut self, count: usize) {
        self.arrived = self.input.len().min(self.arrived.saturating_add(count));
        self.wake_reader();
    }

    fn wake_reader(&mut self) {
        if (self.arrived > 0 || self.end.is_some())
            && let Some(reader) = self.reader.take()
        {
            reader.wake();
        }
    }

    fn set_room(&mut self, room: usize) {
        (self.room, self.small_rooms) = (room, 64);
        if room > 0
            && let Some(sender) = self.sender.take()
        {
            sender.wake();
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let count = self.arrived.min(self.max_read).min(buffer.remaining());
        if count == 0 {
            return match self.end {
                Some(End::Closed) => Poll::Ready(Ok(())),
                Some(End::Failed) => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
                None => {
                    self.reader = Some(cx.waker().clone());
                    Poll::Pending
                }
            };
        }
        let bytes: Vec<u8> = self.input.drain(..count).collect();
        self.arrived -= count;
        self.view.client_sent(&bytes);
        buffer.put_slice(&bytes);
        Poll::Ready(Ok(()))
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, output: &mut Vec<u8>) -> io::Result<usize> {
        if matches!(self.end, Some(End::Failed)) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let data = self.view.server_sent(output);
        let of_calls: usize = data.iter().filter(|(id, _)| self.accepted.contains(id)).map(|(_, length)| length).sum();
        assert!(of_calls <= self.last_room, "{of_calls} bytes of data for a room of {}", self.last_room);
        self.last_room = self.room;
        self.small_rooms = self.small_rooms.saturating_sub(1);
        if self.small_rooms == 0 && self.room > 0 {
            self.room = self.room.max(LARGE_ROOM);
        }
        if self.last_room == 0 {
            self.sender = Some(cx.waker().clone());
        }
        Ok(self.last_room)
    }
}

/// The connection's side of the wire.
struct ServerEnd(Rc<RefCell<Wire>>);

impl AsyncRead for ServerEnd {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        uncounted(|| self.0.borrow_mut().poll_read(cx, buffer))
    }
}

impl Transport for ServerEnd {
    fn poll_send(&mut self, cx: &mut Context<'_>, output: &mut Vec<u8>) -> io::Result<usize> {
        uncounted(|| self.0.borrow_mut().poll_send(cx, output))
    }
}

/// A call as its caller sees it.
struct Call {
    id: u32,
    responder: Option<Responder>,
    body: Option<RequestBody>,
    writer: Arc<Flag>,
    reader: Arc<Flag>,
    head: Option<Fields>,
    /// Data that is not accepted yet, and whether it ends the response.
    sending: Option<(Bytes, bool)>,
    /// Data that was accepted.
    sent: Vec<u8>,
    trailers: Option<Fields>,
    /// Whether the response is complete.
    is_complete: bool,
    /// Whether the caller reads the body when there is data.
    is_reading: bool,
    is_waiting_for_end: bool,
    /// What was read of the request.
    read: Vec<u8>,
    is_read: bool,
    /// Whether the connection has said that the call has ended.
    is_ended: bool,
}

/// What the caller does with a call at once.
#[derive(Clone, Copy)]
enum Policy {
    Hold,
    Answer(usize),
    AnswerWithHead,
    Reset,
    Drop,
}

struct Simulation {
    limits: Limits,
    wire: Rc<RefCell<Wire>>,
    connection: Option<Connection<ServerEnd>>,
    flag: Arc<Flag>,
    calls: Vec<Call>,
    policy: Policy,
    /// Whether the caller reads each body from the beginning on.
    reads_all: bool,
    /// The last stream that the client has opened.
    last_stream: u32,
    error: Option<ConnectionError>,
    is_ended: bool,
    memory: Memory,
}

fn headers(count: usize) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for i in 0..count {
        let name = ["content-type", "x-one", "date", "x-long", "grpc-status", "set-cookie", "x-secret"][i % 7];
        let mut value = match name {
            "x-long" => HeaderValue::try_from("v".repeat(40 * count)),
            _ => HeaderValue::try_from(format!("{}", i / 3)),
        }
        .expect("a valid value");
        value.set_sensitive(name == "x-secret");
        headers.append(HeaderName::from_static(name), value);
    }
    headers
}

fn fields(status: Option<u16>, headers: &HeaderMap) -> Fields {
    let status = status.map(|status| (b":status".to_vec(), status.to_string().into_bytes()));
    let of_headers = headers.iter().map(|(name, value)| (name.as_str().into(), value.as_bytes().into()));
    status.into_iter().chain(of_headers).collect()
}

impl Simulation {
    fn new(limits: Limits) -> Self {
        let wire = Rc::new(RefCell::new(Wire {
            view: View::new(limits),
            input: VecDeque::new(),
            arrived: 0,
            max_read: usize::MAX,
            end: None,
            reader: None,
            room: LARGE_ROOM,
            small_rooms: 0,
            last_room: 0,
            sender: None,
            accepted: Vec::new(),
        }));
        let simulation = Self {
            limits,
            wire: Rc::clone(&wire),
            connection: None,
            flag: Flag::new(),
            calls: Vec::new(),
            policy: Policy::Hold,
            reads_all: true,
            last_stream: 0,
            error: None,
            is_ended: false,
            memory: Memory::new(limits),
        };
        let connection = simulation.memory.count(|| Connection::new(ServerEnd(wire), limits));
        Self { connection: Some(connection), ..simulation }
    }

    fn step(&mut self, program: &mut Program<'_>) {
        let action = program.byte();
        match action & 0x3f {
            0..=31 => {
                let bytes = program.frames(action & 0x1f, &mut self.last_stream);
                let mut wire = self.wire.borrow_mut();
                wire.input.extend(bytes);
                if action & 0x40 == 0 {
                    wire.arrive(usize::MAX);
                }
            }
            32..=35 => {
                let count = program.pick(&[1, 3, 8, 9, 10, 24, 30, 100, 1000, 20_000, 40_000]);
                self.wire.borrow_mut().arrive(count);
            }
            36 => self.wire.borrow_mut().max_read = program.pick(&[usize::MAX, 1, 2, 7, 9, 64, 5000]),
            37..=39 => {
                let room = program.pick(&[LARGE_ROOM, 0, 1, 10, 1000, MAX_ROOM]);
                self.wire.borrow_mut().set_room(room);
            }
            40 => {
                let size = program.pick(&[0, 1, 5, 500, 70_000]);
                let policies =
                    [Policy::Hold, Policy::Answer(size), Policy::AnswerWithHead, Policy::Reset, Policy::Drop];
                self.policy = program.pick(&policies);
                self.reads_all = program.is_one_in(2);
            }
            41..=58 => {
                if !self.calls.is_empty() {
                    let call = usize::from(program.byte()) % self.calls.len();
                    self.act(call, action & 0x3f, program);
                }
            }
            59 => {
                self.acknowledge_close();
                self.wire.borrow_mut().arrive(usize::MAX);
            }
            60 => self.control(program),
            61 => {
                if self.end(program.byte()) {
                    return;
                }
            }
            // Polls without having been woken.
            62 => self.flag.0.store(true, Ordering::Relaxed),
            _ => self.calls.iter().for_each(|call| {
                call.writer.0.store(true, Ordering::Relaxed);
                call.reader.0.store(true, Ordering::Relaxed);
            }),
        }
        if action & 0x80 == 0 {
            self.run_until_idle();
        }
    }

    /// Closes the connection or pings, as the server may.
    fn control(&self, program: &mut Program<'_>) {
        if let Some(connection) = &self.connection {
            let choice = program.byte() % 8;
            self.memory.count(|| match choice {
                0 => connection.close(),
                1 => connection.ping(),
                _ => {}
            });
        }
    }

    /// Ends the connection or what the client sends, in some cases. Whether the step is over.
    fn end(&mut self, choice: u8) -> bool {
        let end = match choice {
            0..8 => End::Closed,
            8..12 => End::Failed,
            12..16 => {
                let connection = self.connection.take();
                self.is_ended = true;
                self.memory.count(|| drop(connection));
                return true;
            }
            _ => return true,
        };
        let mut wire = self.wire.borrow_mut();
        wire.end = Some(end);
        wire.wake_reader();
        false
    }

    /// Answers a ping that follows the announcement of a close, if one was sent and no frame is cut.
    fn acknowledge_close(&mut self) {
        let mut wire = self.wire.borrow_mut();
        if wire.view.is_close_ping_open {
            wire.input.extend(frames::frame(6, 1, 0, b"closing!"));
        }
    }

    fn act(&mut self, call: usize, action: u8, program: &mut Program<'_>) {
        let call = &mut self.calls[call];
        let size = usize::from(program.byte());
        match action {
            41 | 42 => call.is_reading = true,
            43 => call.is_reading = false,
            44 => {
                let body = call.body.take();
                self.memory.count(|| drop(body));
            }
            45..=47 if call.head.is_none() => {
                send_head(&self.memory, call, size % 24, size >= 224);
            }
            48..=54 if call.head.is_some() && call.sending.is_none() && !call.is_complete => {
                let length = [0, 1, 9, 100, 5000, 16_384, 16_385, 70_000][size % 8] + size / 8;
                call.sending = Some((data(length), action >= 52));
                call.writer.0.store(true, Ordering::Relaxed);
            }
            55 | 56 if call.head.is_some() && call.sending.is_none() && !call.is_complete => {
                send_trailers(&self.memory, call, size % 24);
            }
            57 => {
                call.is_waiting_for_end = true;
                call.writer.0.store(true, Ordering::Relaxed);
            }
            58 if size < 64 => {
                let responder = call.responder.take();
                self.memory.count(|| match responder {
                    Some(mut responder) if size % 2 == 0 => responder.reset(Reason::Cancel),
                    responder => drop(responder),
                });
                call.sending = None;
            }
            _ => {}
        }
    }

    /// Polls everything that was woken, until nothing is.
    fn run_until_idle(&mut self) {
        for _ in 0..MAX_POLLS {
            let mut is_idle = !self.flag.is_set() || self.connection.is_none();
            self.poll_connection();
            for i in 0..self.calls.len() {
                let call = &self.calls[i];
                is_idle &= !(call.writer.is_set() || call.is_reading && call.reader.is_set());
                self.poll_call(i);
            }
            if is_idle {
                return self.check_idle();
            }
        }
        panic!("the tasks wake each other without end");
    }

    fn poll_connection(&mut self) {
        if !self.flag.take() {
            return;
        }
        let Some(mut connection) = self.connection.take() else { return };
        let waker = Waker::from(Arc::clone(&self.flag));
        let mut cx = Context::from_waker(&waker);
        let accepted = self.memory.count(|| pin!(connection.accept()).poll(&mut cx));
        match accepted {
            Poll::Pending => assert!(!self.is_ended),
            Poll::Ready(None) => self.is_ended = true,
            Poll::Ready(Some(result)) => {
                assert!(!self.is_ended, "more after the end");
                self.flag.0.store(true, Ordering::Relaxed);
                match result {
                    Ok((request, responder)) => self.accept(request, responder),
                    Err(error) => {
                        self.is_ended = true;
                        self.error = Some(error);
                    }
                }
            }
        }
        assert!(!self.is_ended || !connection.has_streams(), "streams after the end");
        self.connection = Some(connection);
    }

    fn accept(&mut self, request: Request<RequestBody>, mut responder: Responder) {
        let id = frames::stream_of_path(request.uri().path());
        let (head, body) = request.into_parts();
        self.memory.count(|| drop(head));
        let Some(id) = id else {
            // A request that the program has not built. Its stream is unknown here.
            let counter = Flag::new();
            let waker = Waker::from(counter);
            self.memory.count(|| {
                let _ = responder.poll_ended(&mut Context::from_waker(&waker));
                drop((responder, body));
            });
            return;
        };
        assert!(self.calls.iter().all(|call| call.id < id), "requests come in the order of their streams");
        assert!(self.wire.borrow().view.streams.contains_key(&id));
        self.wire.borrow_mut().accepted.push(id);
        let mut call = Call {
            id,
            responder: Some(responder),
            body: Some(body),
            writer: Flag::new(),
            reader: Flag::new(),
            head: None,
            sending: None,
            sent: Vec::new(),
            trailers: None,
            is_complete: false,
            is_reading: self.reads_all,
            is_waiting_for_end: false,
            read: Vec::new(),
            is_read: false,
            is_ended: false,
        };
        match self.policy {
            Policy::Hold => {}
            Policy::Answer(size) => {
                send_head(&self.memory, &mut call, 3, false);
                call.sending = Some((data(size), size % 2 == 1));
            }
            Policy::AnswerWithHead => send_head(&self.memory, &mut call, 3, true),
            Policy::Reset => {
                let mut responder = call.responder.take().expect("the call is new");
                self.memory.count(|| responder.reset(Reason::RefusedStream));
            }
            Policy::Drop => {
                let handles = (call.responder.take(), call.body.take());
                self.memory.count(|| drop(handles));
            }
        }
        self.calls.push(call);
        // As a caller that answers on the task of the connection.
        self.poll_call(self.calls.len() - 1);
        if matches!(self.policy, Policy::Answer(size) if size % 2 == 0) {
            let call = self.calls.last_mut().expect("pushed above");
            if call.sending.is_none() && !call.is_complete {
                send_trailers(&self.memory, call, 2);
            }
        }
    }

    /// Sends and reads what a call can send and read.
    fn poll_call(&mut self, call: usize) {
        self.poll_writer(call);
        self.poll_reader(call);
    }

    fn poll_writer(&mut self, call: usize) {
        let call = &mut self.calls[call];
        if call.writer.take() {
            let waker = Waker::from(Arc::clone(&call.writer));
            let mut cx = Context::from_waker(&waker);
            while let (Some(responder), Some((mut rest, ends))) = (&mut call.responder, call.sending.take()) {
                let before = rest.clone();
                let sent = self.memory.count(|| responder.poll_send(&mut rest, ends, &mut cx));
                match sent {
                    Poll::Pending => {
                        assert_eq!(before, rest);
                        assert!(!before.is_empty());
                        call.sending = Some((before, ends));
                        break;
                    }
                    Poll::Ready(Err(StreamEnded)) => call.is_ended = true,
                    Poll::Ready(Ok(count)) => {
                        assert_eq!(before.len(), count + rest.len());
                        assert!(count > 0 || before.is_empty());
                        call.sent.extend_from_slice(&before[..count]);
                        if rest.has_remaining() {
                            call.sending = Some((rest, ends));
                        } else {
                            call.is_complete = ends;
                        }
                    }
                }
            }
            if call.is_waiting_for_end
                && let Some(responder) = &mut call.responder
                && self.memory.count(|| responder.poll_ended(&mut cx)).is_ready()
            {
                call.is_waiting_for_end = false;
                call.is_ended = true;
            }
        }
    }

    fn poll_reader(&mut self, call: usize) {
        let call = &mut self.calls[call];
        if call.is_reading && call.reader.take() {
            let waker = Waker::from(Arc::clone(&call.reader));
            let mut cx = Context::from_waker(&waker);
            while let Some(body) = &mut call.body {
                let frame = self.memory.count(|| Pin::new(&mut *body).poll_frame(&mut cx));
                match frame {
                    Poll::Pending => break,
                    Poll::Ready(Some(Ok(frame))) => {
                        assert!(!call.is_read);
                        match frame.into_data() {
                            Ok(data) => {
                                assert!(!data.is_empty());
                                call.read.extend_from_slice(&data);
                                self.memory.count(|| drop(data));
                            }
                            Err(frame) => self.memory.count(|| drop(frame)),
                        }
                    }
                    Poll::Ready(None) => {
                        assert!(body.is_end_stream());
                        call.is_read = true;
                        break;
                    }
                    Poll::Ready(Some(Err(StreamEnded))) => {
                        call.is_ended = true;
                        break;
                    }
                }
            }
        }
    }

    /// No task is woken: whatever can be sent is sent, and whatever can be read is read.
    fn check_idle(&mut self) {
        let wire = &mut *self.wire.borrow_mut();
        if self.is_ended {
            if let (Some(ConnectionError::Protocol { reason, .. }), None) = (&self.error, wire.end) {
                assert_eq!(wire.view.go_away.map(|(_, reason)| reason), Some(*reason as u32));
            }
            return;
        }
        assert!(wire.end.is_none() || wire.last_room == 0, "the end of the input was not read");
        if matches!(wire.end, Some(End::Failed)) {
            return;
        }
        assert!(wire.room == 0 || wire.last_room > 0, "the connection does not know of the room");
        assert!(wire.arrived == 0 || wire.last_room == 0, "{} bytes were not read", wire.arrived);
        let mut held = BTreeMap::new();
        let mut open = 0;
        for call in &self.calls {
            let id = call.id;
            let has_window = wire.view.has_window(id);
            let stream = &wire.view.streams[&id];
            let is_closed = stream.is_closed();
            open += u32::from(!is_closed);
            assert!(is_closed || !call.is_ended, "call {id} has ended, but not its stream");
            if let Some(head) = &call.head {
                assert_eq!(stream.head.as_ref(), Some(head).filter(|_| true), "the head of call {id}");
            }
            assert_eq!(stream.response, call.sent, "the data of call {id}");
            assert_eq!(stream.trailers, call.trailers, "the trailers of call {id}");
            assert!(!call.is_complete || stream.is_response_ended, "the response of call {id} has no end");
            if call.sending.is_some() {
                let may_send = !is_closed && has_window && wire.last_room > 0;
                assert!(!may_send, "call {id} waits, but could send");
                assert!(!is_closed, "call {id} waits, but has ended");
            }
            let is_waiting_for_end = call.is_waiting_for_end && call.responder.is_some();
            assert!(!is_closed || !is_waiting_for_end, "call {id} has ended, which its caller does not know");
            if call.body.is_some() && !is_closed {
                assert!(stream.request.starts_with(&call.read), "the body of call {id}");
                let unread = stream.request.len() - call.read.len();
                if call.is_reading {
                    assert_eq!(unread, 0, "call {id} has unread data");
                    assert_eq!(call.is_read, stream.is_request_ended, "the end of the body of call {id}");
                }
                held.insert(id, unread as i64);
            }
            assert!(call.responder.is_some() || is_closed, "call {id} has no responder, but is not closed");
        }
        assert!(open <= self.limits.max_streams, "{open} calls are open");
        wire.view.check_idle(&held);
    }

    /// Lets all calls end, then the connection.
    fn finish(&mut self) {
        {
            let mut wire = self.wire.borrow_mut();
            wire.max_read = usize::MAX;
            wire.set_room(MAX_ROOM);
            wire.arrive(usize::MAX);
        }
        self.run_until_idle();
        for call in &mut self.calls {
            call.sending = None;
            let handles = (call.responder.take(), call.body.take());
            self.memory.count(|| drop(handles));
        }
        self.run_until_idle();
        if let Some(connection) = &self.connection {
            assert!(!connection.has_streams(), "a stream without a caller");
            self.memory.count(|| connection.close());
        }
        self.run_until_idle();
        let is_between_frames = self.wire.borrow().view.is_between_frames();
        if !self.is_ended && is_between_frames {
            // The server sends the second ping after the answer to the first.
            for _ in 0..2 {
                self.acknowledge_close();
                self.wire.borrow_mut().arrive(usize::MAX);
                self.run_until_idle();
            }
            assert!(self.is_ended, "the connection is not closed");
        }
        let connection = self.connection.take();
        self.memory.count(|| drop(connection));
        let held = self.memory.held.get();
        assert!(held <= THREAD_BUFFER, "{held} bytes are not freed");
    }
}

fn data(length: usize) -> Bytes {
    (0..length).map(|i| (i % 251) as u8).collect()
}

/// Bytes that the connection and its handles hold.
struct Memory {
    held: Cell<i64>,
    limit: i64,
}

impl Memory {
    fn new(limits: Limits) -> Self {
        let Limits { max_streams, max_header_bytes, connection_window, .. } = limits;
        // A vector may have twice its bytes, and three times while it grows.
        let bodies = 3 * i64::from(connection_window.max(65_535));
        // Short fields take several times the bytes that they count.
        let heads = i64::from(max_streams) * 16 * i64::from(max_header_bytes).max(256);
        let block = 3 * (4 * i64::from(max_header_bytes) + 16_384);
        // Answers to what one read returns, and the room.
        let output = 3 * (20 * (32 << 10) + MAX_ROOM as i64);
        Self { held: Cell::new(0), limit: bodies + heads + block + output + (256 << 10) }
    }

    /// Counts what `f` allocates and frees.
    fn count<T>(&self, f: impl FnOnce() -> T) -> T {
        let mut result = None;
        // A panic must not pass the counter, or it counts wrongly from then on.
        let counted = measure(|| result = Some(catch_unwind(AssertUnwindSafe(f))));
        let result = result.expect("`f` has run").unwrap_or_else(|panic| resume_unwind(panic));
        let before = self.held.replace(self.held.get() + counted.bytes_current);
        let most = before + counted.bytes_max as i64;
        assert!(most <= self.limit, "the connection holds {most} bytes, more than {}", self.limit);
        result
    }
}

/// Runs `f` without counting.
fn uncounted<T>(f: impl FnOnce() -> T) -> T {
    let mut result = None;
    opt_out(|| result = Some(catch_unwind(AssertUnwindSafe(f))));
    result.expect("`f` has run").unwrap_or_else(|panic| resume_unwind(panic))
}

fn send_head(memory: &Memory, call: &mut Call, count: usize, ends: bool) {
    let Some(responder) = &mut call.responder else { return };
    let status = [200, 200, 404, 418][count % 4];
    let mut response = Response::builder().status(status).body(()).expect("a valid response");
    *response.headers_mut() = headers(count);
    let (head, ()) = response.into_parts();
    match memory.count(|| responder.send_head(&head, None, ends)) {
        Ok(()) => {
            call.head = Some(fields(Some(status), &head.headers));
            call.is_complete = ends;
        }
        Err(StreamEnded) => call.is_ended = true,
    }
}

fn send_trailers(memory: &Memory, call: &mut Call, count: usize) {
    let Some(mut responder) = call.responder.take() else { return };
    let trailers = &headers(count);
    match memory.count(move || responder.send_trailers(trailers)) {
        Ok(()) => {
            call.trailers = Some(fields(None, trailers));
            call.is_complete = true;
        }
        Err(StreamEnded) => call.is_ended = true,
    }
}
