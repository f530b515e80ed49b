//! What one turn of a connection writes goes out in one system call.
//!
//! h2 flushes after every DATA frame: ten hits that came in one packet would be twenty writes. So the connection writes
//! into memory, and [`Turns`], which polls it, sends what has gathered once the connection has no more to do for now.
//! That copies an answer once, a tenth of a microsecond for a floor, to save two system calls.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use bytes::{Buf, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

/// Bytes that may wait for the end of a turn; beyond it the connection waits until the peer has taken some.
const GATHERED: usize = 256 << 10;
/// Room that a connection keeps between turns. What a large answer needed beyond it is given back.
const KEPT: usize = 64 << 10;

/// Both ends of gathering for one connection: the line that it reads and writes, and what sends.
pub fn gathered(stream: TcpStream) -> (Line, Outgoing) {
    let (input, output) = stream.into_split();
    let outgoing = Outgoing(Arc::new(Mutex::new(Waiting { stream: output, bytes: BytesMut::new() })));
    (Line { input, outgoing: outgoing.clone() }, outgoing)
}

/// What has been written and not yet sent.
#[derive(Debug, Clone)]
pub struct Outgoing(Arc<Mutex<Waiting>>);

#[derive(Debug)]
struct Waiting {
    stream: OwnedWriteHalf,
    bytes: BytesMut,
}

impl Outgoing {
    /// Only ever taken by the connection's own task, so never waited for.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.bytes.is_empty() {
            let sent = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.bytes))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.bytes.advance(sent);
        }
        if self.bytes.capacity() > KEPT {
            self.bytes = BytesMut::new();
        }
        Poll::Ready(Ok(()))
    }
}

/// A connection, whose output goes out at the end of each of its turns.
pub struct Turns<C: Future> {
    connection: Pin<Box<C>>,
    outgoing: Outgoing,
    /// What came of the connection, once it is over and only has to be sent.
    over: Option<C::Output>,
}

impl<C: Future> Turns<C> {
    /// `connection`, which reads and writes the line of `outgoing`.
    pub fn new(connection: C, outgoing: Outgoing) -> Self {
        Self { connection: Box::pin(connection), outgoing, over: None }
    }
}

impl<C: Future> Future for Turns<C>
where
    C::Output: Unpin,
{
    type Output = C::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<C::Output> {
        let this = &mut *self;
        if this.over.is_none()
            && let Poll::Ready(output) = this.connection.as_mut().poll(cx)
        {
            this.over = Some(output);
        }
        // A line that broke shows at the connection's next read or write; one that is over has nobody left to tell.
        let sent = this.outgoing.lock().poll_send(cx);
        match this.over.take() {
            Some(output) if sent.is_ready() => Poll::Ready(output),
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
    input: OwnedReadHalf,
    outgoing: Outgoing,
}

impl AsyncRead for Line {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.input).poll_read(cx, buffer)
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
        if waiting.bytes.len() >= GATHERED {
            ready!(waiting.poll_send(cx))?;
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
