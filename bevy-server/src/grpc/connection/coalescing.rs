//! Write coalescing: everything that a connection writes during one poll is sent in one system call.
//!
//! The connection answers hits during its own poll. [`CoalescingIo`] collects what it writes in a [`WriteBuffer`], which
//! is sent at the end of the poll: for HTTP/2 by the connection, for HTTP/1 by [`FlushAfterPoll`]. With TLS, what is
//! collected fills whole records.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use floor_http2::PREFACE;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep},
};

use super::transport::{Input, Output, Transport};
use crate::callers::{Budget, Caller, Reserved};

/// How long a client may take nothing of what waits for it.
pub(super) const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum of unsent bytes. Beyond it writes wait until the client has read some.
const MAX_UNSENT_BYTES: usize = 256 << 10;
/// As [`MAX_UNSENT_BYTES`], while the client has more than its share of the memory for unsent bytes. Errors and answers
/// to pings are sent to it all the same, and could otherwise fill the buffers of all its connections.
const MAX_UNSENT_BYTES_BEYOND_SHARE: usize = 16 << 10;
/// Capacity that an empty buffer keeps. The rest is freed.
const MAX_IDLE_CAPACITY: usize = 64 << 10;
/// Maximum of sent bytes at the front of the buffer. Removing them moves the unsent bytes.
const MAX_SENT_PREFIX: usize = 128 << 10;

/// The version of HTTP that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HttpVersion {
    /// HTTP/2 without negotiation.
    Http2,
    /// HTTP/1, for gRPC-Web and Connect.
    Http1,
}

/// The I/O of a connection: reads from its transport, writes to the [`WriteBuffer`].
#[derive(Debug)]
pub(super) struct CoalescingIo {
    /// `None` only during drop.
    input: Option<Input>,
    /// What [`detect_version`](Self::detect_version) received and no read has returned yet.
    detected: Vec<u8>,
    received: Arc<AtomicU64>,
    write_buffer: WriteBuffer,
}

impl CoalescingIo {
    /// The I/O for a connection over `transport`, and the buffer that [`FlushAfterPoll`] sends. What the buffer holds
    /// for a slow reader counts as `unsent` bytes of the client.
    pub(super) fn new(transport: Transport, unsent: Option<(Budget, Caller)>) -> (Self, WriteBuffer) {
        let (input, output) = transport.split();
        let write_buffer = WriteBuffer::new(output, unsent);
        let io = Self {
            input: Some(input),
            detected: Vec::new(),
            received: Arc::default(),
            write_buffer: write_buffer.clone(),
        };
        (io, write_buffer)
    }

    /// Receives until the version of HTTP is known. The following reads return the same bytes again.
    ///
    /// # Errors
    /// The error of the transport, or `UnexpectedEof` if the client closes first.
    pub(super) async fn detect_version(&mut self) -> io::Result<HttpVersion> {
        let mut detected = [0; PREFACE.len()];
        let mut length = 0;
        let version = loop {
            let mut buffer = ReadBuf::new(&mut detected[length..]);
            std::future::poll_fn(|cx| Pin::new(&mut *self).poll_read(cx, &mut buffer)).await?;
            if buffer.filled().is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            length += buffer.filled().len();
            if !PREFACE.starts_with(&detected[..length]) {
                break HttpVersion::Http1;
            }
            if length == PREFACE.len() {
                break HttpVersion::Http2;
            }
        };
        self.detected = detected[..length].to_vec();
        Ok(version)
    }

    /// The count of received bytes, over TLS without its overhead.
    #[must_use]
    pub(super) fn received(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.received)
    }
}

/// Returns the input, for [`WriteBuffer::linger`].
impl Drop for CoalescingIo {
    fn drop(&mut self) {
        self.write_buffer.lock().input = self.input.take();
    }
}

impl AsyncRead for CoalescingIo {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if !this.detected.is_empty() {
            let length = this.detected.len().min(buffer.remaining());
            buffer.put_slice(&this.detected[..length]);
            this.detected.drain(..length);
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        match &mut this.input {
            Some(Input::Tcp(input)) => ready!(Pin::new(input).poll_read(cx, buffer))?,
            Some(Input::Tls) => ready!(this.write_buffer.lock().output.poll_read(cx, buffer))?,
            None => {}
        }
        this.received.fetch_add((buffer.filled().len() - before) as u64, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl floor_http2::Transport for CoalescingIo {
    fn poll_send(&mut self, cx: &mut Context<'_>, output: &mut Vec<u8>) -> io::Result<usize> {
        self.write_buffer.lock().send_all(cx, output)
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
        state.output.poll_shutdown(cx)
    }
}

/// The client read nothing for too long.
#[derive(Debug, thiserror::Error)]
#[error("the client read nothing in time")]
pub(super) struct Stalled;

/// Polls a connection and then flushes its [`WriteBuffer`].
pub(super) struct FlushAfterPoll<C: Future> {
    connection: Pin<Box<C>>,
    write_buffer: WriteBuffer,
    /// Set while the client does not read.
    stall: Option<Stall>,
    /// The result of the connection, while its last bytes are sent.
    output: Option<C::Output>,
}

/// A client that does not read.
struct Stall {
    /// The bytes sent before.
    sent: u64,
    timer: Pin<Box<Sleep>>,
}

impl<C: Future> FlushAfterPoll<C> {
    /// Polls `connection`, and ends when the client reads nothing for [`STALL_TIMEOUT`] although bytes wait for it.
    pub(super) fn new(connection: C, write_buffer: WriteBuffer) -> Self {
        Self { connection: Box::pin(connection), write_buffer, stall: None, output: None }
    }

    /// Whether the client has read nothing for too long, with `sent` bytes sent so far.
    fn is_stalled(&mut self, cx: &mut Context<'_>, sent: u64) -> bool {
        let timer = || Box::pin(tokio::time::sleep(STALL_TIMEOUT));
        let stall = self.stall.get_or_insert_with(|| Stall { sent, timer: timer() });
        if stall.sent != sent {
            stall.sent = sent;
            stall.timer.as_mut().reset(Instant::now() + STALL_TIMEOUT);
        }
        stall.timer.as_mut().poll(cx).is_ready()
    }
}

impl<C: Future> Future for FlushAfterPoll<C>
where
    C::Output: Unpin,
{
    /// The result of the connection.
    type Output = Result<C::Output, Stalled>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if this.output.is_none()
            && let Poll::Ready(output) = this.connection.as_mut().poll(cx)
        {
            this.output = Some(output);
        }
        // A send error also shows at the connection's next read or write. After its end there is no one to report it
        // to.
        let (sent, sent_bytes) = {
            let mut state = this.write_buffer.lock();
            (state.poll_send(cx), state.output.sent())
        };
        if sent.is_pending() {
            return if this.is_stalled(cx, sent_bytes) { Poll::Ready(Err(Stalled)) } else { Poll::Pending };
        }
        this.stall = None;
        this.output.take().map_or(Poll::Pending, |output| Poll::Ready(Ok(output)))
    }
}

/// The bytes that a connection has written and not yet sent. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct WriteBuffer(Arc<Mutex<BufferState>>);

#[derive(Debug)]
struct BufferState {
    output: Output,
    bytes: Vec<u8>,
    /// How many of `bytes` the output has accepted.
    sent: usize,
    /// Where unsent bytes are counted.
    unsent: Option<(Budget, Caller)>,
    /// The unsent bytes, while the client does not read.
    reserved: Option<Reserved>,
    /// The input, after the connection has ended.
    input: Option<Input>,
}

impl WriteBuffer {
    fn new(output: Output, unsent: Option<(Budget, Caller)>) -> Self {
        let state = BufferState { output, bytes: Vec::new(), sent: 0, unsent, reserved: None, input: None };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Locked by the connection's task, and by the accept task only during a drain, so contention is rare.
    fn lock(&self) -> MutexGuard<'_, BufferState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether bytes are unsent, or the connection has ended and [lingers](Self::linger).
    pub(super) fn is_busy(&self) -> bool {
        let state = self.lock();
        state.unsent() > 0 || state.input.is_some()
    }

    /// Reads and discards input until the client closes its end or is silent for `silence`. A socket that is closed
    /// with unread input makes the system send a reset, which drops data that is not delivered yet.
    pub(super) async fn linger(&self, silence: Duration) {
        let mut discarded = [0; 256];
        loop {
            let next = std::future::poll_fn(|cx| {
                let mut state = self.lock();
                let BufferState { input, output, .. } = &mut *state;
                let mut buffer = ReadBuf::new(&mut discarded);
                let read = match input {
                    None => return Poll::Ready(Ok(0)),
                    Some(Input::Tcp(input)) => Pin::new(input).poll_read(cx, &mut buffer),
                    Some(Input::Tls) => output.poll_read_raw(cx, &mut buffer),
                };
                read.map_ok(|()| buffer.filled().len())
            });
            if !matches!(tokio::time::timeout(silence, next).await, Ok(Ok(1..))) {
                return;
            }
        }
    }
}

impl BufferState {
    /// Bytes that the socket has not taken.
    fn unsent(&self) -> usize {
        self.bytes.len() - self.sent + self.output.buffered()
    }

    /// Bytes that are accepted before some are sent.
    fn room(&self) -> usize {
        let is_beyond_share = || self.unsent.as_ref().is_some_and(|(budget, caller)| budget.is_exceeded_by(caller));
        let limit = if is_beyond_share() { MAX_UNSENT_BYTES_BEYOND_SHARE } else { MAX_UNSENT_BYTES };
        limit.saturating_sub(self.unsent())
    }

    /// Whether no more bytes are accepted until some are sent.
    fn is_full(&self) -> bool {
        self.room() == 0
    }

    /// Takes `output`, however long, which is empty then, and sends what the socket takes. Returns the
    /// [room](Self::room) after that.
    fn send_all(&mut self, cx: &mut Context<'_>, output: &mut Vec<u8>) -> io::Result<usize> {
        if self.bytes.is_empty() {
            std::mem::swap(&mut self.bytes, output);
        } else {
            self.remove_sent();
            self.bytes.append(output);
        }
        if let Poll::Ready(sent) = self.poll_send(cx) {
            sent?;
            // Nothing is left, so the caller gets its memory back, and the connection keeps none.
            *output = std::mem::take(&mut self.bytes);
        }
        Ok(self.room())
    }

    /// Removes sent bytes from the front, if they are many.
    fn remove_sent(&mut self) {
        if self.sent >= MAX_SENT_PREFIX {
            let sent = std::mem::take(&mut self.sent);
            self.bytes.drain(..sent);
        }
    }

    /// Appends `parts`. Waits while too many bytes are unsent.
    fn poll_append(&mut self, cx: &mut Context<'_>, parts: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        // While the client does not read, sending counts what was appended since the last attempt.
        let is_uncounted = self.reserved.is_some() && self.unsent() >= MAX_UNSENT_BYTES_BEYOND_SHARE;
        if is_uncounted || self.is_full() {
            if let Poll::Ready(Err(error)) = self.poll_send(cx) {
                return Poll::Ready(Err(error));
            }
            if self.is_full() {
                return Poll::Pending;
            }
        }
        self.remove_sent();
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        Poll::Ready(Ok(parts.iter().map(|part| part.len()).sum()))
    }

    /// Sends all bytes, and frees what a large response has left allocated.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.bytes.len() {
            let Poll::Ready(sent) = self.output.poll_write(cx, &self.bytes[self.sent..]) else {
                self.reserve_unsent();
                return Poll::Pending;
            };
            let sent = sent?;
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
        let Poll::Ready(flushed) = self.output.poll_flush(cx) else {
            self.reserve_unsent();
            return Poll::Pending;
        };
        flushed?;
        self.reserved = None;
        Poll::Ready(Ok(()))
    }

    /// Counts the memory of the unsent bytes while the client does not read.
    fn reserve_unsent(&mut self) {
        // Of what is moved, as much was sent before.
        if self.sent >= self.bytes.len() / 2 {
            self.bytes.drain(..std::mem::take(&mut self.sent));
            self.bytes.shrink_to(2 * self.bytes.len());
        }
        // Before the new reservation, so that no byte counts twice.
        self.reserved = None;
        let bytes = self.bytes.capacity() + self.output.buffered();
        self.reserved = self.unsent.as_ref().map(|(budget, caller)| budget.reserve(caller, bytes));
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, pin::pin};

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpSocket, TcpStream},
    };

    use tokio_rustls::{
        TlsAcceptor, TlsConnector,
        client::TlsStream,
        rustls::{ClientConfig, RootCertStore, ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
    };

    use super::*;
    use crate::{
        callers::{Budgets, Callers},
        config::CallerIdentity,
        grpc::connection::transport::CountingSocket,
    };

    /// The sockets of a connection with small system buffers, so that the system takes little at a time.
    async fn sockets() -> (TcpStream, TcpStream) {
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
        (ours.unwrap(), theirs.unwrap().0)
    }

    /// The I/O of a connection, and its peer.
    async fn connect(unsent: Option<(Budget, Caller)>) -> (CoalescingIo, WriteBuffer, TcpStream) {
        let (ours, theirs) = sockets().await;
        let (io, write_buffer) = CoalescingIo::new(Transport::Tcp(ours), unsent);
        (io, write_buffer, theirs)
    }

    /// As [`connect`], with TLS.
    async fn connect_with_tls() -> (CoalescingIo, WriteBuffer, TlsStream<TcpStream>) {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = certificate.self_signed(&key).unwrap().der().clone();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let provider = Arc::new(ring::default_provider());
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let client = client.with_safe_default_protocol_versions().unwrap();
        let client = TlsConnector::from(Arc::new(client.with_root_certificates(roots).with_no_client_auth()));
        let server = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let server = server.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
        let (ours, theirs) = sockets().await;
        let (accepted, peer) = tokio::join!(
            TlsAcceptor::from(Arc::new(server)).accept(CountingSocket::new(ours)),
            client.connect("localhost".try_into().unwrap(), theirs),
        );
        let (io, write_buffer) = CoalescingIo::new(Transport::Tls(Box::new(accepted.unwrap())), None);
        (io, write_buffer, peer.unwrap())
    }

    #[tokio::test]
    async fn a_client_beyond_its_share_gets_small_buffers() {
        let callers = Callers::new(CallerIdentity::default());
        let (caller, budget) =
            (callers.at(std::net::IpAddr::from([10, 0, 0, 1])), Budgets::new(MAX_UNSENT_BYTES, false).unsent);
        let piece = [7; 4 << 10];
        let mut connections = Vec::new();
        for _ in 0..4 {
            let (mut io, write_buffer, peer) = connect(Some((budget.clone(), caller.clone()))).await;
            while poll_fn(|cx| Poll::Ready(Pin::new(&mut io).poll_write(cx, &piece))).await.is_ready() {}
            connections.push((io, write_buffer, peer));
        }
        let unsent = |(_, write_buffer, _): &(CoalescingIo, WriteBuffer, TcpStream)| write_buffer.lock().unsent();
        let beyond: usize = connections[1..].iter().map(unsent).sum();
        assert!(beyond <= 3 * (MAX_UNSENT_BYTES_BEYOND_SHARE + piece.len()), "{beyond}");
        drop(connections);
        assert_eq!(budget.take_peak().0, 0);
    }

    #[tokio::test]
    async fn a_full_buffer_accepts_writes_after_a_partial_send_and_frees_memory_after_a_complete_one() {
        let (mut io, write_buffer, mut peer) = connect(None).await;
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

    #[tokio::test]
    async fn with_tls_what_waits_in_records_is_unsent_too() {
        let (mut io, write_buffer, mut peer) = connect_with_tls().await;
        let piece = [7; 16 << 10];
        let mut written = 0;
        while let Poll::Ready(count) = poll_fn(|cx| Poll::Ready(Pin::new(&mut io).poll_write(cx, &piece))).await {
            written += count.unwrap();
        }
        let unsent = write_buffer.lock().unsent();
        assert!((MAX_UNSENT_BYTES..MAX_UNSENT_BYTES + 2 * piece.len()).contains(&unsent), "{unsent}");
        assert!(write_buffer.lock().output.buffered() > 0);
        let mut received = vec![0; written];
        let (sent, read) =
            tokio::join!(poll_fn(|cx| write_buffer.lock().poll_send(cx)), peer.read_exact(&mut received));
        sent.unwrap();
        assert_eq!(read.unwrap(), written);
        let state = write_buffer.lock();
        assert_eq!((state.unsent(), state.output.buffered()), (0, 0));
        assert!(state.output.sent() > written as u64, "encryption adds bytes");
    }
}
