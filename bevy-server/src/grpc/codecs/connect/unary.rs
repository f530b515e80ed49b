//! Unary calls by POST: the message is the body.

use std::time::Duration;

use bytes::Bytes;
use floor_proto::limits::DEFAULT_MESSAGE_BYTES;
use http::{HeaderMap, Response, header};
use http_body::Body;
use tonic::Status;

use super::{error, headers, json, query};
use crate::grpc::{
    body::FloorBody,
    codecs::{Codec, Encoding, Incoming, Outgoing, UnaryCodec, content_type, message, respond},
};

/// Unary calls of Connect by POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::grpc) struct ConnectUnary(pub(in crate::grpc::codecs) Encoding);

impl ConnectUnary {
    /// The codec of a request with this media type. `None` for another one.
    pub(in crate::grpc) fn of(media_type: &[u8]) -> Option<Self> {
        content_type::encoding(media_type, b"application/proto", b"application/json").map(Self)
    }
}

impl Codec for ConnectUnary {
    fn content_type(&self) -> &'static str {
        content_type(self.0)
    }

    fn timeout(&self, headers: &HeaderMap) -> Result<Option<Duration>, Status> {
        headers::timeout(headers, &header::CONTENT_ENCODING)
    }

    async fn decode(
        &mut self,
        Incoming { rpc, uri, body, charge, offload }: Incoming<'_, impl Body<Data = Bytes, Error = Status> + Unpin>,
    ) -> Result<Bytes, Status> {
        match self.0 {
            Encoding::Proto => message::whole(body, DEFAULT_MESSAGE_BYTES, charge).await,
            Encoding::Json | Encoding::FullJson => {
                self.0 = query::form_of_json(uri)?;
                let json = message::whole(body, json::MAX_BYTES, charge).await?;
                json::request(rpc, json, charge, offload).await
            }
        }
    }

    fn failed(&self, status: Status) -> Response<FloorBody> {
        error::failed(&status)
    }
}

impl UnaryCodec for ConnectUnary {
    async fn encode(&self, outgoing: Outgoing<'_>) -> Result<Response<FloorBody>, Status> {
        encode(self.0, outgoing).await
    }
}

/// The content type of a unary answer.
pub(super) const fn content_type(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Proto => "application/proto",
        Encoding::Json | Encoding::FullJson => "application/json",
    }
}

/// The response with an answer.
pub(super) async fn encode(
    encoding: Encoding,
    Outgoing { rpc, frame, headers, admission, offload, caller, .. }: Outgoing<'_>,
) -> Result<Response<FloorBody>, Status> {
    let message = frame.without_prefix();
    let body = match encoding {
        Encoding::Proto => message,
        Encoding::Json | Encoding::FullJson => {
            let (message, is_full) = (message.into_bytes(), encoding == Encoding::FullJson);
            let memory = json::memory(rpc, &message, is_full);
            let _growing = admission.reserve_unsent(caller, memory)?;
            json::response(rpc, message, is_full, memory, offload, caller).await?.into()
        }
    };
    Ok(respond(headers, FloorBody::whole(body)))
}
