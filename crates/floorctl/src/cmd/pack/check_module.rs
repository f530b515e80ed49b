//! `floorctl pack check` of a pack with a generator of its own: whether that always makes the same floors, and how fast.

use std::{
    collections::BTreeMap,
    io::Write as _,
    process::ExitCode,
    time::{Duration, Instant},
};

use comfy_table::presets::NOTHING;
use floor_gen::{Generator, Kind};
use floor_pack::{LoadedPack, ModuleError};
use indicatif::{HumanCount, ProgressBar};
use prost::Message as _;
use serde::Serialize;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::{local, output, pack_sample, profile::micros, progress};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ModuleJson {
    pack: String,
    valid: bool,
    /// One hash of all floors, to compare with that of another machine.
    digest: String,
    /// Floors that are drawn by hand.
    authored_floors: usize,
    kinds: Vec<KindJson>,
    /// Floors that failed, or that differ from instance to instance: their names and what is wrong.
    broken: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KindJson {
    kind: &'static str,
    floors: usize,
    /// Floors that the generator refuses to make.
    refused: usize,
    median_us: f64,
}

/// What became of a floor.
#[derive(PartialEq, Eq)]
enum Made {
    /// The hash of its bytes.
    Floor(u64),
    Refused,
    Failed(String),
}

#[derive(Default)]
struct OfKind {
    refused: usize,
    times: Vec<Duration>,
}

/// Makes `per_kind` floors of each kind with `pack`, and again with `other`, the same pack loaded once more, the last first.
pub(super) fn check(pack: &LoadedPack, other: &LoadedPack, per_kind: u64, json: bool) -> anyhow::Result<ExitCode> {
    let count = pack_sample::len(per_kind);
    let bar = progress::bar("checking", 2 * count);
    let mut kinds = BTreeMap::<u8, OfKind>::new();
    let first: Vec<_> = (0..count)
        .map(|index| {
            let started = Instant::now();
            let made = make(pack, index, &bar);
            let of_kind = kinds.entry(pack_sample::spec(pack.pack(), index).kind() as u8).or_default();
            match made {
                Made::Floor(_) => of_kind.times.push(started.elapsed()),
                Made::Refused => of_kind.refused += 1,
                Made::Failed(_) => {}
            }
            made
        })
        .collect();
    let mut broken = Vec::new();
    let mut digest = Xxh3::new();
    for (index, made) in first.iter().enumerate().rev().map(|(index, made)| (index as u64, made)) {
        let name = || local::name(&pack_sample::spec(pack.pack(), index));
        match (made, make(other, index, &bar)) {
            (Made::Failed(why), _) => broken.push(format!("{}: {why}", name())),
            (made, again) if *made != again => {
                broken.push(format!("{}: another floor in another order, from another instance", name()));
            }
            _ => {}
        }
        digest.update(&if let Made::Floor(hash) = made { *hash } else { 0 }.to_le_bytes());
    }
    for (_, floor) in pack.authored() {
        digest.update(&floor.encode_to_vec());
    }
    bar.finish_and_clear();
    broken.reverse();
    let report = ModuleJson {
        pack: pack.reference().to_owned(),
        valid: broken.is_empty(),
        digest: format!("{:016x}", digest.digest()),
        authored_floors: pack.authored_count(),
        kinds: kinds.iter_mut().filter_map(|(kind, of_kind)| KindJson::new(*kind, of_kind)).collect(),
        broken,
    };
    report.write(count, json)?;
    Ok(if report.valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn make(pack: &LoadedPack, index: u64, bar: &ProgressBar) -> Made {
    bar.inc(1);
    match pack.framed(&mut Generator::new(), &pack_sample::spec(pack.pack(), index)) {
        Ok(bytes) => Made::Floor(xxh3_64(&bytes)),
        Err(ModuleError::Refused { .. }) => Made::Refused,
        Err(error) => Made::Failed(error.to_string()),
    }
}

impl KindJson {
    fn new(kind: u8, OfKind { refused, times }: &mut OfKind) -> Option<Self> {
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        let kind = Kind::from_number(kind.into())?.name();
        Some(Self { kind, floors: times.len(), refused: *refused, median_us: micros(median) })
    }
}

impl ModuleJson {
    fn write(&self, count: u64, json: bool) -> anyhow::Result<()> {
        let mut out = output::stdout();
        if json {
            floor_export::json_layout::write(&mut out, self)?;
            return Ok(out.flush()?);
        }
        writeln!(out, "{}: a generator of its own", self.pack)?;
        match self.broken.len() {
            0 => writeln!(out, "{} floors, the same from two instances and in two orders", HumanCount(count))?,
            wrong => writeln!(out, "{} of {} floors are wrong:", HumanCount(wrong as u64), HumanCount(count))?,
        }
        self.broken.iter().take(20).try_for_each(|line| writeln!(out, "  {line}"))?;
        if self.authored_floors > 0 {
            writeln!(out, "{}", output::counted(self.authored_floors as u64, "authored floor"))?;
        }
        writeln!(out, "digest {}\n", self.digest)?;
        let row = |kind: &KindJson| {
            let median = format!("{:.0} us", kind.median_us);
            [kind.kind.to_owned(), kind.floors.to_string(), kind.refused.to_string(), median]
        };
        let table = output::table(NOTHING, ["kind", "floors", "refused", "median"], self.kinds.iter().map(row), 1..=3);
        table.lines().try_for_each(|line| writeln!(out, "{}", line.trim_end()))?;
        Ok(out.flush()?)
    }
}
