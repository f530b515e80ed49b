//! tonic with a codec that passes bytes through: it sends the same bytes for every request.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    net::SocketAddr,
    task::{Context, Poll},
};

use bevy_server::grpc::SERVICE_NAME;
use bytes::Bytes;
use floor_proto::raw::RawCodec;
use futures_util::future::BoxFuture;
use tonic::{
    Request, Response, Status,
    body::Body,
    server::{Grpc, NamedService, UnaryService},
    transport::Server,
};

pub(super) async fn serve(address: SocketAddr) -> anyhow::Result<()> {
    let floor = floor_wire::unframed(&floor_wire::framed(&super::static_floor()));
    Ok(Server::builder().add_service(StaticService(floor)).serve(address).await?)
}

/// Answers every call with the same bytes.
#[derive(Clone)]
struct StaticService(Bytes);

impl NamedService for StaticService {
    const NAME: &'static str = SERVICE_NAME;
}

impl tower_service::Service<http::Request<Body>> for StaticService {
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

impl UnaryService<Bytes> for StaticService {
    type Response = Bytes;
    type Future = Ready<Result<Response<Bytes>, Status>>;

    fn call(&mut self, _: Request<Bytes>) -> Self::Future {
        ready(Ok(Response::new(self.0.clone())))
    }
}
