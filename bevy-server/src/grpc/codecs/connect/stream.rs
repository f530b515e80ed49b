//! Streams: messages with a prefix, of which the last is the end of the stream.

use std::time::Duration;

use bytes::Bytes;
use floor_proto::limits::DEFAULT_MESSAGE_BYTES;
use http::{HeaderMap, Response};
use http_body::Body;
use tonic::Status;

use super::{error, headers, json, query};
use crate::{
    callers::Caller,
    grpc::{
        admission::Offload,
        body::FloorBody,
        codecs::{Codec, Encoding, Incoming, StreamCodec, StreamEnd, content_type, head, message, respond},
    },
};

/// Streams of Connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::grpc) struct ConnectStream(pub(in crate::grpc::codecs) Encoding);

impl ConnectStream {
    /// The codec of a request with this media type. `None` for another one.
    pub(in crate::grpc) fn of(media_type: &[u8]) -> Option<Self> {
        content_type::encoding(media_type, b"application/connect+proto", b"application/connect+json").map(Self)
    }
}

impl Codec for ConnectStream {
    fn content_type(&self) -> &'static str {
        match self.0 {
            Encoding::Proto => "application/connect+proto",
            Encoding::Json | Encoding::FullJson => "application/connect+json",
        }
    }

    fn timeout(&self, headers: &HeaderMap) -> Result<Option<Duration>, Status> {
        headers::timeout(headers, &headers::STREAM_ENCODING)
    }

    async fn decode(
        &mut self,
        Incoming { rpc, uri, body, charge, offload }: Incoming<'_, impl Body<Data = Bytes, Error = Status> + Unpin>,
    ) -> Result<Bytes, Status> {
        match self.0 {
            Encoding::Proto => message::framed(body, DEFAULT_MESSAGE_BYTES, charge).await,
            Encoding::Json | Encoding::FullJson => {
                self.0 = query::form_of_json(uri)?;
                let json = message::framed(body, json::MAX_BYTES, charge).await?;
                json::request(rpc, json, charge, offload).await
            }
        }
    }

    /// Status 200, and the error in the only message.
    fn failed(&self, status: Status) -> Response<FloorBody> {
        let body = FloorBody::whole(error::end_of_stream(Some(&status), &HeaderMap::new()).into());
        let mut response = respond(head(self.content_type()), body);
        error::add_metadata(&status, "connect-accept-encoding", response.headers_mut());
        response
    }
}

impl StreamCodec for ConnectStream {
    async fn encode_floor(&self, frame: Bytes, offload: &Offload, caller: &Caller) -> Result<Bytes, Status> {
        match self.0 {
            Encoding::Proto => Ok(frame),
            Encoding::Json => json::enveloped(frame, false, offload, caller).await,
            Encoding::FullJson => json::enveloped(frame, true, offload, caller).await,
        }
    }

    fn end(&self, error: Option<&Status>, metadata: HeaderMap) -> StreamEnd {
        StreamEnd { message: Some(error::end_of_stream(error, &metadata)), trailers: metadata }
    }
}
