//! What one turn of a connection writes goes out in one system call.
//!
//! h2 flushes after every DATA frame: ten hits that came in one packet would be twenty writes. So the connection writes
//! into memory, and [`Turns`], which polls it, sends what has gathered once the connection has no more to do for now.
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
const GATHERED: usize = 256 << 10;
/// Room that a connection keeps once everything is sent. What a large answer needed beyond it is given back.
const KEPT: usize = 64 << 10;
/// Bytes sent that stay in front of those that wait, at the most: moving these forward costs a copy.
const SENT: usize = 128 << 10;
/// Bytes by which it is known what a peer speaks: as many as HTTP/2 begins with.
const BEGINNING: usize = 24;

/// Both ends of gathering for one connection: the line that it reads and writes, and what sends.
pub fn gathered(stream: TcpStream) -> (Line, Outgoing) {
    let (input, output) = stream.into_split();
    let waiting = Waiting { stream: output, bytes: Vec::new(), sent: 0, input: None };
    let outgoing = Outgoing(Arc::new(Shared { waiting: Mutex::new(waiting), begun: AtomicBool::new(false) }));
    (Line { input: Some(input), heard: 0, outgoing: outgoing.clone() }, outgoing)
}

/// What has been written and not yet sent.
#[derive(Debug, Clone)]
pub struct Outgoing(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// Whether the peer has sent as much as [`BEGINNING`].
    begun: AtomicBool,
}

#[derive(Debug)]
struct Waiting {
    stream: OwnedWriteHalf,
    bytes: Vec<u8>,
    /// How many of `bytes` are sent.
    sent: usize,
    /// What the peer still sends, once the connection is over.
    input: Option<OwnedReadHalf>,
}

impl Outgoing {
    /// Taken by the connection's own task, and by others only while the server drains, so hardly ever waited for.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether something waits to be sent, or may be on its way still: see [`linger`](Self::linger).
    pub fn is_busy(&self) -> bool {
        let waiting = self.lock();
        waiting.unsent() > 0 || waiting.input.is_some()
    }

    /// Reads what the peer still sends, until it closes its end or has been silent for `silence`. To close a socket at
    /// once would make the system answer the peer's next word with a reset, and drop what it has not delivered yet.
    pub async fn linger(&self, silence: Duration) {
        let mut heard = [0; 256];
        loop {
            let next = std::future::poll_fn(|cx| {
                let mut waiting = self.lock();
                let Some(input) = &mut waiting.input else { return Poll::Ready(Ok(0)) };
                let mut buffer = ReadBuf::new(&mut heard);
                Pin::new(input).poll_read(cx, &mut buffer).map_ok(|()| buffer.filled().len())
            });
            if !matches!(tokio::time::timeout(silence, next).await, Ok(Ok(1..))) {
                return;
            }
        }
    }
}

impl Waiting {
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
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
        Poll::Ready(Ok(()))
    }
}

/// A connection, whose output goes out at the end of each of its turns.
pub struct Turns<C: Future> {
    connection: Pin<Box<C>>,
    outgoing: Outgoing,
    /// When the peer must have begun, until it has.
    begin: Option<Pin<Box<Sleep>>>,
    /// What came of the connection, once it is over and only has to be sent.
    over: Option<C::Output>,
}

impl<C: Future> Turns<C> {
    /// Polls `connection`, but not past `begin` unless the peer has said by then what it speaks.
    pub fn new(connection: C, outgoing: Outgoing, begin: Instant) -> Self {
        let begin = Some(Box::pin(tokio::time::sleep_until(begin)));
        Self { connection: Box::pin(connection), outgoing, begin, over: None }
    }

    /// Whether the peer has used up the time to begin.
    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(begin) = &mut self.begin else { return false };
        if self.outgoing.0.begun.load(Ordering::Relaxed) {
            self.begin = None;
            return false;
        }
        begin.as_mut().poll(cx).is_ready()
    }
}

impl<C: Future> Future for Turns<C>
where
    C::Output: Unpin,
{
    /// What came of the connection, or nothing if the peer never began.
    type Output = Option<C::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if this.over.is_none()
            && let Poll::Ready(output) = this.connection.as_mut().poll(cx)
        {
            this.over = Some(output);
        }
        if this.is_late(cx) {
            return Poll::Ready(None);
        }
        // A line that broke shows at the connection's next read or write; one that is over has nobody left to tell.
        let sent = this.outgoing.lock().poll_send(cx);
        match this.over.take() {
            Some(output) if sent.is_ready() => Poll::Ready(Some(output)),
            output => {
                this.over = output;
                Poll::Pending
            }
        }
    }
}

/// What a connection reads and writes.
#[derive(Debug)]
pub struct Line {
    /// Until the line is dropped.
    input: Option<OwnedReadHalf>,
    /// Bytes that have come, counted as far as [`BEGINNING`].
    heard: usize,
    outgoing: Outgoing,
}

/// Gives the peer's end back, for [`Outgoing::linger`].
impl Drop for Line {
    fn drop(&mut self) {
        self.outgoing.lock().input = self.input.take();
    }
}

impl AsyncRead for Line {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let Some(input) = &mut this.input else { return Poll::Ready(Ok(())) };
        let before = buffer.filled().len();
        ready!(Pin::new(input).poll_read(cx, buffer))?;
        if this.heard < BEGINNING {
            this.heard += buffer.filled().len() - before;
            this.outgoing.0.begun.store(this.heard >= BEGINNING, Ordering::Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Line {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut waiting = self.outgoing.lock();
        if waiting.unsent() >= GATHERED {
            if let Poll::Ready(Err(error)) = waiting.poll_send(cx) {
                return Poll::Ready(Err(error));
            }
            if waiting.unsent() >= GATHERED {
                return Poll::Pending;
            }
        }
        if waiting.sent >= SENT {
            let sent = std::mem::take(&mut waiting.sent);
            waiting.bytes.drain(..sent);
        }
        parts.iter().for_each(|part| waiting.bytes.extend_from_slice(part));
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
        let mut waiting = self.outgoing.lock();
        ready!(waiting.poll_send(cx))?;
        Pin::new(&mut waiting.stream).poll_shutdown(cx)
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
    async fn a_full_line_goes_on_when_some_is_sent_and_keeps_little_room_when_all_is() {
        // Small, so that the system takes a little at a time.
        let narrow = || {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_send_buffer_size(16 << 10).unwrap();
            socket.set_recv_buffer_size(16 << 10).unwrap();
            socket
        };
        let listener = narrow();
        listener.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = listener.listen(1).unwrap();
        let (ours, theirs) = tokio::join!(narrow().connect(listener.local_addr().unwrap()), listener.accept());
        let ((mut line, outgoing), (mut peer, _)) = (gathered(ours.unwrap()), theirs.unwrap());
        let piece = [7; 16 << 10];
        let mut written = 0;
        while let Poll::Ready(count) = poll_fn(|cx| Poll::Ready(Pin::new(&mut line).poll_write(cx, &piece))).await {
            written += count.unwrap();
        }
        assert!(outgoing.lock().unsent() >= GATHERED);
        let (mut taken, mut some) = (0, [0; 4 << 10]);
        let mut write = pin!(line.write(&piece));
        written += loop {
            tokio::select! {
                more = &mut write => break more.unwrap(),
                read = peer.read(&mut some) => taken += read.unwrap(),
            }
        };
        assert!(outgoing.lock().unsent() > piece.len(), "it waited until everything was sent");
        let left = written - taken;
        let mut rest = vec![0; left];
        let (sent, read) = tokio::join!(poll_fn(|cx| outgoing.lock().poll_send(cx)), peer.read_exact(&mut rest));
        sent.unwrap();
        assert_eq!(read.unwrap(), left);
        let waiting = outgoing.lock();
        assert!(waiting.unsent() == 0 && waiting.bytes.capacity() <= KEPT, "{}", waiting.bytes.capacity());
    }
}
