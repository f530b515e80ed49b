//! Calls with encoded requests and encoded responses, for [`FloorClient`](crate::FloorClient).
//!
//! The client does not use the generated stubs, because it checks the content hash against the received bytes.

use std::time::{Duration, Instant};

use bytes::Bytes;
use floor_proto::{limits::CLIENT_MESSAGE_BYTES, raw::RawCodec, rpc::Rpc};
use http::{HeaderMap, HeaderValue, header::AUTHORIZATION, uri::PathAndQuery};
use tonic::{Request, Response, Status, Streaming, client::Grpc, metadata::MetadataValue, transport::Channel};

use crate::CallOptions;

/// Time limit for establishing a connection, and as much again for its TLS handshake.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How often the server gets a ping while calls are open.
pub(crate) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// How long it may take to answer. Then its connection is dead, and the calls on it are repeated on another.
pub(crate) const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Makes one attempt of a unary call.
pub(crate) async fn unary(channel: &Channel, rpc: Rpc, request: Request<Bytes>) -> Result<Response<Bytes>, Status> {
    let mut grpc = ready_client(channel).await?;
    grpc.unary(request, PathAndQuery::from_static(rpc.path()), RawCodec).await
}

/// An open stream: its first message, `None` if the stream is empty, and the rest.
pub(crate) struct OpenStream {
    pub(crate) first: Option<Bytes>,
    pub(crate) rest: Streaming<Bytes>,
}

/// Makes one attempt to open a stream. Waits for the first message, since the server may send an error status in its
/// place.
pub(crate) async fn streaming(channel: &Channel, rpc: Rpc, request: Request<Bytes>) -> Result<OpenStream, Status> {
    let mut grpc = ready_client(channel).await?;
    let response = grpc.server_streaming(request, PathAndQuery::from_static(rpc.path()), RawCodec).await?;
    let mut rest = response.into_inner();
    let first = rest.message().await?;
    Ok(OpenStream { first, rest })
}

async fn ready_client(channel: &Channel) -> Result<Grpc<Channel>, Status> {
    let mut grpc = Grpc::new(channel.clone()).max_decoding_message_size(CLIENT_MESSAGE_BYTES);
    grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
    Ok(grpc)
}

/// The request with the headers that its options ask for.
pub(crate) fn request(
    body: Bytes,
    options: &CallOptions,
    deadline: Option<Instant>,
    authorization: Option<HeaderValue>,
) -> Request<Bytes> {
    let mut request = Request::new(body);
    let metadata = request.metadata_mut();
    if options.no_cache {
        metadata.insert("cache-control", MetadataValue::from_static("no-cache"));
    }
    if options.trace {
        metadata.insert("floor-trace", MetadataValue::from_static("1"));
    }
    if let Some(version) = options.generator_version {
        metadata.insert("floor-generator-version", version.into());
    }
    if let Some(authorization) = authorization {
        let headers: &mut HeaderMap = metadata.as_mut();
        headers.insert(AUTHORIZATION, authorization);
    }
    if let Some(deadline) = deadline {
        request.set_timeout(deadline.saturating_duration_since(Instant::now()));
    }
    request
}
