//! What each source of floors costs, and the space that a floor takes there.

use std::{fs, os::unix::fs::MetadataExt, path::Path, sync::Arc};

use anyhow::{Context, ensure};
use benches::{
    figure::{Bars, Caption},
    floors::TOWER,
    load::{ClosedLoop, Rpc, floor_request},
    progress::Progress,
    redis_server::RedisServer,
    report::Report,
    sample::{Figure, P50, Sample, Samples, Snapshot},
    server::{Server, Setup},
    stores,
    timing::alternate,
};
use bytes::Bytes;
use comfy_table::Table;
use floor_cache::TierKind;

use crate::{
    FILLING, Plan, all_cpu, bar,
    chains::{SHAPE, Stores},
    figure,
};

/// The load of the samples, whose variants are the sources.
const LOAD: &str = "sources";

/// Bytes of a block in the count of a file's blocks.
const BLOCK: u64 = 512;

/// Where a floor comes from: a tier, or else generation.
pub(crate) type Source = Option<TierKind>;

/// The sources that this machine can run.
pub(crate) fn available() -> Vec<Source> {
    stores::available().into_iter().map(Some).chain([None]).collect()
}

/// The name in `floor-served-by`.
fn name_of(source: Source) -> &'static str {
    source.map_or("generated", TierKind::name)
}

/// The bytes that a floor takes in a source.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Space {
    memory: Option<f64>,
    disk: Option<f64>,
}

/// A source with every floor.
struct Running {
    source: Source,
    stores: Stores,
    server: Server,
    load: ClosedLoop,
}

/// Measures the sources in alternating turns. Returns the space of a floor in each.
pub(crate) fn measure(
    sources: &[Source],
    plan: &Plan,
    progress: &Progress,
    report: &mut Report,
) -> anyhow::Result<Vec<(Source, Space)>> {
    let messages: Arc<[Bytes]> = (1..=plan.floors).map(|number| floor_request(TOWER, number)).collect();
    let (mut running, mut spaces) = (Vec::new(), Vec::new());
    for source in sources {
        progress.show(format!("filling {}", name_of(*source)));
        let (started, space) = start(*source, &messages).with_context(|| format!("the source {}", name_of(*source)))?;
        spaces.push((*source, space));
        running.push(started);
        progress.advance(FILLING);
    }
    let order: Vec<usize> = (0..running.len()).collect();
    for round in 0..plan.rounds {
        for at in alternate(round, &order) {
            let Running { source, stores, server, load } = &mut running[at];
            let name = name_of(*source);
            progress.show(format!("floors from {name}, round {} of {}", round + 1, plan.rounds));
            let servers = std::slice::from_ref(&*server);
            let timed = load.run_for(plan.window, || Snapshot::of(servers, &stores.redis))?;
            let only = timed.tally.served_by.keys().all(|tier| tier == name);
            ensure!(only, "every floor comes from {name}, but these came: {:?}", timed.tally.served_by);
            let sample = Sample::of(&timed.tally, &timed.before, &timed.after);
            report.add(sample.named(LOAD, name, round));
            progress.advance(plan.window.total());
        }
    }
    Ok(spaces)
}

/// Starts a server with `source` as its only tier and fills it.
fn start(source: Source, messages: &Arc<[Bytes]>) -> anyhow::Result<(Running, Space)> {
    let stores = Stores::empty(source.map(TierKind::name).as_slice())?;
    let empty = stores.redis.first().map(used_memory).transpose()?;
    // The tier is asked even where generating is cheaper, and each floor is generated once. Redis may be slow here.
    let settings = [("CACHE__BYPASS", "off"), ("CACHE__REDIS__TIMEOUT", "5s")];
    let server = stores.serve(&Setup::new().with_all(&settings))?;
    let mut load = ClosedLoop::new([server.grpc], Rpc::GetFloor, SHAPE, Arc::clone(messages));
    let (name, floors) = (name_of(source), messages.len() as f64);
    load.fill(name)?;
    let tier_bytes = || server.metric(&format!("floors_tier_bytes{{tier=\"{name}\"}}"));
    let space = match source {
        Some(TierKind::Lru) => Space { memory: Some(tier_bytes()? / floors), disk: None },
        Some(TierKind::Lmdb | TierKind::Sled) => {
            Space { memory: None, disk: Some(allocated(&stores.data.path().join(name))? as f64 / floors) }
        }
        Some(TierKind::Redis) => {
            let used = stores.redis.first().map(used_memory).transpose()?;
            let taken = used.zip(empty).map(|(used, empty)| used.saturating_sub(empty) as f64 / floors);
            Space { memory: taken, disk: None }
        }
        None => Space::default(),
    };
    Ok((Running { source, stores, server, load }, space))
}

/// The memory that Redis uses, in bytes.
fn used_memory(redis: &RedisServer) -> anyhow::Result<u64> {
    let info = redis.command("INFO memory")?;
    let used = info.lines().find_map(|line| line.strip_prefix("used_memory:")?.trim().parse().ok());
    used.with_context(|| format!("INFO memory is {info:?}"))
}

/// The bytes that the files of `directory` take on the disk, which are less than their lengths where they have holes.
fn allocated(directory: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))? {
        let (entry, metadata) = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?)))?;
        bytes += if metadata.is_dir() { allocated(&entry)? } else { metadata.blocks() * BLOCK };
    }
    Ok(bytes)
}

/// The cost of an answer by source, as a picture.
pub(crate) fn picture(samples: &Samples, sources: &[Source]) -> anyhow::Result<benches::figure::Figure> {
    let caption = Caption {
        name: "cost-of-sources",
        title: "What a floor costs, by its source",
        axes: "CPU microseconds of an answer, of the server and of Redis; thin lines: the 95 % interval.",
    };
    let bars = sources.iter().map(|source| bar(samples, LOAD, name_of(*source), all_cpu)).collect();
    Bars { caption, groups: vec![(String::new(), bars)] }.draw()
}

/// The cost of an answer by source, and the space of a floor and of a million.
pub(crate) fn table(samples: &Samples, spaces: &[(Source, Space)]) -> Table {
    let header = ["source", "answers/s per core", "CPU us per answer", "p50 us", "bytes per floor", "a million floors"];
    let mut table = benches::table::table(header);
    for (source, space) in spaces {
        let name = name_of(*source);
        let of = |decimals, column: Figure| figure(samples, LOAD, name, decimals, column);
        let (bytes, million) = match (space.memory, space.disk) {
            (Some(bytes), _) => (format!("{bytes:.0}"), format!("{:.1} GB of memory", bytes / 1e3)),
            (_, Some(bytes)) => (format!("{bytes:.0}"), format!("{:.1} GB on disk", bytes / 1e3)),
            _ => ("-".to_owned(), "nothing".to_owned()),
        };
        let per_core = of(0, |sample| 1e6 / all_cpu(sample));
        table.add_row([name.to_owned(), per_core, of(1, all_cpu), of(0, P50.2), bytes, million]);
    }
    table
}
