//! tonic's generated service with decoded messages in moka.

use std::{net::SocketAddr, sync::Arc};

use floor_gen::{FloorSpec, Kind};
use floor_proto::{
    hash,
    v1::{
        BatchGetFloorsRequest, BatchGetFloorsResponse, ClimbFloor, Daily, Floor, FloorSpec as RequestedSpec,
        GetDailyRequest, GetFloorRequest, GetPackRequest, GetServerInfoRequest, ListPacksRequest, ListPacksResponse,
        Pack, SearchFloorsRequest, SearchFloorsResponse, ServerInfo, StartClimbRequest, StreamFloorsRequest,
        SubmitFloorRequest,
        floor_service_server::{FloorService, FloorServiceServer},
    },
};
use futures_util::stream::Empty;
use moka::sync::Cache;
use tonic::{Request, Response, Status, async_trait, transport::Server};

/// Floors that the cache may hold: more than any load here uses.
const FLOORS: u64 = 65_536;

pub(super) async fn serve(address: SocketAddr) -> anyhow::Result<()> {
    let service = FloorServiceServer::new(Decoded(Cache::new(FLOORS)));
    Ok(Server::builder().add_service(service).serve(address).await?)
}

/// The generated service. An answer is a clone of a cached message.
struct Decoded(Cache<FloorSpec, Arc<Floor>>);

impl Decoded {
    fn floor(&self, spec: FloorSpec) -> Floor {
        let cached = self.0.get_with(spec, || {
            let message = floor_wire::message(&floor_gen::generate(&spec));
            Arc::new(Floor { content_hash: hash::content_hash(&message), ..message })
        });
        Floor::clone(&cached)
    }
}

#[async_trait]
impl FloorService for Decoded {
    async fn get_floor(&self, request: Request<GetFloorRequest>) -> Result<Response<Floor>, Status> {
        let spec = resolved(request.into_inner().spec)?;
        Ok(Response::new(self.floor(spec)))
    }

    async fn batch_get_floors(
        &self,
        _: Request<BatchGetFloorsRequest>,
    ) -> Result<Response<BatchGetFloorsResponse>, Status> {
        Err(unimplemented())
    }

    type StreamFloorsStream = Empty<Result<Floor, Status>>;

    async fn stream_floors(
        &self,
        _: Request<StreamFloorsRequest>,
    ) -> Result<Response<Self::StreamFloorsStream>, Status> {
        Err(unimplemented())
    }

    async fn get_server_info(&self, _: Request<GetServerInfoRequest>) -> Result<Response<ServerInfo>, Status> {
        Err(unimplemented())
    }

    async fn get_pack(&self, _: Request<GetPackRequest>) -> Result<Response<Pack>, Status> {
        Err(unimplemented())
    }

    async fn search_floors(&self, _: Request<SearchFloorsRequest>) -> Result<Response<SearchFloorsResponse>, Status> {
        Err(unimplemented())
    }

    async fn list_packs(&self, _: Request<ListPacksRequest>) -> Result<Response<ListPacksResponse>, Status> {
        Err(unimplemented())
    }

    async fn start_climb(&self, _: Request<StartClimbRequest>) -> Result<Response<ClimbFloor>, Status> {
        Err(unimplemented())
    }

    async fn submit_floor(&self, _: Request<SubmitFloorRequest>) -> Result<Response<ClimbFloor>, Status> {
        Err(unimplemented())
    }

    async fn get_daily(&self, _: Request<GetDailyRequest>) -> Result<Response<Daily>, Status> {
        Err(unimplemented())
    }
}

fn unimplemented() -> Status {
    Status::unimplemented("only single floors are compared")
}

/// The spec of a request, resolved as our server does it.
fn resolved(spec: Option<RequestedSpec>) -> Result<FloorSpec, Status> {
    let spec = spec.ok_or_else(|| Status::invalid_argument("spec is missing"))?;
    let kind = (spec.kind != 0).then(|| Kind::from_number(spec.kind.unsigned_abs())).flatten();
    FloorSpec::resolve(spec.seed, spec.number, spec.width, spec.height, kind)
        .map_err(|error| Status::invalid_argument(error.to_string()))
}
