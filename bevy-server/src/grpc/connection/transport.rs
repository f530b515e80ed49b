//! What carries a connection's bytes: a TCP socket, or TLS over one.

use std::{
    io::{self, IoSlice},
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};
use tokio_rustls::server::TlsStream;

/// Encrypted bytes that TLS holds at most. All of them are sent in one system call.
pub(super) const TLS_BUFFER_BYTES: usize = 64 << 10;
/// The largest plaintext of a TLS record.
const RECORD_BYTES: u64 = 16 << 10;
/// Bytes that a connection receives before others have their turn. Messages of TLS itself, such as updates of keys, take
/// 2 us for 28 bytes and give HTTP/2 nothing to count.
const TURN_BYTES: usize = 16 << 10;
/// What encryption adds to a record at most: with AES-GCM in TLS 1.2, 29 bytes.
const RECORD_OVERHEAD: u64 = 29;

/// An open connection.
#[derive(Debug)]
pub(super) enum Transport {
    /// Without TLS.
    Tcp(TcpStream),
    /// With TLS, after the handshake.
    Tls(Box<TlsStream<CountingSocket>>),
}

/// The receiving side of a [`Transport`].
#[derive(Debug)]
pub(super) enum Input {
    Tcp(OwnedReadHalf),
    /// TLS keeps one state for both directions, so the [`Output`] has it.
    Tls,
}

/// The sending side of a [`Transport`]; with TLS both sides.
#[derive(Debug)]
pub(super) enum Output {
    Tcp(TcpOutput),
    Tls(Box<TlsOutput>),
}

#[derive(Debug)]
pub(super) struct TcpOutput {
    half: OwnedWriteHalf,
    sent: u64,
}

#[derive(Debug)]
pub(super) struct TlsOutput {
    stream: TlsStream<CountingSocket>,
    /// Bytes that TLS has made at most since it last held none, its overhead included.
    encrypted: u64,
    /// What the socket had sent when TLS last held no bytes.
    sent_before: u64,
}

impl Transport {
    /// Moves the socket, if TLS has one, to the runtime of the caller.
    ///
    /// # Errors
    /// The system cannot register the socket there.
    pub(super) fn move_here(&mut self) -> io::Result<()> {
        if let Self::Tls(tls) = self
            && let Some(stream) = tls.get_mut().0.stream.take()
        {
            tls.get_mut().0.stream = Some(TcpStream::from_std(stream.into_std()?)?);
        }
        Ok(())
    }

    /// The two sides.
    pub(super) fn split(self) -> (Input, Output) {
        match self {
            Self::Tcp(stream) => {
                let (input, half) = stream.into_split();
                (Input::Tcp(input), Output::Tcp(TcpOutput { half, sent: 0 }))
            }
            Self::Tls(stream) => {
                let sent_before = stream.get_ref().0.sent;
                (Input::Tls, Output::Tls(Box::new(TlsOutput { stream: *stream, encrypted: 0, sent_before })))
            }
        }
    }
}

impl Output {
    /// Bytes that the socket has taken since the connection began.
    pub(super) fn sent(&self) -> u64 {
        match self {
            Self::Tcp(tcp) => tcp.sent,
            Self::Tls(tls) => tls.socket().sent,
        }
    }

    /// Bytes that were accepted and that the socket has not taken. Over TLS an upper bound.
    pub(super) fn buffered(&self) -> usize {
        match self {
            Self::Tcp(_) => 0,
            Self::Tls(tls) => tls.buffered(),
        }
    }

    /// Receives what [`Input::Tls`] stands for. A connection that the client closes without saying so ends like any
    /// other: HTTP knows by itself whether a message is complete.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(_) => Poll::Ready(Ok(())),
            Self::Tls(tls) => match ready!(Pin::new(&mut tls.stream).poll_read(cx, buffer)) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(())),
                read => Poll::Ready(read),
            },
        }
    }

    /// As [`poll_read`](Self::poll_read), without decrypting: for bytes that are discarded.
    pub(super) fn poll_read_raw(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(_) => Poll::Ready(Ok(())),
            Self::Tls(tls) => Pin::new(tls.stream.get_mut().0).poll_read(cx, buffer),
        }
    }

    /// Accepts some of `bytes`: TCP those that it sends, TLS also those that it holds until
    /// [`poll_flush`](Self::poll_flush).
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(TcpOutput { half, sent }) => {
                let written = ready!(Pin::new(half).poll_write(cx, bytes))?;
                *sent += written as u64;
                Poll::Ready(Ok(written))
            }
            Self::Tls(tls) => {
                let written = ready!(Pin::new(&mut tls.stream).poll_write(cx, bytes))?;
                let plaintext = written as u64;
                tls.encrypted += plaintext + plaintext.div_ceil(RECORD_BYTES) * RECORD_OVERHEAD;
                Poll::Ready(Ok(written))
            }
        }
    }

    /// Sends what TLS holds, also its own messages, such as alerts.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self::Tls(tls) = self else { return Poll::Ready(Ok(())) };
        ready!(Pin::new(&mut tls.stream).poll_flush(cx))?;
        tls.encrypted = 0;
        tls.sent_before = tls.socket().sent;
        Poll::Ready(Ok(()))
    }

    pub(super) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(tcp) => Pin::new(&mut tcp.half).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(&mut tls.stream).poll_shutdown(cx),
        }
    }
}

impl TlsOutput {
    fn socket(&self) -> &CountingSocket {
        self.stream.get_ref().0
    }

    fn buffered(&self) -> usize {
        if !self.stream.get_ref().1.wants_write() {
            return 0;
        }
        let left = self.encrypted.saturating_sub(self.socket().sent - self.sent_before);
        // The estimate of the overhead adds up while a client always has unread bytes.
        usize::try_from(left).unwrap_or(usize::MAX).clamp(1, TLS_BUFFER_BYTES)
    }
}

/// A socket below TLS. It counts what it sends, and gives way to other connections after [`TURN_BYTES`].
#[derive(Debug)]
pub(super) struct CountingSocket {
    /// `None` if it could not be [moved](Transport::move_here).
    stream: Option<TcpStream>,
    sent: u64,
    /// Bytes received since the connection last gave way to others.
    received: usize,
}

impl CountingSocket {
    pub(super) const fn new(stream: TcpStream) -> Self {
        Self { stream: Some(stream), sent: 0, received: 0 }
    }

    pub(super) fn into_inner(self) -> Option<TcpStream> {
        self.stream
    }

    fn stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        self.stream.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    fn count(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(written)) = &written {
            self.sent += *written as u64;
        }
        written
    }
}

impl AsyncRead for CountingSocket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.received >= TURN_BYTES {
            self.received = 0;
            // The runtime looks for other sockets that are ready before it polls this connection again.
            let _ = pin!(tokio::task::yield_now()).poll(cx);
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let read = self.stream()?.poll_read(cx, buffer);
        match &read {
            Poll::Ready(_) => self.received += buffer.filled().len() - before,
            Poll::Pending => self.received = 0,
        }
        read
    }
}

impl AsyncWrite for CountingSocket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = self.stream()?.poll_write(cx, bytes);
        self.count(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream()?.poll_write_vectored(cx, parts);
        self.count(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_shutdown(cx)
    }
}
