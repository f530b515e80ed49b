//! A stream of consecutive floors.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Instant,
};

use bytes::Bytes;
use floor_proto::{rpc::Rpc, v1::FloorSpec};
use futures_util::{FutureExt as _, Stream, StreamExt};
use tokio::time::{Sleep, sleep_until, timeout_at};
use tonic::{Status, Streaming};

use crate::{ClientError, EncodedFloor, Floor, Served, server::Server, transport::OpenStream};

/// Floors of one tower in order, each decoded and checked on arrival. The server sends no faster than the caller reads.
///
/// It implements [`Stream`]; [`next`](Self::next) needs no import of that trait.
#[derive(Debug)]
pub struct FloorStream {
    server: Arc<Server>,
    /// The spec of the next floor.
    expected: FloorSpec,
    remaining: u32,
    /// The message that arrived while the stream was opened, until it is read.
    first: Option<Bytes>,
    messages: Streaming<Bytes>,
    /// Completes at the deadline of the whole stream.
    deadline: Option<Pin<Box<Sleep>>>,
    /// The stream has ended or failed.
    finished: bool,
}

impl FloorStream {
    pub(crate) fn new(
        server: Arc<Server>,
        first: FloorSpec,
        count: u32,
        opened: OpenStream,
        deadline: Option<Instant>,
    ) -> Self {
        Self {
            server,
            expected: first,
            remaining: count,
            first: opened.first,
            messages: opened.rest,
            deadline: deadline.map(|deadline| Box::pin(sleep_until(deadline.into()))),
            finished: false,
        }
    }

    /// The next floor, `None` after the last.
    ///
    /// # Errors
    /// See [`ClientError`]. A stream that ends before its last floor is [`ClientError::Malformed`].
    pub async fn next(&mut self) -> Result<Option<Floor>, ClientError> {
        StreamExt::next(self).await.transpose()
    }

    /// The next floor, encoded and unchecked, and the spec that it must match.
    ///
    /// # Errors
    /// As for [`next`](Self::next).
    pub async fn next_encoded(&mut self) -> Result<Option<(FloorSpec, EncodedFloor)>, ClientError> {
        poll_fn(|context| self.poll_encoded(context)).await.transpose()
    }

    /// Reads the stream to its end, discards the remaining floors and returns the metadata of the whole stream.
    ///
    /// # Errors
    /// [`ClientError`] if the stream ends with an error.
    pub async fn served(mut self) -> Result<Served, ClientError> {
        let trailers = match &self.deadline {
            None => self.messages.trailers().await,
            Some(deadline) => {
                let trailers = timeout_at(deadline.deadline(), self.messages.trailers());
                trailers.await.map_err(|_| ClientError::deadline_exceeded())?
            }
        };
        let trailers = trailers.map_err(|status| self.server.call_error(&status))?;
        Ok(trailers.map(|metadata| Served::from_metadata(&metadata)).unwrap_or_default())
    }

    fn poll_message(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Status>>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(Ok(first))),
            None => self.messages.poll_next_unpin(context),
        }
    }

    fn poll_encoded(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<(FloorSpec, EncodedFloor), ClientError>>> {
        if self.finished {
            return Poll::Ready(None);
        }
        let message = self.poll_message(context);
        if message.is_pending()
            && self.deadline.as_mut().is_some_and(|deadline| deadline.poll_unpin(context).is_ready())
        {
            self.finished = true;
            return Poll::Ready(Some(Err(ClientError::deadline_exceeded())));
        }
        let next = match ready!(message) {
            Some(Ok(_)) if self.remaining == 0 => Some(Err(malformed("more floors than asked for"))),
            Some(Ok(message)) => {
                let spec = self.expected.clone();
                self.remaining -= 1;
                self.expected.number += 1;
                Some(Ok((spec, EncodedFloor::new(message))))
            }
            Some(Err(status)) => Some(Err(self.server.call_error(&status))),
            None if self.remaining > 0 => Some(Err(malformed(&format!("it ended {} floors early", self.remaining)))),
            None => None,
        };
        self.finished = !matches!(next, Some(Ok(_)));
        Poll::Ready(next)
    }
}

impl Stream for FloorStream {
    type Item = Result<Floor, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let encoded = ready!(self.poll_encoded(context));
        Poll::Ready(encoded.map(|floor| floor.and_then(|(spec, encoded)| encoded.decode_for(&spec))))
    }
}

fn malformed(reason: &str) -> ClientError {
    ClientError::Malformed { rpc: Rpc::StreamFloors.name(), reason: reason.to_owned() }
}
