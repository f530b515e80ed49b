//! `floorctl pack check`: lists everything that is wrong with a pack, or proves floors of it and says what they use.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    io::{self, Write},
    process::ExitCode,
};

use clap::Args;
use comfy_table::presets::NOTHING;
use floor_gen::{Kind, Pack, PackHash};
use floor_pack::LoadedPack;
use indicatif::HumanCount;
use serde::Serialize;

use super::check_module;
use crate::{
    output::{self, ReportFormat},
    pack_source::{self, InvalidPack, PackSource, PlacedError},
    pack_survey::{Bareness, KindSurvey, Rejected, Survey},
    pack_text::{self, Named},
    profile::micros,
    progress,
};

const AFTER_HELP: &str = "\
Prints every error of the pack with its file, line and column. Without errors it generates floors of each kind in many \
sizes, always the same ones, and checks each against every rule. Then it prints for each kind

  fallback   floors for which no layout worked; the generator used its plainest one
  median     the time that a floor takes
  bare       how much of what one walks on lies in squares of 9x9 cells of plain floor in which nothing stands
  barest     the same of the barest floor
  rejected   layouts that did not work, and why most of them did not

and on how many floors each vault is, and how often it was drawn but did not fit. Then come floors and rooms of \
which more than 15 % is bare. At the end it lists what is on none: it may be too rare, too large, or for floors \
that nobody reaches.

Of a pack with a generator of its own it makes the floors twice, from two instances and in two orders, compares them, and
prints a digest, to compare with that of another machine.

Exit codes: 0 if the pack is right; 1 if it has an error, or a floor breaks a rule.

Examples:
  floorctl pack check mine
  floorctl pack check mine.floorpack --floors 2000
  floorctl pack check mine --json | jq .unused";

/// Check a pack: errors, sampled floors, and what they use
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Check {
    /// The folder of the pack, a .floorpack file, or tower
    #[arg(value_name = "PATH")]
    source: PackSource,
    /// Floors of each kind to generate; 0 = only look for errors
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(0..=100_000))]
    floors: u64,
    #[command(flatten)]
    report: ReportFormat,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckJson<'a> {
    /// `NAME@HASH`; null if the pack has errors.
    pack: Option<String>,
    valid: bool,
    errors: &'a [PlacedError],
    /// Floors that are drawn by hand.
    authored_floors: usize,
    kinds: Vec<KindJson>,
    vaults: Vec<VaultJson>,
    unused: Vec<UnusedJson>,
    broken_floors: Vec<BrokenJson>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KindJson {
    kind: &'static str,
    floors: u64,
    fallbacks: u64,
    median_us: f64,
    bare: BareJson,
    rejections: Vec<RejectionJson>,
}

/// Shares in hundredths. `above`: more than 15 %.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BareJson {
    mean: f64,
    worst: f64,
    floors_above: u64,
    rooms: u64,
    rooms_above: u64,
}

#[derive(Serialize)]
struct RejectionJson {
    why: &'static str,
    times: u64,
}

#[derive(Serialize)]
struct VaultJson {
    vault: String,
    floors: u64,
    /// Why it was drawn and is not on the floor.
    rejections: Vec<RejectionJson>,
}

#[derive(Serialize)]
struct UnusedJson {
    /// `vaults`, `themes`, `monsters`, `items`, `traps` or `furniture`.
    what: &'static str,
    names: Vec<String>,
}

#[derive(Serialize)]
struct BrokenJson {
    floor: String,
    rule: String,
}

impl Check {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        self.source.report_left_out()?;
        match self.source.read().and_then(|pack| self.check_name(&pack).map(|()| pack)) {
            Ok(pack) if pack.pack().generator().is_some() => {
                check_module::check(&pack, &*self.source.read()?, self.floors, self.report.json)
            }
            Ok(pack) => self.survey(&pack),
            Err(invalid) => self.list(&invalid),
        }
    }

    /// A copy of the built-in pack is right until something in it is changed: then it needs a name of its own.
    fn check_name(&self, pack: &LoadedPack) -> Result<(), InvalidPack> {
        if pack.pack().hash() == PackHash::BUILT_IN { Ok(()) } else { self.source.check_name(pack) }
    }

    /// Prints the errors.
    fn list(&self, invalid: &InvalidPack) -> anyhow::Result<ExitCode> {
        if self.report.json {
            output::print_json(&CheckJson::of_errors(&invalid.errors))?;
        } else {
            output::print(invalid)?;
            writeln!(output::stderr(), "{}", output::counted(invalid.errors.len() as u64, "error"))?;
        }
        Ok(ExitCode::FAILURE)
    }

    /// Generates floors, and prints what was found.
    fn survey(&self, pack: &LoadedPack) -> anyhow::Result<ExitCode> {
        let bar = progress::bar("checking", crate::pack_sample::len(self.floors));
        let survey = Survey::of(pack.pack(), self.floors, &bar);
        bar.finish_and_clear();
        let json = CheckJson::of_survey(pack, survey);
        let mut out = output::stdout();
        if self.report.json {
            floor_export::json_layout::write(&mut out, &json)?;
        } else {
            write_text(&mut out, &json)?;
        }
        out.flush()?;
        Ok(if json.valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

impl<'a> CheckJson<'a> {
    const fn of_errors(errors: &'a [PlacedError]) -> Self {
        Self {
            pack: None,
            valid: false,
            errors,
            authored_floors: 0,
            kinds: Vec::new(),
            vaults: Vec::new(),
            unused: Vec::new(),
            broken_floors: Vec::new(),
        }
    }

    fn of_survey(loaded: &LoadedPack, survey: Survey) -> Self {
        let pack = loaded.pack();
        let vaults = pack.vaults().iter().map(|vault| vault.name.clone()).collect::<Vec<_>>();
        let has_floors = !survey.kinds.is_empty();
        let kinds = Kind::ALL.into_iter().filter_map(|kind| Some((kind, survey.kinds.get(&(kind as u8))?)));
        let vault = |(index, vault): (usize, &String)| VaultJson {
            vault: vault.clone(),
            floors: survey.vaults.get(&index).copied().unwrap_or(0),
            rejections: rejections(survey.kinds.values(), Rejected::Vault(index)),
        };
        Self {
            pack: Some(pack_source::reference(pack)),
            valid: survey.broken.is_empty(),
            errors: &[],
            authored_floors: loaded.authored_count(),
            kinds: kinds.map(|(kind, found)| KindJson::new(kind, found)).collect(),
            vaults: vaults.iter().enumerate().filter(|_| has_floors).map(vault).collect(),
            unused: if has_floors { unused(pack, &survey, &vaults) } else { Vec::new() },
            broken_floors: survey.broken.into_iter().map(|(floor, rule)| BrokenJson { floor, rule }).collect(),
        }
    }
}

impl KindJson {
    fn new(kind: Kind, found: &KindSurvey) -> Self {
        Self {
            kind: kind.name(),
            floors: found.floors,
            fallbacks: found.fallbacks,
            median_us: micros(found.median()),
            bare: BareJson::new(found.bare, found.floors),
            rejections: rejections([found].into_iter(), Rejected::Layout),
        }
    }
}

impl BareJson {
    fn new(Bareness { sum, worst, floors_above, rooms, rooms_above }: Bareness, floors: u64) -> Self {
        // A tenth is as fine as two runs of one pack differ.
        let rounded = |share: f64| (10.0 * share).round() / 10.0;
        Self { mean: rounded(sum / floors.max(1) as f64), worst: rounded(worst), floors_above, rooms, rooms_above }
    }
}

/// Why something was rejected on floors of these kinds, the most frequent reason first.
fn rejections<'a>(kinds: impl Iterator<Item = &'a KindSurvey>, what: Rejected) -> Vec<RejectionJson> {
    let mut times = BTreeMap::<&'static str, u64>::new();
    let all = kinds.flat_map(|kind| &kind.rejections);
    for (rejection, count) in all.filter(|(rejection, _)| rejection.what == what) {
        *times.entry(rejection.why).or_default() += count;
    }
    let mut list = times.into_iter().map(|(why, times)| RejectionJson { why, times }).collect::<Vec<_>>();
    list.sort_by_key(|rejection| Reverse(rejection.times));
    list
}

/// How often something was rejected, and why most of the time.
fn most(rejections: &[RejectionJson]) -> String {
    let Some(RejectionJson { why, times }) = rejections.first() else { return "-".to_owned() };
    match rejections.iter().map(|rejection| rejection.times).sum::<u64>() {
        all if all == *times => format!("{}: {why}", HumanCount(all)),
        all => format!("{}: {why} ({})", HumanCount(all), HumanCount(*times)),
    }
}

/// What is on none of the floors. Names that only the built-in pack gives are not listed.
fn unused(pack: &Pack, survey: &Survey, vaults: &[String]) -> Vec<UnusedJson> {
    let never = |(index, _): &(usize, &String)| !survey.vaults.contains_key(index);
    let vaults = vaults.iter().enumerate().filter(never).map(|(_, vault)| vault.clone()).collect();
    let mut unused = vec![UnusedJson { what: "vaults", names: vaults }];
    let names = pack_text::names(pack.files());
    for sort in [Named::Theme, Named::Monster, Named::Item, Named::Trap, Named::Furniture] {
        let never = names.iter().filter(|(its, name)| *its == sort && !survey.used.has(sort, name));
        unused.push(UnusedJson { what: sort.plural(), names: never.map(|(_, name)| name.clone()).collect() });
    }
    unused.retain(|unused| !unused.names.is_empty());
    unused
}

fn write_text(out: &mut impl Write, json: &CheckJson<'_>) -> io::Result<()> {
    let floors = json.kinds.iter().map(|kind| kind.floors).sum::<u64>();
    write!(out, "{}: no errors", json.pack.as_deref().unwrap_or_default())?;
    if json.authored_floors > 0 {
        write!(out, " in {}", output::counted(json.authored_floors as u64, "authored floor"))?;
    }
    writeln!(out)?;
    if floors == 0 {
        return Ok(());
    }
    match json.broken_floors.len() {
        0 => writeln!(out, "{} floors, and every rule holds\n", HumanCount(floors))?,
        _ => writeln!(out, "{} floors, and some break a rule:", HumanCount(floors))?,
    }
    for BrokenJson { floor, rule } in &json.broken_floors {
        writeln!(out, "  {floor}: {rule}")?;
    }
    let row = |kind: &KindJson| {
        let median = format!("{:.0} us", kind.median_us);
        let (floors, fallbacks) = (HumanCount(kind.floors).to_string(), HumanCount(kind.fallbacks).to_string());
        let [bare, barest] = [kind.bare.mean, kind.bare.worst].map(|share| format!("{share:.0} %"));
        [kind.kind.to_owned(), floors, fallbacks, median, bare, barest, most(&kind.rejections)]
    };
    let header = ["kind", "floors", "fallback", "median", "bare", "barest", "rejected"];
    write_table(out, header, json.kinds.iter().map(row), 1..=5)?;
    writeln!(out)?;
    let row = |vault: &VaultJson| [vault.vault.clone(), HumanCount(vault.floors).to_string(), most(&vault.rejections)];
    write_table(out, ["vault", "floors", "rejected"], json.vaults.iter().map(row), 1..=1)?;
    if json.kinds.iter().any(|kind| kind.bare.floors_above + kind.bare.rooms_above > 0) {
        writeln!(out, "\nmore than {} % bare", Bareness::LIMIT)?;
    }
    for KindJson { kind, floors, bare, .. } in &json.kinds {
        let BareJson { floors_above, rooms, rooms_above, .. } = *bare;
        if floors_above + rooms_above > 0 {
            let [floors, rooms] = [*floors, rooms].map(HumanCount);
            writeln!(out, "  {kind:<8} {floors_above} of {floors} floors, {rooms_above} of {rooms} rooms")?;
        }
    }
    if !json.unused.is_empty() {
        writeln!(out, "\non no floor")?;
    }
    for UnusedJson { what, names } in &json.unused {
        writeln!(out, "  {what:<8} {}", names.join(", "))?;
    }
    Ok(())
}

/// A table without the spaces at the ends of its lines.
fn write_table<const N: usize>(
    out: &mut impl Write,
    header: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
    numbers: std::ops::RangeInclusive<usize>,
) -> io::Result<()> {
    output::table(NOTHING, header, rows, numbers).lines().try_for_each(|line| writeln!(out, "{}", line.trim_end()))
}
