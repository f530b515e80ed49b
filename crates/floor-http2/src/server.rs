//! A connection over a transport, and the handles of its calls.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use http::{HeaderMap, Request, response};
use http_body::{Body, Frame};
use tokio::{io::ReadBuf, task::yield_now};

use crate::{
    Limits, Transport,
    error::{ConnectionError, Reason, StreamEnded},
    state::{
        State,
        bounds::{ConnectionBudget, FrameBudget},
    },
};

/// Bytes that are read at once.
const READ_BYTES: usize = 32 << 10;
/// Bytes that a connection receives before others have their turn. Fields of decoded heads count too, as HPACK counts them:
/// a byte may stand for a field.
const TURN_BYTES: usize = 64 << 10;
/// How often a byte of a field counts: decoding and answering a head costs more than other input.
const FIELD_WEIGHT: usize = 2;
/// Capacity that an empty output keeps.
const MAX_IDLE_CAPACITY: usize = 64 << 10;

thread_local! {
    /// A connection reads into the buffer of its thread and keeps only the beginning of a frame, so a connection that
    /// waits has no buffers.
    static READ_BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into());
    /// An empty buffer for the output of the next connection on this thread.
    static WRITE_BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A request, and where its response is sent.
pub type Accepted = (Request<RequestBody>, Responder);

/// The server's side of an HTTP/2 connection. Poll [`accept`](Self::accept) also while no request is wanted: it does all
/// I/O.
#[derive(Debug)]
pub struct Connection<T> {
    transport: T,
    shared: Arc<Shared>,
    /// Bytes since the connection last gave way to others.
    received: usize,
    /// Set when the client has closed, or the connection has failed.
    is_ended: bool,
}

#[derive(Debug)]
struct Shared(Mutex<State>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Transport> Connection<T> {
    /// A connection whose client has sent nothing yet, not even the preface of HTTP/2.
    #[must_use]
    pub fn new(transport: T, limits: Limits) -> Self {
        Self::with_budget(transport, limits, Box::new(ConnectionBudget::new()))
    }

    /// As [`new`](Self::new), with a budget that it may share with other connections of its client.
    #[must_use]
    pub fn with_budget(transport: T, limits: Limits, budget: Box<dyn FrameBudget>) -> Self {
        let state = Mutex::new(State::new(limits, budget));
        Self { transport, shared: Arc::new(Shared(state)), received: 0, is_ended: false }
    }

    /// The next request, and where its response is sent. `None` when the client has closed the connection, or when it was
    /// closed here and all requests are answered. Cancel safe.
    ///
    /// # Errors
    /// The client broke the protocol, or the transport failed. No more requests follow.
    pub async fn accept(&mut self) -> Option<Result<Accepted, ConnectionError>> {
        poll_fn(|cx| self.poll_accept(cx)).await
    }

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Accepted, ConnectionError>>> {
        loop {
            if self.is_ended {
                return Poll::Ready(None);
            }
            let (has_room, has_frames) = {
                let mut state = self.shared.lock();
                // This task sends what is written from now on.
                state.waker = None;
                if let Some((id, request)) = state.next_request() {
                    drop(state);
                    let request = request.map(|()| RequestBody { shared: Arc::clone(&self.shared), id });
                    return Poll::Ready(Some(Ok((request, Responder::new(&self.shared, id)))));
                }
                (state.has_room(), state.has_frames())
            };
            // What was read is handled also without room.
            let has_more = has_room || has_frames;
            let may_receive = self.received < TURN_BYTES;
            if has_more && may_receive {
                let received = if has_frames { self.receive(&[]) } else { self.poll_receive(cx) };
                match received {
                    Poll::Ready(Ok(true)) => continue,
                    Poll::Ready(Ok(false)) => return self.end(cx, None),
                    Poll::Ready(Err(error)) => return self.end(cx, Some(Err(error))),
                    Poll::Pending => {}
                }
            }
            match self.send(cx) {
                Ok(Sent { is_done: true, .. }) => return self.end(cx, None),
                // Reading stopped because the output was full.
                Ok(Sent { has_room: true, .. }) if !has_room => {}
                Ok(_) => {
                    self.received = 0;
                    if has_more && !may_receive {
                        // Unlike waking the task, this lets the runtime look for other sockets that are ready before it
                        // polls this one again. Otherwise it would poll the tasks of busy connections 60 times first.
                        assert!(pin!(yield_now()).poll(cx).is_pending(), "it yields once");
                    }
                    return Poll::Pending;
                }
                Err(error) => return self.end(cx, Some(Err(error.into()))),
            }
        }
    }

    /// Receives some bytes. False if the client has closed.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, ConnectionError>> {
        READ_BUFFER.with_borrow_mut(|buffer| {
            let mut buffer = ReadBuf::new(buffer);
            ready!(Pin::new(&mut self.transport).poll_read(cx, &mut buffer))?;
            if buffer.filled().is_empty() {
                return Poll::Ready(Ok(false));
            }
            self.receive(buffer.filled())
        })
    }

    /// Takes what was received, after frames that were left.
    fn receive(&mut self, input: &[u8]) -> Poll<Result<bool, ConnectionError>> {
        self.received += input.len();
        let mut state = self.shared.lock();
        if state.output.capacity() == 0 {
            state.output = WRITE_BUFFER.take();
        }
        let received = state.receive(input);
        self.received += FIELD_WEIGHT * state.decoded_bytes;
        Poll::Ready(received.map(|()| true))
    }

    /// Gives the output to the transport.
    fn send(&mut self, cx: &mut Context<'_>) -> std::io::Result<Sent> {
        let mut output = {
            let mut state = self.shared.lock();
            state.waker = Some(cx.waker().clone());
            std::mem::take(&mut state.output)
        };
        let room = self.transport.poll_send(cx, &mut output)?;
        // No byte may reach another connection.
        output.clear();
        if (1..=MAX_IDLE_CAPACITY).contains(&output.capacity()) {
            WRITE_BUFFER.set(output);
        }
        let mut state = self.shared.lock();
        state.set_room(room);
        Ok(Sent { has_room: state.has_room(), is_done: state.is_done() && state.output.is_empty() })
    }

    /// Sends what is left, and ends all calls.
    fn end<O>(&mut self, cx: &mut Context<'_>, result: Option<O>) -> Poll<Option<O>> {
        // Fails if the client has left.
        let _ = self.send(cx);
        self.is_ended = true;
        self.shared.lock().end();
        Poll::Ready(result)
    }

    /// Tells the client that no further requests are accepted. Those that it has already made are, until it confirms twice,
    /// or until the second call of this function.
    pub fn close(&self) {
        self.shared.lock().close();
    }

    /// Sends a ping to a client that has long been silent. Any answer shows that it is there.
    pub fn ping(&self) {
        self.shared.lock().ping();
    }

    /// Whether requests are being received or answered.
    #[must_use]
    pub fn has_streams(&self) -> bool {
        self.shared.lock().has_streams()
    }
}

struct Sent {
    has_room: bool,
    is_done: bool,
}

impl<T> Drop for Connection<T> {
    fn drop(&mut self) {
        self.shared.lock().end();
    }
}

/// The body of a request.
#[derive(Debug)]
pub struct RequestBody {
    shared: Arc<Shared>,
    id: u32,
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = StreamEnded;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, StreamEnded>>> {
        let mut state = self.shared.lock();
        match ready!(state.poll_data(self.id, cx)) {
            Some(data) => Poll::Ready(Some(data.map(Frame::data))),
            None => Poll::Ready(state.take_trailers(self.id).map(|trailers| Ok(Frame::trailers(trailers)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.shared.lock().is_body_ended(self.id)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.shared.lock().drop_body(self.id);
    }
}

/// Sends the response of a call. If it is dropped before the response is complete, the call is reset.
#[derive(Debug)]
pub struct Responder {
    shared: Arc<Shared>,
    id: u32,
    is_done: bool,
}

impl Responder {
    fn new(shared: &Arc<Shared>, id: u32) -> Self {
        Self { shared: Arc::clone(shared), id, is_done: false }
    }

    /// Ready when the client has reset the call or left.
    pub fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.shared.lock().poll_ended(self.id, cx)
    }

    /// Sends the head of a response; with `ends` the whole response. With a `length`, the head says it in a
    /// `content-length`, which `head` then must not have.
    ///
    /// # Errors
    /// The call has ended.
    pub fn send_head(&mut self, head: &response::Parts, length: Option<u64>, ends: bool) -> Result<(), StreamEnded> {
        self.is_done = ends;
        self.shared.lock().send_head(self.id, head.status, &head.headers, length, ends)
    }

    /// Sends the beginning of `data`, as much as the client and the output take. Returns the number of bytes, which is 0
    /// only if `data` is empty. With `ends`, the last of it ends the response.
    ///
    /// # Errors
    /// The call has ended.
    pub fn poll_send(
        &mut self,
        data: &mut impl Buf,
        ends: bool,
        cx: &mut Context<'_>,
    ) -> Poll<Result<usize, StreamEnded>> {
        let sent = ready!(self.shared.lock().poll_send(self.id, data, ends, cx));
        self.is_done = ends && !data.has_remaining();
        Poll::Ready(sent)
    }

    /// Sends the trailers, which end the response.
    ///
    /// # Errors
    /// The call has ended.
    pub fn send_trailers(&mut self, trailers: &HeaderMap) -> Result<(), StreamEnded> {
        self.is_done = true;
        self.shared.lock().send_trailers(self.id, trailers)
    }

    /// Resets the call, if its response is not complete.
    pub fn reset(&mut self, reason: Reason) {
        self.is_done = true;
        self.shared.lock().reset_open(self.id, reason);
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if !self.is_done {
            self.shared.lock().reset_open(self.id, Reason::InternalError);
        }
    }
}
