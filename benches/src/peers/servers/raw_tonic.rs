//! tonic with a codec that passes bytes through: it sends static bytes, or floors of one message per tile in moka.

use std::{
    collections::HashMap,
    convert::Infallible,
    future::{Ready, ready},
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
};

use bevy_server::grpc::SERVICE_NAME;
use bytes::Bytes;
use floor_gen::FloorSpec;
use floor_proto::{raw::RawCodec, v1::GetFloorRequest};
use futures_util::future::BoxFuture;
use moka::sync::Cache;
use prost::Message;
use tonic::{
    Request, Response, Status,
    body::Body,
    server::{Grpc, NamedService, UnaryService},
    transport::Server,
};

use super::{resolved, spec};
use crate::tile_floor::{TileFloor, message};

/// Floors that the cache may hold: about 300 MB of tiles.
const FLOORS: u64 = 1024;

/// Answers every call with the same bytes.
pub(super) async fn serve_static(address: SocketAddr) -> anyhow::Result<()> {
    let floor = floor_wire::unframed(&floor_wire::framed(&super::static_floor()));
    serve(address, move |_| Ok(floor.clone())).await
}

/// Sends the floors of a map, with the hasher of our LRU.
pub(super) async fn serve_map(address: SocketAddr) -> anyhow::Result<()> {
    let floor = |spec: FloorSpec| (spec, floor_wire::unframed(&floor_wire::framed(&floor_gen::generate(&spec))));
    let floors: HashMap<_, _, foldhash::fast::RandomState> = (1..=super::FLOORS).map(spec).map(floor).collect();
    let floors = Arc::new(floors);
    serve(address, move |request| {
        let floor = floors.get(&requested(request)?).cloned();
        floor.ok_or_else(|| Status::not_found("the map does not have this floor"))
    })
    .await
}

/// Clones and encodes a floor of tiles for each call.
pub(super) async fn serve_tiles(address: SocketAddr) -> anyhow::Result<()> {
    let cache = Cache::new(FLOORS);
    serve(address, move |request| {
        let spec = requested(request)?;
        let cached = cache.get_with(spec, || Arc::new(message(&floor_gen::generate(&spec))));
        Ok(TileFloor::clone(&cached).encode_to_vec().into())
    })
    .await
}

fn requested(request: Bytes) -> Result<FloorSpec, Status> {
    let request = GetFloorRequest::decode(request).map_err(|error| Status::internal(error.to_string()))?;
    resolved(request.spec)
}

async fn serve<F>(address: SocketAddr, answer: F) -> anyhow::Result<()>
where
    F: Fn(Bytes) -> Result<Bytes, Status> + Clone + Send + Sync + 'static,
{
    Ok(Server::builder().add_service(RawService(answer)).serve(address).await?)
}

#[derive(Clone)]
struct RawService<F>(F);

impl<F> NamedService for RawService<F> {
    const NAME: &'static str = SERVICE_NAME;
}

impl<F> tower_service::Service<http::Request<Body>> for RawService<F>
where
    F: Fn(Bytes) -> Result<Bytes, Status> + Clone + Send + Sync + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let answer = self.clone();
        Box::pin(async move { Ok(Grpc::new(RawCodec).unary(answer, request).await) })
    }
}

impl<F: Fn(Bytes) -> Result<Bytes, Status>> UnaryService<Bytes> for RawService<F> {
    type Response = Bytes;
    type Future = Ready<Result<Response<Bytes>, Status>>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        ready((self.0)(request.into_inner()).map(Response::new))
    }
}
