//! Codecs: how a call is written over HTTP. A codec makes an encoded request of what arrives, and a response of stored
//! bytes. `contract` tests what all of them promise.

mod connect;
mod content_type;
#[cfg(test)]
mod contract;
mod grpc;
mod grpc_web;
mod message;
mod refusal;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, Uri, header};
use http_body::Body;
use tonic::Status;

pub(super) use connect::{ConnectGet, ConnectStream, ConnectUnary, answers_get};
pub(super) use content_type::{is_grpc, media_type};
pub(super) use grpc::Grpc;
pub(super) use grpc_web::GrpcWeb;
pub(super) use refusal::Refusal;

use super::{
    Rpc,
    admission::{Admission, Charge, Offload},
    answer::{Frame, Validity},
    body::FloorBody,
};
use crate::callers::Caller;

/// Defines [`CodecKind`] from one list.
macro_rules! codec_kinds {
    ($($(#[$doc:meta])* $Kind:ident $(($Codec:ty))?,)+) => {
        /// A codec of calls to the floor service, as the head of a request names it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum CodecKind {
            $($(#[$doc])* $Kind $(($Codec))?,)+
        }

        impl CodecKind {
            /// The names of all.
            #[cfg(test)]
            const NAMES: &[&str] = &[$(stringify!($Kind)),+];

            #[cfg(test)]
            const fn name(self) -> &'static str {
                match self {
                    $(Self::$Kind { .. } => stringify!($Kind),)+
                }
            }
        }
    };
}

codec_kinds! {
    Grpc(Grpc),
    GrpcWeb(GrpcWeb),
    ConnectUnary(ConnectUnary),
    /// By GET, or by HEAD, whose answer the transport sends without its body.
    ConnectGet,
    ConnectStream(ConnectStream),
}

/// How messages are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Proto,
    Json,
    /// JSON whose answers leave no field out and have the cells as rows of text.
    FullJson,
}

/// Reads the request of a call, and writes why a call failed.
pub(super) trait Codec {
    /// Whether clients expect a reset after an early status. Others may report it instead of the status, and over HTTP/1
    /// it closes the connection.
    const EXPECTS_RESET: bool = false;

    /// The content type of an answer.
    fn content_type(&self) -> &'static str;

    /// Checks the headers of a request, and returns the timeout in them.
    ///
    /// # Errors
    /// INVALID_ARGUMENT if it is none or of another protocol version, UNIMPLEMENTED if the headers name a compression.
    fn timeout(&self, headers: &HeaderMap) -> Result<Option<Duration>, Status>;

    /// The message of a request, in protobuf and without a frame prefix.
    async fn decode(
        &mut self,
        incoming: Incoming<'_, impl Body<Data = Bytes, Error = Status> + Unpin>,
    ) -> Result<Bytes, Status>;

    /// The response to a call that failed before its first message.
    fn failed(&self, status: Status) -> Response<FloorBody>;
}

/// Writes the one answer of a call.
pub(super) trait UnaryCodec: Codec {
    /// Whether the caller pays for an answer once it has to wait, which HTTP/2 tells: the codec has no other transport, and
    /// the answer is what the cache holds anyway. Else it pays at once.
    const IS_PAID_WHEN_WAITING: bool = false;

    /// The response with an answer.
    async fn encode(&self, outgoing: Outgoing<'_>) -> Result<Response<FloorBody>, Status>;
}

/// Writes the floors of a stream.
pub(super) trait StreamCodec: Codec + Send + Sync + 'static {
    /// What is sent for a floor, which has its frame prefix.
    fn encode_floor(
        &self,
        frame: Bytes,
        offload: &Offload,
        caller: &Caller,
    ) -> impl Future<Output = Result<Bytes, Status>> + Send;

    /// The end of a stream with this metadata, and with its error if it failed.
    fn end(&self, error: Option<&Status>, metadata: HeaderMap) -> StreamEnd;
}

/// A request that a codec reads.
pub(super) struct Incoming<'a, B> {
    pub(super) rpc: Rpc,
    pub(super) uri: &'a Uri,
    pub(super) body: &'a mut B,
    /// Who pays for the message; and the headers.
    pub(super) charge: Charge<'a>,
    pub(super) offload: &'a Offload,
}

/// An answer that a codec writes.
pub(super) struct Outgoing<'a> {
    pub(super) rpc: Rpc,
    pub(super) frame: Frame,
    /// The content type and the metadata.
    pub(super) headers: HeaderMap,
    pub(super) validity: Validity,
    /// Whether the answer is for its caller only.
    pub(super) is_private: bool,
    /// Takes the memory for encoding.
    pub(super) admission: &'a Admission,
    pub(super) offload: &'a Offload,
    pub(super) caller: &'a Caller,
}

/// How a stream ends.
pub(super) struct StreamEnd {
    pub(super) trailers: HeaderMap,
    /// What is sent in place of the trailers.
    pub(super) message: Option<Bytes>,
}

/// A response of `body` with status 200.
fn respond(headers: HeaderMap, body: FloorBody) -> Response<FloorBody> {
    let mut response = Response::new(body);
    *response.headers_mut() = headers;
    response
}

/// The headers of an answer with this content type.
pub(super) fn head(content_type: &'static str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers
}
