//! Starts the real server in a child process, on free ports and with its files in a given directory.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, mpsc},
    time::{Duration, Instant},
};

use bytes::Bytes;
use floor_proto::{raw::RawCodec, v1::floor_service_client::FloorServiceClient};
use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tempfile::TempDir;
use tonic::{Request, Response, Status, transport::Channel};

use crate::{TIMEOUT, framed, http1, wait_until};

/// The server's program: the one that `FLOORS_TEST_SERVER` names, or the one of this build, which cargo names when it
/// runs a test of `bevy-server`.
fn program() -> OsString {
    let named = ["FLOORS_TEST_SERVER", "CARGO_BIN_EXE_bevy-server"].into_iter().find_map(std::env::var_os);
    named.expect(
        "only `cargo test` for a test of bevy-server sets CARGO_BIN_EXE_bevy-server; otherwise name the server's \
         program in FLOORS_TEST_SERVER",
    )
}

/// A running server. Killed when dropped.
pub struct Server {
    child: Child,
    log: Arc<Mutex<String>>,
    /// The address of the gRPC port.
    pub grpc: String,
    /// The address of the operations port.
    pub ops: String,
}

/// The command line and environment of a server.
pub struct Setup {
    command: Command,
}

impl Setup {
    /// A server with its files in `data`.
    pub fn new(data: &TempDir) -> Self {
        Self::of(Command::new(program()), data)
    }

    /// As [`new`](Self::new), for a process that may have `limit` descriptors.
    #[cfg(unix)]
    pub fn with_descriptors(limit: u32, data: &TempDir) -> Self {
        let mut shell = Command::new("sh");
        // `exec` keeps the process id.
        shell.arg("-c").arg(format!("ulimit -n {limit} && exec \"$0\" \"$@\"")).arg(program());
        Self::of(shell, data)
    }

    /// As [`new`](Self::new), for a process whose files may have so many blocks of 512 bytes, or of 1 KiB in some shells.
    /// A write beyond that fails, as on a full disk.
    #[cfg(unix)]
    pub fn with_file_size(blocks: u32, data: &TempDir) -> Self {
        let mut shell = Command::new("sh");
        // What the shell ignores, the process that replaces it ignores too: the signal would end it.
        shell.arg("-c").arg(format!("trap '' XFSZ; ulimit -f {blocks} && exec \"$0\" \"$@\"")).arg(program());
        Self::of(shell, data)
    }

    /// As [`new`](Self::new), under valgrind's callgrind, which counts instructions once it is told to.
    pub fn under_callgrind(output: &std::path::Path, data: &TempDir) -> Self {
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
    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.command.env(format!("FLOORS__{key}"), value);
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: impl AsRef<std::ffi::OsStr>, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Runs the process to its end. Returns exit code, standard output and standard error.
    pub fn run(mut self) -> (Option<i32>, String, String) {
        let output = self.command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    /// Starts the server and waits until it serves.
    pub fn start(mut self) -> Server {
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
    pub fn start(data: &TempDir) -> Self {
        Setup::new(data).start()
    }

    /// What the server has logged so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A new connection.
    pub async fn channel(&self) -> Channel {
        Channel::from_shared(format!("http://{}", self.grpc)).unwrap().connect().await.unwrap()
    }

    /// A client on a new connection.
    pub async fn client(&self) -> FloorServiceClient<Channel> {
        FloorServiceClient::new(self.channel().await).max_decoding_message_size(16 << 20)
    }

    /// A client on a connection from `source`, another loopback address.
    #[cfg(target_os = "linux")]
    pub async fn client_from(&self, source: &str) -> FloorServiceClient<Channel> {
        let source = Some(source.parse().unwrap());
        let endpoint = Channel::from_shared(format!("http://{}", self.grpc)).unwrap().local_address(source);
        FloorServiceClient::new(endpoint.connect().await.unwrap()).max_decoding_message_size(16 << 20)
    }

    /// Calls `method` with these message bytes.
    pub async fn raw(&self, method: &str, message: Bytes) -> Result<Response<Bytes>, Status> {
        let mut grpc = tonic::client::Grpc::new(self.channel().await).max_encoding_message_size(64 << 20);
        grpc.ready().await.unwrap();
        let path = format!("/floors.v1.FloorService/{method}").parse().unwrap();
        grpc.unary(Request::new(message), path, RawCodec).await
    }

    /// Makes a call over plain HTTP/2. Returns the response's headers and trailers together.
    pub async fn http2(&self, method: &str, headers: &[(&str, &str)], message: &impl Message) -> http::HeaderMap {
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
    pub fn request(&self, method: &str, headers: &[(&str, &str)]) -> http::request::Builder {
        let uri = format!("http://{}/floors.v1.FloorService/{method}", self.grpc);
        let head = http::Request::post(uri).header("content-type", "application/grpc").header("te", "trailers");
        headers.iter().fold(head, |head, (name, value)| head.header(*name, *value))
    }

    /// The value of a metric, named with its labels as in `/metrics`.
    pub fn metric(&self, name: &str) -> f64 {
        let text = self.page("/metrics").1;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("there is no {name}")).parse().unwrap()
    }

    /// The value of a row of the page `/status`.
    pub fn figure(&self, name: &str) -> f64 {
        let (_, page) = self.page("/status");
        let value = page.split_once(&format!("<td>{name}<td>")).and_then(|(_, rest)| rest.split('<').next());
        value.unwrap_or_else(|| panic!("there is no {name} in {page}")).parse().unwrap()
    }

    /// Calls of a method that ended with a code.
    pub fn calls(&self, rpc: &str, code: &str) -> f64 {
        self.metric(&format!("floors_requests_total{{code=\"{code}\",rpc=\"{rpc}\"}}"))
    }

    /// Generated floors of every kind.
    pub fn generations(&self) -> f64 {
        let text = self.page("/metrics").1;
        let counts = text.lines().filter_map(|line| line.strip_prefix("floors_generations_total{")?.split("} ").nth(1));
        counts.map(|count| count.parse::<f64>().unwrap()).sum()
    }

    /// Connections and calls that the limit named `reason` refused.
    pub fn refusals(&self, reason: &str) -> f64 {
        self.metric(&format!("floors_clients_refused_total{{reason=\"{reason}\"}}"))
    }

    /// Resident memory of the process, in bytes.
    #[cfg(target_os = "linux")]
    pub fn resident_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
        resident.unwrap().parse::<u64>().unwrap() << 10
    }

    /// GETs a page of the operations port. Returns status and body.
    pub fn page(&self, path: &str) -> (u16, String) {
        self.get(path, "host: ops\r\n")
    }

    /// GETs a page with these headers, which include the host.
    pub fn get(&self, path: &str, headers: &str) -> (u16, String) {
        let head = format!("GET {path} HTTP/1.1\r\n{headers}connection: close\r\n\r\n");
        let (status, _, body) = http1(&self.ops, &head, &[]);
        (status, String::from_utf8(body).unwrap())
    }

    /// POSTs to the operations port with these additional headers. Returns status and body.
    pub fn post(&self, path: &str, headers: &str) -> (u16, String) {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 0\r\n{headers}\r\n"
        );
        let (status, _, body) = http1(&self.ops, &head, &[]);
        (status, String::from_utf8(body).unwrap())
    }

    /// Sends a signal, such as `-TERM`.
    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.pid().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits until the process ends. Returns its status and log.
    pub fn wait(mut self) -> (ExitStatus, String) {
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
    pub fn assert_ended(self, text: &str) {
        let (status, log) = self.wait();
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(log.contains(text), "{log}");
    }

    /// Sends SIGTERM and expects exit code 0. Returns the log.
    pub fn stop(self) -> String {
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
