//! hyper's HTTP/2 with two things changed around it: answers that are ready at once are made on the connection's own
//! task, and what one turn of that task writes goes out in one system call.
//!
//! hyper gives every call a task of its own, and h2 flushes after every DATA frame: with ten calls in one packet that is
//! ten tasks and twenty writes. Here it is no task and one write.

use std::{
    future::Future,
    io::{self, IoSlice},
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker, ready},
};

use bevy_server::wire;
use bytes::{Buf, BytesMut};
use hyper::{rt::Executor, server::conn::http2, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{
        TcpListener,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

/// Bytes that may wait for the end of a turn; more go out at once. Some seventy floors.
const GATHERED: usize = 256 << 10;

pub(super) async fn serve(address: SocketAddr) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address).await?;
    let floor = wire::framed(&super::the_floor());
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (input, output) = stream.into_split();
        let output = Arc::new(Mutex::new(Output { stream: output, waiting: BytesMut::new() }));
        let floor = floor.clone();
        let service = service_fn(move |request| super::bare_hyper::answer(request, floor.clone()));
        let line = TokioIo::new(Line { input, output: Arc::clone(&output) });
        let connection = http2::Builder::new(HereOrSpawned).serve_connection(line, service);
        tokio::spawn(Turns { connection: Box::pin(connection), output });
    }
}

/// Polls a future once where it is; one that has to wait becomes a task.
#[derive(Debug, Clone, Copy)]
struct HereOrSpawned;

impl<F> Executor<F> for HereOrSpawned
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, future: F) {
        let mut future = Box::pin(future);
        // What waits is polled again by its task, which has a waker of its own.
        if future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            tokio::spawn(future);
        }
    }
}

/// A connection whose output goes out at the end of each turn.
struct Turns<C> {
    connection: Pin<Box<C>>,
    output: Arc<Mutex<Output>>,
}

impl<C: Future> Future for Turns<C> {
    type Output = C::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<C::Output> {
        let turn = self.connection.as_mut().poll(cx);
        // A broken connection shows at the connection's own next write.
        let _ = self.output.lock().unwrap_or_else(PoisonError::into_inner).poll_drain(cx);
        turn
    }
}

/// The writing half, and what waits for it.
struct Output {
    stream: OwnedWriteHalf,
    waiting: BytesMut,
}

impl Output {
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.waiting.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.waiting))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.waiting.advance(written);
        }
        Poll::Ready(Ok(()))
    }
}

/// What h2 reads and writes.
struct Line {
    input: OwnedReadHalf,
    output: Arc<Mutex<Output>>,
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
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        if output.waiting.len() >= GATHERED {
            ready!(output.poll_drain(cx))?;
        }
        parts.iter().for_each(|part| output.waiting.extend_from_slice(part));
        Poll::Ready(Ok(parts.iter().map(|part| part.len()).sum()))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// The turn's end flushes.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        ready!(output.poll_drain(cx))?;
        Pin::new(&mut output.stream).poll_shutdown(cx)
    }
}
