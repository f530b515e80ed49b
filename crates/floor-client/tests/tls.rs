//! Tests TLS and tokens against a server with certificates of its own: who is trusted, what the errors say, what is sent.

#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

mod authority;
#[expect(dead_code, reason = "this test connects by itself")]
mod scripted;

use std::{
    fs::{self, File},
    net::SocketAddr,
    path::Path,
    time::Duration,
};

use floor_client::{
    CallOptions, Certificates, ClientError, ConnectOptions, FloorClient, FloorSpec, Identity, TlsProblem, Token,
};
use tonic::{
    Status,
    transport::{self, ServerTlsConfig},
};

use crate::{
    authority::{Authority, Certified},
    scripted::{ScriptedServer, floor},
};

const HOST: &str = "127.0.0.1";

fn spec() -> FloorSpec {
    FloorSpec { seed: 42, number: 1, ..FloorSpec::default() }
}

fn server_tls(certified: &Certified) -> ServerTlsConfig {
    ServerTlsConfig::new().identity(transport::Identity::from_pem(&certified.cert, &certified.key))
}

/// A server that answers three calls, with TLS.
async fn serve(tls: ServerTlsConfig) -> SocketAddr {
    ScriptedServer::listen([(); 3].map(|()| Ok(vec![floor(1)])), Some(tls)).await.1
}

fn trusting(authority: &Authority) -> ConnectOptions {
    ConnectOptions::new().ca(Certificates::from_pem(authority.pem().as_bytes()).unwrap())
}

fn identity(certified: &Certified) -> Identity {
    Identity::from_pem(certified.cert.as_bytes(), certified.key.as_bytes()).unwrap()
}

/// Connects and gets one floor. The deadline only keeps a failed test from hanging.
async fn get(url: &str, options: &ConnectOptions) -> Result<u32, ClientError> {
    let client = FloorClient::connect_with(url, options).await?;
    let client = client.with_options(CallOptions::default().deadline(Duration::from_secs(20)));
    Ok(client.get(spec()).await?.value.spec().number)
}

async fn problem(url: &str, options: &ConnectOptions) -> TlsProblem {
    let error = get(url, options).await.unwrap_err();
    assert!(error.to_string().contains(url) && !error.is_transient(), "{error}");
    let ClientError::Tls { problem, .. } = error else { panic!("{error:?}") };
    problem
}

#[tokio::test]
async fn a_server_of_a_trusted_authority_is_called() {
    let authority = Authority::new();
    let address = serve(server_tls(&authority.certify(HOST))).await;
    let options = trusting(&authority);
    assert_eq!(get(&format!("https://{address}"), &options).await.unwrap(), 1);
    let lazy = FloorClient::connect_lazily_with(&format!("https://{address}"), &options).unwrap();
    lazy.get(spec()).await.unwrap();
    lazy.connect_again().await.unwrap().get(spec()).await.unwrap();
}

#[tokio::test]
async fn a_server_of_another_authority_is_not_trusted() {
    let address = serve(server_tls(&Authority::new().certify(HOST))).await;
    let problem = problem(&format!("https://{address}"), &trusting(&Authority::new())).await;
    assert_eq!(problem, TlsProblem::Untrusted);
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused_unless_that_name_is_expected() {
    let authority = Authority::new();
    let address = serve(server_tls(&authority.certify("floors.example"))).await;
    let url = format!("https://{address}");
    let TlsProblem::WrongName(names) = problem(&url, &trusting(&authority)).await else { panic!("another problem") };
    assert!(names.contains(HOST) && names.contains("floors.example"), "{names}");
    assert_eq!(get(&url, &trusting(&authority).server_name("floors.example")).await.unwrap(), 1);
}

#[tokio::test]
async fn an_expired_certificate_is_refused() {
    let authority = Authority::new();
    let address = serve(server_tls(&authority.certify_expired(HOST))).await;
    assert_eq!(problem(&format!("https://{address}"), &trusting(&authority)).await, TlsProblem::Expired);
}

#[tokio::test]
async fn a_wrong_scheme_is_named() {
    let authority = Authority::new();
    let (_, plaintext) = ScriptedServer::listen([], None).await;
    let error = get(&format!("https://{plaintext}"), &trusting(&authority)).await.unwrap_err();
    assert!(error.to_string().contains("write http://"), "{error}");
    let tls = serve(server_tls(&authority.certify(HOST))).await;
    let error = get(&format!("http://{tls}"), &ConnectOptions::new()).await.unwrap_err();
    assert!(error.to_string().contains("write https://"), "{error}");
}

#[tokio::test]
async fn a_server_that_asks_for_a_certificate_gets_one() {
    let authority = Authority::new();
    let client_ca = transport::Certificate::from_pem(authority.pem());
    let address = serve(server_tls(&authority.certify(HOST)).client_ca_root(client_ca)).await;
    let url = format!("https://{address}");
    let player = identity(&authority.certify("player"));
    assert_eq!(get(&url, &trusting(&authority).identity(player)).await.unwrap(), 1);
    // With TLS 1.3 the server refuses after the client has begun to send, so its reason may be lost with the connection.
    let error = get(&url, &trusting(&authority)).await.unwrap_err();
    assert!(error.to_string().contains("asks for a client certificate"), "{error}");
    let stranger = identity(&Authority::new().certify("stranger"));
    let error = get(&url, &trusting(&authority).identity(stranger)).await.unwrap_err();
    assert!(error.to_string().contains("one that its authority signed"), "{error}");
}

#[tokio::test]
async fn a_silent_server_does_not_hold_the_handshake() {
    // Accepts and says nothing. The connect timeout ends the handshake before the deadline of the test.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let connecting = FloorClient::connect_with(&url, &trusting(&Authority::new())).await;
    let error = connecting.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("write http://"), "{error}");
}

/// The `authorization` headers of the calls so far.
fn authorizations(server: &ScriptedServer) -> Vec<Option<String>> {
    let requests = server.requests.lock().unwrap();
    let text = |value: &tonic::metadata::AsciiMetadataValue| value.to_str().unwrap().to_owned();
    requests.iter().map(|request| request.get("authorization").map(text)).collect()
}

#[tokio::test]
async fn a_token_is_sent_with_every_call_and_never_shown() {
    let authority = Authority::new();
    let refused = || Err(Status::unauthenticated("who are you?"));
    let replies = [Ok(vec![floor(1)]), Ok(vec![floor(1)]), refused(), Ok(vec![floor(1)])];
    let (server, address) = ScriptedServer::listen(replies, Some(server_tls(&authority.certify(HOST)))).await;
    let options = trusting(&authority).token(Token::new("hush-1").unwrap());
    let client = FloorClient::connect_with(&format!("https://{address}"), &options).await.unwrap();
    client.get(spec()).await.unwrap();
    client.stream(spec(), 1).await.unwrap();
    let error = client.get(spec()).await.unwrap_err();
    assert_eq!(error.to_string(), "UNAUTHENTICATED: who are you?");
    assert!(!error.is_transient());
    assert!(!format!("{error:?} {client:?} {options:?}").contains("hush"));
    get(&format!("https://{address}"), &trusting(&authority)).await.unwrap();
    let token = Some("Bearer hush-1".to_owned());
    assert_eq!(authorizations(&server), [token.clone(), token.clone(), token, None]);
}

/// Writes a token of the same length without a trace in the file's metadata, so that only a refusal reveals it.
fn rotate_secretly(path: &Path, token: &str) {
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    fs::write(path, token).unwrap();
    File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
}

#[tokio::test]
async fn a_refused_token_is_read_again_from_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    fs::write(&path, "old").unwrap();
    let refused = || Err(Status::unauthenticated("who are you?"));
    let replies = [refused(), Ok(vec![floor(1)]), refused(), Ok(vec![floor(1)]), refused(), refused(), refused()];
    let (server, address) = ScriptedServer::listen(replies, None).await;
    let options = ConnectOptions::new().token(Token::read(&path).unwrap());
    let client = FloorClient::connect_with(&address.to_string(), &options).await.unwrap();

    rotate_secretly(&path, "new");
    client.get(spec()).await.unwrap();
    rotate_secretly(&path, "now");
    client.stream(spec(), 1).await.unwrap();
    // The file still holds the refused token, so there is nothing to try.
    client.get(spec()).await.unwrap_err();
    // One more attempt for a new token, and no more.
    rotate_secretly(&path, "yet");
    client.get(spec()).await.unwrap_err();
    let sent = ["old", "new", "new", "now", "now", "now", "yet"].map(|token| Some(format!("Bearer {token}")));
    assert_eq!(authorizations(&server), sent);
}
