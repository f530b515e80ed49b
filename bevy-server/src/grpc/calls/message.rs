//! Reads the message of a unary request from its body.

use std::{
    fmt::Display,
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use bytes::{Buf, Bytes, BytesMut};
use floor_proto::{FRAME_PREFIX_BYTES, limits::DEFAULT_MESSAGE_BYTES};
use http_body::Body;
use http_body_util::BodyExt;
use tokio::sync::{Semaphore, SemaphorePermit};
use tonic::Status;

use super::Call;
use crate::grpc::status;

/// Limit for receiving a request, from its headers on. A request is one small message.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Larger requests need a permit of the budget. Twice a full batch.
const UNBUDGETED_BYTES: usize = 16 << 10;
/// Budget for partially received large requests, over all connections.
const BUDGET_BYTES: usize = 64 << 20;

/// Bounds the memory of partially received large requests.
#[derive(Debug)]
pub(super) struct MemoryBudget(Semaphore);

impl Default for MemoryBudget {
    fn default() -> Self {
        Self(Semaphore::new(BUDGET_BYTES))
    }
}

/// The request message. It mostly arrives with the headers, and then no timer is needed.
pub(super) async fn receive(
    call: &Call,
    body: impl Body<Data = Bytes, Error: Display>,
    budget: &MemoryBudget,
) -> Result<Bytes, Status> {
    let mut message = pin!(read(body, budget));
    if let Poll::Ready(message) = poll_fn(|cx| Poll::Ready(message.as_mut().poll(cx))).await {
        return message;
    }
    let whole = async {
        let whole = tokio::time::timeout(REQUEST_TIMEOUT, message).await;
        whole.unwrap_or_else(|_| Err(status::request_timed_out(REQUEST_TIMEOUT)))
    };
    call.with_deadline(whole).await
}

/// Reads a unary request body to its end. Returns its message without the frame prefix.
async fn read(body: impl Body<Data = Bytes, Error: Display>, budget: &MemoryBudget) -> Result<Bytes, Status> {
    let mut body = pin!(body);
    let mut assembler = MessageAssembler { received: BytesMut::new(), budget, permit: None };
    let message = loop {
        let Some(frame) = body.as_mut().frame().await else {
            let received = assembler.received.len();
            return Err(Status::invalid_argument(format!("the request ended after {received} bytes of its message")));
        };
        if let Ok(data) = frame.map_err(|error| body_error(&error))?.into_data()
            && let Some(message) = assembler.push(data)?
        {
            break message;
        }
    };
    read_to_end(body).await?;
    Ok(message)
}

/// Reads the rest of a body, mostly nothing. Dropping it earlier would reset the call, and h2 closes a connection on
/// which many frames arrive for reset calls.
async fn read_to_end(mut body: Pin<&mut impl Body<Data = Bytes, Error: Display>>) -> Result<(), Status> {
    let mut extra_bytes = 0;
    while !body.is_end_stream()
        && let Some(frame) = body.as_mut().frame().await
    {
        extra_bytes += frame.map_err(|error| body_error(&error))?.into_data().map_or(0, |data| data.len());
        if extra_bytes > DEFAULT_MESSAGE_BYTES {
            return Err(Status::out_of_range(format!(
                "more than {DEFAULT_MESSAGE_BYTES} bytes follow the request message"
            )));
        }
    }
    Ok(())
}

fn body_error(error: &impl Display) -> Status {
    Status::cancelled(format!("the request body failed: {error}"))
}

/// Assembles a message from the chunks of a body. Mostly there is one chunk.
struct MessageAssembler<'a> {
    received: BytesMut,
    budget: &'a MemoryBudget,
    /// The permit of a large message.
    permit: Option<SemaphorePermit<'a>>,
}

impl MessageAssembler<'_> {
    fn push(&mut self, mut data: Bytes) -> Result<Option<Bytes>, Status> {
        if self.received.is_empty()
            && let Some(length) = length(&data)?
            && data.len() >= FRAME_PREFIX_BYTES + length
        {
            data.advance(FRAME_PREFIX_BYTES);
            data.truncate(length);
            return Ok(Some(data));
        }
        self.received.extend_from_slice(&data);
        match length(&self.received)? {
            Some(length) if self.received.len() >= FRAME_PREFIX_BYTES + length => {
                self.received.advance(FRAME_PREFIX_BYTES);
                Ok(Some(self.received.split_to(length).freeze()))
            }
            Some(length) if length > UNBUDGETED_BYTES && self.permit.is_none() => {
                let bytes = u32::try_from(length).unwrap_or(u32::MAX);
                self.permit =
                    Some(self.budget.0.try_acquire_many(bytes).map_err(|_| status::request_budget_exhausted())?);
                // Reserve once, so that the buffer does not double.
                self.received.reserve(FRAME_PREFIX_BYTES + length - self.received.len());
                Ok(None)
            }
            _ => Ok(None),
        }
    }
}

/// The message length in a frame prefix. `None` if the prefix is incomplete.
fn length(data: &[u8]) -> Result<Option<usize>, Status> {
    let Some((prefix, _)) = data.split_first_chunk::<FRAME_PREFIX_BYTES>() else {
        return Ok(None);
    };
    let [compressed, length @ ..] = *prefix;
    match compressed {
        0 => {}
        1 => return Err(Status::unimplemented("the request is compressed; this server takes identity only")),
        flag => return Err(Status::invalid_argument(format!("the message begins with flag {flag}, which must be 0"))),
    }
    let length = u32::from_be_bytes(length) as usize;
    if length > DEFAULT_MESSAGE_BYTES {
        return Err(Status::out_of_range(format!(
            "the request message has {length} bytes; the limit is {DEFAULT_MESSAGE_BYTES}"
        )));
    }
    Ok(Some(length))
}
