//! Stores that are larger than the memory of their server: `which-chain disk CGROUP`. The server runs in a cgroup with a
//! limit, which counts the pages of its files, so a store beyond the limit is read from the disk.

use std::{
    fmt::Write as _,
    fs::{self, File, OpenOptions},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, ensure};
use benches::{
    chains::{Candidate, SHAPE, Stores},
    floors::TOWER,
    load::{ClosedLoop, Rpc, Window, floor_request},
    process::resident_bytes,
    regret::Keys,
    report::Record,
    sample::{CPU, Column, MEMORY, P50, P99, RATE, Sample, Snapshot},
    server::Setup,
    timing::alternate,
};
use bytes::Bytes;
use rustix::fs::{Advice, fadvise};

use crate::Common;

#[derive(Debug, clap::Args)]
pub(crate) struct DiskArgs {
    /// Directory of the cgroup, which has a limit on memory
    cgroup: PathBuf,
    /// Bytes of the stores, relative to the limit; each number is one load
    #[arg(long = "size", value_delimiter = ',', default_values_t = [0.5, 2.0, 4.0])]
    sizes: Vec<f64>,
    /// Only this chain; repeated for each
    #[arg(long = "chain", value_enum, value_name = "NAME", default_values_t = [Candidate::Lru, Candidate::LruLmdb, Candidate::LruSled])]
    chains: Vec<Candidate>,
    /// Number of runs, interleaved
    #[arg(long, default_value_t = 5)]
    runs: usize,
}

/// The requested floors. Zipf's exponent of 1 is the customary round figure.
const LOADS: [Keys; 2] = [Keys::Zipf { tenths: 10 }, Keys::Uniform];

/// From an empty page cache, and right after that.
const STARTS: [&str; 2] = ["cold", "warm"];

/// About what a floor takes in LMDB and in sled, in bytes.
const FLOOR_BYTES: u64 = 8 << 10;

/// The part of the limit that the tier `lru` gets.
const LRU_PART: u64 = 8;

/// Requests that are built before the clock runs. After them the requests repeat.
const REQUESTS: usize = 1 << 20;

pub(crate) fn run(args: &DiskArgs, common: &Common) -> anyhow::Result<()> {
    const COLUMNS: [Column; 5] = [RATE, P50, P99, CPU, MEMORY];
    let procs = args.cgroup.join("cgroup.procs");
    OpenOptions::new()
        .write(true)
        .open(&procs)
        .with_context(|| format!("this process may not put a server in {}", procs.display()))?;
    let mut record = Record::start(&common.record, "which-chain", "disk")?;
    let (runs, seconds) = if common.quick { (2, 2) } else { (args.runs, 10) };
    let mut text =
        format!("{runs} interleaved runs of {seconds} s each. Cold: from an empty page cache. Warm: right after.\n\n");
    for run in 0..runs {
        for size in &args.sizes {
            text += &measure(args, *size, run, Duration::from_secs(seconds), &mut record)?;
        }
        eprintln!("run {} of {runs} done", run + 1);
    }
    for load in record.samples.loads() {
        let _ = write!(text, "\n### {load}\n\n{}\n", record.samples.table(load, &COLUMNS, &[]));
    }
    record.finish("Stores larger than memory", &text)
}

/// Measures the chains with a store of `size` times the memory limit, for `measured` from an empty page cache, and for as
/// long after that. Returns a line for each load during which the kernel killed the server.
fn measure(args: &DiskArgs, size: f64, run: usize, measured: Duration, record: &mut Record) -> anyhow::Result<String> {
    let mut killed = String::new();
    let limit = limit_of(&args.cgroup)?;
    let floors = (limit as f64 * size) as u64 / FLOOR_BYTES;
    let floors = u32::try_from(floors).context("a floor has a number of 32 bits")?;
    let capacity = (limit / LRU_PART).to_string();
    for chain in alternate(run, &args.chains) {
        ensure!(!chain.needs_redis(), "{}: Redis has memory outside the cgroup", chain.name());
        let stores = Stores::empty(chain.tiers())?;
        if let [_, store] = chain.tiers() {
            fill(&stores, store, floors).with_context(|| format!("filling {store}"))?;
        }
        for keys in LOADS {
            drop_cached_pages(stores.data.path())?;
            let setup = Setup::new().with("CACHE__LRU__CAPACITY", &capacity).in_cgroup(&args.cgroup);
            let servers = [stores.serve(&setup)?];
            let messages = keys.numbers(floors).take(REQUESTS).map(|number| floor_request(TOWER, number)).collect();
            let mut load = ClosedLoop::new([servers[0].grpc], Rpc::GetFloor, SHAPE, messages);
            let window = Window { settle: Duration::ZERO, measured };
            for start in STARTS {
                let name = format!("{keys}, a store of {size} times the memory, {start}");
                let timed = load.run_for(window, || Snapshot::of(&servers, &[]));
                if timed.is_err() && resident_bytes(servers[0].pid()).is_err() {
                    let line = format!("{name}, {}: the server was killed for lack of memory", chain.name());
                    record.line(&line)?;
                    let _ = writeln!(killed, "- {line}");
                    break;
                }
                let timed = timed.with_context(|| format!("{name}, {}", chain.name()))?;
                let sample = Sample::of(&timed.tally, &timed.before, &timed.after);
                record.add(sample.named(name, chain.name(), run))?;
            }
        }
    }
    Ok(killed)
}

/// The memory limit of `cgroup`, of version 2 or 1, in bytes.
fn limit_of(cgroup: &Path) -> anyhow::Result<u64> {
    let files = ["memory.max", "memory.limit_in_bytes"].map(|name| cgroup.join(name));
    let limit = files.iter().find_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
    let limit = limit.with_context(|| format!("{} has no limit on memory", cgroup.display()))?;
    ensure!(limit < 1 << 40, "the limit of {} is {limit} bytes, which no store exceeds", cgroup.display());
    Ok(limit)
}

/// Fills `store` with floors 1 ..= `floors`, by a server without a limit.
fn fill(stores: &Stores, store: &str, floors: u32) -> anyhow::Result<()> {
    let setup = Setup::new().with("CACHE__CHAIN", format!("[{store:?}]")).with("CACHE__BYPASS", "off");
    let server = setup.with("GENERATION__PREFETCH", "false").start_in(stores.data.path())?;
    let messages: Arc<[Bytes]> = (1..=floors).map(|number| floor_request(TOWER, number)).collect();
    ClosedLoop::new([server.grpc], Rpc::GetFloor, SHAPE, messages).fill(store)?;
    server.stop()
}

/// Writes the files in `directory` to the disk, and removes them from the page cache.
fn drop_cached_pages(directory: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            drop_cached_pages(&path)?;
        } else {
            let file = File::open(&path)?;
            file.sync_all()?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
    }
    Ok(())
}
