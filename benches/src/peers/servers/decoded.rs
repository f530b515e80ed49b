//! tonic's generated service with floors in moka: as messages, or as the generator returns them.

use std::{net::SocketAddr, sync::Arc};

use floor_gen::FloorSpec;
use floor_proto::{
    hash,
    v1::{
        BatchGetFloorsRequest, BatchGetFloorsResponse, Floor, GetFloorRequest, GetServerInfoRequest, ServerInfo,
        StreamFloorsRequest,
        floor_service_server::{FloorService, FloorServiceServer},
    },
};
use futures_util::stream::Empty;
use moka::sync::Cache;
use tonic::{Request, Response, Status, async_trait, transport::Server};

use super::resolved;

/// Floors that the cache may hold: more than any load here uses.
const FLOORS: u64 = 65_536;

pub(super) async fn serve_messages(address: SocketAddr) -> anyhow::Result<()> {
    let service = FloorServiceServer::new(Decoded(Messages(Cache::new(FLOORS))));
    Ok(Server::builder().add_service(service).serve(address).await?)
}

pub(super) async fn serve_cells(address: SocketAddr) -> anyhow::Result<()> {
    let service = FloorServiceServer::new(Decoded(Cells(Cache::new(FLOORS))));
    Ok(Server::builder().add_service(service).serve(address).await?)
}

/// A floor as a message with its content hash.
fn message(floor: &floor_gen::Floor) -> Floor {
    let message = floor_wire::message(floor);
    Floor { content_hash: hash::content_hash(&message), ..message }
}

/// Caches messages; an answer is a clone.
struct Messages(Cache<FloorSpec, Arc<Floor>>);

/// Caches floors with their hashes; an answer is a conversion.
struct Cells(Cache<FloorSpec, Arc<(floor_gen::Floor, u64)>>);

/// The generated service over either cache.
struct Decoded<F>(F);

trait FloorCache: Send + Sync + 'static {
    fn floor(&self, spec: FloorSpec) -> Floor;
}

impl FloorCache for Messages {
    fn floor(&self, spec: FloorSpec) -> Floor {
        let cached = self.0.get_with(spec, || Arc::new(message(&floor_gen::generate(&spec))));
        Floor::clone(&cached)
    }
}

impl FloorCache for Cells {
    fn floor(&self, spec: FloorSpec) -> Floor {
        let cached = self.0.get_with(spec, || {
            let floor = floor_gen::generate(&spec);
            let content_hash = message(&floor).content_hash;
            Arc::new((floor, content_hash))
        });
        Floor { content_hash: cached.1, ..floor_wire::message(&cached.0) }
    }
}

#[async_trait]
impl<F: FloorCache> FloorService for Decoded<F> {
    async fn get_floor(&self, request: Request<GetFloorRequest>) -> Result<Response<Floor>, Status> {
        let spec = resolved(request.into_inner().spec)?;
        Ok(Response::new(self.0.floor(spec)))
    }

    async fn batch_get_floors(
        &self,
        request: Request<BatchGetFloorsRequest>,
    ) -> Result<Response<BatchGetFloorsResponse>, Status> {
        let specs = request.into_inner().specs.into_iter();
        let floors = specs.map(|spec| resolved(Some(spec)).map(|spec| self.0.floor(spec)));
        Ok(Response::new(BatchGetFloorsResponse { floors: floors.collect::<Result<_, _>>()? }))
    }

    type StreamFloorsStream = Empty<Result<Floor, Status>>;

    async fn stream_floors(
        &self,
        _: Request<StreamFloorsRequest>,
    ) -> Result<Response<Self::StreamFloorsStream>, Status> {
        Err(Status::unimplemented("only single floors and batches are compared"))
    }

    async fn get_server_info(&self, _: Request<GetServerInfoRequest>) -> Result<Response<ServerInfo>, Status> {
        Err(Status::unimplemented("only single floors and batches are compared"))
    }
}
