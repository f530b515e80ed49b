//! [`bare_hyper`] on our server's transport: the connection's task computes the answers that are ready, and all that it
//! writes in one poll leaves in one system call.

use std::{net::SocketAddr, time::Duration};

use bevy_server::grpc::{
    PollBeforeSpawn,
    coalescing::{CoalescingIo, FlushAfterPoll},
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
        let (io, write_buffer) = CoalescingIo::new(stream);
        let connection = http2::Builder::new(PollBeforeSpawn).serve_connection(TokioIo::new(io), service);
        tokio::spawn(FlushAfterPoll::new(connection, write_buffer, Instant::now() + PATIENCE));
    })
    .await
}
