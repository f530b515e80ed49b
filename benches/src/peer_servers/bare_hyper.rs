//! hyper's HTTP/2 alone: discards the request and sends bytes that were framed beforehand.

use std::{convert::Infallible, net::SocketAddr};

use bevy_server::grpc::FloorBody;
use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::BodyExt;
use hyper::{body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

pub(super) async fn serve(address: SocketAddr) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address).await?;
    let floor = floor_wire::framed(&super::static_floor());
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let floor = floor.clone();
        let service = service_fn(move |request| answer(request, floor.clone()));
        tokio::spawn(http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(request: Request<Incoming>, floor: Bytes) -> Result<Response<FloorBody>, Infallible> {
    let mut body = request.into_body();
    while let Some(Ok(_)) = body.frame().await {}
    let mut response = Response::new(FloorBody::unary(floor));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    Ok(response)
}
