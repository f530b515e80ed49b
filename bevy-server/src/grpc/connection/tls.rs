//! The TLS handshake of a connection: what it negotiates, and whom the client's certificate names.

use std::{
    fmt::Write as _,
    future::poll_fn,
    io,
    num::NonZero,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    thread,
    time::Duration,
};

use tokio::{
    io::{AsyncRead as _, AsyncWrite as _, ReadBuf},
    net::TcpStream,
    runtime::Handle,
    sync::Semaphore,
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, pki_types::CertificateDer},
};
use x509_cert::{
    Certificate,
    der::Decode as _,
    ext::pkix::{SubjectAltName, name::GeneralName},
};

use super::{
    coalescing::HttpVersion,
    transport::{CountingSocket, TLS_BUFFER_BYTES, Transport},
};
use crate::config::ALPN;

/// How long a client may be silent after its handshake has failed, before the socket is closed. So it gets the alert
/// that says why: a socket that is closed with unread input drops what is not delivered yet.
const ALERT_GRACE: Duration = Duration::from_secs(1);

/// Runs handshakes. Cheap to clone.
///
/// A handshake costs as much CPU time as many calls, before anything is known about the client. So the common runtime
/// computes it, on half of the cores at most, and the calls of others go on during a flood of them. A handshake that waits for its
/// client takes no place: it is bounded in number by the limits of connections, and in time by its deadline.
#[derive(Debug, Clone)]
pub(in crate::grpc) struct Handshakes(Arc<Semaphore>);

/// What a handshake has settled.
#[derive(Debug, Default)]
pub(super) struct Negotiated {
    /// `None` if the client did not use ALPN.
    pub(super) version: Option<HttpVersion>,
    /// The name in the client's certificate, if it was asked for one.
    pub(super) subject: Option<String>,
}

impl Handshakes {
    /// Handshakes on half of the cores, and on one at least.
    pub(in crate::grpc) fn new() -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        Self(Arc::new(Semaphore::new((cores / 2).max(1))))
    }

    /// The handshake of a client on `stream`, in `common`. Dropping it ends the handshake.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub(super) async fn run_in(
        &self,
        common: &Handle,
        stream: std::net::TcpStream,
        config: Arc<ServerConfig>,
    ) -> io::Result<(Transport, Negotiated)> {
        let handshakes = self.clone();
        let mut task = JoinSet::new();
        task.spawn_on(async move { handshakes.run(TcpStream::from_std(stream)?, config).await }, common);
        let ended = task.join_next().await.unwrap_or_else(|| Ok(Err(io::ErrorKind::NotConnected.into())));
        let (mut transport, negotiated) = ended.map_err(io::Error::other)??;
        transport.move_here()?;
        Ok((transport, negotiated))
    }

    /// The handshake of a client on `stream`.
    ///
    /// # Errors
    /// The client sent no valid handshake, has no certificate of the authorities, or left (`UnexpectedEof`).
    async fn run(&self, stream: TcpStream, config: Arc<ServerConfig>) -> io::Result<(Transport, Negotiated)> {
        let accept = TlsAcceptor::from(config).accept_with(CountingSocket::new(stream), |connection| {
            connection.set_buffer_limit(Some(TLS_BUFFER_BYTES));
        });
        let stream = match self.compute(accept.into_fallible()).await {
            Ok(stream) => stream,
            Err((error, socket)) => {
                if let Some(stream) = socket.into_inner() {
                    wait_for_close(stream).await;
                }
                return Err(error);
            }
        };
        let (_, connection) = stream.get_ref();
        let version = match connection.alpn_protocol() {
            Some(protocol) if protocol == ALPN[0] => Some(HttpVersion::Http2),
            Some(_) => Some(HttpVersion::Http1),
            None => None,
        };
        let certificate = connection.peer_certificates().and_then(<[_]>::first);
        let subject = certificate.map(name).transpose()?;
        Ok((Transport::Tls(Box::new(stream)), Negotiated { version, subject }))
    }

    /// Polls `handshake` until it ends, and takes a place for each poll.
    async fn compute<T>(&self, handshake: impl Future<Output = T>) -> T {
        let mut handshake = pin!(handshake);
        loop {
            // The semaphore is never closed.
            let mut place = self.0.acquire().await.ok();
            let mut polled = false;
            let ended = poll_fn(|cx| {
                // Woken after a poll that was pending: the next poll needs a place again.
                if polled {
                    return Poll::Ready(None);
                }
                polled = true;
                let ended = handshake.as_mut().poll(cx).map(Some);
                drop(place.take());
                ended
            });
            if let Some(ended) = ended.await {
                return ended;
            }
        }
    }
}

/// Closes the sending side, and waits until the client closes its own or is silent.
async fn wait_for_close(mut stream: TcpStream) {
    if poll_fn(|cx| Pin::new(&mut stream).poll_shutdown(cx)).await.is_err() {
        return;
    }
    let mut discarded = [0; 256];
    loop {
        let next = poll_fn(|cx| {
            let mut buffer = ReadBuf::new(&mut discarded);
            Pin::new(&mut stream).poll_read(cx, &mut buffer).map_ok(|()| buffer.filled().len())
        });
        if !matches!(timeout(ALERT_GRACE, next).await, Ok(Ok(1..))) {
            return;
        }
    }
}

/// The name in a client's certificate: the subject as RFC 4514 writes it or, if that is empty, the first URI or DNS
/// name of the subject, as `URI:...` or `DNS:...`.
fn name(certificate: &CertificateDer<'_>) -> io::Result<String> {
    let unreadable = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let certificate = Certificate::from_der(certificate)
        .map_err(|error| unreadable(format!("the certificate of the client cannot be read: {error}")))?;
    let certificate = certificate.tbs_certificate;
    if !certificate.subject.0.is_empty() {
        // Not `to_string`, which would panic at a name that cannot be written.
        let mut subject = String::new();
        return match write!(subject, "{}", certificate.subject) {
            Ok(()) => Ok(subject),
            Err(_) => Err(unreadable("the certificate of the client has a subject that cannot be read".to_owned())),
        };
    }
    let names = certificate.get::<SubjectAltName>().ok().flatten().map(|(_, SubjectAltName(names))| names);
    let first = names.into_iter().flatten().find_map(|name| match name {
        GeneralName::UniformResourceIdentifier(uri) => Some(format!("URI:{uri}")),
        GeneralName::DnsName(name) => Some(format!("DNS:{name}")),
        _ => None,
    });
    first.ok_or_else(|| unreadable("the certificate of the client has no subject, no URI and no DNS name".to_owned()))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};
    use tokio::sync::watch;

    use super::*;

    fn named(parts: &[(DnType, &str)], alternatives: Vec<SanType>) -> io::Result<String> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name = DistinguishedName::new();
        for (kind, value) in parts {
            params.distinguished_name.push(kind.clone(), *value);
        }
        params.subject_alt_names = alternatives;
        name(params.self_signed(&KeyPair::generate().unwrap()).unwrap().der())
    }

    #[test]
    fn a_client_is_named_by_its_whole_subject() {
        let parts = [(DnType::OrganizationName, "Example"), (DnType::CommonName, "game-1")];
        assert_eq!(named(&parts, Vec::new()).unwrap(), "CN=game-1,O=Example");
        let forged = named(&[(DnType::CommonName, "game-1,O=Example")], Vec::new()).unwrap();
        assert_eq!(forged, "CN=game-1\\,O=Example", "no value can pass for several parts");
    }

    #[test]
    fn a_client_without_a_subject_is_named_by_its_uri() {
        let uri = SanType::URI("spiffe://example/game".try_into().unwrap());
        assert_eq!(named(&[], vec![uri]).unwrap(), "URI:spiffe://example/game");
        let error = named(&[], Vec::new()).unwrap_err();
        assert!(error.to_string().contains("no subject"), "{error}");
    }

    #[tokio::test]
    async fn a_handshake_that_waits_for_its_client_takes_no_place() {
        let handshakes = Handshakes(Arc::new(Semaphore::new(1)));
        let (client_sends, mut sent) = watch::channel(false);
        let mut waiting = pin!(handshakes.compute(async { sent.wait_for(|sent| *sent).await.is_ok() }));
        assert!(poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx))).await.is_pending());
        assert_eq!(handshakes.compute(async { 7 }).await, 7, "another handshake is not held up");
        client_sends.send_replace(true);
        assert!(waiting.await);
        assert_eq!(handshakes.0.available_permits(), 1);
    }
}
