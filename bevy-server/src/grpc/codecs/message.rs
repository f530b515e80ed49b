//! The message of a request: read from its body, of which mostly one chunk holds all.

use std::pin::{Pin, pin};

use bytes::{Buf, Bytes, BytesMut};
use floor_proto::{FRAME_PREFIX_BYTES, limits::DEFAULT_MESSAGE_BYTES};
use http_body::Body;
use http_body_util::BodyExt;
use tonic::Status;

use crate::{callers::Reserved, grpc::admission::Charge};

/// A message up to this length is charged with its call, a longer one by itself.
const UNBUDGETED_BYTES: usize = 1 << 10;

/// Reads a body to its end. Returns its message of at most `limit` bytes, without the frame prefix.
pub(super) async fn framed(
    body: impl Body<Data = Bytes, Error = Status>,
    limit: usize,
    charge: Charge<'_>,
) -> Result<Bytes, Status> {
    let mut body = pin!(body);
    let mut assembler = MessageAssembler::new(limit, charge);
    let message = loop {
        let Some(frame) = body.as_mut().frame().await else {
            return Err(match assembler.received.len() {
                0 => Status::unimplemented("the call has no message; this method takes one"),
                received => {
                    Status::invalid_argument(format!("the request ended after {received} bytes of its message"))
                }
            });
        };
        if let Ok(data) = frame?.into_data()
            && let Some(whole) = assembler.push(data)?
        {
            break whole;
        }
    };
    let Whole { mut message, mut surplus } = message;
    if !body.is_end_stream() {
        message = assembler.detach(&message)?;
        surplus += read_to_end(body).await?;
    }
    match surplus {
        0 => Ok(message),
        1..FRAME_PREFIX_BYTES => Err(Status::internal(format!("{surplus} bytes follow the request message"))),
        _ => Err(Status::unimplemented("the call has more than one message; this method takes one")),
    }
}

/// Reads a body that is the message, of at most `limit` bytes.
pub(super) async fn whole(
    body: impl Body<Data = Bytes, Error = Status>,
    limit: usize,
    charge: Charge<'_>,
) -> Result<Bytes, Status> {
    let mut body = pin!(body);
    let mut assembler = MessageAssembler::new(limit, charge);
    while let Some(data) = next_data(body.as_mut()).await? {
        // Mostly the only chunk, which is passed on as it is.
        if assembler.received.is_empty() && data.len() <= assembler.limit && body.is_end_stream() {
            return Ok(data);
        }
        assembler.extend(&data)?;
    }
    Ok(assembler.received.freeze())
}

/// The next data of a body. Trailers are none.
async fn next_data(mut body: Pin<&mut impl Body<Data = Bytes, Error = Status>>) -> Result<Option<Bytes>, Status> {
    let Some(frame) = body.as_mut().frame().await else { return Ok(None) };
    Ok(Some(frame?.into_data().unwrap_or_default()))
}

/// Reads the rest of a body and counts its bytes, mostly none. A response that is sent before the end of its request
/// resets the call, which some clients report as an error.
async fn read_to_end(mut body: Pin<&mut impl Body<Data = Bytes, Error = Status>>) -> Result<usize, Status> {
    let mut surplus = 0;
    while !body.is_end_stream()
        && let Some(frame) = body.as_mut().frame().await
    {
        surplus += frame?.into_data().map_or(0, |data| data.len());
        if surplus > DEFAULT_MESSAGE_BYTES {
            return Err(Status::out_of_range(format!(
                "more than {DEFAULT_MESSAGE_BYTES} bytes follow the request message"
            )));
        }
    }
    Ok(surplus)
}

/// Assembles a message from the chunks of a body. Mostly there is one chunk.
struct MessageAssembler<'a> {
    received: BytesMut,
    /// The most bytes that a message may have.
    limit: usize,
    /// Who pays for a large message.
    charge: Charge<'a>,
    /// The memory of a large message.
    reserved: Option<Reserved>,
}

/// A whole message.
struct Whole {
    message: Bytes,
    /// Bytes that came behind it.
    surplus: usize,
}

impl<'a> MessageAssembler<'a> {
    fn new(limit: usize, charge: Charge<'a>) -> Self {
        Self { received: BytesMut::new(), limit, charge, reserved: None }
    }

    fn push(&mut self, mut data: Bytes) -> Result<Option<Whole>, Status> {
        if self.received.is_empty()
            && let Some(length) = self.length(&data)?
            && data.len() >= FRAME_PREFIX_BYTES + length
        {
            data.advance(FRAME_PREFIX_BYTES);
            let surplus = data.len() - length;
            data.truncate(length);
            return Ok(Some(Whole { message: data, surplus }));
        }
        self.received.extend_from_slice(&data);
        match self.length(&self.received)? {
            Some(length) if self.received.len() >= FRAME_PREFIX_BYTES + length => {
                self.received.advance(FRAME_PREFIX_BYTES);
                let message = self.received.split_to(length).freeze();
                Ok(Some(Whole { message, surplus: self.received.len() }))
            }
            Some(length) if length > UNBUDGETED_BYTES && self.reserved.is_none() => {
                self.reserve(length)?;
                // Reserve once, so that the buffer does not double.
                self.received.reserve(FRAME_PREFIX_BYTES + length - self.received.len());
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Appends to a message whose length is unknown. Its memory is reserved in powers of two.
    fn extend(&mut self, data: &[u8]) -> Result<(), Status> {
        let length = self.received.len() + data.len();
        if length > self.limit {
            return Err(too_large(length, self.limit));
        }
        if length > UNBUDGETED_BYTES.max(self.received.capacity()) {
            let capacity = length.next_power_of_two();
            self.reserve(capacity)?;
            self.received.reserve(capacity - self.received.len());
        }
        self.received.extend_from_slice(data);
        Ok(())
    }

    /// A copy of a message, to be kept while the end of its request is awaited: the chunk in which it came may be a whole
    /// read buffer.
    fn detach(&mut self, message: &Bytes) -> Result<Bytes, Status> {
        if message.len() > UNBUDGETED_BYTES && self.reserved.is_none() {
            self.reserve(message.len())?;
        }
        Ok(Bytes::copy_from_slice(message))
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), Status> {
        self.reserved = Some(self.charge.reserve(bytes)?);
        Ok(())
    }

    /// The message length in a frame prefix. `None` if the prefix is incomplete.
    fn length(&self, data: &[u8]) -> Result<Option<usize>, Status> {
        let Some((prefix, _)) = data.split_first_chunk::<FRAME_PREFIX_BYTES>() else {
            return Ok(None);
        };
        let [compressed, length @ ..] = *prefix;
        match compressed {
            0 => {}
            // The headers were checked before.
            1 => return Err(Status::internal("the message is marked as compressed, and the headers name no encoding")),
            flag => {
                return Err(Status::invalid_argument(format!("the message begins with flag {flag}, which must be 0")));
            }
        }
        let (length, limit) = (u32::from_be_bytes(length) as usize, self.limit);
        if length > limit {
            return Err(Status::out_of_range(format!("the request message has {length} bytes; the limit is {limit}")));
        }
        Ok(Some(length))
    }
}

fn too_large(length: usize, limit: usize) -> Status {
    Status::out_of_range(format!("the request message has {length} bytes or more; the limit is {limit}"))
}
