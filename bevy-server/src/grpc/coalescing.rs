//! What one turn of a connection writes goes out in one system call.
//!
//! h2 flushes after every DATA frame: ten hits that came in one packet would be twenty writes. So the connection writes
//! into memory, and [`FlushAfterPoll`], which polls it, sends what has gathered once the connection has no more to do for now.
//! That copies an answer once, a tenth of a microsecond for a floor, to save two system calls.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
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

/// Bytes that may wait for the end of a turn; beyond it the connection waits until the peer has taken some.
const MAX_UNSENT_BYTES: usize = 256 << 10;
/// Room that a connection keeps once everything is sent. What a large answer needed beyond it is given back.
const MAX_IDLE_CAPACITY: usize = 64 << 10;
/// Bytes sent that stay in front of those that wait, at the most: moving these forward costs a copy.
const MAX_SENT_PREFIX: usize = 128 << 10;
/// Bytes by which it is known what a peer speaks: as many as HTTP/2 begins with.
const PREFACE_BYTES: usize = 24;

/// What has been written and not yet sent.
#[derive(Debug, Clone)]
pub struct WriteBuffer(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<BufferState>,
    /// Whether the peer has sent as much as [`PREFACE_BYTES`].
    preface_received: AtomicBool,
}

#[derive(Debug)]
struct BufferState {
    stream: OwnedWriteHalf,
    bytes: Vec<u8>,
    /// How many of `bytes` are sent.
    sent: usize,
    /// What the peer still sends, once the connection is over.
    input: Option<OwnedReadHalf>,
}

impl WriteBuffer {
    /// Taken by the connection's own task, and by others only while the server drains, so hardly ever waited for.
    fn lock(&self) -> MutexGuard<'_, BufferState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether something waits to be sent, or may be on its way still: see [`linger`](Self::linger).
    pub fn is_busy(&self) -> bool {
        let state = self.lock();
        state.unsent() > 0 || state.input.is_some()
    }

    /// Reads what the peer still sends, until it closes its end or has been silent for `silence`. To close a socket at
    /// once would make the system answer the peer's next word with a reset, and drop what it has not delivered yet.
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

/// A connection, whose output goes out at the end of each of its turns.
pub struct FlushAfterPoll<C: Future> {
    connection: Pin<Box<C>>,
    write_buffer: WriteBuffer,
    /// When the peer must have begun, until it has.
    preface_deadline: Option<Pin<Box<Sleep>>>,
    /// What came of the connection, once it is over and only has to be sent.
    output: Option<C::Output>,
}

impl<C: Future> FlushAfterPoll<C> {
    /// Polls `connection`, but not past `preface_deadline` unless the peer has said by then what it speaks.
    pub fn new(connection: C, write_buffer: WriteBuffer, preface_deadline: Instant) -> Self {
        let preface_deadline = Some(Box::pin(tokio::time::sleep_until(preface_deadline)));
        Self { connection: Box::pin(connection), write_buffer, preface_deadline, output: None }
    }

    /// Whether the peer has used up the time to begin.
    fn preface_timed_out(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(preface_deadline) = &mut self.preface_deadline else { return false };
        if self.write_buffer.0.preface_received.load(Ordering::Relaxed) {
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
    /// What came of the connection, or nothing if the peer never began.
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
        // A line that broke shows at the connection's next read or write; one that is over has nobody left to tell.
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

/// What a connection reads and writes.
#[derive(Debug)]
pub struct CoalescingIo {
    /// Until the line is dropped.
    input: Option<OwnedReadHalf>,
    /// Bytes that have come, counted as far as [`PREFACE_BYTES`].
    received: usize,
    write_buffer: WriteBuffer,
}

impl CoalescingIo {
    /// The two halves for one connection: what hyper reads from and writes to, and the buffer that is flushed.
    pub fn new(stream: TcpStream) -> (Self, WriteBuffer) {
        let (input, output) = stream.into_split();
        let state = BufferState { stream: output, bytes: Vec::new(), sent: 0, input: None };
        let shared = Shared { state: Mutex::new(state), preface_received: AtomicBool::new(false) };
        let write_buffer = WriteBuffer(Arc::new(shared));
        (Self { input: Some(input), received: 0, write_buffer: write_buffer.clone() }, write_buffer)
    }
}

/// Gives the peer's end back, for [`WriteBuffer::linger`].
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
            this.write_buffer.0.preface_received.store(this.received >= PREFACE_BYTES, Ordering::Relaxed);
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
        let mut state = self.write_buffer.lock();
        if state.unsent() >= MAX_UNSENT_BYTES {
            if let Poll::Ready(Err(error)) = state.poll_send(cx) {
                return Poll::Ready(Err(error));
            }
            if state.unsent() >= MAX_UNSENT_BYTES {
                return Poll::Pending;
            }
        }
        if state.sent >= MAX_SENT_PREFIX {
            let sent = std::mem::take(&mut state.sent);
            state.bytes.drain(..sent);
        }
        parts.iter().for_each(|part| state.bytes.extend_from_slice(part));
        Poll::Ready(Ok(parts.iter().map(|part| part.len()).sum()))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// The end of the turn flushes.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.write_buffer.lock();
        ready!(state.poll_send(cx))?;
        Pin::new(&mut state.stream).poll_shutdown(cx)
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
        // Small, so that the system takes a little at a time.
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
        assert!(write_buffer.lock().unsent() > piece.len(), "it waited until everything was sent");
        let left = written - read_so_far;
        let mut rest = vec![0; left];
        let (sent, read) = tokio::join!(poll_fn(|cx| write_buffer.lock().poll_send(cx)), peer.read_exact(&mut rest));
        sent.unwrap();
        assert_eq!(read.unwrap(), left);
        let state = write_buffer.lock();
        assert!(state.unsent() == 0 && state.bytes.capacity() <= MAX_IDLE_CAPACITY, "{}", state.bytes.capacity());
    }
}
