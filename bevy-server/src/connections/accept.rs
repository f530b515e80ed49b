//! Accepts the connections of one port, and refuses those beyond its limits.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use tokio::net::{TcpListener, TcpStream};

use super::{Admitted, ConnectionLimiter, Refusal};
use crate::{callers::WarningLimiter, metrics::Refusals};

/// Pause after a failed accept, mostly for lack of file descriptors.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// Accepts the connections of one port. Counts those that it refuses, and warns of them at most once a second.
#[derive(Debug)]
pub(crate) struct Acceptor {
    listener: TcpListener,
    limiter: ConnectionLimiter,
    refusals: Refusals,
    /// The name of the limit in warnings.
    limit_name: fn(Refusal) -> &'static str,
    warnings: WarningLimiter,
}

impl Acceptor {
    /// Accepts from `listener` what `limiter` admits.
    pub(crate) fn new(
        listener: TcpListener,
        limiter: ConnectionLimiter,
        refusals: Refusals,
        limit_name: fn(Refusal) -> &'static str,
    ) -> Self {
        Self { listener, limiter, refusals, limit_name, warnings: WarningLimiter::default() }
    }

    /// The next connection within the limits. The limit of one address does not apply to those for which `is_exempt`
    /// returns true.
    ///
    /// Cancel safe: no admitted connection is lost.
    pub(crate) async fn accept(&mut self, is_exempt: impl Fn(IpAddr) -> bool) -> (TcpStream, SocketAddr, Admitted) {
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) => match self.limiter.admit(peer.ip(), is_exempt(peer.ip())) {
                    Ok(admitted) => return (stream, peer, admitted),
                    Err(refusal) => self.report_refusal(peer.ip(), refusal),
                },
                Err(error) => {
                    self.report_failure(&error);
                    tokio::time::sleep(RETRY_DELAY).await;
                }
            }
        }
    }

    fn report_refusal(&mut self, address: IpAddr, refusal: Refusal) {
        self.refusals.count(refusal.limit());
        if let Some(suppressed) = self.warnings.admit() {
            tracing::warn!(%address, limit = (self.limit_name)(refusal), suppressed, "a connection was refused");
        }
    }

    fn report_failure(&mut self, error: &io::Error) {
        if let Some(suppressed) = self.warnings.admit() {
            tracing::warn!(%error, suppressed, "a connection could not be accepted");
        }
    }
}
