//! gRPC-Web: gRPC for programs that cannot read trailers, which are the last frame of the body, or that cannot read
//! bytes, for which the body is base64.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use base64::{DecodeError, Engine as _, engine::general_purpose::STANDARD};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use floor_proto::FRAME_PREFIX_BYTES;
use http::{HeaderMap, HeaderValue, Response, header};
use http_body::{Body, Frame};
use tonic::Status;

use super::{framing::WebEncoding, offload::Offload};
use crate::clients::Client;

/// The flag of the frame with the trailers.
const TRAILERS: u8 = 0x80;
/// Characters of base64 that are decoded together.
const GROUP: usize = 4;

/// The response to a call that failed before its first message: a status without a body.
pub(super) fn failed<B: Default>(encoding: WebEncoding, status: Status) -> Response<B> {
    let mut response = status.into_http();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(encoding.content_type()));
    response
}

/// `bytes` as `client`, with this encoding, reads them.
pub(super) async fn encoded(
    offload: &Offload,
    client: &Client,
    encoding: WebEncoding,
    bytes: Bytes,
) -> Result<Bytes, Status> {
    match encoding {
        WebEncoding::Binary => Ok(bytes),
        WebEncoding::Base64 => {
            let estimate = Duration::from_nanos(bytes.len() as u64);
            offload.run(client, estimate, move || STANDARD.encode(bytes).into()).await
        }
    }
}

/// The last frame of a body, as a client with this encoding reads it.
pub(super) fn trailers(encoding: WebEncoding, trailers: &HeaderMap) -> Bytes {
    let frame = trailers_frame(trailers);
    match encoding {
        WebEncoding::Binary => frame,
        WebEncoding::Base64 => STANDARD.encode(frame).into(),
    }
}

fn trailers_frame(trailers: &HeaderMap) -> Bytes {
    let length: usize = trailers.iter().map(|(name, value)| name.as_str().len() + value.len() + 3).sum();
    let mut frame = BytesMut::with_capacity(FRAME_PREFIX_BYTES + length);
    frame.put_u8(TRAILERS);
    frame.put_u32(u32::try_from(length).expect("an error has a few KiB at the most"));
    for (name, value) in trailers {
        frame.extend_from_slice(name.as_str().as_bytes());
        frame.put_u8(b':');
        frame.extend_from_slice(value.as_bytes());
        frame.extend_from_slice(b"\r\n");
    }
    frame.freeze()
}

/// The body of a request, decoded from base64.
pub(super) struct TextBody<B> {
    body: B,
    /// Characters that are no whole group yet.
    rest: BytesMut,
}

impl<B> TextBody<B> {
    pub(super) fn new(body: B) -> Self {
        Self { body, rest: BytesMut::new() }
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

impl<B> Body for TextBody<B>
where
    B: Body<Data = Bytes, Error = Status> + Unpin,
{
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        loop {
            let Some(frame) = ready!(Pin::new(&mut this.body).poll_frame(cx)) else {
                let is_whole = std::mem::take(&mut this.rest).is_empty();
                return Poll::Ready((!is_whole).then(|| Err(not_base64())));
            };
            let data = frame?.into_data().unwrap_or_default();
            match this.decode(&data) {
                Ok(bytes) if bytes.is_empty() => {}
                decoded => return Poll::Ready(Some(decoded.map(Frame::data).map_err(|_| not_base64()))),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
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

fn not_base64() -> Status {
    Status::invalid_argument("the body of the request is not base64")
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt, StreamBody};
    use tonic::Code;

    use super::*;

    /// What a body of these chunks decodes to.
    async fn decoded(chunks: &[&'static [u8]]) -> Result<Vec<u8>, Code> {
        let frames = chunks.iter().map(|chunk| Ok(Frame::data(Bytes::from_static(chunk))));
        let body = StreamBody::new(futures_util::stream::iter(frames.collect::<Vec<_>>()));
        TextBody::new(body).collect().await.map(|body| body.to_bytes().to_vec()).map_err(|status| status.code())
    }

    #[tokio::test]
    async fn base64_is_decoded_across_chunks_and_behind_padding() {
        for chunks in [&[&b"AAEC/w=="[..]][..], &[b"AAEC", b"/w=="], &[b"A", b"AEC/", b"", b"w=", b"="], &[b"AAE=Av8="]]
        {
            assert_eq!(decoded(chunks).await, Ok(vec![0, 1, 2, 255]), "{chunks:?}");
        }
        assert_eq!(decoded(&[]).await, Ok(Vec::new()));
        for chunks in [&[&b"AAEC####"[..]][..], &[b"AAEC", b"/w"], &[b"AAE=A"], &[b"AAEC", b"_w=="]] {
            assert_eq!(decoded(chunks).await, Err(Code::InvalidArgument), "{chunks:?}");
        }
    }

    #[test]
    fn trailers_are_a_frame() {
        let trailers = HeaderMap::from_iter([(Status::GRPC_STATUS, HeaderValue::from_static("0"))]);
        assert_eq!(trailers_frame(&trailers), &b"\x80\0\0\0\x0fgrpc-status:0\r\n"[..]);
    }
}
