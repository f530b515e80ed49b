//! The server sides of floor-http2 and of the h2 crate, each with a caller that does the same, without sockets, tasks and
//! clocks: everything is polled until nothing changes.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    future::Future,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::{Buf as _, Bytes};
use floor_http2::{Limits, Transport};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response};
use http_body::Body as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::{client::Numbers, view::View};

/// What the output of floor-http2 may always have. Backpressure of sockets is not compared.
const ROOM: usize = 1 << 30;
/// Rounds of polls until a step counts as one that never ends.
const MAX_ROUNDS: usize = 10_000;
/// The length of time for which h2 remembers its resets: no sequence takes as long.
const FOREVER: Duration = Duration::from_secs(1 << 30);

/// A server and its caller.
pub(crate) struct Server {
    pub(crate) limits: Limits,
    wire: Rc<RefCell<Wire>>,
    side: Side,
    plans: u64,
    step: usize,
    pub(crate) calls: Vec<Call>,
    pub(crate) has_ended: bool,
    /// What a strict client sees.
    pub(crate) view: View,
    /// Which rule of the client's the server broke.
    pub(crate) broken_rule: Option<String>,
}

enum Side {
    Floor(Box<floor_http2::Connection<ServerEnd>>),
    Handshake(Box<h2::server::Handshake<ServerEnd>>),
    H2(Box<h2::server::Connection<ServerEnd, Bytes>>),
    Ended,
}

/// A request, as its caller sees it.
pub(crate) struct Call {
    /// Known with h2 only.
    pub(crate) stream: Option<u32>,
    pub(crate) method: Method,
    pub(crate) path: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) end: End,
    plan: Plan,
    handles: Option<Handles>,
    /// Data of the response that was not taken yet. `None` before the head was sent.
    rest: Option<Bytes>,
}

/// How the body of a request has ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    Open,
    Whole(Option<HeaderMap>),
    Broken,
    /// The caller has answered the request, or reset it, before its body ended.
    Left,
}

/// What the caller does with a call.
struct Plan {
    /// The step from which on it reads the body.
    reads_at: usize,
    answers_at: AnswersAt,
    /// Whether it resets the call instead of answering it.
    resets: bool,
    length: usize,
    ends_with: EndsWith,
}

#[derive(Clone, Copy, PartialEq)]
enum AnswersAt {
    Head,
    /// When the body has ended.
    End,
    Step(usize),
    Never,
}

#[derive(Clone, Copy, PartialEq)]
enum EndsWith {
    Head,
    Data,
    Trailers,
}

enum Handles {
    Floor(floor_http2::RequestBody, floor_http2::Responder),
    H2 {
        body: h2::RecvStream,
        response: h2::server::SendResponse<Bytes>,
        stream: Option<h2::SendStream<Bytes>>,
        /// Whether the data of the body has ended.
        is_data_read: bool,
    },
}

impl Plan {
    /// The plan for the request with this index.
    fn new(plans: u64, index: usize) -> Self {
        let mut numbers = Numbers(plans.wrapping_add(index as u64 * 7919));
        let at = 3 + numbers.below(30);
        Self {
            reads_at: numbers.pick(&[0, 0, 0, at]),
            answers_at: numbers.pick(&[
                AnswersAt::Head,
                AnswersAt::End,
                AnswersAt::End,
                AnswersAt::Step(at),
                AnswersAt::Never,
            ]),
            resets: numbers.is_one_in(12),
            length: numbers.pick(&[0, 1, 500, 17_000, 70_000]),
            ends_with: numbers.pick(&[EndsWith::Head, EndsWith::Data, EndsWith::Trailers, EndsWith::Trailers]),
        }
    }
}

/// The bytes between the client and a server.
#[derive(Default)]
struct Wire {
    input: Vec<u8>,
    output: Vec<u8>,
    is_closed: bool,
}

struct ServerEnd(Rc<RefCell<Wire>>);

impl AsyncRead for ServerEnd {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut wire = self.0.borrow_mut();
        if wire.input.is_empty() && !wire.is_closed {
            return Poll::Pending;
        }
        let count = wire.input.len().min(buffer.remaining());
        buffer.put_slice(&wire.input[..count]);
        wire.input.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ServerEnd {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.borrow_mut().output.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Transport for ServerEnd {
    fn poll_send(&mut self, _: &mut Context<'_>, output: &mut Vec<u8>) -> io::Result<usize> {
        self.0.borrow_mut().output.append(output);
        Ok(ROOM)
    }
}

impl Server {
    pub(crate) fn of_floor(limits: Limits, plans: u64) -> Self {
        Self::new(limits, plans, |end| Side::Floor(floor_http2::Connection::new(end, limits).into()))
    }

    /// The h2 crate with the same limits, and without its own budgets: how much is too much is no rule of HTTP/2.
    pub(crate) fn of_h2(limits: Limits, plans: u64) -> Self {
        let mut builder = h2::server::Builder::new();
        builder
            .max_concurrent_streams(limits.max_streams)
            .max_header_list_size(limits.max_header_bytes)
            .initial_window_size(limits.stream_window)
            .initial_connection_window_size(limits.connection_window)
            .max_send_buffer_size(ROOM)
            .reset_stream_duration(FOREVER)
            .max_concurrent_reset_streams(usize::MAX)
            .max_pending_accept_reset_streams(usize::MAX)
            .max_local_error_reset_streams(None)
            .data_frame_budget(usize::MAX);
        Self::new(limits, plans, |end| Side::Handshake(builder.handshake(end).into()))
    }

    fn new(limits: Limits, plans: u64, side: impl FnOnce(ServerEnd) -> Side) -> Self {
        let wire = Rc::new(RefCell::new(Wire::default()));
        Self {
            limits,
            side: side(ServerEnd(Rc::clone(&wire))),
            wire,
            plans,
            step: 0,
            calls: Vec::new(),
            has_ended: false,
            view: View::new(limits),
            broken_rule: None,
        }
    }

    /// Takes bytes of the client and does everything that follows.
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        self.wire.borrow_mut().input.extend_from_slice(bytes);
        self.view.client_sent(bytes);
        self.run();
        self.step += 1;
    }

    /// The client closes the connection.
    pub(crate) fn close(&mut self) {
        self.wire.borrow_mut().is_closed = true;
        self.run();
    }

    fn run(&mut self) {
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..MAX_ROUNDS {
            let before = self.wire.borrow().input.len();
            let mut has_changed = self.poll_connection(&mut cx);
            for (index, call) in self.calls.iter_mut().enumerate() {
                has_changed |= call.poll(self.step, index, &mut cx);
            }
            let wire = &mut *self.wire.borrow_mut();
            has_changed |= !wire.output.is_empty() || wire.input.len() != before;
            if self.broken_rule.is_none() {
                let (view, output) = (&mut self.view, &mut wire.output);
                let seen = catch_unwind(AssertUnwindSafe(|| view.server_sent(output)));
                self.broken_rule = seen.err().map(|panic| match panic.downcast::<String>() {
                    Ok(text) => *text,
                    Err(panic) => panic.downcast::<&str>().map_or_else(|_| "panic".to_owned(), |text| text.to_string()),
                });
            }
            wire.output.clear();
            if !has_changed {
                return;
            }
        }
        panic!("the server and its caller go on without end");
    }

    /// Whether something has changed.
    fn poll_connection(&mut self, cx: &mut Context<'_>) -> bool {
        let accepted = match &mut self.side {
            Side::Ended => return false,
            Side::Floor(connection) => pin!(connection.accept()).poll(cx).map(|accepted| {
                let (request, responder) = accepted?.ok()?;
                let (head, body) = request.into_parts();
                Some((Request::from_parts(head, ()), Handles::Floor(body, responder)))
            }),
            Side::Handshake(handshake) => match Pin::new(handshake.as_mut()).poll(cx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Ok(connection)) => {
                    self.side = Side::H2(connection.into());
                    return true;
                }
                Poll::Ready(Err(_)) => Poll::Ready(None),
            },
            Side::H2(connection) => connection.poll_accept(cx).map(|accepted| {
                let (request, response) = accepted?.ok()?;
                let (head, body) = request.into_parts();
                let handles = Handles::H2 { body, response, stream: None, is_data_read: false };
                Some((Request::from_parts(head, ()), handles))
            }),
        };
        let Poll::Ready(accepted) = accepted else { return false };
        match accepted {
            Some((request, handles)) => self.calls.push(Call::new(request, handles, self.plans, self.calls.len())),
            None => {
                self.has_ended = true;
                self.side = Side::Ended;
            }
        }
        true
    }

    /// Bytes that have arrived on each open stream and that the caller has not read. `ids` has the streams of the calls.
    pub(crate) fn held(&self, ids: &[u32]) -> BTreeMap<u32, i64> {
        let calls = self.calls.iter().zip(ids).filter(|(call, _)| call.handles.is_some() && call.end == End::Open);
        calls.map(|(call, id)| (*id, self.view.streams[id].request.len() as i64 - call.body.len() as i64)).collect()
    }
}

impl Call {
    fn new(request: Request<()>, handles: Handles, plans: u64, index: usize) -> Self {
        let path = request.uri().path_and_query().map(ToString::to_string);
        let (head, ()) = request.into_parts();
        let stream = match &handles {
            Handles::Floor(..) => None,
            Handles::H2 { response, .. } => Some(response.stream_id().as_u32()),
        };
        Self {
            stream,
            method: head.method,
            path,
            headers: head.headers,
            body: Vec::new(),
            end: End::Open,
            plan: Plan::new(plans, index),
            handles: Some(handles),
            rest: None,
        }
    }

    /// Whether both callers see the same request.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        // A request for a tunnel has no path. The caller of floor-http2 sees `/`.
        let path = |call: &Self| call.path.clone().filter(|_| call.method != Method::CONNECT);
        (&self.method, path(self), &self.headers) == (&other.method, path(other), &other.headers)
    }

    /// Reads and answers what can be read and answered. Whether something has changed.
    fn poll(&mut self, step: usize, index: usize, cx: &mut Context<'_>) -> bool {
        let Some(handles) = &mut self.handles else { return false };
        let mut has_changed = false;
        while self.end == End::Open
            && step >= self.plan.reads_at
            && let Poll::Ready(read) = handles.poll_read(cx)
        {
            has_changed = true;
            match read {
                Read::Data(data) => self.body.extend_from_slice(&data),
                Read::End(trailers) => self.end = End::Whole(trailers),
                Read::Broken => self.end = End::Broken,
            }
        }
        if self.end == End::Broken || handles.poll_ended(cx) {
            return self.leave(End::Broken);
        }
        let answers_now = match self.plan.answers_at {
            AnswersAt::Head => true,
            AnswersAt::End => self.end != End::Open,
            AnswersAt::Step(at) => step >= at,
            AnswersAt::Never => false,
        };
        if !answers_now {
            return has_changed;
        }
        if self.plan.resets {
            handles.reset();
            return self.leave(End::Left);
        }
        let ends_with = self.plan.ends_with;
        if self.rest.is_none() {
            if handles.send_head(index, ends_with == EndsWith::Head).is_err() {
                return self.leave(End::Broken);
            }
            if ends_with == EndsWith::Head {
                return self.leave(End::Left);
            }
        }
        let plan = &self.plan;
        let rest = self.rest.get_or_insert_with(|| (0..plan.length).map(|i| (i + index) as u8).collect());
        let before = rest.len();
        match handles.poll_send(rest, ends_with == EndsWith::Data, cx) {
            Poll::Pending => has_changed || rest.len() != before,
            Poll::Ready(Err(Gone)) => self.leave(End::Broken),
            Poll::Ready(Ok(())) => {
                if ends_with == EndsWith::Trailers && handles.send_trailers().is_err() {
                    return self.leave(End::Broken);
                }
                self.leave(End::Left)
            }
        }
    }

    /// Drops the handles. The body has the `end`, if it has not ended.
    fn leave(&mut self, end: End) -> bool {
        self.handles = None;
        if self.end == End::Open {
            self.end = end;
        }
        true
    }
}

enum Read {
    Data(Bytes),
    End(Option<HeaderMap>),
    Broken,
}

/// The call has ended.
struct Gone;

impl From<floor_http2::StreamEnded> for Gone {
    fn from(_: floor_http2::StreamEnded) -> Self {
        Self
    }
}

impl From<h2::Error> for Gone {
    fn from(_: h2::Error) -> Self {
        Self
    }
}

impl Handles {
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Read> {
        match self {
            Self::Floor(body, _) => Pin::new(body).poll_frame(cx).map(|frame| match frame {
                None => Read::End(None),
                Some(Err(_)) => Read::Broken,
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => Read::Data(data),
                    Err(frame) => Read::End(frame.into_trailers().ok()),
                },
            }),
            Self::H2 { body, is_data_read, .. } => {
                if !*is_data_read {
                    match body.poll_data(cx) {
                        Poll::Pending => return Poll::Pending,
                        Poll::Ready(Some(Ok(data))) => {
                            // Fails for a stream that has ended, whose window nobody needs.
                            let _ = body.flow_control().release_capacity(data.len());
                            return Poll::Ready(Read::Data(data));
                        }
                        Poll::Ready(Some(Err(_))) => return Poll::Ready(Read::Broken),
                        Poll::Ready(None) => *is_data_read = true,
                    }
                }
                body.poll_trailers(cx).map(|trailers| trailers.map_or(Read::Broken, Read::End))
            }
        }
    }

    fn poll_ended(&mut self, cx: &mut Context<'_>) -> bool {
        match self {
            Self::Floor(_, responder) => responder.poll_ended(cx).is_ready(),
            Self::H2 { stream: Some(stream), .. } => stream.poll_reset(cx).is_ready(),
            Self::H2 { response, .. } => response.poll_reset(cx).is_ready(),
        }
    }

    fn reset(&mut self) {
        match self {
            Self::Floor(_, responder) => responder.reset(floor_http2::Reason::Cancel),
            Self::H2 { response, .. } => response.send_reset(h2::Reason::CANCEL),
        }
    }

    fn send_head(&mut self, index: usize, ends: bool) -> Result<(), Gone> {
        let response = Response::builder().header("content-type", "application/grpc").header("x-index", index);
        let response = response.body(()).expect("a valid response");
        match self {
            Self::Floor(_, responder) => responder.send_head(&response.into_parts().0, None, ends)?,
            Self::H2 { response: sender, stream, .. } => *stream = Some(sender.send_response(response, ends)?),
        }
        Ok(())
    }

    /// Ready when all is sent.
    fn poll_send(&mut self, rest: &mut Bytes, ends: bool, cx: &mut Context<'_>) -> Poll<Result<(), Gone>> {
        match self {
            Self::Floor(_, responder) => loop {
                match responder.poll_send(rest, ends, cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                    Poll::Ready(Ok(_)) if !rest.has_remaining() => return Poll::Ready(Ok(())),
                    Poll::Ready(Ok(_)) => {}
                }
            },
            Self::H2 { stream, .. } => {
                let stream = stream.as_mut().expect("the head was sent");
                if rest.is_empty() {
                    return Poll::Ready(if ends {
                        stream.send_data(Bytes::new(), true).map_err(Gone::from)
                    } else {
                        Ok(())
                    });
                }
                stream.reserve_capacity(rest.len());
                while !rest.is_empty() {
                    match stream.poll_capacity(cx) {
                        Poll::Pending => return Poll::Pending,
                        Poll::Ready(Some(Ok(0))) => return Poll::Pending,
                        Poll::Ready(Some(Ok(count))) => {
                            let data = rest.split_to(count.min(rest.len()));
                            stream.send_data(data, ends && rest.is_empty())?;
                        }
                        Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error.into())),
                        Poll::Ready(None) => return Poll::Ready(Err(Gone)),
                    }
                }
                Poll::Ready(Ok(()))
            }
        }
    }

    fn send_trailers(&mut self) -> Result<(), Gone> {
        let trailers = HeaderMap::from_iter([(HeaderName::from_static("grpc-status"), HeaderValue::from_static("0"))]);
        match self {
            Self::Floor(_, responder) => responder.send_trailers(&trailers)?,
            Self::H2 { stream, .. } => stream.as_mut().expect("the head was sent").send_trailers(trailers)?,
        }
        Ok(())
    }
}
