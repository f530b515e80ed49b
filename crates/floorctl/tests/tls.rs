//! Tests the flags for TLS and tokens against servers with certificates of their own.

#![allow(clippy::unwrap_used)]

#[path = "../../floor-client/tests/authority/mod.rs"]
mod authority;
#[path = "../../floor-client/tests/scripted/mod.rs"]
#[expect(dead_code, reason = "floorctl connects, not this test")]
mod scripted;

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    process::{Command, Output},
    thread::{self, JoinHandle},
};

use tempfile::TempDir;
use tokio_rustls::rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tonic::{
    Status,
    transport::{Certificate, Identity, ServerTlsConfig},
};

use crate::{
    authority::{Authority, Certified},
    scripted::{Reply, ScriptedServer, floor},
};

/// A floor that the scripted server has.
const GET: [&str; 2] = ["get", "42/1@16x16"];

/// An authority, and the files of it.
struct Files {
    authority: Authority,
    directory: TempDir,
}

impl Files {
    fn new() -> Self {
        let files = Self { authority: Authority::new(), directory: tempfile::tempdir().unwrap() };
        files.write("ca.pem", &files.authority.pem());
        files
    }

    fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// Runs floorctl with flags whose values are files, and blocks this thread. Servers answer on other threads.
fn run(url: &str, flags: &[(&str, PathBuf)], arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = floorctl();
    command.args(arguments).arg("--deadline").arg("20s");
    command.arg(if arguments[0] == "stats" { "--ops" } else { "--server" }).arg(url);
    for (flag, value) in flags {
        command.arg(flag).arg(value);
    }
    outcome(command)
}

fn floorctl() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_floorctl"));
    for variable in ["SERVER", "OPS", "OPS_TOKEN_FILE", "CA", "CERT", "KEY", "SERVER_NAME", "TOKEN_FILE"] {
        command.env_remove(format!("FLOORCTL_{variable}"));
    }
    command
}

fn outcome(mut command: Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

fn server_tls(certified: &Certified) -> ServerTlsConfig {
    ServerTlsConfig::new().identity(Identity::from_pem(&certified.cert, &certified.key))
}

async fn serve(replies: impl IntoIterator<Item = Reply>, tls: ServerTlsConfig) -> (ScriptedServer, String) {
    let (server, address) = ScriptedServer::listen(replies, Some(tls)).await;
    (server, format!("https://{address}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_is_named_by_flag_or_environment() {
    let files = Files::new();
    let replies = [Ok(vec![floor(1)]), Ok(vec![floor(1)])];
    let (_, url) = serve(replies, server_tls(&files.authority.certify("127.0.0.1"))).await;
    let (code, stdout, stderr) = run(&url, &[("--ca", files.path("ca.pem"))], &GET);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("\"seed\": \"42\""), "{stdout}");

    let mut command = floorctl();
    command.args(GET).env("FLOORCTL_SERVER", &url).env("FLOORCTL_CA", files.path("ca.pem"));
    let (code, _, stderr) = outcome(command);
    assert_eq!(code, Some(0), "{stderr}");

    let stranger = Files::new();
    let (code, stdout, stderr) = run(&url, &[("--ca", stranger.path("ca.pem"))], &GET);
    assert_eq!((code, stdout.as_str()), (Some(3), ""), "{stderr}");
    assert!(stderr.contains("no trusted authority signed its certificate"), "{stderr}");
    assert!(stderr.contains("--ca FILE or FLOORCTL_CA") && !stderr.contains("cargo run"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_name_is_expected_by_flag() {
    let files = Files::new();
    let (_, url) = serve([Ok(vec![floor(1)])], server_tls(&files.authority.certify("floors.example"))).await;
    let ca = ("--ca", files.path("ca.pem"));
    let (code, _, stderr) = run(&url, std::slice::from_ref(&ca), &GET);
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains("floors.example") && stderr.contains("--server-name NAME"), "{stderr}");
    let (code, _, stderr) = run(&url, &[ca, ("--server-name", "floors.example".into())], &GET);
    assert_eq!(code, Some(0), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_certificate_is_presented() {
    let files = Files::new();
    let tls = server_tls(&files.authority.certify("127.0.0.1"));
    let (_, url) = serve([Ok(vec![floor(1)])], tls.client_ca_root(Certificate::from_pem(files.authority.pem()))).await;
    let player = files.authority.certify("player");
    let (cert, key) = (files.write("player.pem", &player.cert), files.write("player.key", &player.key));
    let ca = ("--ca", files.path("ca.pem"));
    let (code, _, stderr) = run(&url, std::slice::from_ref(&ca), &GET);
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains("--cert FILE and --key FILE"), "{stderr}");
    let (code, _, stderr) = run(&url, &[ca, ("--cert", cert), ("--key", key)], &GET);
    assert_eq!(code, Some(0), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_sent_and_never_printed() {
    let files = Files::new();
    let replies = [Ok(vec![floor(1)]), Err(Status::unauthenticated("who are you?"))];
    let (server, url) = serve(replies, server_tls(&files.authority.certify("127.0.0.1"))).await;
    let flags = [("--ca", files.path("ca.pem")), ("--token-file", files.write("token", "hush\n"))];
    let (code, _, stderr) = run(&url, &flags, &GET);
    assert_eq!(code, Some(0), "{stderr}");
    let (code, stdout, stderr) = run(&url, &flags, &GET);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("UNAUTHENTICATED: who are you?"), "{stderr}");
    assert!(stderr.contains("--token-file FILE or FLOORCTL_TOKEN_FILE"), "{stderr}");
    assert!(!stdout.contains("hush") && !stderr.contains("hush"), "{stderr}");
    for request in server.requests.lock().unwrap().iter() {
        assert_eq!(request.get("authorization").unwrap(), "Bearer hush");
    }
}

/// Answers one request over TLS with an empty document, and returns the head of the request.
fn serve_operations(certified: &Certified) -> (SocketAddr, JoinHandle<String>) {
    let chain = vec![CertificateDer::from_pem_slice(certified.cert.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(certified.key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let listening = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut stream = StreamOwned::new(ServerConnection::new(config.into()).unwrap(), stream);
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() > 0 {
            head.extend(byte);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n{\"tiers\":[]}").unwrap();
        stream.flush().unwrap();
        String::from_utf8(head).unwrap()
    });
    (address, listening)
}

#[test]
fn the_operations_port_may_stand_behind_tls() {
    let files = Files::new();
    let (address, listening) = serve_operations(&files.authority.certify("127.0.0.1"));
    let flags = [("--ca", files.path("ca.pem")), ("--token-file", files.write("token", "hush\n"))];
    let (code, _, stderr) = run(&format!("https://{address}"), &flags, &["stats"]);
    assert_eq!(code, Some(0), "{stderr}");
    let head = listening.join().unwrap();
    assert!(head.starts_with("GET /stats HTTP/1.1") && head.contains("authorization: Bearer hush\r\n"), "{head}");
}
