//! tonic with floors of one message per tile in moka. Each call clones and encodes a floor.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
};

use bevy_server::grpc::SERVICE_NAME;
use floor_gen::FloorSpec;
use floor_proto::v1::GetFloorRequest;
use futures_util::future::BoxFuture;
use moka::sync::Cache;
use tonic::{
    Request, Response, Status,
    body::Body,
    server::{Grpc, NamedService, UnaryService},
    transport::Server,
};
use tonic_prost::ProstCodec;

use super::resolved;
use crate::tile_floor::{TileFloor, message};

/// Floors that the cache may hold: about 300 MB of tiles.
const FLOORS: u64 = 1024;

pub(super) async fn serve(address: SocketAddr) -> anyhow::Result<()> {
    Ok(Server::builder().add_service(TileService(Cache::new(FLOORS))).serve(address).await?)
}

#[derive(Clone)]
struct TileService(Cache<FloorSpec, Arc<TileFloor>>);

impl NamedService for TileService {
    const NAME: &'static str = SERVICE_NAME;
}

impl tower_service::Service<http::Request<Body>> for TileService {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let tiles = self.clone();
        let codec = ProstCodec::<TileFloor, GetFloorRequest>::default();
        Box::pin(async move { Ok(Grpc::new(codec).unary(tiles, request).await) })
    }
}

impl UnaryService<GetFloorRequest> for TileService {
    type Response = TileFloor;
    type Future = Ready<Result<Response<TileFloor>, Status>>;

    fn call(&mut self, request: Request<GetFloorRequest>) -> Self::Future {
        ready(resolved(request.into_inner().spec).map(|spec| {
            let cached = self.0.get_with(spec, || Arc::new(message(&floor_gen::generate(&spec))));
            Response::new(TileFloor::clone(&cached))
        }))
    }
}
