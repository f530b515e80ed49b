//! [`bare_hyper`] on our server's own way of accepting: answers that are ready are made on the connection's
//! task, and what one turn of it writes leaves in one system call. What our transport costs with nothing behind it, so
//! that what our service adds can be told.

use std::{net::SocketAddr, time::Duration};

use bevy_server::grpc::{
    Eager,
    turn::{self, Turns},
};
use hyper::{server::conn::http2, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::time::Instant;

use super::bare_hyper;

/// A peer that has not begun to speak by then is let go, as our server does.
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
