//! [`bare_hyper`] on our server's transport: the connection's task computes the answers that are ready, and all that it
//! writes in one poll leaves in one system call.

use std::{net::SocketAddr, time::Duration};

use bevy_server::grpc::{
    Eager,
    turn::{self, Turns},
};
use hyper::{server::conn::http2, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::time::Instant;

use super::bare_hyper;

/// Deadline for the client's preface, as in our server.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn serve(address: SocketAddr) -> anyhow::Result<()> {
    bare_hyper::accept(address, |stream, floor| {
        let service = service_fn(move |request| bare_hyper::answer(request, floor.clone()));
        let (line, outgoing) = turn::gathered(stream);
        let connection = http2::Builder::new(Eager).serve_connection(TokioIo::new(line), service);
        tokio::spawn(Turns::new(connection, outgoing, Instant::now() + PATIENCE));
    })
    .await
}
