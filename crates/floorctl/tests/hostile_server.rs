//! A server that sends what it likes: names that a terminal acts on, paths out of the folder, answers that grow when they
//! are decoded. Every command that calls a server is run against it.

#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    future::ready,
    io::{BufRead as _, BufReader, Write as _},
    iter,
    net::{SocketAddr, TcpListener},
    process::{Command, Output, Stdio},
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use floor_client::v1::{
    BatchGetFloorsRequest, BatchGetFloorsResponse, Climb, ClimbFloor, Daily, Floor, FloorSpec, GetDailyRequest,
    GetFloorRequest, GetPackRequest, GetServerInfoRequest, Item, ListPacksRequest, ListPacksResponse, Pack, PackInfo,
    Point, ReceiptKey, Room, SearchFloorsRequest, SearchFloorsResponse, ServerInfo, Spawn, StartClimbRequest,
    StreamFloorsRequest, SubmitFloorRequest, Terrain, TierInfo, Trap,
    floor_service_server::{FloorService, FloorServiceServer},
};
use floor_climb::SigningKey;
use floor_gen::pack::Files;
use floor_proto::{grid, hash};
use http::{HeaderMap, HeaderValue};
use http_body_util::{BodyExt as _, Full};
use hyper::{server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tempfile::TempDir;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

/// Sets the title of a window, clears the screen, overwrites the line, colours in C1, and turns text around.
const HOSTILE: &str =
    "hostile\x1b]0;title\x07\x1b[2J\r\u{9b}31m\u{7f}\u{0}\u{85}\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}end";

/// What the server sends.
#[derive(Debug, Clone)]
struct Answers {
    /// Every text field, but those that the client compares with its request.
    text: String,
    /// The files of every pack.
    pack: Vec<u8>,
    /// Answers every call with an error that has the text.
    refuses: bool,
}

impl Answers {
    fn new(text: &str) -> Self {
        let mut files = Files::new();
        files.insert("pack.toml", format!("name = \"mine\"\n{text} = {text}\n").as_bytes()).unwrap();
        Self { text: text.to_owned(), pack: files.to_bytes(), refuses: false }
    }

    fn refusal(&self) -> Result<(), Status> {
        if self.refuses { Err(Status::invalid_argument(&self.text)) } else { Ok(()) }
    }

    fn pack_hash(&self) -> u64 {
        xxhash_rust::xxh3::xxh3_64(&self.pack)
    }

    /// A floor of 16x16 cells with one room.
    fn floor(&self, spec: &FloorSpec) -> Floor {
        let mut cells = [Terrain::Wall as u8; 256];
        let mut region = [0; 256];
        for inside in (1..15).flat_map(|y| (1..15).map(move |x| y * 16 + x)) {
            cells[inside] = Terrain::Floor as u8;
            region[inside] = 1;
        }
        let at = |x, y| Some(Point { x, y });
        let archetype = self.text.clone();
        let pack = if spec.pack.is_empty() { String::new() } else { format!("mine@{:016x}", self.pack_hash()) };
        let mut floor = Floor {
            pack_hash: if pack.is_empty() { 0 } else { self.pack_hash() },
            spec: Some(FloorSpec { width: 16, height: 16, kind: 1, pack, ..spec.clone() }),
            generator_version: 1_000,
            terrain: Some(grid::encode(16, 16, &cells)),
            region: Some(grid::encode(16, 16, &region)),
            entry: at(1, 1),
            exit: at(14, 14),
            rooms: vec![Room { id: 0, min: at(1, 1), max: at(14, 14), role: 1, center: at(7, 7), name: None }],
            spawns: vec![Spawn {
                at: at(spec.number % 8 + 2, 2),
                archetype: archetype.clone(),
                level: 1,
                ..Spawn::default()
            }],
            items: vec![Item { at: at(3, 3), archetype: archetype.clone(), value: 1, opens_lock: 0 }],
            traps: vec![Trap { at: at(4, 4), archetype, level: 1 }],
            theme: self.text.clone(),
            ..Floor::default()
        };
        floor.content_hash = hash::content_hash(&floor);
        floor
    }

    /// The answer of the operations port to a request for `path`.
    fn page(&self, path: &str) -> (u16, String) {
        if self.refuses {
            return (400, self.text.clone());
        }
        let text = &self.text;
        let tier = json!({ "tier": text, "tenant": text, "done": false, "error": text });
        let with = |more: serde_json::Value| {
            let mut tier = tier.clone();
            tier.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            tier
        };
        let size = json!({ "bytes": 1, "diskBytes": 1 });
        let document = match path.split('?').next().unwrap() {
            "/purge" if path.contains("tower=") => json!({ "tiers": [with(json!({ "removed": 1 }))] }),
            "/purge" => json!({ "floors": 1, "tiers": [tier] }),
            "/contains" => json!({ "floors": [{ "floor": text, "pack": text, "tenant": text, "tiers": [text] }] }),
            "/compact" => json!({ "tiers": [with(json!({ "before": size, "after": size }))] }),
            "/backup" => with(json!({ "path": text, "bytes": 1 })),
            "/stats" => json!({ "tiers": [{
                "tier": text, "tenant": text, "entries": 1, "bytes": 1, "limitBytes": 1, "diskBytes": 1, "corrupt": 0,
                "writes": { "stored": 1, "failed": 1, "dropped": 1, "waiting": 1 },
            }] }),
            _ => panic!("no page for {path}"),
        };
        (200, document.to_string())
    }
}

#[tonic::async_trait]
impl FloorService for Answers {
    type StreamFloorsStream = tokio_stream::Iter<std::vec::IntoIter<Result<Floor, Status>>>;

    async fn get_floor(&self, request: Request<GetFloorRequest>) -> Result<Response<Floor>, Status> {
        self.refusal()?;
        Ok(Response::new(self.floor(&request.into_inner().spec.unwrap())))
    }

    async fn batch_get_floors(
        &self,
        request: Request<BatchGetFloorsRequest>,
    ) -> Result<Response<BatchGetFloorsResponse>, Status> {
        self.refusal()?;
        let floors = request.into_inner().specs.iter().map(|spec| self.floor(spec)).collect();
        Ok(Response::new(BatchGetFloorsResponse { floors }))
    }

    async fn stream_floors(
        &self,
        request: Request<StreamFloorsRequest>,
    ) -> Result<Response<Self::StreamFloorsStream>, Status> {
        self.refusal()?;
        let first = self.floor(&request.into_inner().first.unwrap());
        Ok(Response::new(tokio_stream::iter(vec![Ok(first), Err(Status::data_loss(&self.text))])))
    }

    async fn get_server_info(&self, _: Request<GetServerInfoRequest>) -> Result<Response<ServerInfo>, Status> {
        self.refusal()?;
        let [name, verdict, reason, version] = [(); 4].map(|()| self.text.clone());
        let tiers = vec![TierInfo { name, verdict, reason, ..TierInfo::default() }];
        let receipt_keys = vec![ReceiptKey { id: 1, public_key: signing_key().verifying_key().to_bytes().to_vec() }];
        Ok(Response::new(ServerInfo { version, tiers, kinds: vec![1, 77], receipt_keys, ..ServerInfo::default() }))
    }

    async fn search_floors(&self, _: Request<SearchFloorsRequest>) -> Result<Response<SearchFloorsResponse>, Status> {
        Err(Status::unimplemented("no command calls it"))
    }

    async fn list_packs(&self, _: Request<ListPacksRequest>) -> Result<Response<ListPacksResponse>, Status> {
        self.refusal()?;
        let [name, description] = [(); 2].map(|()| self.text.clone());
        let packs = vec![PackInfo { name, description, hash: 7, ..PackInfo::default() }];
        Ok(Response::new(ListPacksResponse { packs }))
    }

    async fn get_pack(&self, _: Request<GetPackRequest>) -> Result<Response<Pack>, Status> {
        self.refusal()?;
        let (name, hash, file) = ("mine".to_owned(), self.pack_hash(), self.pack.clone());
        Ok(Response::new(Pack { name, hash, generator_version: 3, file }))
    }

    async fn start_climb(&self, _: Request<StartClimbRequest>) -> Result<Response<ClimbFloor>, Status> {
        Err(Status::unimplemented("no command calls it"))
    }

    async fn submit_floor(&self, _: Request<SubmitFloorRequest>) -> Result<Response<ClimbFloor>, Status> {
        Err(Status::unimplemented("no command calls it"))
    }

    async fn get_daily(&self, _: Request<GetDailyRequest>) -> Result<Response<Daily>, Status> {
        Err(Status::unimplemented("no command calls it"))
    }
}

fn signing_key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

/// A receipt of the server, in JSON, with `text` in every text field and numbers that no climb has.
fn receipt(text: &str) -> String {
    let [tower, pack, tenant, player] = [(); 4].map(|()| text.to_owned());
    let climb = Climb { tower, pack, tenant, player, started_ms: 1, reached_ms: u64::MAX, ..Climb::default() };
    let receipt = floor_climb::sign(&climb, 1, &signing_key());
    let [climb, signature] = [receipt.climb, receipt.signature].map(|bytes| BASE64_STANDARD.encode(bytes));
    json!({ "climb": climb, "signature": signature, "key": 1 }).to_string()
}

/// The two ports of the server.
struct Hostile {
    grpc: SocketAddr,
    ops: SocketAddr,
}

impl Hostile {
    /// Serves `message` in answer to every call, and `page` on every page, until the test's runtime shuts down.
    async fn serve_bytes(message: Vec<u8>, page: String) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let grpc = listener.local_addr().unwrap();
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        let frame = Bytes::from([&[0], &length[..], &message].concat());
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let frame = frame.clone();
                let service = service_fn(move |_| {
                    let trailers =
                        HeaderMap::from_iter([("grpc-status".parse().unwrap(), HeaderValue::from_static("0"))]);
                    let body = Full::new(frame.clone()).with_trailers(ready(Some(Ok(trailers))));
                    ready(http::Response::builder().header("content-type", "application/grpc").body(body))
                });
                tokio::spawn(http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { grpc, ops: serve_pages(move |_| (200, page.clone())) }
    }

    /// Serves until the test's runtime shuts down.
    async fn serve(answers: Answers) -> Self {
        Self::serve_at("127.0.0.1:0".parse().unwrap(), answers).await
    }

    /// The same at `address`.
    async fn serve_at(address: SocketAddr, answers: Answers) -> Self {
        let listener = tokio::net::TcpListener::bind(address).await.unwrap();
        let grpc = listener.local_addr().unwrap();
        let service = FloorServiceServer::new(answers.clone());
        tokio::spawn(Server::builder().add_service(service).serve_with_incoming(TcpListenerStream::new(listener)));
        Self { grpc, ops: serve_pages(move |path| answers.page(path)) }
    }

    fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        outcome(self.command(arguments).output().unwrap())
    }

    /// Runs the command, and returns its output and the most memory that it used, in bytes.
    fn measure(&self, arguments: &[&str]) -> (Option<i32>, String, u64) {
        let child = self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        let output = thread::spawn(|| child.wait_with_output().unwrap());
        let mut peak = 0;
        while !output.is_finished() {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
            peak = line.map_or(peak, |kib| kib.parse().unwrap());
        }
        let (code, output) = outcome(output.join().unwrap());
        (code, output, peak << 10)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_floorctl"));
        command.env_remove("FLOORCTL_TOKEN_FILE").env_remove("FLOORCTL_OPS_TOKEN_FILE").env_remove("COLORTERM");
        command.args(arguments).env("FLOORCTL_SERVER", self.grpc.to_string());
        command.env("FLOORCTL_OPS", format!("http://{}", self.ops));
        command
    }
}

/// The exit code, and what was printed to both streams.
fn outcome(Output { status, stdout, stderr }: Output) -> (Option<i32>, String) {
    (status.code(), [String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap()].concat())
}

/// An operations port with the status and the text that `page` returns for each path.
fn serve_pages(page: impl Fn(&str) -> (u16, String) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let page = Arc::new(page);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, page) = (stream.unwrap(), Arc::clone(&page));
            thread::spawn(move || {
                let head = BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
                let head: Vec<_> = head.collect();
                let (status, body) = page(head[0].split(' ').nth(1).unwrap());
                let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\n\r\n", body.len());
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
            });
        }
    });
    address
}

/// Every command that calls a server, in its forms. `{dir}` is a folder.
const COMMANDS: &[&str] = &[
    "get 42/1@16x16",
    "batch --size 16x16 --numbers 1-2",
    "stream 42/1@16x16 --count 2",
    "render 42/1@16x16 --color never",
    "render 42/1@16x16 --pack mine --png {dir}/a.png",
    "card 42/1@16x16 --output {dir}/card.png",
    "info",
    "info --json",
    "pack list",
    "pack list --json",
    "pack get mine --output {dir}/a.floorpack",
    "receipt verify {dir}/receipt.json",
    "receipt verify {dir}/receipt.json --json",
    "tiers",
    "tiers --json",
    "warm --size 16x16 --numbers 1-2",
    "verify --size 16x16 --numbers 1-2",
    "bench --seconds 1 --streams 1",
    "capacity --players 10 --floors-per-minute 1 --cached 0.5",
    "purge 42/7",
    "purge 42/7 --json",
    "purge --tower 42",
    "contains 42/7",
    "stats",
    "stats --json",
    "compact",
    "compact --json",
    "backup",
    "backup --json",
    "export 42/1@16x16 --to json",
    "export 42/1@16x16 --to tiled --output {dir}/maps",
    "validate 42/1@16x16",
    "diff 42/1@16x16 42/2@16x16",
    "diff 42/1@16x16 42/2@16x16 --json",
    "explain 42/1",
];

/// The names of the commands whose help has a flag for a server.
fn commands_with_a_server(server: &Hostile) -> BTreeSet<String> {
    let help = server.run(&["--help"]).1;
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).filter(|name| !name.is_empty());
    names
        .filter(|name| *name != "help")
        .filter(|name| {
            let help = server.run(&[name, "--help"]).1;
            help.contains("--server <") || help.contains("--ops <")
        })
        .map(str::to_owned)
        .collect()
}

fn run(server: &Hostile, dir: &TempDir, command: &str) -> (Option<i32>, String) {
    let dir = dir.path().to_str().unwrap();
    let arguments: Vec<_> = command.split(' ').map(|argument| argument.replace("{dir}", dir)).collect();
    server.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

fn assert_printable(command: &str, output: &str) {
    let is_reordering =
        |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let found = output.chars().find(|c| (c.is_control() && !matches!(c, '\n' | '\t')) || is_reordering(*c));
    assert_eq!(found, None, "{command}: {output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_command_prints_what_a_terminal_acts_on() {
    let answering = Hostile::serve(Answers::new(HOSTILE)).await;
    let refusing = Hostile::serve(Answers { refuses: true, ..Answers::new(HOSTILE) }).await;
    let tested = COMMANDS.iter().map(|command| command.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(commands_with_a_server(&answering), tested, "each command that calls a server is in the list");
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("receipt.json"), receipt(HOSTILE)).unwrap();
    thread::scope(|scope| {
        for command in COMMANDS {
            let (answering, refusing, dir) = (&answering, &refusing, &dir);
            scope.spawn(move || {
                let mut shown = String::new();
                for server in [answering, refusing] {
                    let (_, output) = run(server, dir, command);
                    assert_printable(command, &output);
                    shown.push_str(&output);
                }
                // `explain` only compares the server's version; the rest shows the text.
                assert!(
                    shown.contains(r"hostile\u001b]0;title\u0007") || command.starts_with("explain"),
                    "{command}: {shown}"
                );
            });
        }
    });
}

#[cfg(unix)]
#[test]
fn watching_tiers_goes_on_while_the_server_restarts_and_ends_with_ctrl_c() {
    let started = |address: &str| {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let server = runtime.block_on(Hostile::serve_at(address.parse().unwrap(), Answers::new(HOSTILE)));
        (runtime, server)
    };
    let (runtime, server) = started("127.0.0.1:0");
    let watch = |format: &[&str]| {
        let mut command = server.command(&[&["tiers", "--watch", "--interval", "100ms"], format].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        thread::spawn(move || output.try_for_each(|line| sender.send(line)));
        (child, lines)
    };
    let next = |lines: &mpsc::Receiver<String>, part: &str| {
        let found = iter::repeat_with(|| lines.recv_timeout(Duration::from_secs(30)).unwrap());
        found.inspect(|line| assert_printable("tiers", line)).find(|line| line.contains(part)).unwrap()
    };
    let (mut text, lines) = watch(&[]);
    let (mut json, documents) = watch(&["--json"]);
    assert!(next(&lines, "lookups/s").ends_with(r"end  - lookups/s, hit rate -"), "there is no interval yet");
    assert!(next(&lines, "lookups/s").ends_with(r"end  0 lookups/s, hit rate -"));
    next(&documents, "tiers");
    drop(runtime);
    assert!(next(&lines, "no answer: ").contains(&server.grpc.to_string()));
    // What was written before.
    documents.try_iter().for_each(drop);
    let _restarted = started(&server.grpc.to_string());
    next(&lines, "lookups/s");
    let document: serde_json::Value = serde_json::from_str(&next(&documents, "tiers")).unwrap();
    assert_eq!(document.pointer("/tiers/0/name").unwrap(), HOSTILE);
    for child in [&mut text, &mut json] {
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn colours_are_those_of_floorctl_alone() {
    let server = Hostile::serve(Answers::new(HOSTILE)).await;
    for arguments in [&["--color", "always"][..], &["--blocks", "--color", "always"], &["--rooms", "--color", "always"]]
    {
        let (code, output) = server.run(&[&["render", "42/1@16x16"], arguments].concat());
        assert_eq!(code, Some(0), "{output}");
        let mut plain = String::new();
        for (i, part) in output.split("\x1b[").enumerate() {
            let end = part.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(0);
            assert!(i == 0 || part[end..].starts_with('m'), "only colours: {part:?}");
            let _ = write!(plain, "{part}");
        }
        assert!(output.contains("\x1b[") && output.contains(r"hostile\u001b]0"), "{output:?}");
        assert_printable("render", &plain);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_json_document_of_hostile_text_has_that_text() {
    let server = Hostile::serve(Answers::new(HOSTILE)).await;
    for (command, pointer) in
        [("info --json", "/version"), ("pack list --json", "/packs/0/name"), ("stats --json", "/tiers/0/tier")]
    {
        let (code, output) = server.run(&command.split(' ').collect::<Vec<_>>());
        assert_eq!(code, Some(0), "{output}");
        let document: serde_json::Value = serde_json::from_str(&output).unwrap();
        assert_eq!(document.pointer(pointer).unwrap(), HOSTILE, "{command}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_files_from_a_server_stay_in_the_folder() {
    let dir = TempDir::new().unwrap();
    let maps = dir.path().join("deep/maps");
    for theme in ["../../out", "/out", r"..\out", "C:out", "a\0b", "a/b"] {
        let server = Hostile::serve(Answers { text: theme.to_owned(), ..Answers::new("x") }).await;
        for format in ["tiled", "ldtk"] {
            let (code, output) = server.run(&["export", "42/1@16x16", "--to", format, "-o", maps.to_str().unwrap()]);
            if format == "tiled" {
                assert!(code == Some(1) && output.contains("no name for a file"), "{theme}: {code:?} {output}");
            }
        }
    }
    // Whatever was written stands in the folder that was named.
    let names = |path: &std::path::Path| -> Vec<_> {
        fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().file_name()).collect()
    };
    assert!(names(dir.path()).iter().all(|name| name == "deep"), "{:?}", names(dir.path()));
    assert!(names(&dir.path().join("deep")).iter().all(|name| name == "maps"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_with_a_path_out_of_its_folder_is_not_saved() {
    let dir = TempDir::new().unwrap();
    for path in ["../../out", "/out", "C:/out", r"..\out", "a\0b", "nul", "vaults/Com1.txt", "aux.toml", "a."] {
        let pack = format!("floorpack 1\nfile {path} 2\nx\n\n").into_bytes();
        let server = Hostile::serve(Answers { pack: pack.clone(), ..Answers::new("x") }).await;
        let (code, output) = run(&server, &dir, "pack get mine --output {dir}/got.floorpack");
        let shown = path.replace('\0', r"\u0000");
        assert!(code == Some(1) && output.contains(&shown), "{path}: {output}");
        // Nor unpacked, however it came here.
        fs::write(dir.path().join("here.floorpack"), pack).unwrap();
        let (code, output) = run(&server, &dir, "pack unpack {dir}/here.floorpack {dir}/folder");
        assert!(code == Some(1) && output.contains(&shown), "{path}: {output}");
    }
    let names: BTreeSet<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, BTreeSet::from(["here.floorpack".into()]));
}

/// The memory of a command is that of a message and a little more, not that of what a message could become.
#[tokio::test(flavor = "multi_thread")]
async fn lists_of_empty_messages_are_refused_without_decoding_them() {
    const MESSAGE: usize = 10 << 20;
    /// The message as received, the buffer that it grew in, and the program.
    const MOST: u64 = 48 << 20;
    let empty = |field: u8| [field << 3 | 2, 0].repeat(MESSAGE / 2);
    let packed = |field: u8, values: usize| {
        let mut message = vec![field << 3 | 2];
        prost::encode_length_delimiter(values, &mut message).unwrap();
        message.resize(message.len() + values, 1);
        message
    };
    let grid = packed(3, MESSAGE - 16);
    let mut palette = packed(4, grid.len());
    palette.truncate(palette.len() - grid.len());
    palette.extend_from_slice(&grid);
    let json = format!("{{\"tiers\":[{}", "{},".repeat(MESSAGE / 3));
    for (arguments, message, expected) in [
        ("get 42/1@16x16", empty(8), "more than 262144 entries"),
        ("stream 42/1@16x16 --count 1", empty(10), "more than 262144 entries"),
        ("get 42/1@16x16", palette, "more than 262144 entries"),
        ("batch --numbers 1-2", empty(1), "more than 18 entries"),
        ("info", empty(7), "bytes"),
        ("tiers", packed(3, MESSAGE), "bytes"),
        ("pack list", empty(1), "more than 65536 entries"),
        ("pack get mine -o /dev/null", empty(1), "more than 16 entries"),
        ("stats", Vec::new(), "too long"),
        ("contains 42/7", Vec::new(), "too long"),
    ] {
        let server = Hostile::serve_bytes(message, json.clone()).await;
        let (code, output, peak) = server.measure(&arguments.split(' ').collect::<Vec<_>>());
        assert!(code == Some(1) && output.contains(expected), "{arguments}: {code:?} {output}");
        assert!(peak < MOST, "{arguments} used {} MiB", peak >> 20);
    }
}
