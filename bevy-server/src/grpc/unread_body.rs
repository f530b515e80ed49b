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

/// A request body of which the rest is read when it is dropped.
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
