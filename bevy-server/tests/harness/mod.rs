//! Starts the real server in a child process, on free ports and with its files in a given directory.
#![allow(dead_code, reason = "each test binary uses its own part of the harness")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

pub(crate) mod http2;
pub(crate) mod tls;

use std::{
    ffi::OsString,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, LazyLock, Mutex, mpsc},
    time::{Duration, Instant},
};

use bytes::Bytes;
use floor_proto::{
    raw::RawCodec,
    v1::{FloorSpec, floor_service_client::FloorServiceClient},
};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tempfile::TempDir;
use tokio::{net::TcpSocket, runtime::Runtime};
use tonic::{Code, Request, Response, Status, transport::Channel};

/// Time limit for every wait.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// The server's program: the one that this build made, or the one that `FLOORS_TEST_SERVER` names.
fn program() -> OsString {
    std::env::var_os("FLOORS_TEST_SERVER").unwrap_or_else(|| env!("CARGO_BIN_EXE_bevy-server").into())
}

/// A running server. Killed when dropped.
pub(crate) struct Server {
    child: Child,
    log: Arc<Mutex<String>>,
    pub(crate) grpc: String,
    pub(crate) ops: String,
}

/// The command line and environment of a server.
pub(crate) struct Setup {
    command: Command,
}

impl Setup {
    /// A server with its files in `data`.
    pub(crate) fn new(data: &TempDir) -> Self {
        Self::of(Command::new(program()), data)
    }

    /// As [`new`](Self::new), for a process that may have `limit` descriptors.
    #[cfg(unix)]
    pub(crate) fn with_descriptors(limit: u32, data: &TempDir) -> Self {
        let mut shell = Command::new("sh");
        // `exec` keeps the process id.
        shell.arg("-c").arg(format!("ulimit -n {limit} && exec \"$0\" \"$@\"")).arg(program());
        Self::of(shell, data)
    }

    /// As [`new`](Self::new), for a process whose files may have so many blocks of 512 bytes, or of 1 KiB in some shells.
    /// A write beyond that fails, as on a full disk.
    #[cfg(unix)]
    pub(crate) fn with_file_size(blocks: u32, data: &TempDir) -> Self {
        let mut shell = Command::new("sh");
        // What the shell ignores, the process that replaces it ignores too: the signal would end it.
        shell.arg("-c").arg(format!("trap '' XFSZ; ulimit -f {blocks} && exec \"$0\" \"$@\"")).arg(program());
        Self::of(shell, data)
    }

    /// As [`new`](Self::new), under valgrind's callgrind, which counts instructions once it is told to.
    pub(crate) fn under_callgrind(output: &std::path::Path, data: &TempDir) -> Self {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--quiet", "--instr-atstart=no"]);
        valgrind.arg(format!("--callgrind-out-file={}", output.display())).arg(program());
        Self::of(valgrind, data)
    }

    fn of(mut command: Command, data: &TempDir) -> Self {
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("FLOORS__")) {
            command.env_remove(name);
        }
        command
            .env("FLOORS__GRPC__LISTEN", "127.0.0.1:0")
            .env("FLOORS__OPS__LISTEN", "127.0.0.1:0")
            .env("FLOORS__CACHE__LMDB__PATH", data.path().join("lmdb"))
            .env("FLOORS__CACHE__LMDB__MAP_SIZE", "64MiB")
            .env("FLOORS__CACHE__SLED__PATH", data.path().join("sled"))
            .env("NO_COLOR", "1")
            .env_remove("RUST_LOG")
            .current_dir(data.path())
            .stdin(Stdio::null());
        Self { command }
    }

    /// Sets the variable `FLOORS__{key}`.
    pub(crate) fn with(mut self, key: &str, value: &str) -> Self {
        self.command.env(format!("FLOORS__{key}"), value);
        self
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Runs the process to its end. Returns exit code, standard output and standard error.
    pub(crate) fn run(mut self) -> (Option<i32>, String, String) {
        let output = self.command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    /// Starts the server and waits until it serves.
    pub(crate) fn start(mut self) -> Server {
        let mut child = self.command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (line_sender, line_receiver) = mpsc::channel();
        let (errors, log_writer) = (BufReader::new(child.stderr.take().unwrap()), Arc::clone(&log));
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                log_writer.lock().unwrap().push_str(&format!("{line}\n"));
                let _ = line_sender.send(line);
            }
        });
        let mut server = Server { child, log, grpc: String::new(), ops: String::new() };
        while server.grpc.is_empty() || server.ops.is_empty() {
            let line = match line_receiver.recv_timeout(TIMEOUT) {
                Ok(line) => line,
                Err(_) => panic!("the server did not start: {}", server.log()),
            };
            match logged_address(&line) {
                Some(address) if line.contains("serving gRPC") => server.grpc = address,
                Some(address) if line.contains("serving operations") => server.ops = address,
                _ => {}
            }
        }
        // The ports are open shortly before the server is ready.
        wait_until("the server is ready", || server.page("/readyz").0 == 200);
        server
    }
}

impl Server {
    /// A server with the default chain, LRU and LMDB.
    pub(crate) fn start(data: &TempDir) -> Self {
        Setup::new(data).start()
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) async fn channel(&self) -> Channel {
        Channel::from_shared(format!("http://{}", self.grpc)).unwrap().connect().await.unwrap()
    }

    pub(crate) async fn client(&self) -> FloorServiceClient<Channel> {
        FloorServiceClient::new(self.channel().await).max_decoding_message_size(16 << 20)
    }

    /// A client on a connection from `source`, another loopback address.
    #[cfg(target_os = "linux")]
    pub(crate) async fn client_from(&self, source: &str) -> FloorServiceClient<Channel> {
        let source = Some(source.parse().unwrap());
        let endpoint = Channel::from_shared(format!("http://{}", self.grpc)).unwrap().local_address(source);
        FloorServiceClient::new(endpoint.connect().await.unwrap()).max_decoding_message_size(16 << 20)
    }

    /// Calls `method` with these message bytes.
    pub(crate) async fn raw(&self, method: &str, message: Bytes) -> Result<Response<Bytes>, Status> {
        let mut grpc = tonic::client::Grpc::new(self.channel().await).max_encoding_message_size(64 << 20);
        grpc.ready().await.unwrap();
        let path = format!("/floors.v1.FloorService/{method}").parse().unwrap();
        grpc.unary(Request::new(message), path, RawCodec).await
    }

    /// Makes a call over plain HTTP/2. Returns the response's headers and trailers together.
    pub(crate) async fn http2(
        &self,
        method: &str,
        headers: &[(&str, &str)],
        message: &impl Message,
    ) -> http::HeaderMap {
        let stream = tokio::net::TcpStream::connect(&self.grpc).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let request = self.request(method, headers).body(framed(message)).unwrap();
        let response = sender.send_request(request).await.unwrap();
        let mut all = response.headers().clone();
        let body = response.into_body().collect().await.unwrap();
        all.extend(body.trailers().cloned().unwrap_or_default());
        all
    }

    /// The head of a call over plain HTTP/2.
    pub(crate) fn request(&self, method: &str, headers: &[(&str, &str)]) -> http::request::Builder {
        let uri = format!("http://{}/floors.v1.FloorService/{method}", self.grpc);
        let head = http::Request::post(uri).header("content-type", "application/grpc").header("te", "trailers");
        headers.iter().fold(head, |head, (name, value)| head.header(*name, *value))
    }

    /// The value of a metric, named with its labels as in `/metrics`.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let text = self.page("/metrics").1;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("there is no {name}")).parse().unwrap()
    }

    /// Calls of a method that ended with a code.
    pub(crate) fn calls(&self, rpc: &str, code: &str) -> f64 {
        self.metric(&format!("floors_requests_total{{code=\"{code}\",rpc=\"{rpc}\"}}"))
    }

    /// Generated floors of every kind.
    pub(crate) fn generations(&self) -> f64 {
        let text = self.page("/metrics").1;
        let counts = text.lines().filter_map(|line| line.strip_prefix("floors_generations_total{")?.split("} ").nth(1));
        counts.map(|count| count.parse::<f64>().unwrap()).sum()
    }

    /// Connections and calls that the limit named `reason` refused.
    pub(crate) fn refusals(&self, reason: &str) -> f64 {
        self.metric(&format!("floors_clients_refused_total{{reason=\"{reason}\"}}"))
    }

    /// Resident memory of the process, in bytes.
    #[cfg(target_os = "linux")]
    pub(crate) fn resident_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
        resident.unwrap().parse::<u64>().unwrap() << 10
    }

    /// GETs a page of the operations port. Returns status and body.
    pub(crate) fn page(&self, path: &str) -> (u16, String) {
        self.get(path, "host: ops\r\n")
    }

    /// GETs a page with these headers, which include the host.
    pub(crate) fn get(&self, path: &str, headers: &str) -> (u16, String) {
        let head = format!("GET {path} HTTP/1.1\r\n{headers}connection: close\r\n\r\n");
        let (status, _, body) = http1(&self.ops, &head, &[]);
        (status, String::from_utf8(body).unwrap())
    }

    /// POSTs to the operations port with these additional headers. Returns status and body.
    pub(crate) fn post(&self, path: &str, headers: &str) -> (u16, String) {
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: ops\r\nconnection: close\r\ncontent-length: 0\r\n{headers}\r\n");
        let (status, _, body) = http1(&self.ops, &head, &[]);
        (status, String::from_utf8(body).unwrap())
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.pid().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits until the process ends. Returns its status and log.
    pub(crate) fn wait(mut self) -> (ExitStatus, String) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status, self.log());
            }
            assert!(Instant::now() < deadline, "the server does not end: {}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the server exits with code 0, and looks for `text` in its log.
    pub(crate) fn assert_ended(self, text: &str) {
        let (status, log) = self.wait();
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(log.contains(text), "{log}");
    }

    /// Sends SIGTERM and expects exit code 0. Returns the log.
    pub(crate) fn stop(self) -> String {
        self.signal("-TERM");
        let (status, log) = self.wait();
        assert_eq!(status.code(), Some(0), "{log}");
        log
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address in a line of the log, which is text or JSON.
fn logged_address(line: &str) -> Option<String> {
    let text = line.split("address=").nth(1).map(str::trim);
    let address = text.or_else(|| line.split("\"address\":\"").nth(1)?.split('"').next());
    address.map(str::to_owned)
}

/// A floor of the default size and the scheduled kind.
pub(crate) fn spec(seed: u64, number: u32) -> FloorSpec {
    FloorSpec { seed, number, ..FloorSpec::default() }
}

/// A message with its frame prefix.
pub(crate) fn frame(message: &impl Message) -> Vec<u8> {
    let message = message.encode_to_vec();
    let prefix = [&[0][..], &u32::try_from(message.len()).unwrap().to_be_bytes()].concat();
    [prefix, message].concat()
}

/// The body of a call: a message with its frame prefix.
pub(crate) fn framed(message: &impl Message) -> Full<Bytes> {
    Full::new(Bytes::from(frame(message)))
}

/// The head of a gRPC-Web call over HTTP/1.1 with a body of `length` bytes and these additional headers.
pub(crate) fn web(method: &str, headers: &str, length: usize) -> String {
    let path = format!("/floors.v1.FloorService/{method}");
    web_of(&path, "application/grpc-web+proto", &format!("content-length: {length}\r\n{headers}"))
}

/// The head of a call over HTTP/1.1 with this content type and these additional headers.
pub(crate) fn web_of(path: &str, content_type: &str, headers: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: floors\r\norigin: http://game.example\r\n\
         content-type: {content_type}\r\n{headers}\r\n"
    )
}

/// The invalid fields that a status names.
pub(crate) fn invalid_fields(status: &Status) -> Vec<String> {
    use tonic_types::StatusExt;
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    let details = status.get_error_details();
    let fields = details.bad_request().map(|bad| bad.field_violations.clone()).unwrap_or_default();
    fields.into_iter().map(|violation| violation.field).collect()
}

/// Waits until `condition` holds, up to [`TIMEOUT`].
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !condition() {
        assert!(Instant::now() < deadline, "timed out waiting until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A connection from `source`, another loopback address. Not for code that runs in tokio.
#[cfg(target_os = "linux")]
pub(crate) fn connect_from(source: &str, address: &str) -> TcpStream {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
    let connected = RUNTIME.block_on(async {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::new(source.parse().unwrap(), 0))?;
        socket.connect(address.parse().unwrap()).await?.into_std()
    });
    let stream = connected.unwrap();
    stream.set_nonblocking(false).unwrap();
    stream
}

/// One HTTP/1.1 exchange over a new connection. Returns status, headers as text, and the body without chunk framing.
pub(crate) fn http1(address: &str, head: &str, body: &[u8]) -> (u16, String, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    parsed(&answer)
}

/// Parses an HTTP/1.1 response: status, headers as text, and the body without chunk framing.
pub(crate) fn parsed(answer: &[u8]) -> (u16, String, Vec<u8>) {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("headers end") + 4;
    let head = String::from_utf8(answer[..end].to_vec()).unwrap().to_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = &answer[end..];
    let body = if head.contains("transfer-encoding: chunked") { unchunk(body) } else { body.to_vec() };
    (status, head, body)
}

fn unchunk(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let line = body.windows(2).position(|window| window == b"\r\n").expect("a chunk's length");
        let length = usize::from_str_radix(std::str::from_utf8(&body[..line]).unwrap(), 16).unwrap();
        if length == 0 {
            return whole;
        }
        whole.extend_from_slice(&body[line + 2..line + 2 + length]);
        body = &body[line + 2 + length + 2..];
    }
}
