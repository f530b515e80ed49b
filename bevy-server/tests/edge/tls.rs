//! TLS: what clients negotiate, certificates of clients, certificates that change, and handshakes that do not end.

use std::{
    fs,
    io::{Read, Write},
    path::Path,
    time::{Duration, Instant},
};

use bytes::Bytes;
use floor_proto::v1::{BatchGetFloorsRequest, StreamFloorsRequest};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::SendRequest;
use prost::Message;
use tempfile::TempDir;
use test_support::{
    Server, Setup, TIMEOUT, frame, framed,
    http2::RawHttp2,
    parsed, spec,
    tls::{Authority, Pair, TlsClient, http2},
    wait_until, web,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};
use tokio_rustls::rustls::{
    AlertDescription, Error, HandshakeKind,
    version::{TLS12, TLS13},
};

use crate::{burst, get};

/// Limit for handshakes that do not end. The server's own is 10 seconds.
const LIMIT: Duration = Duration::from_secs(15);

/// Makes a call. Returns the status and the body.
async fn call(
    peer: &mut SendRequest<Full<Bytes>>,
    server: &Server,
    method: &str,
    message: &impl Message,
) -> (String, Bytes) {
    let request = server.request(method, &[]).body(framed(message)).unwrap();
    let response = peer.send_request(request).await.unwrap();
    let mut headers = response.headers().clone();
    let body = response.into_body().collect().await.unwrap();
    headers.extend(body.trailers().cloned().unwrap_or_default());
    (headers["grpc-status"].to_str().unwrap().to_owned(), body.to_bytes())
}

/// The number of messages in a body.
fn messages(mut body: &[u8]) -> usize {
    let mut count = 0;
    while let Some((prefix, rest)) = body.split_at_checked(5) {
        body = &rest[u32::from_be_bytes(prefix[1..].try_into().unwrap()) as usize..];
        count += 1;
    }
    assert!(body.is_empty());
    count
}

/// The alert that refuses a client.
async fn alert(client: &TlsClient, server: &Server) -> AlertDescription {
    let error = match client.connect(server).await {
        Err(error) => error,
        // With TLS 1.3 the handshake is complete for the client before the server has seen its certificate.
        Ok(mut stream) => timeout(TIMEOUT, stream.read(&mut [0])).await.unwrap().unwrap_err(),
    };
    match error.get_ref().and_then(|error| error.downcast_ref()) {
        Some(Error::AlertReceived(alert)) => *alert,
        _ => panic!("no alert: {error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_answered_over_both_versions_with_and_without_alpn() {
    let (data, authority) = (TempDir::new().unwrap(), Authority::new());
    let server = Setup::new(&data).with_tls(&authority.certify("server")).start();
    for version in [&TLS12, &TLS13] {
        let client = TlsClient::with_versions(&authority, None, &[version]);
        for (offered, negotiated) in
            [(&["h2"][..], Some(&b"h2"[..])), (&["http/1.1", "h2"][..], Some(&b"h2"[..])), (&[][..], None)]
        {
            let stream = client.offering(offered).connect(&server).await.unwrap();
            assert_eq!(stream.get_ref().1.protocol_version(), Some(version.version));
            assert_eq!(stream.get_ref().1.alpn_protocol(), negotiated);
            let mut peer = http2(stream).await;
            let (status, body) = call(&mut peer, &server, "GetFloor", &get(1, 1)).await;
            assert_eq!((status.as_str(), messages(&body)), ("0", 1));
        }
        let refused = client.offering(&["imap"]);
        assert_eq!(alert(&refused, &server).await, AlertDescription::NoApplicationProtocol);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_answer_arrives_whole_over_a_small_window() {
    let (data, authority) = (TempDir::new().unwrap(), Authority::new());
    let server = Setup::new(&data).with_tls(&authority.certify("server")).start();
    let mut peer = TlsClient::new(&authority, None).http2(&server).await;
    let batch = BatchGetFloorsRequest { specs: (1..=256).map(|number| spec(7, number)).collect() };
    let (status, body) = call(&mut peer, &server, "BatchGetFloors", &batch).await;
    assert_eq!((status.as_str(), messages(&body)), ("0", 1));
    assert!(body.len() > 1 << 20, "{}", body.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn grpc_web_is_answered_over_http1_and_the_connection_ends_cleanly() {
    let (data, authority) = (TempDir::new().unwrap(), Authority::new());
    let server = Setup::new(&data).with_tls(&authority.certify("server")).start();
    for offered in [&["http/1.1"][..], &[][..]] {
        let client = TlsClient::new(&authority, None).offering(offered);
        let mut stream = client.connect(&server).await.unwrap();
        let message = frame(&get(1, 1));
        let head = web("GetFloor", "connection: close\r\n", message.len());
        stream.write_all(&[head.as_bytes(), &message].concat()).await.unwrap();
        let mut answer = Vec::new();
        // Fails unless the server says that it closes.
        timeout(TIMEOUT, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
        assert_eq!(parsed(&answer).0, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_resumed_unless_clients_need_certificates() {
    let (data, authority) = (TempDir::new().unwrap(), Authority::new());
    let pair = authority.certify("server");
    let client = authority.certify("client");
    for (is_mutual, expected) in [(false, HandshakeKind::Resumed), (true, HandshakeKind::Full)] {
        let setup = Setup::new(&data).with_tls(&pair);
        let server = if is_mutual { setup.with_client_ca(&authority) } else { setup }.start();
        for version in [&TLS12, &TLS13] {
            let client = TlsClient::with_versions(&authority, Some(&client), &[version]);
            // The ticket arrives with the first answer.
            let mut peer = client.http2(&server).await;
            call(&mut peer, &server, "GetFloor", &get(1, 1)).await;
            let stream = client.connect(&server).await.unwrap();
            assert_eq!(stream.get_ref().1.handshake_kind(), Some(expected), "{version:?}");
        }
        server.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_needs_a_certificate_of_the_authority_if_one_is_named() {
    let (data, authority, stranger) = (TempDir::new().unwrap(), Authority::new(), Authority::new());
    let server = Setup::new(&data).with_tls(&authority.certify("server")).with_client_ca(&authority).start();
    let (known, unknown) = (authority.certify("client"), stranger.certify("client"));
    let expired = authority.certify_until("expired", 2001);
    for version in [&TLS12, &TLS13] {
        let client = |pair: Option<&Pair>| TlsClient::with_versions(&authority, pair, &[version]);
        let mut peer = client(Some(&known)).http2(&server).await;
        assert_eq!(call(&mut peer, &server, "GetFloor", &get(1, 1)).await.0, "0");
        assert_eq!(alert(&client(None), &server).await, AlertDescription::CertificateRequired);
        assert_eq!(alert(&client(Some(&unknown)), &server).await, AlertDescription::UnknownCA);
        assert_eq!(alert(&client(Some(&expired)), &server).await, AlertDescription::CertificateExpired);
    }
    wait_until("refused connections are closed", || server.metric("floors_connections") <= 2.0);
    wait_until("three for each version are counted", || server.refusals("handshake") == 6.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_told_apart_by_its_certificate() {
    let (data, authority) = (TempDir::new().unwrap(), Authority::new());
    let server = Setup::new(&data)
        .with_tls(&authority.certify("server"))
        .with_client_ca(&authority)
        .with("LIMITS__CELLS_PER_SECOND", "1")
        .start();
    let (first, second) = (authority.certify("first"), authority.certify("second"));
    // All have one address.
    let mut status = Vec::new();
    for (pair, seed) in [(&first, 1), (&second, 2), (&first, 3)] {
        let mut peer = TlsClient::new(&authority, Some(pair)).http2(&server).await;
        status.push(call(&mut peer, &server, "BatchGetFloors", &burst(seed, 1)).await.0);
    }
    assert_eq!(status, ["0", "0", "8"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_goes_on_while_the_certificate_is_replaced() {
    const FLOORS: u32 = 100;
    let (data, authority) = (TempDir::new().unwrap(), Authority::new());
    let (pair, new) = (authority.certify("server"), authority.certify("new"));
    let server = Setup::new(&data).with_tls(&pair).start();
    let client = TlsClient::new(&authority, None);
    let stream = client.connect(&server).await.unwrap();
    assert!(pair.is_of(&stream));
    let mut peer = http2(stream).await;
    let wanted = StreamFloorsRequest { first: Some(spec(1, 1)), count: FLOORS };
    let request = server.request("StreamFloors", &[]).body(framed(&wanted)).unwrap();
    // Longer than the window.
    let mut body = peer.send_request(request).await.unwrap().into_body();
    let mut received = body.frame().await.unwrap().unwrap().into_data().unwrap().to_vec();

    fs::copy(&new.cert, &pair.cert).unwrap();
    fs::copy(&new.key, &pair.key).unwrap();
    server.signal("-HUP");
    wait_until("the certificate is replaced", || server.log().contains("applied=the files of grpc.tls"));
    assert!(new.is_of(&client.connect(&server).await.unwrap()));

    let rest = body.collect().await.unwrap();
    assert_eq!(rest.trailers().unwrap()["grpc-status"], "0");
    received.extend_from_slice(&rest.to_bytes());
    assert_eq!(messages(&received), FLOORS as usize);
    assert_eq!(call(&mut peer, &server, "GetFloor", &get(1, 1)).await.0, "0", "the connection goes on too");
}

/// Points `link` at `target`, as Kubernetes does with a changed secret.
fn point(link: &Path, target: &Path) {
    let new = link.with_extension("new");
    std::os::unix::fs::symlink(target, &new).unwrap();
    fs::rename(&new, link).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_files_are_followed_and_bad_ones_are_not_used() {
    let (data, authority) = (TempDir::new().unwrap(), Authority::new());
    let secret = |name: &str, cert: &Pair, key: &Pair| {
        let directory = data.path().join(name);
        fs::create_dir(&directory).unwrap();
        fs::copy(&cert.cert, directory.join("tls.crt")).unwrap();
        fs::copy(&key.key, directory.join("tls.key")).unwrap();
        directory
    };
    let (first, second) = (authority.certify("first"), authority.certify("second"));
    let (old, bad, new) =
        (secret("old", &first, &first), secret("bad", &second, &first), secret("new", &second, &second));
    let link = data.path().join("current");
    point(&link, &old);
    let linked = Pair { cert: link.join("tls.crt"), key: link.join("tls.key") };
    let server = Setup::new(&data).with_tls(&linked).start();
    let client = TlsClient::new(&authority, None);

    point(&link, &bad);
    wait_until("the key that does not fit is refused", || server.log().contains("the old certificate stays in use"));
    assert!(server.log().contains("which is not the key of the first certificate"), "{}", server.log());
    assert!(first.is_of(&client.connect(&server).await.unwrap()));
    assert_eq!(server.metric("floors_reload_success{what=\"tls\"}"), 0.0);

    point(&link, &new);
    wait_until("the new files are used", || server.log().contains("the TLS files have changed"));
    assert_eq!(server.metric("floors_reload_success{what=\"tls\"}"), 1.0);
    assert!(second.is_of(&client.connect(&server).await.unwrap()));
    assert_eq!(server.log().matches("the old certificate stays in use").count(), 1, "{}", server.log());
    assert_eq!(server.log().matches("the files of grpc.tls are right again and in use").count(), 1, "{}", server.log());
}

#[test]
fn plaintext_on_a_port_with_tls_is_closed_at_once() {
    let (data, authority) = (TempDir::new().unwrap(), Authority::new());
    let server = Setup::new(&data).with_tls(&authority.certify("server")).start();
    for text in ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\nhost: floors\r\n\r\n"] {
        let mut peer = std::net::TcpStream::connect(&server.grpc).unwrap();
        // Less than the server's deadline for a handshake.
        peer.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        peer.write_all(text.as_bytes()).unwrap();
        peer.read_to_end(&mut Vec::new()).unwrap();
    }
    assert!(!server.log().contains("ended with an error"), "only debug logs have it: {}", server.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn handshakes_that_do_not_end_are_closed_in_time() {
    let (data, authority) = (TempDir::new().unwrap(), Authority::new());
    let server = Setup::new(&data).with_tls(&authority.certify("server")).start();
    let started = Instant::now();
    let mut silent = Vec::new();
    // The head of a record, and of a ClientHello that does not follow.
    for half in [&[][..], &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00][..]] {
        let mut peer = tokio::net::TcpStream::connect(&server.grpc).await.unwrap();
        peer.write_all(half).await.unwrap();
        silent.push(tokio::spawn(async move { while matches!(peer.read(&mut [0; 64]).await, Ok(1..)) {} }));
    }
    // The handshake succeeds, and no preface follows.
    let mut stream = TlsClient::new(&authority, None).connect(&server).await.unwrap();
    silent.push(tokio::spawn(async move { while matches!(stream.read(&mut [0; 64]).await, Ok(1..)) {} }));
    // Others are served meanwhile.
    let mut peer = TlsClient::new(&authority, None).http2(&server).await;
    assert_eq!(call(&mut peer, &server, "GetFloor", &get(1, 1)).await.0, "0");
    for peer in silent {
        timeout(TIMEOUT, peer).await.expect("the server closes the connection").unwrap();
    }
    assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
    wait_until("only the served connection is left", || server.metric("floors_connections") == 1.0);
    assert_eq!(server.refusals("handshake"), 2.0, "the one without a preface has ended its handshake");
}

#[test]
fn the_health_check_works_with_certificates_of_clients_too() {
    let (data, authority) = (TempDir::new().unwrap(), Authority::new());
    let pair = authority.certify("server");
    let setup = || Setup::new(&data).with_tls(&pair).with_client_ca(&authority);
    let server = setup().start();
    let healthcheck =
        setup().with("GRPC__LISTEN", &server.grpc).with("OPS__LISTEN", &server.ops).arg("healthcheck").run();
    assert_eq!((healthcheck.0, healthcheck.1.contains("serves")), (Some(0), true), "{}", healthcheck.2);
    let ops = server.ops.clone();
    server.stop();
    let (code, _, errors) = setup().with("OPS__LISTEN", &ops).arg("healthcheck").run();
    assert_eq!(code, Some(1));
    assert!(errors.contains("refused"), "{errors}");
}

#[test]
fn an_expired_certificate_and_a_port_without_tls_are_warned_of() {
    const METRIC: &str = "floors_tls_certificate_expiry_seconds";
    let (data, authority) = (TempDir::new().unwrap(), Authority::new());
    let server = Setup::new(&data).with_tls(&authority.certify_until("old", 2001)).start();
    assert!(server.log().contains("has expired"), "{}", server.log());
    assert_eq!(server.metric(METRIC), 978_307_200.0, "2001-01-01");
    server.stop();
    let server = Setup::new(&data).with("GRPC__LISTEN", "0.0.0.0:0").start();
    assert!(server.log().contains("gRPC is served without TLS"), "{}", server.log());
    assert!(!server.page("/metrics").1.contains(METRIC));
}

/// The preface, settings, and the head of a frame of an unknown type, whose payload may follow byte by byte.
fn start_of_long_frame() -> Vec<u8> {
    let settings = RawHttp2::frame(RawHttp2::SETTINGS, 0, 0, &[]);
    [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &settings, &[0, 0x40, 0, 0x77, 0, 0, 0, 0, 0]].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_of_key_updates_without_data_ends() {
    let (data, authority) = (TempDir::new().unwrap(), Authority::new());
    let server = Setup::new(&data).with_tls(&authority.certify("server")).start();
    let client = TlsClient::with_versions(&authority, None, &[&TLS13]);
    let mut stream = client.connect(&server).await.unwrap();
    stream.write_all(&start_of_long_frame()).await.unwrap();
    for _ in 0..10_000 {
        stream.get_mut().1.refresh_traffic_keys().unwrap();
        // Fails when the server has closed the connection.
        if stream.flush().await.is_err() {
            break;
        }
    }
    wait_until("the connection has ended", || server.metric("floors_connections") == 0.0);
    let mut peer = client.http2(&server).await;
    assert_eq!(call(&mut peer, &server, "GetFloor", &get(1, 1)).await.0, "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn key_updates_with_data_between_them_take_no_memory() {
    const UPDATES: u32 = 60_000;
    /// What rustls allows between two records of data is one more.
    const BETWEEN_DATA: u32 = 31;
    let (data, authority) = (TempDir::new().unwrap(), Authority::new());
    let server = Setup::new(&data).with_tls(&authority.certify("server")).start();
    let client = TlsClient::with_versions(&authority, None, &[&TLS13]);
    let mut peer = client.http2(&server).await;
    assert_eq!(call(&mut peer, &server, "GetFloor", &get(1, 1)).await.0, "0");
    let mut stream = client.connect(&server).await.unwrap();
    stream.write_all(&start_of_long_frame()).await.unwrap();
    let (memory, cpu) = (server.resident_bytes(), server.metric("process_cpu_seconds_total"));
    for update in 0..UPDATES {
        stream.get_mut().1.refresh_traffic_keys().unwrap();
        if update % BETWEEN_DATA == 0 {
            stream.write_all(&[0]).await.expect("the connection stays open");
        }
        if update % 10_000 == 0 {
            let status = call(&mut peer, &server, "GetFloor", &get(1, 1)).await.0;
            assert_eq!(status, "0", "others are served meanwhile");
        }
    }
    stream.flush().await.unwrap();
    let cpu = server.metric("process_cpu_seconds_total") - cpu;
    let growth = server.resident_bytes().saturating_sub(memory);
    println!("{UPDATES} updates of keys: {:.2} us of CPU each, {growth} bytes more", cpu * 1e6 / f64::from(UPDATES));
    assert!(growth < 16 << 20, "{growth} bytes");
}
