//! Serves the operations port: few connections, one request on each, and a time limit for every step.
//!
//! So that no caller can keep operators, probes and Prometheus out, or take memory from the players' port.

use std::{convert::Infallible, error::Error, net::IpAddr, pin::pin, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, HttpBody as _, to_bytes},
    extract::Request,
    http::StatusCode,
    middleware::Next,
    response::{IntoResponse, Response},
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Notify,
    time::{Instant, timeout, timeout_at},
};
use tower::ServiceExt as _;

use super::{audit::CallerAddress, wrong_port};
use crate::{
    connections::{Acceptor, ConnectionLimiter},
    http1::host_problem,
    metrics::Refusals,
};

/// Open connections: half of the descriptors that [`descriptors`](crate::descriptors) reserves for all but players.
const MAX_CONNECTIONS: usize = 64;
/// Open connections of one address: more than a probe, a Prometheus and an operator on one machine need, and few enough
/// that three such addresses leave a quarter free.
const MAX_CONNECTIONS_PER_ADDRESS: usize = 16;
/// Deadline for a request's head, from the start of the connection.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Deadline for a request's body and for the page, from the end of the head. Does not apply to pages that change the
/// stores: they go on in a task of their own, and take as long as the stores do.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a caller may take to read a response.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// Limit for the head of a request in bytes: a page's query and the headers of a browser.
const MAX_HEAD: usize = 16 << 10;
/// Limit for the body of a request in bytes. No page reads one; some clients send an empty form with every POST.
const MAX_BODY: usize = 4 << 10;

/// Serves `pages` on `listener` until the process ends: probes and metrics are answered during a drain too. Callers of gRPC
/// are told its port.
pub(super) async fn serve(listener: TcpListener, pages: Router, grpc_port: u16, refusals: Refusals) {
    let limiter = ConnectionLimiter::new(MAX_CONNECTIONS, Some(MAX_CONNECTIONS_PER_ADDRESS), None);
    let mut acceptor = Acceptor::new(listener, limiter, refusals, |refusal| refusal.limit().name());
    loop {
        let (stream, peer, admitted) = acceptor.accept(|_| false).await;
        let pages = pages.clone();
        tokio::spawn(async move {
            if let Err(error) = serve_connection(stream, peer.ip().to_canonical(), pages, grpc_port).await {
                let error = &*error as &(dyn Error + 'static);
                tracing::debug!(error, address = %peer.ip(), "a connection to the operations port ended with an error");
            }
            drop(admitted);
        });
    }
}

/// Serves one request from `address`.
async fn serve_connection(
    stream: TcpStream,
    address: IpAddr,
    pages: Router,
    grpc_port: u16,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let begun = Instant::now();
    if timeout(HEADER_TIMEOUT, wrong_port::is_http2(&stream)).await?? {
        return Ok(wrong_port::serve(stream, grpc_port).await?);
    }
    let answered = Arc::new(Notify::new());
    let answers = Arc::clone(&answered);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(CallerAddress(address));
        let (pages, answers) = (pages.clone(), Arc::clone(&answers));
        async move {
            let response: Result<Response, Infallible> = match host_problem(&request) {
                Some(problem) => Ok((StatusCode::BAD_REQUEST, problem).into_response()),
                None => pages.oneshot(request).await,
            };
            answers.notify_one();
            response
        }
    });
    let mut server = http1::Builder::new();
    let left = HEADER_TIMEOUT.saturating_sub(begun.elapsed());
    server.timer(TokioTimer::new()).header_read_timeout(left).max_buf_size(MAX_HEAD).keep_alive(false);
    let mut connection = pin!(server.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        ended = connection.as_mut() => return ended.map_err(Into::into),
        () = answered.notified() => {}
    }
    timeout(SEND_TIMEOUT, connection).await?.map_err(Into::into)
}

/// Middleware that bounds the body and the time of a request.
pub(super) async fn bound(request: Request, next: Next) -> Response {
    let deadline = Instant::now() + REQUEST_TIMEOUT;
    let is_read = request.method().is_safe();
    let (head, body) = request.into_parts();
    // A body that is too large by its own account is not read.
    if body.size_hint().lower() > MAX_BODY as u64 {
        return body_too_large();
    }
    let body = match timeout_at(deadline, to_bytes(body, MAX_BODY)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return body_too_large(),
        Err(_) => return (StatusCode::REQUEST_TIMEOUT, "the request was not complete in time\n").into_response(),
    };
    let page = next.run(Request::from_parts(head, Body::from(body)));
    if !is_read {
        return page.await;
    }
    timeout_at(deadline, page).await.unwrap_or_else(|_| {
        (StatusCode::SERVICE_UNAVAILABLE, "the page took too long; the server or a store is overloaded\n")
            .into_response()
    })
}

/// Middleware that refuses a body: a parameter in it would not be read, such as the tenant that limits a purge.
pub(super) async fn refuse_body(request: Request, next: Next) -> Response {
    if request.body().size_hint().lower() > 0 {
        let message = "write the parameters in the URL, as in /stats?tenant=NAME: the pages take no body\n";
        return (StatusCode::BAD_REQUEST, message).into_response();
    }
    next.run(request).await
}

fn body_too_large() -> Response {
    (StatusCode::PAYLOAD_TOO_LARGE, "the pages take a query and no body\n").into_response()
}
