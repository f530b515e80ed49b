//! A server that sends the replies that a test prepares, such as full queues, short streams and forged floors. The real
//! server cannot produce these on demand; its own tests use this client.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use floor_client::{
    FloorClient, FloorSpec,
    v1::{
        self, BatchGetFloorsRequest, BatchGetFloorsResponse, Climb, ClimbFloor, Daily, Floor, FloorMatch,
        GetDailyRequest, GetFloorRequest, GetPackRequest, GetServerInfoRequest, ListPacksRequest, ListPacksResponse,
        Pack, PackInfo, Point, Receipt, SearchFloorsRequest, SearchFloorsResponse, ServerInfo, StartClimbRequest,
        StreamFloorsRequest, SubmitFloorRequest, Terrain,
        floor_service_server::{FloorService, FloorServiceServer},
    },
};
use floor_proto::{grid, hash};
use prost::Message as _;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{
    Request, Response, Status,
    metadata::MetadataMap,
    transport::{Server, ServerTlsConfig},
};

/// The reply to a call: floors or an error status.
pub(crate) type Reply = Result<Vec<Floor>, Status>;

/// Answers each call with the next reply, and records the metadata of each request.
#[derive(Clone, Default)]
pub(crate) struct ScriptedServer {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    pub(crate) requests: Arc<Mutex<Vec<MetadataMap>>>,
    /// Ends the next stream that has floors, after them.
    pub(crate) break_off: Arc<Mutex<Option<Status>>>,
}

impl ScriptedServer {
    /// Serves on a free port until the test's runtime shuts down.
    pub(crate) async fn serve(replies: impl IntoIterator<Item = Reply>) -> (Self, FloorClient) {
        let (scripted, address) = Self::listen(replies, None).await;
        (scripted, FloorClient::connect(&address.to_string()).await.unwrap())
    }

    /// The same without a client, and with TLS if there is a configuration for it.
    pub(crate) async fn listen(
        replies: impl IntoIterator<Item = Reply>,
        tls: Option<ServerTlsConfig>,
    ) -> (Self, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (Self::accept(listener, replies, tls), address)
    }

    /// The same on `listener`.
    pub(crate) fn accept(
        listener: TcpListener,
        replies: impl IntoIterator<Item = Reply>,
        tls: Option<ServerTlsConfig>,
    ) -> Self {
        let scripted = Self { replies: Arc::new(Mutex::new(replies.into_iter().collect())), ..Self::default() };
        let mut server = Server::builder();
        if let Some(tls) = tls {
            server = server.tls_config(tls).unwrap();
        }
        let server = server.add_service(FloorServiceServer::new(scripted.clone()));
        tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        scripted
    }

    async fn reply<T>(&self, request: Request<T>) -> Reply {
        self.requests.lock().unwrap().push(request.metadata().clone());
        let reply = self.replies.lock().unwrap().pop_front();
        match reply {
            Some(reply) => reply,
            // No reply is left: the call is never answered.
            None => std::future::pending().await,
        }
    }

    pub(crate) fn calls(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

#[tonic::async_trait]
impl FloorService for ScriptedServer {
    type StreamFloorsStream = tokio_stream::Iter<std::vec::IntoIter<Result<Floor, Status>>>;

    async fn get_floor(&self, request: Request<GetFloorRequest>) -> Result<Response<Floor>, Status> {
        let mut response = Response::new(self.reply(request).await?.remove(0));
        for (key, value) in [
            ("floor-served-by", "lmdb"),
            ("floor-coalesced", "1"),
            ("floor-trace", "lru=miss:1us,lmdb=hit:4us"),
            ("floor-server-us", "9"),
        ] {
            response.metadata_mut().insert(key, value.parse().unwrap());
        }
        Ok(response)
    }

    async fn batch_get_floors(
        &self,
        request: Request<BatchGetFloorsRequest>,
    ) -> Result<Response<BatchGetFloorsResponse>, Status> {
        Ok(Response::new(BatchGetFloorsResponse { floors: self.reply(request).await? }))
    }

    async fn stream_floors(
        &self,
        request: Request<StreamFloorsRequest>,
    ) -> Result<Response<Self::StreamFloorsStream>, Status> {
        // The real server, too, sends an error status after the headers, in place of the first message.
        let messages = match self.reply(request).await {
            Ok(floors) => {
                let end = self.break_off.lock().unwrap().take().map(Err);
                floors.into_iter().map(Ok).chain(end).collect()
            }
            Err(status) => vec![Err(status)],
        };
        Ok(Response::new(tokio_stream::iter(messages)))
    }

    async fn get_server_info(&self, request: Request<GetServerInfoRequest>) -> Result<Response<ServerInfo>, Status> {
        self.reply(request).await?;
        Ok(Response::new(ServerInfo { version: "1.2.3".to_owned(), ..ServerInfo::default() }))
    }

    /// The floors of the reply as matches. It goes on at the number of replies that are left.
    async fn search_floors(
        &self,
        request: Request<SearchFloorsRequest>,
    ) -> Result<Response<SearchFloorsResponse>, Status> {
        let floors = self.reply(request).await?;
        let next = self.replies.lock().unwrap().len() as u64;
        let matches = floors.into_iter().map(|floor| FloorMatch { spec: floor.spec, name: floor.name }).collect();
        Ok(Response::new(SearchFloorsResponse { matches, next }))
    }

    async fn list_packs(&self, request: Request<ListPacksRequest>) -> Result<Response<ListPacksResponse>, Status> {
        self.reply(request).await?;
        Ok(Response::new(ListPacksResponse {
            packs: vec![PackInfo { name: "mine".to_owned(), ..PackInfo::default() }],
        }))
    }

    /// A pack whose files have another hash than it says.
    async fn get_pack(&self, request: Request<GetPackRequest>) -> Result<Response<Pack>, Status> {
        self.reply(request).await?;
        let file = b"floorpack 1\n".to_vec();
        Ok(Response::new(Pack { name: "mine".to_owned(), hash: 1, generator_version: 3, file }))
    }

    async fn start_climb(&self, request: Request<StartClimbRequest>) -> Result<Response<ClimbFloor>, Status> {
        let tower = request.get_ref().tower.clone();
        Ok(Response::new(revealed(tower, self.reply(request).await?)))
    }

    async fn submit_floor(&self, request: Request<SubmitFloorRequest>) -> Result<Response<ClimbFloor>, Status> {
        let SubmitFloorRequest { receipt, acts } = request.get_ref();
        assert_eq!(acts, b"acts");
        let climb = Climb::decode(&*receipt.as_ref().unwrap().climb).unwrap();
        Ok(Response::new(revealed(climb.tower, self.reply(request).await?)))
    }

    /// A tower whose name is the theme of the floor of the reply.
    async fn get_daily(&self, request: Request<GetDailyRequest>) -> Result<Response<Daily>, Status> {
        let tower = self.reply(request).await?.remove(0).theme;
        Ok(Response::new(Daily { tower, date: "2026-11-29".to_owned(), ..Daily::default() }))
    }
}

/// The floor of a reply as that of a climb, with a receipt that names it; floor 1 if there is none.
fn revealed(tower: String, floors: Vec<Floor>) -> ClimbFloor {
    let floor = floors.into_iter().next();
    let number = floor.as_ref().and_then(|floor| floor.spec.as_ref()).map_or(1, |spec| spec.number);
    let climb = Climb { tower, floor: number, width: 16, height: 16, ..Climb::default() }.encode_to_vec();
    ClimbFloor { receipt: Some(Receipt { climb, signature: vec![7; 64], key: 1 }), floor, rolls: vec![1; 16] }
}

/// A floor of 16x16 cells: one room with walls around it.
pub(crate) fn floor(number: u32) -> Floor {
    let mut cells = [Terrain::Wall as u8; 256];
    let mut region = [0; 256];
    for inside in (1..15).flat_map(|y| (1..15).map(move |x| y * 16 + x)) {
        cells[inside] = Terrain::Floor as u8;
        region[inside] = 1;
    }
    let at = |x, y| Some(Point { x, y });
    with_content_hash(Floor {
        spec: Some(FloorSpec { seed: 42, number, width: 16, height: 16, kind: 1, ..FloorSpec::default() }),
        generator_version: 1,
        terrain: Some(grid::encode(16, 16, &cells)),
        region: Some(grid::encode(16, 16, &region)),
        entry: at(1, 1),
        exit: at(14, 14),
        rooms: vec![v1::Room { id: 0, min: at(1, 1), max: at(14, 14), role: 1, center: at(7, 7), name: None }],
        ..Floor::default()
    })
}

pub(crate) fn with_content_hash(mut floor: Floor) -> Floor {
    floor.content_hash = hash::content_hash(&floor);
    floor
}
