//! gRPC-Web: gRPC for programs that cannot read trailers, which are the last frame of the body, or that cannot read
//! bytes, for which the body is base64.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use base64::{DecodeError, Engine as _, engine::general_purpose::STANDARD};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use floor_proto::{FRAME_PREFIX_BYTES, limits::DEFAULT_MESSAGE_BYTES};
use http::{HeaderMap, HeaderValue, Response, header};
use http_body::{Body, Frame};
use tonic::Status;

use super::{
    Codec, Incoming, Outgoing, StreamCodec, StreamEnd, UnaryCodec, content_type::is_one_of, grpc, message, respond,
};
use crate::{
    callers::Caller,
    grpc::{
        admission::Offload,
        body::{FloorBody, OK_TRAILERS},
    },
};

/// The flag of the frame with the trailers.
const TRAILERS: u8 = 0x80;
/// Characters of base64 that are decoded together.
const GROUP: usize = 4;

/// gRPC-Web, and how the two bodies of a call are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::grpc) struct GrpcWeb {
    request: BodyEncoding,
    answer: BodyEncoding,
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyEncoding {
    Binary,
    Base64,
}

impl GrpcWeb {
    /// Both bodies as bytes.
    pub(super) const BINARY: Self = Self { request: BodyEncoding::Binary, answer: BodyEncoding::Binary };

    /// What the media type of a request and its `accept` say. `None` for another media type.
    pub(in crate::grpc) fn of(media_type: &[u8], headers: &HeaderMap) -> Option<Self> {
        let request = BodyEncoding::of(media_type)?;
        let accepted = headers.get(header::ACCEPT).map_or(&b""[..], HeaderValue::as_bytes);
        let mut accepted = accepted.split(|byte| matches!(byte, b',' | b';')).map(<[u8]>::trim_ascii);
        let answer = accepted.find_map(BodyEncoding::of).unwrap_or(BodyEncoding::Binary);
        Some(Self { request, answer })
    }

    /// The last frame of a body, with the trailers.
    fn last_frame(self, trailers: &HeaderMap) -> Bytes {
        let frame = trailers_frame(trailers);
        match self.answer {
            BodyEncoding::Binary => frame,
            BodyEncoding::Base64 => STANDARD.encode(frame).into(),
        }
    }
}

impl Codec for GrpcWeb {
    fn content_type(&self) -> &'static str {
        match self.answer {
            BodyEncoding::Binary => "application/grpc-web+proto",
            BodyEncoding::Base64 => "application/grpc-web-text+proto",
        }
    }

    fn timeout(&self, headers: &HeaderMap) -> Result<Option<Duration>, Status> {
        grpc::timeout(headers)
    }

    async fn decode(
        &mut self,
        Incoming { body, charge, .. }: Incoming<'_, impl Body<Data = Bytes, Error = Status> + Unpin>,
    ) -> Result<Bytes, Status> {
        match self.request {
            BodyEncoding::Binary => message::framed(body, DEFAULT_MESSAGE_BYTES, charge).await,
            BodyEncoding::Base64 => message::framed(TextBody::new(body), DEFAULT_MESSAGE_BYTES, charge).await,
        }
    }

    fn failed(&self, status: Status) -> Response<FloorBody> {
        let mut response = status.into_http();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type()));
        response
    }
}

impl UnaryCodec for GrpcWeb {
    async fn encode(&self, outgoing: Outgoing<'_>) -> Result<Response<FloorBody>, Status> {
        let Outgoing { mut frame, headers, offload, caller, .. } = outgoing;
        if self.answer == BodyEncoding::Base64 {
            frame = encoded(frame.into_bytes(), offload, caller).await?.into();
        }
        frame.push(self.last_frame(&OK_TRAILERS));
        Ok(respond(headers, FloorBody::whole(frame)))
    }
}

impl StreamCodec for GrpcWeb {
    async fn encode_floor(&self, frame: Bytes, offload: &Offload, caller: &Caller) -> Result<Bytes, Status> {
        match self.answer {
            BodyEncoding::Binary => Ok(frame),
            BodyEncoding::Base64 => encoded(frame, offload, caller).await,
        }
    }

    fn end(&self, error: Option<&Status>, metadata: HeaderMap) -> StreamEnd {
        let trailers = grpc::trailers(error, metadata);
        StreamEnd { message: Some(self.last_frame(&trailers)), trailers }
    }
}

impl BodyEncoding {
    fn of(media_type: &[u8]) -> Option<Self> {
        if is_one_of(media_type, [b"application/grpc-web", b"application/grpc-web+proto"]) {
            Some(Self::Binary)
        } else {
            let is_text = is_one_of(media_type, [b"application/grpc-web-text", b"application/grpc-web-text+proto"]);
            is_text.then_some(Self::Base64)
        }
    }
}

/// The base64 of `bytes`.
async fn encoded(bytes: Bytes, offload: &Offload, caller: &Caller) -> Result<Bytes, Status> {
    let estimate = Duration::from_nanos(bytes.len() as u64);
    offload.run(caller, estimate, move || STANDARD.encode(bytes).into()).await
}

fn trailers_frame(trailers: &HeaderMap) -> Bytes {
    let length: usize = trailers.iter().map(|(name, value)| name.as_str().len() + value.len() + 3).sum();
    let mut frame = BytesMut::with_capacity(FRAME_PREFIX_BYTES + length);
    frame.put_u8(TRAILERS);
    frame.put_u32(u32::try_from(length).expect("an error has a few KiB at most"));
    for (name, value) in trailers {
        frame.extend_from_slice(name.as_str().as_bytes());
        frame.put_u8(b':');
        frame.extend_from_slice(value.as_bytes());
        frame.extend_from_slice(b"\r\n");
    }
    frame.freeze()
}

/// The body of a request, decoded from base64.
struct TextBody<B> {
    body: B,
    /// Characters that are no whole group yet.
    rest: BytesMut,
}

impl<B> TextBody<B> {
    fn new(body: B) -> Self {
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
    fn the_content_type_and_accept_say_how_the_bodies_are_written() {
        use BodyEncoding::{Base64, Binary};
        let web = |media_type: &str, accept: &'static str| {
            let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
            GrpcWeb::of(media_type.as_bytes(), &headers).map(|web| (web.request, web.answer))
        };
        assert_eq!(web("Application/gRPC-Web", ""), Some((Binary, Binary)));
        assert_eq!(web("application/grpc-web-text+proto", "*/*"), Some((Base64, Binary)));
        assert_eq!(web("application/grpc-web+proto", "text/html, application/grpc-web-text"), Some((Binary, Base64)));
        assert_eq!(web("application/grpc-web+json", ""), None);
    }

    #[test]
    fn trailers_are_a_frame() {
        let trailers = HeaderMap::from_iter([(Status::GRPC_STATUS, HeaderValue::from_static("0"))]);
        assert_eq!(trailers_frame(&trailers), &b"\x80\0\0\0\x0fgrpc-status:0\r\n"[..]);
    }
}
