//! The client: a handle to one server, cheap to clone.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use backon::{ExponentialBuilder, Retryable};
use bytes::Bytes;
use floor_proto::{
    rpc::Rpc,
    v1::{BatchGetFloorsRequest, FloorSpec, GetFloorRequest, GetServerInfoRequest, ServerInfo, StreamFloorsRequest},
};
use prost::Message;
use tonic::{
    Response, Status,
    transport::{Channel, Endpoint},
};

use crate::{CallOptions, ClientError, EncodedFloor, Floor, FloorStream, Served, transport};

/// The first wait between two attempts if the server names none.
const MIN_BACKOFF: Duration = Duration::from_millis(50);
/// The longest wait between two attempts if the server names none.
const MAX_BACKOFF: Duration = Duration::from_secs(2);

/// A client of one floor server. Clones share one HTTP/2 connection, which carries concurrent calls and reconnects
/// after a failure. Calls beyond the number that the server allows on a connection (128 by default) wait.
#[derive(Debug, Clone)]
pub struct FloorClient {
    channel: Channel,
    server: Arc<str>,
    options: CallOptions,
}

/// The result of a call, and how the server produced it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<T> {
    /// The floors that were requested.
    pub value: T,
    /// The response metadata.
    pub served: Served,
}

impl FloorClient {
    /// Connects to `http://host:port`, or `host:port` for short.
    ///
    /// # Errors
    /// [`ClientError::Address`] if `url` is not such a URL, [`ClientError::Unreachable`] if the connection fails.
    pub async fn connect(url: &str) -> Result<Self, ClientError> {
        let endpoint = transport::endpoint(url)?;
        let server = url_of(&endpoint);
        let channel = endpoint.connect().await.map_err(|error| ClientError::unreachable(&server, &error))?;
        Ok(Self { channel, server: server.into(), options: CallOptions::default() })
    }

    /// Like [`connect`](Self::connect), but the first call connects. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`ClientError::Address`] if `url` is not the URL of a server.
    pub fn connect_lazily(url: &str) -> Result<Self, ClientError> {
        let endpoint = transport::endpoint(url)?;
        let server = url_of(&endpoint).into();
        Ok(Self { channel: endpoint.connect_lazy(), server, options: CallOptions::default() })
    }

    /// A handle to the same connection whose calls use `options`.
    #[must_use]
    pub fn with_options(&self, options: CallOptions) -> Self {
        Self { options, ..self.clone() }
    }

    /// The server's URL.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// One floor.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn get(&self, spec: FloorSpec) -> Result<Answer<Floor>, ClientError> {
        let Answer { value, served } = self.get_encoded(spec).await?;
        Ok(Answer { value: value.decode_for(&spec)?, served })
    }

    /// One floor, encoded and unchecked.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn get_encoded(&self, spec: FloorSpec) -> Result<Answer<EncodedFloor>, ClientError> {
        let response = self.call(Rpc::GetFloor, &GetFloorRequest { spec: Some(spec) }).await?;
        Ok(Answer {
            served: Served::from_metadata(response.metadata()),
            value: EncodedFloor::new(response.into_inner()),
        })
    }

    /// Many floors, in the order of `specs`. The call returns all of them or fails.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn batch(&self, specs: &[FloorSpec]) -> Result<Answer<Vec<Floor>>, ClientError> {
        let Answer { value, served } = self.batch_encoded(specs).await?;
        let value =
            value.iter().zip(specs).map(|(encoded, spec)| encoded.decode_for(spec)).collect::<Result<_, _>>()?;
        Ok(Answer { value, served })
    }

    /// Many floors, encoded. Only their number is checked.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn batch_encoded(&self, specs: &[FloorSpec]) -> Result<Answer<Vec<EncodedFloor>>, ClientError> {
        let response = self.call(Rpc::BatchGetFloors, &BatchGetFloorsRequest { specs: specs.to_vec() }).await?;
        let served = Served::from_metadata(response.metadata());
        let EncodedBatch { floors } = decode_response(Rpc::BatchGetFloors, response.into_inner())?;
        if floors.len() != specs.len() {
            let reason = format!("{} floors for {} specs", floors.len(), specs.len());
            return Err(ClientError::Malformed { rpc: Rpc::BatchGetFloors.name(), reason });
        }
        Ok(Answer { value: floors.into_iter().map(EncodedFloor::new).collect(), served })
    }

    /// A stream of `count` consecutive floors of one tower, from `first.number` on. Returns after the first floor has
    /// arrived. A call that fails before that is retried as the options say; later failures end the stream.
    ///
    /// # Errors
    /// See [`ClientError`]. The stream itself may end with one, too.
    pub async fn stream(&self, first: FloorSpec, count: u32) -> Result<FloorStream, ClientError> {
        let body: Bytes = StreamFloorsRequest { first: Some(first), count }.encode_to_vec().into();
        let deadline = self.deadline();
        let open = || transport::streaming(&self.channel, Rpc::StreamFloors, body.clone(), &self.options, deadline);
        let messages = self.call_with_retries(deadline, open).await?;
        Ok(FloorStream::new(self.server.clone(), first, count, messages, deadline))
    }

    /// Version, limits and tier statistics of the server.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn server_info(&self) -> Result<ServerInfo, ClientError> {
        let response = self.call(Rpc::GetServerInfo, &GetServerInfoRequest {}).await?;
        decode_response(Rpc::GetServerInfo, response.into_inner())
    }

    async fn call(&self, rpc: Rpc, request: &impl Message) -> Result<Response<Bytes>, ClientError> {
        let body: Bytes = request.encode_to_vec().into();
        let deadline = self.deadline();
        self.call_with_retries(deadline, || transport::unary(&self.channel, rpc, body.clone(), &self.options, deadline))
            .await
    }

    fn deadline(&self) -> Option<Instant> {
        self.options.deadline.map(|deadline| Instant::now() + deadline)
    }

    /// Makes a call, with retries if the options allow them. Waits between attempts as long as the server asks. The
    /// deadline covers connecting, all attempts, the waits and the whole response.
    async fn call_with_retries<T, F>(
        &self,
        deadline: Option<Instant>,
        mut start: impl FnMut() -> F,
    ) -> Result<T, ClientError>
    where
        F: Future<Output = Result<T, Status>>,
    {
        let attempt = || {
            let call = start();
            async { call.await.map_err(|status| ClientError::from_status(&self.server, &status)) }
        };
        let backoff = ExponentialBuilder::new()
            .with_min_delay(MIN_BACKOFF)
            .with_max_delay(MAX_BACKOFF)
            .with_max_times(self.options.retries)
            .with_jitter();
        let in_time = |wait: &Duration| deadline.is_none_or(|deadline| Instant::now() + *wait < deadline);
        let calls = attempt
            .retry(backoff)
            .when(ClientError::is_transient)
            .adjust(|error, wait| wait.map(|wait| error.retry_after().unwrap_or(wait)).filter(in_time));
        match deadline {
            None => calls.await,
            Some(deadline) => {
                let calls = tokio::time::timeout_at(deadline.into(), calls);
                calls.await.unwrap_or_else(|_| Err(ClientError::deadline_exceeded()))
            }
        }
    }
}

/// The server's URL without a trailing slash.
fn url_of(endpoint: &Endpoint) -> String {
    endpoint.uri().to_string().trim_end_matches('/').to_owned()
}

/// `BatchGetFloorsResponse` with encoded floors. An embedded message and a byte string are the same on the wire.
#[derive(Clone, PartialEq, Message)]
struct EncodedBatch {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    floors: Vec<Bytes>,
}

fn decode_response<M: Message + Default>(rpc: Rpc, bytes: Bytes) -> Result<M, ClientError> {
    M::decode(bytes).map_err(|error| ClientError::Malformed { rpc: rpc.name(), reason: error.to_string() })
}
