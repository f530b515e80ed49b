//! Starts the servers under comparison and checks the first answer of each.

use std::{env, path, process::Command, str::FromStr, sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use benches::{
    delay_proxy::DelayProxy,
    floors::{NUMBER, TOWER},
    load::{self, ClosedLoop, Protocol, Rpc, Shape, Target, TimedRun, Window},
    peers::servers::{FLOORS, PeerServer},
    process::KillOnDrop,
    regret::Keys,
    sample::{Sample, Snapshot},
    server::{Server, Setup, free_address, wait_until_listening},
    tile_floor::TileFloor,
    timing::alternate,
};
use bevy_server::grpc::SERVICE_NAME;
use bytes::Bytes;
use clap::ValueEnum;
use floor_proto::{
    FILE_DESCRIPTOR_SET, FRAME_PREFIX_BYTES, hash,
    json::{JsonCodec, JsonTypes},
    v1,
};
use prost::Message;

use crate::{
    BATCH,
    credentials::{Credentials, TOKENS},
};

/// The name of our server when it is compared with peers.
pub(crate) const OURS: &str = "ours";

/// Popularity of many floors is proportional to 1/rank: the customary round figure.
const ZIPF: Keys = Keys::Zipf { tenths: 10 };

/// Requests for many floors that are built before the clock runs. After them the requests repeat.
const ZIPF_REQUESTS: usize = 1 << 17;

/// Calls in flight while a server is filled.
const FILL: Shape = Shape::new(4, 10);

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
            pair.with_context(|| format!("{part:?} in {text:?} is not of the form NAME=BINARY or VARIABLE=VALUE"))
        });
        let (name, binary) = pairs.next().expect("a split has a part")?;
        // The path becomes absolute, since the server runs in another directory.
        let setup = Setup::of_binary(path::absolute(binary)?);
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
    /// TLS with a self-signed certificate.
    Tls,
    /// A bearer token in every call, with a quota.
    Tokens,
    /// Connect with protobuf instead of gRPC.
    Connect,
    /// Connect with JSON instead of gRPC.
    Json,
}

/// How long a closed loop runs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    Calls(u64),
    Time(Window),
}

/// How the clients of all servers connect, and what they request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clients {
    /// Whether they open more connections than a server grants an ordinary address.
    pub(crate) has_many_connections: bool,
    /// Whether they offer larger windows than the initial ones of HTTP/2.
    pub(crate) has_large_windows: bool,
    /// Whether they request [`FLOORS`] floors by Zipf's law instead of one.
    pub(crate) has_many_floors: bool,
}

/// The servers, in the order of measurement. The last is the first one started again: the difference is the noise.
#[derive(Default)]
pub(crate) struct Fleet {
    servers: Vec<MeasuredServer>,
    clients: Clients,
    /// Files of the servers with TLS or tokens.
    credentials: Option<Credentials>,
}

/// A running server whose first answers were checked.
pub(crate) struct MeasuredServer {
    pub(crate) name: String,
    pub(crate) target: Target,
    process: Process,
    floor: Bytes,
    batch: Option<Bytes>,
    /// The load for many floors.
    many: Option<ManyFloors>,
}

/// A load for [`FLOORS`] floors.
#[derive(Clone)]
struct ManyFloors {
    /// Requests, the more for a floor the more popular it is.
    messages: Arc<[Bytes]>,
    /// Bytes of the answers to one request for each floor.
    bytes: u64,
}

/// A server's process, which ends when dropped.
enum Process {
    Ours(Server),
    Peer(KillOnDrop),
}

impl Fleet {
    fn new(clients: Clients) -> Self {
        Self { clients, ..Self::default() }
    }

    /// Our server and its peers: those that are `named`, or all that can serve the load.
    pub(crate) fn of_peers(named: &[PeerServer], clients: Clients) -> anyhow::Result<Self> {
        let can_serve =
            if clients.has_many_floors { &PeerServer::OF_MANY_FLOORS[..] } else { &PeerServer::OF_ONE_FLOOR };
        for peer in named {
            let names = can_serve.iter().map(|peer| peer.name()).collect::<Vec<_>>().join(", ");
            ensure!(can_serve.contains(peer), "{} does not serve this load, only {names} do", peer.name());
        }
        let mut fleet = Self::new(clients);
        fleet.add_ours(OURS.to_owned(), Setup::new(), &[])?;
        for &peer in if named.is_empty() { can_serve } else { named } {
            fleet.add_peer(peer).with_context(|| peer.name())?;
        }
        fleet.add_ours(format!("{OURS}-again"), Setup::new(), &[])?;
        Ok(fleet)
    }

    /// Builds of our server.
    pub(crate) fn of_builds(builds: &[Build], clients: Clients) -> anyhow::Result<Self> {
        let mut fleet = Self::new(clients);
        let again = Build { name: format!("{} again", builds[0].name), ..builds[0].clone() };
        for build in builds.iter().chain([&again]) {
            fleet.add_ours(build.name.clone(), build.setup.clone(), &[]).with_context(|| build.name.clone())?;
        }
        Ok(fleet)
    }

    /// Our server, plain and with each of `variants`, and with all of them unless two of them are protocols.
    pub(crate) fn of_variants(variants: &[Variant], clients: Clients) -> anyhow::Result<Self> {
        let mut fleet = Self { credentials: Some(Credentials::new()?), ..Self::new(clients) };
        let mut compared = vec![&variants[..0]];
        compared.extend(variants.chunks(1));
        let protocols = variants.iter().filter(|variant| matches!(variant, Variant::Connect | Variant::Json)).count();
        compared.extend((variants.len() > 1 && protocols < 2).then_some(variants));
        for variants in compared {
            let names = variants.iter().map(|variant| format!("-{variant:?}").to_lowercase());
            let name = format!("{OURS}{}", names.collect::<String>());
            fleet.add_ours(name.clone(), Setup::new(), variants).context(name)?;
        }
        fleet.add_ours(format!("{OURS}-again"), Setup::new(), &[])?;
        Ok(fleet)
    }

    /// Starts our server with memory as the only tier, so that the figures show the cost of serving.
    fn add_ours(&mut self, name: String, setup: Setup, variants: &[Variant]) -> anyhow::Result<()> {
        let mut setup = setup.with_default("CACHE__CHAIN", "[\"lru\"]");
        if self.clients.has_many_connections {
            setup = setup.with("GRPC__MAX_CONNECTIONS_PER_IP", "0");
        }
        let (mut tls, mut token, mut protocol) = (None, None, Protocol::Grpc);
        for (variant, credentials) in variants.iter().zip(self.credentials.iter().cycle()) {
            setup = match variant {
                Variant::Tls => {
                    tls = Some(Arc::clone(&credentials.tls));
                    credentials.with_tls(setup)
                }
                Variant::Tokens => {
                    token = Some(TOKENS[0].to_owned());
                    credentials.with_tokens(setup)
                }
                Variant::Connect => {
                    protocol = Protocol::Connect;
                    setup
                }
                Variant::Json => {
                    protocol = Protocol::Json;
                    setup
                }
            };
        }
        let server = setup.start()?;
        let target = Target { tls, token, protocol, ..server.grpc.into() };
        self.add(name, target, Process::Ours(server), true)
    }

    fn add_peer(&mut self, peer: PeerServer) -> anyhow::Result<()> {
        let address = free_address()?;
        let mut command = Command::new(env::current_exe()?);
        let child = command.arg("--serve").arg(peer.name()).arg(address.to_string()).spawn()?;
        let process = Process::Peer(KillOnDrop(child));
        wait_until_listening(address)?;
        self.add(peer.name().to_owned(), address.into(), process, peer.batches())
    }

    /// Adds a server that sends the same floor as the first: the same bytes, or a tile for each of its cells.
    fn add(&mut self, name: String, target: Target, process: Process, batches: bool) -> anyhow::Result<()> {
        let target = Target { has_large_windows: self.clients.has_large_windows, ..target };
        let ask = |rpc| load::unary_call(&target, rpc, &request(rpc, target.protocol)?);
        let floor = ask(Rpc::GetFloor)?;
        let batch = if batches { Some(ask(Rpc::BatchGetFloors)?) } else { None };
        let many = self.clients.has_many_floors.then(|| self.fill(&target)).transpose()?;
        let server = MeasuredServer { name, target, process, floor, batch, many };
        if let Some(first) = self.servers.first() {
            if server.is_of_tiles() {
                let spec = hash::verify_encoded(&first.floor)?.spec.unwrap_or_default();
                let tiles = TileFloor::decode(server.floor.clone())?;
                ensure!(tiles.tiles.len() == (spec.width * spec.height) as usize, "not one tile per cell");
            } else {
                let floor = server.protobuf(Rpc::GetFloor, &server.floor)?;
                ensure!(floor == first.floor, "{} sends another floor than {}", server.name, first.name);
            }
            if let Some(batch) = &server.batch {
                let batch = server.protobuf(Rpc::BatchGetFloors, batch)?;
                ensure!(Some(batch) == first.batch, "{} sends another batch than {}", server.name, first.name);
            }
        }
        self.servers.push(server);
        Ok(())
    }

    /// Requests every floor until the server has it in memory. It sends as many bytes as the first server.
    fn fill(&self, target: &Target) -> anyhow::Result<ManyFloors> {
        let requests =
            |numbers: Box<dyn Iterator<Item = u32>>| numbers.map(|number| load::floor_request(TOWER, number));
        let each = requests(Box::new(1..=FLOORS)).collect();
        let bytes = ClosedLoop::new([target.clone()], Rpc::GetFloor, FILL, each).fill("lru")?.bytes;
        match self.servers.first().and_then(|first| first.many.as_ref()) {
            None => Ok(ManyFloors { messages: requests(ZIPF.numbers(FLOORS)).take(ZIPF_REQUESTS).collect(), bytes }),
            Some(first) => {
                ensure!(bytes == first.bytes, "{bytes} bytes of {FLOORS} floors, and not {}", first.bytes);
                Ok(first.clone())
            }
        }
    }

    /// The servers that can answer `rpc`, in the order of measurement in `round`.
    pub(crate) fn order(&self, rpc: Rpc, round: usize) -> Vec<&MeasuredServer> {
        let can_answer = |server: &&MeasuredServer| rpc == Rpc::GetFloor || server.batch.is_some();
        alternate(round, &self.servers.iter().filter(can_answer).collect::<Vec<_>>())
    }

    /// The server called `name`.
    pub(crate) fn server(&self, name: &str) -> &MeasuredServer {
        self.servers.iter().find(|server| server.name == name).expect("every server was started")
    }
}

impl MeasuredServer {
    pub(crate) fn pid(&self) -> u32 {
        match &self.process {
            Process::Ours(server) => server.pid(),
            Process::Peer(child) => child.0.id(),
        }
    }

    /// Whether it is the server with a message per tile.
    pub(crate) fn is_of_tiles(&self) -> bool {
        self.name == PeerServer::TileMessages.name()
    }

    /// Runs a closed loop from one thread, over a network of `round_trip`, and checks the bytes of the answers.
    pub(crate) fn load(&self, rpc: Rpc, shape: Shape, limit: Limit, round_trip: Duration) -> anyhow::Result<Sample> {
        let mut target = self.target.clone();
        let proxy = (!round_trip.is_zero()).then(|| DelayProxy::start(target.address, round_trip)).transpose()?;
        target.address = proxy.as_ref().map_or(target.address, DelayProxy::address);
        let mut load = ClosedLoop::new([target], rpc, shape, self.messages(rpc)?);
        let snapshot = || Snapshot::of_processes([self.pid()]);
        let TimedRun { tally, before, after } = match limit {
            Limit::Time(window) => load.run_for(window, snapshot)?,
            Limit::Calls(calls) => {
                let before = snapshot()?;
                TimedRun { tally: load.run_calls(calls)?, before, after: snapshot()? }
            }
        };
        if let Some(each) = self.answer_bytes(rpc)? {
            let expected = tally.latency.len() * each;
            ensure!(tally.bytes == expected, "{} sent {} bytes and not {expected}", self.name, tally.bytes);
        }
        Ok(Sample::of(&tally, &before, &after))
    }

    /// The messages of a load: one request of `rpc`, or those for many floors.
    pub(crate) fn messages(&self, rpc: Rpc) -> anyhow::Result<Arc<[Bytes]>> {
        if let Some(many) = &self.many {
            return Ok(Arc::clone(&many.messages));
        }
        Ok(Arc::new([request(rpc, self.target.protocol)?]))
    }

    /// An answer to `rpc` in protobuf.
    fn protobuf(&self, rpc: Rpc, answer: &Bytes) -> anyhow::Result<Bytes> {
        Ok(match self.target.protocol {
            Protocol::Json => json_codecs(rpc).1.decode(answer)?.into(),
            Protocol::Grpc | Protocol::Connect => answer.clone(),
        })
    }

    /// The bytes of DATA frames of each answer, if all are equal.
    pub(crate) fn answer_bytes(&self, rpc: Rpc) -> anyhow::Result<Option<u64>> {
        if self.many.is_some() {
            return Ok(None);
        }
        let message = match rpc {
            Rpc::BatchGetFloors => self.batch.as_ref().context("it answers no batches")?,
            _ => &self.floor,
        };
        Ok(Some((message.len() + self.target.protocol.prefix_bytes()) as u64))
    }
}

/// The request of `rpc` as `protocol` has it: for one floor, or for a batch that begins with it.
fn request(rpc: Rpc, protocol: Protocol) -> anyhow::Result<Bytes> {
    let framed = if rpc == Rpc::GetFloor {
        load::floor_request(TOWER, NUMBER)
    } else {
        let spec = |number| v1::FloorSpec { seed: TOWER, number, ..v1::FloorSpec::default() };
        load::framed(&v1::BatchGetFloorsRequest { specs: (NUMBER..).take(BATCH as usize).map(spec).collect() })
    };
    let message = framed.slice(FRAME_PREFIX_BYTES..);
    Ok(match protocol {
        Protocol::Grpc => framed,
        Protocol::Connect => message,
        Protocol::Json => {
            let mut json = Vec::new();
            json_codecs(rpc).0.encode(message, &mut json)?;
            json.into()
        }
    })
}

/// The JSON of the requests and answers of `rpc`.
fn json_codecs(rpc: Rpc) -> (JsonCodec, JsonCodec) {
    let types = JsonTypes::new([FILE_DESCRIPTOR_SET]).expect("protox wrote the descriptor set");
    types.method(SERVICE_NAME, rpc.name()).expect("the build script lists the RPCs")
}
