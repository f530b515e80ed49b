//! Tells who calls the floor service on the operations port where it is. A client of gRPC speaks HTTP/2, which no page does,
//! and would only report that the connection ended.

use std::{convert::Infallible, io, sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::{HeaderMap, Request, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use hyper::{server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::{net::TcpStream, sync::Notify, time::timeout};

/// The paths of the floor service.
pub(super) const CALLS: &str = "/floors.v1.FloorService/{call}";
/// How the first bytes of HTTP/2 begin. No method of HTTP/1 does.
const PREFACE: &[u8] = b"PRI";
/// How long a connection of HTTP/2 stays open, and how long it has left after its first answer.
const OPEN: Duration = Duration::from_secs(10);
const LEFT: Duration = Duration::from_secs(1);

/// Waits for the first bytes. Returns whether they are those of HTTP/2.
pub(super) async fn is_http2(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0; PREFACE.len()];
    let length = stream.peek(&mut first).await?;
    Ok(&first[..length] == PREFACE)
}

/// Answers the calls of a connection of HTTP/2 that the gRPC port `grpc` is meant, and ends it.
pub(super) async fn serve(stream: TcpStream, grpc: u16) -> Result<(), hyper::Error> {
    let answered = Arc::new(Notify::new());
    let answers = Arc::clone(&answered);
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let response = answer(grpc, request.headers());
        answers.notify_one();
        async move { Ok::<_, Infallible>(response) }
    });
    let mut server = http2::Builder::new(TokioExecutor::new());
    server.timer(TokioTimer::new()).max_concurrent_streams(1).max_local_error_reset_streams(1);
    let mut connection = std::pin::pin!(server.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        ended = connection.as_mut() => return ended,
        _ = timeout(OPEN, answered.notified()) => {}
    }
    connection.as_mut().graceful_shutdown();
    timeout(LEFT, connection).await.unwrap_or(Ok(()))
}

/// The refusal of a call: as gRPC and gRPC-Web have it, or as Connect does.
pub(super) fn answer(grpc: u16, headers: &HeaderMap) -> Response<Body> {
    let message = format!("this is the operations port of the floor server; gRPC is on port {grpc}");
    let content_type = headers.get(header::CONTENT_TYPE).cloned();
    match content_type {
        Some(codec) if codec.as_bytes().starts_with(b"application/grpc") => {
            let unimplemented = tonic::Code::Unimplemented as i32;
            let status = [("grpc-status", unimplemented.to_string()), ("grpc-message", message)];
            ([(header::CONTENT_TYPE, codec)], status).into_response()
        }
        _ => {
            let error = serde_json::json!({"code": "unimplemented", "message": message});
            (StatusCode::NOT_IMPLEMENTED, [(header::CONTENT_TYPE, "application/json")], error.to_string())
                .into_response()
        }
    }
}
