//! Write coalescing: everything that a connection writes during one poll is sent in one system call.
//!
//! h2 flushes after every DATA frame, so ten responses would be twenty writes. Here [`PollBeforeSpawn`] answers hits
//! during the poll of their connection, [`CoalescingIo`] collects what the connection writes in a [`WriteBuffer`], and
//! [`FlushAfterPoll`] sends the buffer after the poll. The copy costs a tenth of a microsecond per floor and saves two
//! system calls.

use std::{
    io::{self, IoSlice},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::{Instant, Sleep},
};

/// Length of the HTTP/2 preface. After that many bytes the protocol is known.
const PREFACE_BYTES: usize = 24;
/// Maximum of unsent bytes. Beyond it writes wait until the client has read some.
const MAX_UNSENT_BYTES: usize = 256 << 10;
/// Capacity that an empty buffer keeps. The rest is freed.
const MAX_IDLE_CAPACITY: usize = 64 << 10;
/// Maximum of sent bytes at the front of the buffer. Removing them moves the unsent bytes.
const MAX_SENT_PREFIX: usize = 128 << 10;

/// The I/O of a connection: reads from the socket, writes to the [`WriteBuffer`].
#[derive(Debug)]
pub struct CoalescingIo {
    /// `None` only during drop.
    input: Option<OwnedReadHalf>,
    /// Bytes received, counted up to [`PREFACE_BYTES`].
    received: usize,
    write_buffer: WriteBuffer,
}

impl CoalescingIo {
    /// The I/O for a connection over `stream`, and the buffer that [`FlushAfterPoll`] sends.
    pub fn new(stream: TcpStream) -> (Self, WriteBuffer) {
        let (input, output) = stream.into_split();
        let write_buffer = WriteBuffer::new(output);
        (Self { input: Some(input), received: 0, write_buffer: write_buffer.clone() }, write_buffer)
    }
}

/// Returns the read half, for [`WriteBuffer::linger`].
impl Drop for CoalescingIo {
    fn drop(&mut self) {
        self.write_buffer.lock().input = self.input.take();
    }
}

impl AsyncRead for CoalescingIo {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let Some(input) = &mut this.input else { return Poll::Ready(Ok(())) };
        let before = buffer.filled().len();
        ready!(Pin::new(input).poll_read(cx, buffer))?;
        if this.received < PREFACE_BYTES {
            this.received += buffer.filled().len() - before;
            if this.received >= PREFACE_BYTES {
                this.write_buffer.set_preface_received();
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for CoalescingIo {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write_buffer.lock().poll_append(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// [`FlushAfterPoll`] flushes.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.write_buffer.lock();
        ready!(state.poll_send(cx))?;
        Pin::new(&mut state.stream).poll_shutdown(cx)
    }
}

/// An executor that polls a call once on the connection's task and spawns it only if it is pending.
///
/// A hit in memory is ready at the first poll. It needs no task and no wake-up of another thread, and its response goes
/// out in one write with others.
#[derive(Debug, Clone, Copy)]
pub struct PollBeforeSpawn;

impl<F> hyper::rt::Executor<F> for PollBeforeSpawn
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, call: F) {
        let mut call: Pin<Box<F>> = Box::pin(call);
        // The waker does nothing: a pending call is polled again by its own task.
        let poll = || call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Pending) => _ = tokio::spawn(call),
            Ok(Poll::Ready(())) => {}
            // As in a task of its own, a panic ends only this call.
            Err(_) => tracing::error!("a call panicked"),
        }
    }
}

/// Polls a connection and then flushes its [`WriteBuffer`].
pub struct FlushAfterPoll<C: Future> {
    connection: Pin<Box<C>>,
    write_buffer: WriteBuffer,
    /// When the preface must be complete. `None` once it is.
    preface_deadline: Option<Pin<Box<Sleep>>>,
    /// The result of the connection, while its last bytes are sent.
    output: Option<C::Output>,
}

impl<C: Future> FlushAfterPoll<C> {
    /// Polls `connection`, and ends at `preface_deadline` if the client has not sent the protocol preface.
    pub fn new(connection: C, write_buffer: WriteBuffer, preface_deadline: Instant) -> Self {
        let preface_deadline = Some(Box::pin(tokio::time::sleep_until(preface_deadline)));
        Self { connection: Box::pin(connection), write_buffer, preface_deadline, output: None }
    }

    /// Whether the client has missed the preface deadline.
    fn preface_timed_out(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(preface_deadline) = &mut self.preface_deadline else { return false };
        if self.write_buffer.preface_received() {
            self.preface_deadline = None;
            return false;
        }
        preface_deadline.as_mut().poll(cx).is_ready()
    }
}

impl<C: Future> Future for FlushAfterPoll<C>
where
    C::Output: Unpin,
{
    /// The result of the connection, or `None` if the client missed the preface deadline.
    type Output = Option<C::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if this.output.is_none()
            && let Poll::Ready(output) = this.connection.as_mut().poll(cx)
        {
            this.output = Some(output);
        }
        if this.preface_timed_out(cx) {
            return Poll::Ready(None);
        }
        // A send error also shows at the connection's next read or write. After its end there is no one to report it
        // to.
        let sent = this.write_buffer.lock().poll_send(cx);
        match this.output.take() {
            Some(output) if sent.is_ready() => Poll::Ready(Some(output)),
            output => {
                this.output = output;
                Poll::Pending
            }
        }
    }
}

/// The bytes that a connection has written and not yet sent. Cheap to clone.
#[derive(Debug, Clone)]
pub struct WriteBuffer(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<BufferState>,
    /// Whether the client has sent its protocol preface.
    preface_received: AtomicBool,
}

#[derive(Debug)]
struct BufferState {
    stream: OwnedWriteHalf,
    bytes: Vec<u8>,
    /// How many of `bytes` are sent.
    sent: usize,
    /// The read half, after the connection has ended.
    input: Option<OwnedReadHalf>,
}

impl WriteBuffer {
    fn new(stream: OwnedWriteHalf) -> Self {
        let state = BufferState { stream, bytes: Vec::new(), sent: 0, input: None };
        Self(Arc::new(Shared { state: Mutex::new(state), preface_received: AtomicBool::new(false) }))
    }

    /// Locked by the connection's task, and by the accept task only during a drain, so contention is rare.
    fn lock(&self) -> MutexGuard<'_, BufferState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn preface_received(&self) -> bool {
        self.0.preface_received.load(Ordering::Relaxed)
    }

    fn set_preface_received(&self) {
        self.0.preface_received.store(true, Ordering::Relaxed);
    }

    /// Whether bytes are unsent, or the connection has ended and [lingers](Self::linger).
    pub fn is_busy(&self) -> bool {
        let state = self.lock();
        state.unsent() > 0 || state.input.is_some()
    }

    /// Reads and discards input until the client closes its end or is silent for `silence`. A socket that is closed
    /// with unread input makes the system send a reset, which drops data that is not delivered yet.
    pub async fn linger(&self, silence: Duration) {
        let mut discarded = [0; 256];
        loop {
            let next = std::future::poll_fn(|cx| {
                let mut state = self.lock();
                let Some(input) = &mut state.input else { return Poll::Ready(Ok(0)) };
                let mut buffer = ReadBuf::new(&mut discarded);
                Pin::new(input).poll_read(cx, &mut buffer).map_ok(|()| buffer.filled().len())
            });
            if !matches!(tokio::time::timeout(silence, next).await, Ok(Ok(1..))) {
                return;
            }
        }
    }
}

impl BufferState {
    const fn unsent(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Appends `parts`. Waits while too many bytes are unsent.
    fn poll_append(&mut self, cx: &mut Context<'_>, parts: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        if self.unsent() >= MAX_UNSENT_BYTES {
            if let Poll::Ready(Err(error)) = self.poll_send(cx) {
                return Poll::Ready(Err(error));
            }
            if self.unsent() >= MAX_UNSENT_BYTES {
                return Poll::Pending;
            }
        }
        if self.sent >= MAX_SENT_PREFIX {
            let sent = std::mem::take(&mut self.sent);
            self.bytes.drain(..sent);
        }
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        Poll::Ready(Ok(parts.iter().map(|part| part.len()).sum()))
    }

    /// Sends all bytes, then frees what a large response has left allocated.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.unsent() > 0 {
            let sent = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.bytes[self.sent..]))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += sent;
        }
        self.bytes.clear();
        self.sent = 0;
        if self.bytes.capacity() > MAX_IDLE_CAPACITY {
            self.bytes = Vec::new();
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, pin::pin};

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpSocket,
    };

    use super::*;

    #[tokio::test]
    async fn a_full_buffer_accepts_writes_after_a_partial_send_and_frees_memory_after_a_complete_one() {
        // Small, so that the system takes little at a time.
        let small_buffers = || {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_send_buffer_size(16 << 10).unwrap();
            socket.set_recv_buffer_size(16 << 10).unwrap();
            socket
        };
        let listener = small_buffers();
        listener.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = listener.listen(1).unwrap();
        let (ours, theirs) = tokio::join!(small_buffers().connect(listener.local_addr().unwrap()), listener.accept());
        let ((mut io, write_buffer), (mut peer, _)) = (CoalescingIo::new(ours.unwrap()), theirs.unwrap());
        let piece = [7; 16 << 10];
        let mut written = 0;
        while let Poll::Ready(count) = poll_fn(|cx| Poll::Ready(Pin::new(&mut io).poll_write(cx, &piece))).await {
            written += count.unwrap();
        }
        assert!(write_buffer.lock().unsent() >= MAX_UNSENT_BYTES);
        let (mut read_so_far, mut chunk) = (0, [0; 4 << 10]);
        let mut write = pin!(io.write(&piece));
        written += loop {
            tokio::select! {
                more = &mut write => break more.unwrap(),
                read = peer.read(&mut chunk) => read_so_far += read.unwrap(),
            }
        };
        assert!(write_buffer.lock().unsent() > piece.len(), "the write continued before everything was sent");
        let left = written - read_so_far;
        let mut rest = vec![0; left];
        let (sent, read) = tokio::join!(poll_fn(|cx| write_buffer.lock().poll_send(cx)), peer.read_exact(&mut rest));
        sent.unwrap();
        assert_eq!(read.unwrap(), left);
        let state = write_buffer.lock();
        assert!(state.unsent() == 0 && state.bytes.capacity() <= MAX_IDLE_CAPACITY, "{}", state.bytes.capacity());
    }
}
