//! What a client that renews the keys of its TLS connections without a pause does to the latency of another one.

use std::{
    fmt,
    io::Write as _,
    net::Shutdown,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Instant,
};

use aes_gcm::{
    Aes128Gcm, KeyInit as _,
    aead::{Aead as _, Payload},
};
use bytes::Bytes;
use floor_proto::v1::GetFloorRequest;
use hkdf::Hkdf;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2::SendRequest;
use sha2::Sha256;
use tempfile::TempDir;
use test_support::{
    Server, Setup, framed,
    http2::{LARGE_WINDOW, RawHttp2},
    spec,
    tls::{Authority, TlsClient, http2},
};
use tokio::{io::AsyncWriteExt, net::TcpStream, runtime::Runtime};
use tokio_rustls::rustls::KeyLog;

use crate::{
    in_memory,
    neighbour::{is_measured, lower_priority, p99, report, turn},
};

/// Connections over which keys are renewed at once.
const CONNECTIONS: usize = 4;

/// As `another_client_is_answered_beside_every_input`.
#[test]
fn another_client_is_answered_beside_renewals_of_tls_keys() {
    let (data, authority) = (TempDir::new().unwrap(), Authority::new());
    let server = in_memory(Setup::new(&data)).with_tls(&authority.certify("server")).start();
    let runtime = Runtime::new().unwrap();
    let mut other = runtime.block_on(async {
        let stream = TcpStream::connect(&server.grpc).await.unwrap();
        stream.set_nodelay(true).unwrap();
        http2(TlsClient::new(&authority, None).handshake(stream).await.unwrap()).await
    });
    let mut p99 = || p99(turn(), || runtime.block_on(call(&mut other, &server)));
    let alone = p99();
    let renewals = if is_measured() { 60_000 } else { 2_000 };
    let (sent, are_ready) = (AtomicU64::new(0), Barrier::new(CONNECTIONS + 1));
    let (beside, rate) = thread::scope(|scope| {
        let flood = || {
            let mut connection = Renewing::open(&authority, &server);
            let records: Vec<u8> = (0..renewals / IN_A_ROW).flat_map(|_| connection.keys.renew_in_a_row()).collect();
            are_ready.wait();
            connection.send(&records, &sent);
        };
        let floods = [(); CONNECTIONS].map(|()| scope.spawn(flood));
        are_ready.wait();
        let started = Instant::now();
        let beside = p99();
        let rate = sent.load(Relaxed) as f64 / started.elapsed().as_secs_f64();
        floods.into_iter().for_each(|flood| flood.join().unwrap());
        (beside, rate as u64)
    });
    report(&format!("TLS, {CONNECTIONS} connections: KeyUpdate"), alone, beside, rate);
}

/// A connection that renews the keys of what the client sends, one record after another.
struct Renewing {
    stream: std::net::TcpStream,
    keys: SendingKeys,
}

impl Renewing {
    fn open(authority: &Authority, server: &Server) -> Self {
        let log = Arc::new(SecretLog::default());
        let client = TlsClient::with_logged_secrets(authority, log.clone());
        let runtime = Runtime::new().unwrap();
        let stream = runtime.block_on(async {
            let mut stream = client.connect(server).await.unwrap();
            AsyncWriteExt::write_all(&mut stream, &RawHttp2::preface(LARGE_WINDOW)).await.unwrap();
            AsyncWriteExt::flush(&mut stream).await.unwrap();
            stream.into_inner().0.into_std().unwrap()
        });
        stream.set_nonblocking(false).unwrap();
        // The preface was record 0.
        Self { stream, keys: SendingKeys { secret: log.secret(), record: 1 } }
    }

    /// Sends `records`, as long as the server takes them.
    fn send(&mut self, records: &[u8], sent: &AtomicU64) {
        lower_priority();
        for part in records.chunks(16 << 10) {
            self.stream.write_all(part).expect("the server has not closed");
            sent.fetch_add((part.len() / RECORD_BYTES) as u64, Relaxed);
        }
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}

/// rustls ends a connection after so many without data between them.
const IN_A_ROW: usize = 32;
/// A record with a KeyUpdate: its header, the message with the type of its content, and the tag.
const RECORD_BYTES: usize = 5 + 6 + 16;

/// The keys of what a client sends (RFC 8446, sections 5.2 to 5.3 and 7.1 to 7.3), with TLS_AES_128_GCM_SHA256.
struct SendingKeys {
    secret: [u8; 32],
    /// The number of the next record with this secret.
    record: u64,
}

impl SendingKeys {
    /// As many renewals as rustls allows, and a record without data, after which it allows as many again.
    fn renew_in_a_row(&mut self) -> Vec<u8> {
        let mut records = Vec::new();
        for _ in 0..IN_A_ROW {
            // key_update(24), three bytes of length, update_not_requested(0), and the content type handshake(22).
            records.extend(self.seal(&[24, 0, 0, 1, 0, 22]));
            *self = Self { secret: self.expand("traffic upd"), record: 0 };
        }
        // Only the content type application_data(23).
        records.extend(self.seal(&[23]));
        self.record += 1;
        records
    }

    /// The record of a message.
    fn seal(&self, message: &[u8]) -> Vec<u8> {
        let header = [23, 3, 3, 0, (message.len() + 16) as u8];
        let (key, mut nonce) = (self.expand::<16>("key"), self.expand::<12>("iv"));
        nonce[4..].iter_mut().zip(self.record.to_be_bytes()).for_each(|(byte, of_record)| *byte ^= of_record);
        let payload = Payload { msg: message, aad: &header };
        let sealed = Aes128Gcm::new(&key.into()).encrypt(&nonce.into(), payload).unwrap();
        [&header[..], &sealed].concat()
    }

    /// HKDF-Expand-Label without a context.
    fn expand<const N: usize>(&self, label: &str) -> [u8; N] {
        let label = format!("tls13 {label}");
        let info = [&(N as u16).to_be_bytes()[..], &[label.len() as u8], label.as_bytes(), &[0]].concat();
        let mut expanded = [0; N];
        Hkdf::<Sha256>::from_prk(&self.secret).unwrap().expand(&info, &mut expanded).unwrap();
        expanded
    }
}

/// Keeps the first secret of what the client sends.
#[derive(Default)]
struct SecretLog(Mutex<Option<[u8; 32]>>);

impl SecretLog {
    fn secret(&self) -> [u8; 32] {
        self.0.lock().unwrap().expect("the handshake is complete")
    }
}

impl KeyLog for SecretLog {
    fn log(&self, label: &str, _: &[u8], secret: &[u8]) {
        if label == "CLIENT_TRAFFIC_SECRET_0" {
            *self.0.lock().unwrap() = Some(secret.try_into().unwrap());
        }
    }
}

impl fmt::Debug for SecretLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretLog")
    }
}

/// Makes a call for a floor in memory.
async fn call(client: &mut SendRequest<Full<Bytes>>, server: &Server) {
    let message = GetFloorRequest { spec: Some(spec(42, 1)) };
    let request = server.request("GetFloor", &[]).body(framed(&message)).unwrap();
    let response = client.send_request(request).await.unwrap();
    assert!(!response.into_body().collect().await.unwrap().to_bytes().is_empty());
}
