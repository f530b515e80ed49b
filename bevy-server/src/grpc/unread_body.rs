//! The rest of an HTTP/1 request that is answered before it has arrived. hyper would close the connection without a word:
//! the client loses the answer, or its next request.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;

/// How long the rest of a request is read. Mostly it is on its way.
const REST_TIMEOUT: Duration = Duration::from_secs(2);

/// A request body of which the rest is read when it is dropped, by a task of its own. A connection has at most one such
/// task: hyper reads the next request of a connection after the end of this one, which also ends the task. So the limits
/// on connections bound the tasks, and a task holds one chunk at a time.
pub(super) struct ReadToEnd(Option<Incoming>);

impl ReadToEnd {
    pub(super) const fn new(body: Incoming) -> Self {
        Self(Some(body))
    }
}

impl Body for ReadToEnd {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.0 else { return Poll::Ready(None) };
        let frame = Pin::new(body).poll_frame(cx);
        if matches!(frame, Poll::Ready(None | Some(Err(_)))) {
            self.0 = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or(SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for ReadToEnd {
    fn drop(&mut self) {
        if let Some(mut body) = self.0.take().filter(|body| !body.is_end_stream())
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(tokio::time::timeout(
                REST_TIMEOUT,
                async move { while let Some(Ok(_)) = body.frame().await {} },
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use http_body_util::Empty;
    use hyper::{server::conn::http1, service::service_fn};
    use hyper_util::rt::TokioIo;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        runtime::Handle,
    };

    use super::*;

    #[tokio::test]
    async fn a_connection_has_one_task_however_many_requests_are_answered_early() {
        const REQUESTS: usize = 20;
        let (mut peer, ours) = tokio::io::duplex(64 << 10);
        let answer_early = service_fn(async |request: Request<Incoming>| {
            drop(ReadToEnd::new(request.into_body()));
            Ok::<_, std::convert::Infallible>(Response::new(Empty::<Bytes>::new()))
        });
        let connection = tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(ours), answer_early));
        let tasks = || Handle::current().metrics().num_alive_tasks();
        let before = tasks();
        for _ in 0..REQUESTS {
            // What looks like a second request is the body of the first.
            let request = "POST / HTTP/1.1\r\ncontent-length: 60\r\n\r\n";
            peer.write_all(request.repeat(2).as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            while !answer.ends_with(b"\r\n\r\n") {
                answer.push(peer.read_u8().await.unwrap());
            }
            assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
            assert_eq!(tasks(), before + 1, "the task of this request, and none of an earlier one");
            let rest = 60 - request.len();
            peer.write_all(&vec![b' '; rest]).await.unwrap();
        }
        drop(peer);
        connection.await.unwrap().unwrap();
        while tasks() > before - 1 {
            tokio::task::yield_now().await;
        }
    }
}
