//! The I/O of a connection.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, tcp::OwnedReadHalf},
};

use super::WriteBuffer;

/// Length of the HTTP/2 preface. After that many bytes the protocol is known.
const PREFACE_BYTES: usize = 24;

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
    /// The I/O for a connection over `stream`, and the buffer that [`FlushAfterPoll`](super::FlushAfterPoll) sends.
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

    /// [`FlushAfterPoll`](super::FlushAfterPoll) flushes.
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

    use super::super::write_buffer::{MAX_IDLE_CAPACITY, MAX_UNSENT_BYTES};
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
