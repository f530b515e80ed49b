//! The client: a handle to one server, cheap to clone.

use std::{sync::Arc, time::Instant};

use bytes::Bytes;
use floor_proto::{
    entries,
    pack::PackRef,
    rpc::Rpc,
    v1::{
        BatchGetFloorsRequest, Climb, Daily, FloorSpec, GetDailyRequest, GetFloorRequest, GetPackRequest,
        GetServerInfoRequest, ListPacksRequest, ListPacksResponse, Pack, PackInfo, Receipt, SearchFloorsRequest,
        SearchFloorsResponse, ServerInfo, StartClimbRequest, StreamFloorsRequest, SubmitFloorRequest,
    },
};
use futures_util::FutureExt as _;
use http::HeaderValue;
use prost::Message;
use tonic::{Code, Response, Status, transport::Channel};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    Answer, CallOptions, ClientError, ClimbFloor, ConnectOptions, EncodedFloor, Floor, FloorStream, Search, Served,
    climb::{EncodedClimbFloor, check_daily},
    retry::with_retries,
    search,
    server::Server,
    transport::{self, OpenStream},
};

/// The most entries in the answers that are no floors, which bounds the memory of decoding them (see [`entries`]).
const MAX_INFO_ENTRIES: usize = 1 << 12;
const MAX_PACKS: usize = 1 << 16;
/// The most bytes of an answer to `GetServerInfo`.
const MAX_INFO_BYTES: usize = 1 << 20;
/// The entries of an answer that a newer server may have beside those that this client knows.
const MORE_ENTRIES: usize = 16;

/// A client of one floor server. Clones share one HTTP/2 connection, which carries concurrent calls and reconnects
/// after a failure. Calls beyond the number that the server allows on a connection (128 by default) wait.
#[derive(Debug, Clone)]
pub struct FloorClient {
    channel: Channel,
    server: Arc<Server>,
    options: CallOptions,
}

impl FloorClient {
    /// Connects to `https://host:port`, `http://host:port`, or `host:port`, which means the latter. With `https`, trusts
    /// the authorities that the system trusts. Without a port, the scheme's own is used.
    ///
    /// # Errors
    /// [`ClientError::Address`] if `url` is not such a URL, [`ClientError::Tls`] or [`ClientError::Unreachable`] if the
    /// connection fails. A server that asks for a client certificate may refuse only the first call.
    pub async fn connect(url: &str) -> Result<Self, ClientError> {
        Self::connect_with(url, &ConnectOptions::new()).await
    }

    /// Like [`connect`](Self::connect), with trusted authorities, a client certificate or a token.
    ///
    /// # Errors
    /// Those of [`connect`](Self::connect); [`ClientError::TlsOptions`] or [`ClientError::PlaintextToken`] if the options
    /// do not fit the URL.
    pub async fn connect_with(url: &str, options: &ConnectOptions) -> Result<Self, ClientError> {
        Self::open(Server::new(url, options)?, CallOptions::default()).await
    }

    /// Like [`connect`](Self::connect), but the first call connects. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`ClientError::Address`] if `url` is not the URL of a server.
    pub fn connect_lazily(url: &str) -> Result<Self, ClientError> {
        Self::connect_lazily_with(url, &ConnectOptions::new())
    }

    /// Like [`connect_with`](Self::connect_with), but the first call connects. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`ClientError::Address`] if `url` is not the URL of a server; [`ClientError::TlsOptions`] or
    /// [`ClientError::PlaintextToken`] if the options do not fit it.
    pub fn connect_lazily_with(url: &str, options: &ConnectOptions) -> Result<Self, ClientError> {
        Ok(Self::open_lazily(Server::new(url, options)?))
    }

    /// A client of the same server with the same options and a connection of its own. Reads no file again except that
    /// of the token.
    ///
    /// # Errors
    /// [`ClientError::Tls`] or [`ClientError::Unreachable`] if the connection fails.
    pub async fn connect_again(&self) -> Result<Self, ClientError> {
        Self::open(Arc::clone(&self.server), self.options).await
    }

    async fn open(server: Arc<Server>, options: CallOptions) -> Result<Self, ClientError> {
        Ok(Self { channel: server.connect().await?, server, options })
    }

    /// Needs a tokio runtime.
    pub(crate) fn open_lazily(server: Arc<Server>) -> Self {
        Self { channel: server.connect_lazily(), server, options: CallOptions::default() }
    }

    /// A handle to the same connection whose calls use `options`.
    #[must_use]
    pub fn with_options(&self, options: CallOptions) -> Self {
        Self { options, ..self.clone() }
    }

    /// The server's URL.
    #[must_use]
    pub fn server(&self) -> &str {
        self.server.url()
    }

    /// One floor.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn get(&self, spec: FloorSpec) -> Result<Answer<Floor>, ClientError> {
        let Answer { value, served } = self.get_encoded(spec.clone()).await?;
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
        let EncodedBatch { floors } =
            decode_response(Rpc::BatchGetFloors, response.into_inner(), specs.len() + MORE_ENTRIES)?;
        if floors.len() != specs.len() {
            let reason = format!("{} floors for {} specs", floors.len(), specs.len());
            return Err(ClientError::Malformed { rpc: Rpc::BatchGetFloors.name(), reason });
        }
        Ok(Answer { value: floors.into_iter().map(EncodedFloor::new).collect(), served })
    }

    /// A stream of `count` consecutive floors of one tower, from `first.number` on. Returns after the first floor has
    /// arrived. If it breaks off, it is resumed as the options say, so that no floor is lost or comes twice.
    ///
    /// # Errors
    /// See [`ClientError`]. The stream itself may end with one, too.
    pub async fn stream(&self, first: FloorSpec, count: u32) -> Result<FloorStream, ClientError> {
        let opened = self.open_stream(first.clone(), count).await?;
        let client = self.clone();
        let reopen = move |first, count| {
            let client = client.clone();
            async move { client.open_stream(first, count).await }.boxed()
        };
        let connection = (Arc::clone(&self.server), self.options);
        Ok(FloorStream::new(connection, Box::new(reopen), first, count, opened))
    }

    /// Opens a stream, with retries. The server is told no deadline, which would end the whole stream.
    async fn open_stream(&self, first: FloorSpec, count: u32) -> Result<OpenStream, ClientError> {
        let body: Bytes = StreamFloorsRequest { first: Some(first), count }.encode_to_vec().into();
        let open = |authorization| {
            let request = transport::request(body.clone(), &self.options, None, authorization);
            transport::streaming(&self.channel, Rpc::StreamFloors, request)
        };
        with_retries(self.options.retries, self.deadline(), || self.attempt(&open)).await
    }

    /// The floors of a range that meet a condition, in calls of their own while they are read. `request` may have any number
    /// of seeds, and is sent as it is otherwise: a `limit` ends the search.
    #[must_use]
    pub fn search(&self, request: SearchFloorsRequest) -> Search {
        let client = self.clone();
        let call = move |request| {
            let client = client.clone();
            async move { client.search_once(&request).await }.boxed()
        };
        Search::new(Box::new(call), request)
    }

    async fn search_once(&self, request: &SearchFloorsRequest) -> Result<SearchFloorsResponse, ClientError> {
        let response = self.call(Rpc::SearchFloors, request).await?;
        decode_response(Rpc::SearchFloors, response.into_inner(), search::MAX_ENTRIES)
    }

    /// Version, limits and tier statistics of the server.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn server_info(&self) -> Result<ServerInfo, ClientError> {
        let response = self.call(Rpc::GetServerInfo, &GetServerInfoRequest {}).await?;
        let bytes = response.into_inner();
        if bytes.len() > MAX_INFO_BYTES {
            let reason = format!("{} bytes, and at most {MAX_INFO_BYTES} are read", bytes.len());
            return Err(ClientError::Malformed { rpc: Rpc::GetServerInfo.name(), reason });
        }
        decode_response(Rpc::GetServerInfo, bytes, MAX_INFO_ENTRIES)
    }

    /// The packs that the server has, in all versions that it holds.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn packs(&self) -> Result<Vec<PackInfo>, ClientError> {
        let response = self.call(Rpc::ListPacks, &ListPacksRequest {}).await?;
        decode_response(Rpc::ListPacks, response.into_inner(), MAX_PACKS).map(|ListPacksResponse { packs }| packs)
    }

    /// The files of `pack`: a name, `NAME@HASH`, or nothing for the server's default. The hash of the files is checked.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn pack(&self, pack: &str) -> Result<Pack, ClientError> {
        let response = self.call(Rpc::GetPack, &GetPackRequest { pack: pack.to_owned() }).await?;
        let received: Pack = decode_response(Rpc::GetPack, response.into_inner(), MORE_ENTRIES)?;
        let malformed = |reason: String| ClientError::Malformed { rpc: Rpc::GetPack.name(), reason };
        let hash = xxh3_64(&received.file);
        if received.hash != 0 && received.hash != hash {
            return Err(malformed(format!("the pack has the hash {:016x}, and its files {hash:016x}", received.hash)));
        }
        let resolved = PackRef { name: &received.name, hash: Some(received.hash) }.to_string();
        if !PackRef::matches(pack, &resolved) {
            return Err(malformed(format!("{resolved} instead of {pack}")));
        }
        Ok(received)
    }

    /// The sealed tower of the day. Its name has only the letters of a tower's name, so it may be part of that of a file.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn get_daily(&self) -> Result<Daily, ClientError> {
        let response = self.call(Rpc::GetDaily, &GetDailyRequest {}).await?;
        check_daily(decode_response(Rpc::GetDaily, response.into_inner(), MORE_ENTRIES)?)
    }

    /// Begins a climb of a sealed tower: its first floor.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn start_climb(&self, request: &StartClimbRequest) -> Result<Answer<ClimbFloor>, ClientError> {
        self.reveal(Rpc::StartClimb, request, &request.tower, 1).await
    }

    /// Submits what the hero did on the floor that came with `receipt`, one byte an act. Returns the next floor.
    ///
    /// The server keeps nothing of a climb: who has lost the answer submits the same again.
    ///
    /// # Errors
    /// See [`ClientError`]. Acts that do not lead to the stairs are `INVALID_ARGUMENT`.
    pub async fn submit_floor(&self, receipt: &Receipt, acts: &[u8]) -> Result<Answer<ClimbFloor>, ClientError> {
        // The server refuses one that cannot be read.
        let Climb { tower, floor, .. } = Climb::decode(&*receipt.climb).unwrap_or_default();
        let request = SubmitFloorRequest { receipt: Some(receipt.clone()), acts: acts.to_vec() };
        self.reveal(Rpc::SubmitFloor, &request, &tower, floor.saturating_add(1)).await
    }

    async fn reveal(
        &self,
        rpc: Rpc,
        request: &impl Message,
        tower: &str,
        number: u32,
    ) -> Result<Answer<ClimbFloor>, ClientError> {
        let response = self.call(rpc, request).await?;
        let served = Served::from_metadata(response.metadata());
        let encoded: EncodedClimbFloor = decode_response(rpc, response.into_inner(), MORE_ENTRIES)?;
        Ok(Answer { value: encoded.check(rpc, tower, number)?, served })
    }

    async fn call(&self, rpc: Rpc, request: &impl Message) -> Result<Response<Bytes>, ClientError> {
        let body: Bytes = request.encode_to_vec().into();
        let deadline = self.deadline();
        let start = |authorization| {
            let request = transport::request(body.clone(), &self.options, deadline, authorization);
            transport::unary(&self.channel, rpc, request)
        };
        with_retries(self.options.retries, deadline, || self.attempt(&start)).await
    }

    fn deadline(&self) -> Option<Instant> {
        self.options.deadline.map(|deadline| Instant::now() + deadline)
    }

    /// Makes one attempt with a header `authorization`, and a second one if the server refuses a token that has been
    /// replaced in its file since.
    async fn attempt<T, F>(&self, start: impl Fn(Option<HeaderValue>) -> F) -> Result<T, ClientError>
    where
        F: Future<Output = Result<T, Status>>,
    {
        let mut authorization = self.server.authorization();
        let mut is_first = true;
        loop {
            let status = match start(authorization.clone()).await {
                Ok(answer) => {
                    self.server.record_answer();
                    return Ok(answer);
                }
                Err(status) => status,
            };
            let refused = authorization.filter(|_| is_first && status.code() == Code::Unauthenticated);
            authorization = refused.and_then(|refused| self.server.authorization_instead_of(&refused));
            if authorization.is_none() {
                return Err(self.server.call_error(status));
            }
            is_first = false;
        }
    }
}

/// `BatchGetFloorsResponse` with encoded floors. An embedded message and a byte string are the same on the wire.
#[derive(Clone, PartialEq, Message)]
struct EncodedBatch {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    floors: Vec<Bytes>,
}

/// Decodes an answer with at most `most` entries.
fn decode_response<M: Message + Default>(rpc: Rpc, bytes: Bytes, most: usize) -> Result<M, ClientError> {
    let decoded = entries::check(&bytes, most).and_then(|()| Ok(M::decode(bytes)?));
    decoded.map_err(|error| ClientError::Malformed { rpc: rpc.name(), reason: error.to_string() })
}
