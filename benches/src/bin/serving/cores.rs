//! What more cores cost a server: ours with several, as many of ours with one each, and others with several. What the first
//! has less than the second is the price of sharing a process.

use std::{num::NonZero, sync::Barrier, thread};

use anyhow::{Context, ensure};
use benches::{
    load::{ClosedLoop, Rpc, Shape, Tally, Window},
    peer_servers::PeerServer,
    process::{bind_to_processors, on_processors, processors},
    sample::{Sample, Snapshot},
};

use crate::{
    files::FileProgram,
    fleet::{Fleet, MeasuredServer},
};

/// Servers that share the same number of cores and are loaded together.
pub(crate) struct Group {
    pub(crate) name: String,
    servers: Vec<MeasuredServer>,
    /// Its cores.
    cores: usize,
    /// The processors of the clients.
    clients: Vec<usize>,
}

/// The numbers of cores to measure by default: powers of two up to half of the machine, or to all of a small one.
pub(crate) fn default_counts() -> Vec<usize> {
    let all = thread::available_parallelism().map_or(1, NonZero::get);
    let most = if all > 4 { all / 2 } else { all };
    (0..).map(|power| 1 << power).take_while(|count| *count <= most).collect()
}

impl Group {
    /// How many there are on `count` processors.
    pub(crate) fn count(count: usize) -> usize {
        FileProgram::installed().count() + if count > 1 { 3 } else { 2 }
    }

    /// Ours on the first `count` processors, as many of ours with one processor each, and others. With one processor ours
    /// are one group. The clients have processors that no server has, if there are enough for `most`, the greatest count
    /// that is measured; else those of the servers, so that all counts compare.
    pub(crate) fn start_all(count: usize, most: usize) -> anyhow::Result<Vec<Self>> {
        let free = processors()?;
        ensure!((1..=free.len()).contains(&count), "this machine has {} processors, not {count}", free.len());
        let clients = if free.len() >= 2 * most { &free[most..] } else { &free[..count] };
        let group = |name: &str, start: &dyn Fn(&mut Fleet) -> anyhow::Result<()>| {
            let mut fleet = Fleet::new(true);
            start(&mut fleet).with_context(|| name.to_owned())?;
            anyhow::Ok(Self {
                name: name.to_owned(),
                servers: fleet.into_servers(),
                cores: count,
                clients: clients.to_vec(),
            })
        };
        let ours = |fleet: &mut Fleet| on_processors(&free[..count], || fleet.add_plain("ours"))?;
        let each = |fleet: &mut Fleet| {
            free[..count].iter().try_for_each(|one| on_processors(&[*one], || fleet.add_plain("ours"))?)
        };
        let tonic = |fleet: &mut Fleet| on_processors(&free[..count], || fleet.add_peer(PeerServer::StaticTonic))?;
        let mut groups = vec![group("ours", &ours)?];
        if count > 1 {
            groups.push(group(&format!("{count} of ours with one core each"), &each)?);
        }
        groups.push(group(&PeerServer::StaticTonic.name(), &tonic)?);
        let floor = groups[0].servers[0].floor().clone();
        for program in FileProgram::installed() {
            let files = |fleet: &mut Fleet| on_processors(&free[..count], || fleet.add_files(program, count, &floor))?;
            groups.push(group(program.name(), &files)?);
        }
        Ok(groups)
    }

    /// Runs closed loops from as many threads as the servers have cores, each with its part of the connections, and checks
    /// the bytes of the answers. Each thread calls all servers, as it calls all threads of one server. A client that wakes
    /// one thread alone costs less, whatever the servers share.
    pub(crate) fn load(&self, shape: Shape, window: Window) -> anyhow::Result<Sample> {
        ensure!(shape.connections.is_multiple_of(self.cores), "{shape} cannot be divided by {} cores", self.cores);
        let part = Shape::new(shape.connections / self.cores, shape.streams);
        let pids = || self.servers.iter().map(MeasuredServer::pid);
        let ready = Barrier::new(self.cores);
        let client = |number: usize| {
            let bound = bind_to_processors(&self.clients);
            let mut targets: Vec<_> = self.servers.iter().map(|server| server.target.clone()).collect();
            targets.rotate_left(number % self.servers.len());
            let messages = self.servers[0].messages()?;
            let mut load = ClosedLoop::new(targets, Rpc::GetFloor, part, messages).one_server_each();
            let connected = load.connect();
            // Also after an error: the others wait.
            ready.wait();
            bound?;
            connected?;
            // One of the threads looks at the counters.
            let timed =
                load.run_for(window, || if number == 0 { Snapshot::of_processes(pids()).map(Some) } else { Ok(None) })?;
            let (sent, expected) = (timed.tally.bytes, timed.tally.latency.len() * self.servers[0].answer_bytes());
            ensure!(sent == expected, "{} sent {sent} bytes and not {expected}", self.name);
            Ok(timed)
        };
        thread::scope(|scope| {
            let client = &client;
            let threads: Vec<_> = (0..self.cores).map(|number| scope.spawn(move || client(number))).collect();
            let (mut tally, mut snapshots) = (None::<Tally>, None);
            for thread in threads {
                let timed = thread.join().expect("a client does not panic")?;
                snapshots = snapshots.or(timed.before.zip(timed.after));
                match &mut tally {
                    Some(tally) => tally.add(&timed.tally)?,
                    None => tally = Some(timed.tally),
                }
            }
            let (before, after) = snapshots.context("the first client has counted")?;
            Ok(Sample::of(&tally.context("there is a client")?, &before, &after))
        })
    }
}
