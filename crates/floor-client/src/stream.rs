//! A stream of consecutive floors.

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use floor_proto::{rpc::Rpc, v1::FloorSpec};
use futures_util::{FutureExt as _, Stream, StreamExt, future::BoxFuture};
use tokio::time::{Sleep, sleep, timeout};
use tonic::Status;

use crate::{CallOptions, ClientError, EncodedFloor, Floor, Served, server::Server, transport::OpenStream};

/// Floors of one tower in order, each decoded and checked on arrival. The server sends no faster than the caller reads. A
/// stream that breaks off is resumed after its last floor, unless [retries](crate::CallOptions::retries) are off.
///
/// It implements [`Stream`]; [`next`](Self::next) needs no import of that trait.
pub struct FloorStream {
    server: Arc<Server>,
    options: CallOptions,
    reopen: Reopen,
    /// The spec of the next floor.
    expected: FloorSpec,
    remaining: u32,
    count: u32,
    /// Floors of calls that broke off, which never said where they came from.
    unknown: u32,
    attempt: Attempt,
    /// Completes at the deadline of the next floor. None while the caller does not wait for one.
    due: Option<Pin<Box<Sleep>>>,
    /// The stream has ended or failed.
    finished: bool,
}

/// The call that yields the next floors.
enum Attempt {
    Open(Box<OpenStream>),
    /// It is made again, for the floors that are left.
    Opening(BoxFuture<'static, Result<OpenStream, ClientError>>),
}

/// Calls again for so many floors from a spec on.
pub(crate) type Reopen =
    Box<dyn Fn(FloorSpec, u32) -> BoxFuture<'static, Result<OpenStream, ClientError>> + Send + Sync>;

impl FloorStream {
    pub(crate) fn new(
        (server, options): (Arc<Server>, CallOptions),
        reopen: Reopen,
        first: FloorSpec,
        count: u32,
        opened: OpenStream,
    ) -> Self {
        let attempt = Attempt::Open(Box::new(opened));
        let (remaining, unknown) = (count, 0);
        Self {
            server,
            options,
            reopen,
            expected: first,
            remaining,
            count,
            unknown,
            attempt,
            due: None,
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

    /// Reads the stream to its end, discards the remaining floors and returns the metadata of the stream. Floors from before
    /// it was resumed count as `unknown`.
    ///
    /// # Errors
    /// [`ClientError`] if the stream ends with an error.
    pub async fn served(mut self) -> Result<Served, ClientError> {
        while self.next_encoded().await?.is_some() {}
        let Attempt::Open(opened) = &mut self.attempt else { return Ok(Served::unknown(self.unknown)) };
        let trailers = opened.rest.trailers();
        let trailers = match self.options.deadline {
            None => trailers.await,
            Some(deadline) => timeout(deadline, trailers).await.map_err(|_| ClientError::deadline_exceeded())?,
        };
        let trailers = trailers.map_err(|status| self.server.call_error(status))?;
        let mut served = trailers.map(|metadata| Served::from_metadata(&metadata)).unwrap_or_default();
        served.add(&Served::unknown(self.unknown));
        Ok(served)
    }

    fn poll_encoded(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<(FloorSpec, EncodedFloor), ClientError>>> {
        while !self.finished {
            let next = match ready!(self.poll_attempt(context)) {
                Ok(Some(_)) if self.remaining == 0 => Some(Err(malformed("more floors than asked for"))),
                Ok(Some(message)) => {
                    let spec = self.expected.clone();
                    self.remaining -= 1;
                    self.expected.number += 1;
                    Some(Ok((spec, EncodedFloor::new(message))))
                }
                Ok(None) if self.remaining > 0 => {
                    Some(Err(malformed(&format!("it ended {} floors early", self.remaining))))
                }
                Ok(None) => None,
                Err(error) if self.resumes_after(&error) => {
                    self.resume();
                    continue;
                }
                Err(error) => Some(Err(error)),
            };
            self.due = None;
            self.finished = !matches!(next, Some(Ok(_)));
            return Poll::Ready(next);
        }
        Poll::Ready(None)
    }

    /// The next message of the call, which is opened first if it has to be.
    fn poll_attempt(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, ClientError>> {
        let message = loop {
            match &mut self.attempt {
                Attempt::Open(opened) => break opened.poll_message(context),
                // It has a deadline of its own.
                Attempt::Opening(opening) => {
                    self.attempt = Attempt::Open(Box::new(ready!(opening.poll_unpin(context))?));
                }
            }
        };
        if let Poll::Ready(message) = message {
            return Poll::Ready(message.transpose().map_err(|status| self.server.call_error(status)));
        }
        let Some(deadline) = self.options.deadline else { return Poll::Pending };
        let due = self.due.get_or_insert_with(|| Box::pin(sleep(deadline)));
        due.poll_unpin(context).map(|()| Err(ClientError::deadline_exceeded()))
    }

    /// Whether the stream is resumed after an error of the open call. Opening it has had its retries.
    fn resumes_after(&self, error: &ClientError) -> bool {
        let is_open = matches!(self.attempt, Attempt::Open(_));
        is_open
            && self.remaining > 0
            && self.options.retries > 0
            && (error.is_transient() || error.is_deadline_exceeded())
    }

    fn resume(&mut self) {
        self.due = None;
        self.unknown = self.count - self.remaining;
        self.attempt = Attempt::Opening((self.reopen)(self.expected.clone(), self.remaining));
    }
}

impl Stream for FloorStream {
    type Item = Result<Floor, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let encoded = ready!(self.poll_encoded(context));
        Poll::Ready(encoded.map(|floor| floor.and_then(|(spec, encoded)| encoded.decode_for(&spec))))
    }
}

impl OpenStream {
    fn poll_message(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Status>>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(Ok(first))),
            None => self.rest.poll_next_unpin(context),
        }
    }
}

impl fmt::Debug for FloorStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { expected, remaining, finished, .. } = self;
        f.debug_struct("FloorStream")
            .field("expected", expected)
            .field("remaining", remaining)
            .field("finished", finished)
            .finish_non_exhaustive()
    }
}

fn malformed(reason: &str) -> ClientError {
    ClientError::Malformed { rpc: Rpc::StreamFloors.name(), reason: reason.to_owned() }
}
