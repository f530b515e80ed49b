//! The bodies of gRPC-Web requests, before tonic-web reads them. It would make INTERNAL of every error, with a text for
//! developers.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, ready},
};

use base64::{DecodeError, Engine as _, engine::general_purpose::STANDARD};
use bytes::{Buf, Bytes, BytesMut};
use http_body::{Body, Frame};
use tonic::Status;

use super::connect::WebEncoding;

/// Characters of base64 that are decoded together.
const GROUP: usize = 4;

/// Why the body of a gRPC-Web request failed. tonic-web gets the end of the body instead, and who answers the call looks
/// here.
#[derive(Debug, Clone, Default)]
pub(super) struct BodyFailure(Arc<OnceLock<Status>>);

impl BodyFailure {
    pub(super) fn status(&self) -> Option<Status> {
        self.0.get().cloned()
    }

    fn is_set(&self) -> bool {
        self.0.get().is_some()
    }

    /// Keeps the first failure.
    fn set(&self, status: Status) {
        let _ = self.0.set(status);
    }
}

/// The body of a gRPC-Web request, decoded from base64. It ends where it fails.
pub(super) struct WebBody<B> {
    body: B,
    failure: BodyFailure,
    encoding: WebEncoding,
    /// Characters that are no whole group yet.
    rest: BytesMut,
}

impl<B> WebBody<B> {
    pub(super) fn new(body: B, encoding: WebEncoding, failure: BodyFailure) -> Self {
        Self { body, failure, encoding, rest: BytesMut::new() }
    }

    /// Decodes the whole groups of what has arrived.
    fn decode(&mut self, text: &[u8]) -> Result<Bytes, DecodeError> {
        self.rest.extend_from_slice(text);
        let whole = self.rest.len() / GROUP * GROUP;
        let bytes = from_base64(&self.rest[..whole])?;
        self.rest.advance(whole);
        Ok(bytes.into())
    }
}

impl<B> Body for WebBody<B>
where
    B: Body<Data = Bytes, Error = Status> + Unpin,
{
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        while !this.failure.is_set() {
            let Some(frame) = ready!(Pin::new(&mut this.body).poll_frame(cx)) else {
                if !this.rest.is_empty() {
                    this.failure.set(no_base64());
                }
                break;
            };
            let data = match frame {
                Ok(frame) if this.encoding == WebEncoding::Binary => return Poll::Ready(Some(Ok(frame))),
                Ok(frame) => frame.into_data().unwrap_or_default(),
                Err(status) => {
                    this.failure.set(status);
                    break;
                }
            };
            match this.decode(&data) {
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Err(_) => this.failure.set(no_base64()),
            }
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.failure.is_set() || (self.rest.is_empty() && self.body.is_end_stream())
    }
}

/// Decodes whole groups. A client may encode each of its messages by itself, so that padding stands inside the text.
fn from_base64(mut text: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut bytes = Vec::with_capacity(text.len() / GROUP * 3);
    while !text.is_empty() {
        let padded = text.chunks(GROUP).position(|group| group.ends_with(b"="));
        let (part, rest) = text.split_at(padded.map_or(text.len(), |index| (index + 1) * GROUP));
        STANDARD.decode_vec(part, &mut bytes)?;
        text = rest;
    }
    Ok(bytes)
}

fn no_base64() -> Status {
    Status::invalid_argument("the body of the request is not base64")
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt, StreamBody};
    use tonic::Code;

    use super::*;

    /// What a body of these chunks decodes to, and the code of its failure.
    async fn decoded(chunks: &[&'static [u8]]) -> (Vec<u8>, Option<Code>) {
        let frames = chunks.iter().map(|chunk| Ok(Frame::data(Bytes::from_static(chunk))));
        let failure = BodyFailure::default();
        let body = StreamBody::new(futures_util::stream::iter(frames.collect::<Vec<_>>()));
        let body = WebBody::new(body, WebEncoding::Base64, failure.clone());
        let Ok(bytes) = body.collect().await;
        (bytes.to_bytes().to_vec(), failure.status().map(|status| status.code()))
    }

    #[tokio::test]
    async fn base64_is_decoded_across_chunks_and_behind_padding() {
        for chunks in [&[&b"AAEC/w=="[..]][..], &[b"AAEC", b"/w=="], &[b"A", b"AEC/", b"", b"w=", b"="], &[b"AAE=Av8="]]
        {
            assert_eq!(decoded(chunks).await, (vec![0, 1, 2, 255], None), "{chunks:?}");
        }
        assert_eq!(decoded(&[]).await, (Vec::new(), None));
        for chunks in [&[&b"AAEC####"[..]][..], &[b"AAEC", b"/w"], &[b"AAE=A"], &[b"AAEC", b"_w=="]] {
            assert_eq!(decoded(chunks).await.1, Some(Code::InvalidArgument), "{chunks:?}");
        }
    }
}
