//! The bytes that a connection has written and not yet sent.

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
    net::tcp::{OwnedReadHalf, OwnedWriteHalf},
};

/// Maximum of unsent bytes. Beyond it writes wait until the client has read some.
pub(super) const MAX_UNSENT_BYTES: usize = 256 << 10;
/// Capacity that an empty buffer keeps. The rest is freed.
pub(super) const MAX_IDLE_CAPACITY: usize = 64 << 10;
/// Maximum of sent bytes at the front of the buffer. Removing them moves the unsent bytes.
const MAX_SENT_PREFIX: usize = 128 << 10;

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
pub(super) struct BufferState {
    pub(super) stream: OwnedWriteHalf,
    pub(super) bytes: Vec<u8>,
    /// How many of `bytes` are sent.
    sent: usize,
    /// The read half, after the connection has ended.
    pub(super) input: Option<OwnedReadHalf>,
}

impl WriteBuffer {
    pub(super) fn new(stream: OwnedWriteHalf) -> Self {
        let state = BufferState { stream, bytes: Vec::new(), sent: 0, input: None };
        Self(Arc::new(Shared { state: Mutex::new(state), preface_received: AtomicBool::new(false) }))
    }

    /// Locked by the connection's task, and by the accept task only during a drain, so contention is rare.
    pub(super) fn lock(&self) -> MutexGuard<'_, BufferState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn preface_received(&self) -> bool {
        self.0.preface_received.load(Ordering::Relaxed)
    }

    pub(super) fn set_preface_received(&self) {
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
    pub(super) const fn unsent(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Appends `parts`. Waits while too many bytes are unsent.
    pub(super) fn poll_append(&mut self, cx: &mut Context<'_>, parts: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
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
    pub(super) fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
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
