//! Calls with encoded requests and encoded responses, for [`FloorClient`](crate::FloorClient).
//!
//! The client does not use the generated stubs, because it checks the content hash against the received bytes.

use std::time::{Duration, Instant};

use bytes::Bytes;
use floor_proto::{limits::CLIENT_MESSAGE_BYTES, raw::RawCodec, rpc::Rpc};
use http::uri::PathAndQuery;
use tonic::{
    Request, Response, Status, Streaming,
    client::Grpc,
    metadata::MetadataValue,
    transport::{Channel, Endpoint},
};

use crate::{CallOptions, ClientError, error::innermost};

/// Time limit for establishing a connection.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Parses the URL of a server; `127.0.0.1:50051` means `http://127.0.0.1:50051`.
pub(crate) fn endpoint(url: &str) -> Result<Endpoint, ClientError> {
    let invalid = |reason: &dyn ToString| ClientError::Address { url: url.to_owned(), reason: reason.to_string() };
    let full = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let endpoint = Endpoint::from_shared(full);
    let endpoint = endpoint.map_err(|error| invalid(&format!("{}; write http://host:port", innermost(&error))))?;
    match endpoint.uri().scheme_str() {
        _ if endpoint.uri().host().is_none_or(str::is_empty) => Err(invalid(&"write http://host:port")),
        Some("http") => Ok(endpoint.connect_timeout(CONNECT_TIMEOUT)),
        _ => Err(invalid(&"the floor server speaks plain HTTP/2; write http://host:port")),
    }
}

/// Makes one attempt of a unary call.
pub(crate) async fn unary(
    channel: &Channel,
    rpc: Rpc,
    body: Bytes,
    options: &CallOptions,
    deadline: Option<Instant>,
) -> Result<Response<Bytes>, Status> {
    let mut grpc = ready_client(channel).await?;
    grpc.unary(request(body, options, deadline), PathAndQuery::from_static(rpc.path()), RawCodec).await
}

/// An open stream: its first message, `None` if the stream is empty, and the rest.
pub(crate) struct OpenStream {
    pub(crate) first: Option<Bytes>,
    pub(crate) rest: Streaming<Bytes>,
}

/// Makes one attempt to open a stream. Waits for the first message, since the server may send an error status in its
/// place.
pub(crate) async fn streaming(
    channel: &Channel,
    rpc: Rpc,
    body: Bytes,
    options: &CallOptions,
    deadline: Option<Instant>,
) -> Result<OpenStream, Status> {
    let mut grpc = ready_client(channel).await?;
    let response = grpc
        .server_streaming(request(body, options, deadline), PathAndQuery::from_static(rpc.path()), RawCodec)
        .await?;
    let mut rest = response.into_inner();
    let first = rest.message().await?;
    Ok(OpenStream { first, rest })
}

async fn ready_client(channel: &Channel) -> Result<Grpc<Channel>, Status> {
    let mut grpc = Grpc::new(channel.clone()).max_decoding_message_size(CLIENT_MESSAGE_BYTES);
    grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
    Ok(grpc)
}

fn request(body: Bytes, options: &CallOptions, deadline: Option<Instant>) -> Request<Bytes> {
    let mut request = Request::new(body);
    let metadata = request.metadata_mut();
    if options.no_cache {
        metadata.insert("cache-control", MetadataValue::from_static("no-cache"));
    }
    if options.trace {
        metadata.insert("floor-trace", MetadataValue::from_static("1"));
    }
    if let Some(deadline) = deadline {
        request.set_timeout(deadline.saturating_duration_since(Instant::now()));
    }
    request
}
