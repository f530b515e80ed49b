//! Starts the servers under comparison and checks the first answer of each.

use std::{
    env, io,
    net::{SocketAddr, TcpStream},
    path,
    process::Command,
    str::FromStr,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, ensure};
use benches::{
    floors::{NUMBER, TOWER},
    load::{self, ClosedLoop, Rpc, Tally},
    peers::servers::PeerServer,
    process::{self, KillOnDrop, wait_until},
    server::{Server, Setup, free_address},
    tile_floor::TileFloor,
};
use bytes::Bytes;
use floor_proto::{FRAME_PREFIX_BYTES, hash, v1};
use prost::Message;

use crate::BATCH;

const START_TIMEOUT: Duration = Duration::from_secs(20);

/// The name of our server when it is compared with peers.
pub(crate) const OURS: &str = "ours";

/// A build of our server, with memory as the only tier, so that the figures show the cost of serving.
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
        let setup = Setup::of_binary(path::absolute(binary)?).with("CACHE__CHAIN", r#"["lru"]"#);
        let setup = pairs.try_fold(setup, |setup, pair| {
            let (variable, value) = pair?;
            anyhow::Ok(setup.with_variable(variable, value))
        })?;
        Ok(Self { name: name.to_owned(), setup })
    }
}

/// The servers, in the order of measurement. The last is the first one started again: the difference is the noise.
#[derive(Default)]
pub(crate) struct Fleet(Vec<MeasuredServer>);

/// A running server whose first answers were checked.
pub(crate) struct MeasuredServer {
    pub(crate) name: String,
    pub(crate) address: SocketAddr,
    process: Process,
    floor: Bytes,
    batch: Option<Bytes>,
}

/// A server's process, which ends when dropped.
enum Process {
    Ours(Server),
    Peer(KillOnDrop),
}

impl Fleet {
    /// Our server and its peers.
    pub(crate) fn of_peers() -> anyhow::Result<Self> {
        let mut fleet = Self::default();
        fleet.add_ours(OURS.to_owned(), &Setup::new())?;
        for peer in PeerServer::ALL {
            fleet.add_peer(peer).with_context(|| peer.name())?;
        }
        fleet.add_ours(format!("{OURS}-again"), &Setup::new())?;
        Ok(fleet)
    }

    /// Builds of our server.
    pub(crate) fn of_builds(builds: &[Build]) -> anyhow::Result<Self> {
        let mut fleet = Self::default();
        let again = Build { name: format!("{} again", builds[0].name), ..builds[0].clone() };
        for build in builds.iter().chain([&again]) {
            fleet.add_ours(build.name.clone(), &build.setup).with_context(|| build.name.clone())?;
        }
        Ok(fleet)
    }

    fn add_ours(&mut self, name: String, setup: &Setup) -> anyhow::Result<()> {
        let server = setup.start()?;
        self.add(name, server.grpc, Process::Ours(server), true)
    }

    fn add_peer(&mut self, peer: PeerServer) -> anyhow::Result<()> {
        let address = free_address()?;
        let mut command = Command::new(env::current_exe()?);
        let child = command.arg("--serve").arg(peer.name()).arg(address.to_string()).spawn()?;
        let process = Process::Peer(KillOnDrop(child));
        wait_until("a listening peer", START_TIMEOUT, || Ok(TcpStream::connect(address).is_ok()))?;
        self.add(peer.name().to_owned(), address, process, peer.batches())
    }

    /// Adds a server that sends the same floor as the first: the same bytes, or a tile for each of its cells.
    fn add(&mut self, name: String, address: SocketAddr, process: Process, batches: bool) -> anyhow::Result<()> {
        let ask = |rpc| load::unary_call(address, rpc, &request(rpc));
        let floor = ask(Rpc::GetFloor)?;
        let batch = if batches { Some(ask(Rpc::BatchGetFloors)?) } else { None };
        if let Some(first) = self.0.first() {
            if name == PeerServer::TileMessages.name() {
                let spec = hash::verify_encoded(&first.floor)?.spec.unwrap_or_default();
                let tiles = TileFloor::decode(floor.clone())?;
                ensure!(tiles.tiles.len() == (spec.width * spec.height) as usize, "not one tile per cell");
            } else {
                ensure!(floor == first.floor, "{name} sends another floor than {}", first.name);
            }
            ensure!(batch.is_none() || batch == first.batch, "{name} sends another batch than {}", first.name);
        }
        self.0.push(MeasuredServer { name, address, process, floor, batch });
        Ok(())
    }

    /// The servers that can answer `rpc`, in the order of measurement.
    pub(crate) fn order(&self, rpc: Rpc) -> Vec<&MeasuredServer> {
        let can_answer = |server: &&MeasuredServer| rpc == Rpc::GetFloor || server.batch.is_some();
        self.0.iter().filter(can_answer).collect()
    }

    /// The server called `name`.
    pub(crate) fn server(&self, name: &str) -> &MeasuredServer {
        self.0.iter().find(|server| server.name == name).expect("every server was started")
    }
}

impl MeasuredServer {
    pub(crate) fn pid(&self) -> u32 {
        match &self.process {
            Process::Ours(server) => server.pid(),
            Process::Peer(child) => child.0.id(),
        }
    }

    pub(crate) fn cpu_time(&self) -> io::Result<Duration> {
        process::cpu_time(self.pid())
    }

    /// Makes `calls` calls in a closed loop from one thread, and checks the bytes of the answers.
    pub(crate) fn load(&self, rpc: Rpc, connections: usize, streams: usize, calls: u64) -> anyhow::Result<Tally> {
        let mut load = ClosedLoop::new(&[self.address], rpc, connections, streams, Arc::new([request(rpc)]));
        let (tally, expected) = (load.run_calls(calls)?, calls * self.answer_bytes(rpc)?);
        ensure!(tally.bytes == expected, "{} sent {} bytes and not {expected}", self.name, tally.bytes);
        Ok(tally)
    }

    /// The bytes of DATA frames of one answer.
    pub(crate) fn answer_bytes(&self, rpc: Rpc) -> anyhow::Result<u64> {
        let message = match rpc {
            Rpc::BatchGetFloors => self.batch.as_ref().context("it answers no batches")?,
            _ => &self.floor,
        };
        Ok((message.len() + FRAME_PREFIX_BYTES) as u64)
    }
}

/// The framed request of `rpc`: for one floor, or for a batch that begins with it.
pub(crate) fn request(rpc: Rpc) -> Bytes {
    if rpc == Rpc::GetFloor {
        return load::floor_request(TOWER, NUMBER);
    }
    let spec = |number| v1::FloorSpec { seed: TOWER, number, ..v1::FloorSpec::default() };
    load::framed(&v1::BatchGetFloorsRequest { specs: (NUMBER..).take(BATCH as usize).map(spec).collect() })
}
