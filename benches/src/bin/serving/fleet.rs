//! Starts the servers under comparison and checks the first answer of each.

use std::{env, path, process::Command, str::FromStr, sync::Arc};

use anyhow::{Context, ensure};
use benches::{
    floors::{NUMBER, TOWER},
    load::{self, ClosedLoop, Protocol, Rpc, Shape, Target, Window},
    open_loop::{OpenLoop, Pace},
    peer_servers::PeerServer,
    process::{CpuPartition, KillOnDrop, free_address},
    sample::{Sample, Snapshot},
    server::{Server, Setup, wait_until_listening},
    timing::alternate,
};
use bevy_server::grpc::SERVICE_NAME;
use bytes::Bytes;
use clap::ValueEnum;
use floor_proto::{
    FILE_DESCRIPTOR_SET, FRAME_PREFIX_BYTES,
    json::{JsonCodec, JsonTypes},
};

use crate::{
    credentials::{Credentials, TOKEN},
    files::{FileProgram, FileServer},
};

/// The name of our server.
const OURS: &str = "ours";

/// TCP connections of an open loop.
pub(crate) const CONNECTIONS: usize = 8;

/// A build of our server.
#[derive(Debug, Clone)]
pub(crate) struct Build {
    name: String,
    setup: Setup,
}

impl FromStr for Build {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let mut pairs = text.split(',').map(|part| {
            let pair = part.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
            pair.with_context(|| format!("{part:?} in {text:?} is not of the form NAME=PROGRAM or VARIABLE=VALUE"))
        });
        let (name, program) = pairs.next().expect("a split has a part")?;
        // The path becomes absolute, since the server runs in another directory.
        let setup = Setup::of_binary(path::absolute(program)?);
        let setup = pairs.try_fold(setup, |setup, pair| {
            let (variable, value) = pair?;
            anyhow::Ok(setup.with_variable(variable, value))
        })?;
        Ok(Self { name: name.to_owned(), setup })
    }
}

/// What distinguishes our server from itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Variant {
    /// TLS with a self-signed certificate
    Tls,
    /// A bearer token in every call, with a quota
    Tokens,
    /// Connect with protobuf instead of gRPC
    Connect,
    /// Connect with JSON instead of gRPC
    Json,
}

/// The servers, in the order of measurement. The last is the first one started again: the difference is the noise.
#[derive(Default)]
pub(crate) struct Fleet {
    servers: Vec<MeasuredServer>,
    /// Whether clients open more connections than a server grants an ordinary address.
    has_many_connections: bool,
    /// Files of the servers with TLS or tokens.
    credentials: Option<Credentials>,
}

/// A running server whose first answer was checked.
pub(crate) struct MeasuredServer {
    pub(crate) name: String,
    pub(crate) target: Target,
    process: Process,
    floor: Bytes,
}

/// A server's process, which ends when dropped.
enum Process {
    Ours(Server),
    Peer(KillOnDrop),
    Files(FileServer),
}

impl Fleet {
    pub(crate) fn new(has_many_connections: bool) -> Self {
        Self { has_many_connections, ..Self::default() }
    }

    /// Adds our server and its peers: those that are `named`, or all.
    pub(crate) fn add_peers(&mut self, named: &[PeerServer]) -> anyhow::Result<()> {
        self.add_ours(OURS.to_owned(), Setup::new(), &[])?;
        for &peer in if named.is_empty() { PeerServer::value_variants() } else { named } {
            self.add_peer(peer).with_context(|| peer.name())?;
        }
        self.add_ours(format!("{OURS}-again"), Setup::new(), &[])
    }

    /// Adds builds of our server.
    pub(crate) fn add_builds(&mut self, builds: &[Build]) -> anyhow::Result<()> {
        let again = Build { name: format!("{} again", builds[0].name), ..builds[0].clone() };
        for build in builds.iter().chain([&again]) {
            self.add_ours(build.name.clone(), build.setup.clone(), &[]).with_context(|| build.name.clone())?;
        }
        Ok(())
    }

    /// Adds our server, plain and with each of `variants`, and with all of them unless two of them are protocols.
    pub(crate) fn add_variants(&mut self, variants: &[Variant]) -> anyhow::Result<()> {
        let mut compared = vec![&variants[..0]];
        compared.extend(variants.chunks(1));
        let protocols = variants.iter().filter(|variant| matches!(variant, Variant::Connect | Variant::Json)).count();
        compared.extend((variants.len() > 1 && protocols < 2).then_some(variants));
        for variants in compared {
            let names = variants.iter().map(|variant| format!("-{variant:?}").to_lowercase());
            let name = format!("{OURS}{}", names.collect::<String>());
            self.add_ours(name.clone(), Setup::new(), variants).context(name)?;
        }
        self.add_ours(format!("{OURS}-again"), Setup::new(), &[])
    }

    /// Starts our server with memory as the only tier, so that the figures show the cost of serving.
    fn add_ours(&mut self, name: String, setup: Setup, variants: &[Variant]) -> anyhow::Result<()> {
        let mut setup = setup.with_default("CACHE__CHAIN", "[\"lru\"]");
        if self.has_many_connections {
            setup = setup.with("GRPC__MAX_CONNECTIONS_PER_IP", "0");
        }
        let (mut tls, mut token, mut protocol) = (None, None, Protocol::Grpc);
        if self.credentials.is_none() && !variants.is_empty() {
            self.credentials = Some(Credentials::new()?);
        }
        for (variant, credentials) in variants.iter().zip(self.credentials.iter().cycle()) {
            match variant {
                Variant::Tls => {
                    tls = Some(Arc::clone(&credentials.tls));
                    setup = credentials.with_tls(setup);
                }
                Variant::Tokens => {
                    token = Some(TOKEN.to_owned());
                    setup = credentials.with_tokens(setup);
                }
                Variant::Connect => protocol = Protocol::Connect,
                Variant::Json => protocol = Protocol::Json,
            }
        }
        let server = setup.start()?;
        let target = Target { tls, token, protocol, ..server.grpc.into() };
        self.add(name, target, Process::Ours(server))
    }

    /// Starts our server as it is.
    pub(crate) fn add_plain(&mut self, name: &str) -> anyhow::Result<()> {
        self.add_ours(name.to_owned(), Setup::new(), &[])
    }

    /// The servers, in the order in which they were added.
    pub(crate) fn into_servers(self) -> Vec<MeasuredServer> {
        self.servers
    }

    pub(crate) fn add_peer(&mut self, peer: PeerServer) -> anyhow::Result<()> {
        let address = free_address()?;
        let mut command = Command::new(env::current_exe()?);
        let child = command.args(["serve", &peer.name(), &address.to_string()]).spawn()?;
        let process = Process::Peer(KillOnDrop(child));
        wait_until_listening(address)?;
        self.add(peer.name(), address.into(), process)
    }

    /// Adds a server of files, with so many threads, that sends `floor`.
    pub(crate) fn add_files(&mut self, program: FileProgram, threads: usize, floor: &[u8]) -> anyhow::Result<()> {
        let (server, address) = program.start(threads, Rpc::GetFloor.path(), floor)?;
        let target = Target { protocol: Protocol::File, ..address.into() };
        self.add(program.name().to_owned(), target, Process::Files(server))
    }

    /// Adds a server that sends the same floor as the first.
    fn add(&mut self, name: String, target: Target, process: Process) -> anyhow::Result<()> {
        // As a client that asks for nothing.
        let target = Target { has_large_windows: false, ..target };
        let floor = load::unary_call(&target, Rpc::GetFloor, &request(target.protocol)?)?;
        if let Some(first) = self.servers.first() {
            let message = match target.protocol {
                Protocol::Json => json_codecs().1.decode(&floor)?.into(),
                Protocol::Grpc | Protocol::Connect | Protocol::File => floor.clone(),
            };
            ensure!(message == first.floor, "{name} sends another floor than {}", first.name);
        }
        self.servers.push(MeasuredServer { name, target, process, floor });
        Ok(())
    }

    /// The servers in the order of measurement in `round`.
    pub(crate) fn order(&self, round: usize) -> Vec<&MeasuredServer> {
        alternate(round, &self.servers.iter().collect::<Vec<_>>())
    }
}

impl MeasuredServer {
    /// Runs a closed loop, and checks the bytes of the answers.
    pub(crate) fn load(&self, shape: Shape, window: Window) -> anyhow::Result<Sample> {
        let mut load = ClosedLoop::new([self.target.clone()], Rpc::GetFloor, shape, self.messages()?);
        let timed = load.run_for(window, || Snapshot::of_processes([self.pid()]))?;
        let (sent, expected) = (timed.tally.bytes, timed.tally.latency.len() * self.answer_bytes());
        ensure!(sent == expected, "{} sent {sent} bytes and not {expected}", self.name);
        Ok(Sample::of(&timed.tally, &timed.before, &timed.after))
    }

    /// Runs an open loop, so that a stall counts for all calls that wait for it. The caller has its own processor.
    pub(crate) fn at_rate(&self, rate: u32, window: Window) -> anyhow::Result<Sample> {
        let _partition = CpuPartition::isolate(self.pid())?;
        let load = OpenLoop {
            target: self.target.clone(),
            rpc: Rpc::GetFloor,
            messages: self.messages()?,
            answer_bytes: Some(self.answer_bytes()),
            may_be_refused: false,
            connections: CONNECTIONS,
            pace: Pace::PerSecond(rate.into()),
            settle: window.settle,
            measured: window.measured,
        };
        Ok(Sample::of(&load.run()?, &Snapshot::default(), &Snapshot::default()))
    }

    pub(crate) fn pid(&self) -> u32 {
        match &self.process {
            Process::Ours(server) => server.pid(),
            Process::Peer(child) => child.0.id(),
            Process::Files(server) => server.pid(),
        }
    }

    /// The floor that it sends.
    pub(crate) const fn floor(&self) -> &Bytes {
        &self.floor
    }

    /// The messages of a load: one request.
    pub(crate) fn messages(&self) -> anyhow::Result<Arc<[Bytes]>> {
        Ok(Arc::new([request(self.target.protocol)?]))
    }

    /// The bytes of DATA frames of each answer.
    pub(crate) fn answer_bytes(&self) -> u64 {
        (self.floor.len() + self.target.protocol.prefix_bytes()) as u64
    }
}

/// The request for one floor as `protocol` has it.
fn request(protocol: Protocol) -> anyhow::Result<Bytes> {
    let framed = load::floor_request(TOWER, NUMBER);
    let message = framed.slice(FRAME_PREFIX_BYTES..);
    Ok(match protocol {
        Protocol::Grpc => framed,
        Protocol::Connect | Protocol::File => message,
        Protocol::Json => {
            let mut json = Vec::new();
            json_codecs().0.encode(message, &mut json)?;
            json.into()
        }
    })
}

/// The JSON of the requests and answers of `GetFloor`.
fn json_codecs() -> (JsonCodec, JsonCodec) {
    let types = JsonTypes::new([FILE_DESCRIPTOR_SET]).expect("protox wrote the descriptor set");
    types.method(SERVICE_NAME, Rpc::GetFloor.name()).expect("the build script lists the RPCs")
}
