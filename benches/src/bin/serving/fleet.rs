//! Starts the servers under comparison and checks the first answer of each.

use std::{
    env, fmt, fs, io,
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use benches::{
    floors::{NUMBER, TOWER},
    load::{self, Method},
    peers::servers::PeerServer,
    process,
    server::{Server, Setup, free_address},
    tile_floor::TileFloor,
};
use bytes::Bytes;
use floor_proto::{FRAME_PREFIX_BYTES, hash, v1};
use prost::Message;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::BATCH;

const START_TIMEOUT: Duration = Duration::from_secs(20);

/// A server that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Ours,
    /// The same process, measured a second time to find the noise.
    OursRepeated,
    Peer(PeerServer),
}

impl Target {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::OursRepeated => "ours-again",
            Self::Peer(peer) => peer.name(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

pub(crate) struct Fleet {
    ours: MeasuredServer,
    peers: Vec<(PeerServer, MeasuredServer)>,
    directory: TempDir,
}

/// A running server whose first answers were checked.
pub(crate) struct MeasuredServer {
    pub(crate) address: SocketAddr,
    process: Process,
    floor: Bytes,
    batch: Option<Bytes>,
}

enum Process {
    Ours(Server),
    Peer(KillOnDrop),
}

/// A child process that is killed when dropped.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Fleet {
    pub(crate) fn start(runtime: &Runtime) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        for method in [Method::GetFloor, Method::BatchGetFloors] {
            fs::write(body(directory.path(), method), request(method))?;
        }
        let server = Setup::new().start(&directory)?;
        let address = server.grpc;
        let ours = MeasuredServer::probe(runtime, address, Process::Ours(server), true).context("our server")?;
        let mut peers = Vec::new();
        for peer in PeerServer::ALL {
            let address = free_address()?;
            let process = KillOnDrop(
                Command::new(env::current_exe()?).arg("--serve").arg(peer.name()).arg(address.to_string()).spawn()?,
            );
            wait_for(address)?;
            let measured = MeasuredServer::probe(runtime, address, Process::Peer(process), peer.batches());
            let measured = measured.with_context(|| peer.name())?;
            measured.check(peer, &ours)?;
            peers.push((peer, measured));
        }
        Ok(Self { ours, peers, directory })
    }

    /// The servers that can answer `method`, in the order of measurement: ours first and last.
    pub(crate) fn order(&self, method: Method) -> Vec<Target> {
        let peers = self.peers.iter().filter(|(_, server)| method == Method::GetFloor || server.batch.is_some());
        [Target::Ours]
            .into_iter()
            .chain(peers.map(|(peer, _)| Target::Peer(*peer)))
            .chain([Target::OursRepeated])
            .collect()
    }

    pub(crate) fn server(&self, target: Target) -> &MeasuredServer {
        let peer = |peer| self.peers.iter().find(|(other, _)| *other == peer).map(|(_, server)| server);
        match target {
            Target::Ours | Target::OursRepeated => &self.ours,
            Target::Peer(which) => peer(which).expect("every peer was started"),
        }
    }

    pub(crate) fn body(&self, method: Method) -> PathBuf {
        body(self.directory.path(), method)
    }
}

impl MeasuredServer {
    fn probe(runtime: &Runtime, address: SocketAddr, process: Process, batches: bool) -> anyhow::Result<Self> {
        let ask = |method| runtime.block_on(load::unary_call(address, method, request(method)));
        let floor = ask(Method::GetFloor)?;
        let batch = if batches { Some(ask(Method::BatchGetFloors)?) } else { None };
        Ok(Self { address, process, floor, batch })
    }

    /// Checks that a peer sends the same floor as our server: the same bytes, or a tile for each of its cells.
    fn check(&self, peer: PeerServer, ours: &Self) -> anyhow::Result<()> {
        let floor = hash::verify_encoded(&ours.floor)?;
        if peer == PeerServer::TileMessages {
            let tiles = TileFloor::decode(self.floor.clone())?;
            let spec = floor.spec.unwrap_or_default();
            ensure!(tiles.tiles.len() == (spec.width * spec.height) as usize, "not one tile per cell");
        } else {
            ensure!(self.floor == ours.floor, "{} sends another floor than ours", peer.name());
        }
        ensure!(self.batch.is_none() || self.batch == ours.batch, "{} sends another batch than ours", peer.name());
        Ok(())
    }

    pub(crate) fn pid(&self) -> u32 {
        match &self.process {
            Process::Ours(server) => server.pid(),
            Process::Peer(child) => child.0.id(),
        }
    }

    pub(crate) fn cpu_time(&self) -> io::Result<Duration> {
        process::cpu_time(self.pid())
    }

    /// The bytes of DATA frames of one answer.
    pub(crate) fn answer_bytes(&self, method: Method) -> anyhow::Result<u64> {
        let message = match method {
            Method::GetFloor => &self.floor,
            Method::BatchGetFloors => self.batch.as_ref().context("it answers no batches")?,
        };
        Ok((message.len() + FRAME_PREFIX_BYTES) as u64)
    }
}

/// The request of single calls.
pub(crate) fn one_floor() -> v1::GetFloorRequest {
    v1::GetFloorRequest { spec: Some(spec(NUMBER)) }
}

/// The framed request of `method`: for one floor, or for a batch that begins with it.
fn request(method: Method) -> Bytes {
    match method {
        Method::GetFloor => load::framed(&one_floor()),
        Method::BatchGetFloors => {
            let specs = (NUMBER..).take(BATCH as usize).map(spec).collect();
            load::framed(&v1::BatchGetFloorsRequest { specs })
        }
    }
}

fn spec(number: u32) -> v1::FloorSpec {
    v1::FloorSpec { seed: TOWER, number, ..v1::FloorSpec::default() }
}

fn body(directory: &Path, method: Method) -> PathBuf {
    directory.join(match method {
        Method::GetFloor => "get-floor",
        Method::BatchGetFloors => "batch-get-floors",
    })
}

fn wait_for(address: SocketAddr) -> anyhow::Result<()> {
    let until = Instant::now() + START_TIMEOUT;
    while TcpStream::connect(address).is_err() {
        if Instant::now() > until {
            bail!("nothing listens on {address} within {START_TIMEOUT:?}");
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
