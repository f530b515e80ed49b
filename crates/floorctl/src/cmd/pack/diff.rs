//! `floorctl pack diff`: shows the differences between two packs.

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
    ops::ControlFlow,
    process::ExitCode,
};

use clap::Args;
use floor_gen::{Generator, Kind, Pack, PackHash, pack::Files};
use floor_pack::LoadedPack;
use floor_proto::v1;
use serde::Serialize;

use crate::{
    output::{self, ReportFormat},
    pack_sample,
    pack_source::{self, PackSource},
    pack_text, parallel_scan, progress,
};

const AFTER_HELP: &str = "\
Shows which files differ, which values of pack.toml, and how many floors: it generates the same floors of both packs. \
Exit codes: 0 if the packs have the same files, 1 if they differ.

Examples:
  floorctl pack diff tower mine
  floorctl pack diff mine.floorpack mine --floors 1000
  floorctl pack diff mine@0123456789abcdef.floorpack mine --json | jq .values";

/// Show the differences between two packs
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Diff {
    /// The folder of a pack, or a .floorpack file
    #[arg(value_name = "A")]
    one: PackSource,
    /// The pack to compare with
    #[arg(value_name = "B")]
    other: PackSource,
    /// Floors of each kind to generate of both
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(0..=100_000))]
    floors: u64,
    #[command(flatten)]
    report: ReportFormat,
}

#[derive(Serialize)]
struct DiffJson {
    a: String,
    b: String,
    equal: bool,
    files: Vec<FileDiff>,
    values: Vec<ValueDiff>,
    floors: Vec<KindDiff>,
}

#[derive(Serialize)]
struct FileDiff {
    path: String,
    change: Change,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
enum Change {
    Removed,
    Added,
    Changed,
}

/// A value of pack.toml. Null in a pack that has none, as of a theme of the other.
#[derive(Serialize)]
struct ValueDiff {
    key: String,
    a: Option<String>,
    b: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KindDiff {
    kind: &'static str,
    floors: u64,
    changed: u64,
}

impl Diff {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let (one, other) = (self.one.read()?, self.other.read()?);
        let (a, b) = (one.pack(), other.pack());
        let json = DiffJson {
            a: pack_source::reference(a),
            b: pack_source::reference(b),
            equal: a.files() == b.files(),
            files: files(&own_files(a), &own_files(b)),
            values: values(a.files(), b.files()),
            floors: floors(&one, &other, self.floors),
        };
        let mut out = output::stdout();
        if self.report.json {
            floor_export::json_layout::write(&mut out, &json)?;
        } else {
            write_text(&mut out, &json)?;
        }
        out.flush()?;
        Ok(if json.equal { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// The files that a pack adds to those of the built-in pack.
fn own_files(pack: &Pack) -> Cow<'_, Files> {
    if pack.hash() == PackHash::BUILT_IN { Cow::Owned(Files::new()) } else { Cow::Borrowed(pack.files()) }
}

fn files(one: &Files, other: &Files) -> Vec<FileDiff> {
    let paths = one.iter().chain(other.iter()).map(|(path, _)| path).collect::<BTreeSet<_>>();
    let change = |path: &str| match (one.get(path), other.get(path)) {
        (Some(_), None) => Some(Change::Removed),
        (None, Some(_)) => Some(Change::Added),
        (one, other) => (one != other).then_some(Change::Changed),
    };
    let changes = paths.into_iter().filter_map(|path| Some((path, change(path)?)));
    changes.map(|(path, change)| FileDiff { path: path.to_owned(), change }).collect()
}

fn values(one: &Files, other: &Files) -> Vec<ValueDiff> {
    // What a pack does not set is as in the built-in pack.
    let of = |files| {
        let mut values = pack_text::values(Pack::tower().files());
        values.extend(pack_text::values(files));
        values
    };
    let (one, other) = (of(one), of(other));
    let keys = one.keys().chain(other.keys()).collect::<BTreeSet<_>>();
    let differ = keys.into_iter().filter(|key| one.get(*key) != other.get(*key));
    differ.map(|key| ValueDiff { key: key.clone(), a: one.get(key).cloned(), b: other.get(key).cloned() }).collect()
}

/// How many of `per_kind` floors of each kind differ in anything but the name of the pack.
fn floors(one: &LoadedPack, other: &LoadedPack, per_kind: u64) -> Vec<KindDiff> {
    let bar = progress::bar("comparing", pack_sample::len(per_kind));
    let mut changed = BTreeMap::<u8, u64>::new();
    let kinds = Kind::ALL.len() as u64;
    // It never breaks.
    let _ = parallel_scan::in_order::<_, _, ()>(
        pack_sample::len(per_kind),
        RefCell::<Generator>::default,
        |generator, index| {
            let content = |pack| content(pack, &mut generator.borrow_mut(), index);
            (content(one) != content(other)).then_some(Kind::ALL[(index % kinds) as usize])
        },
        |range, found| {
            bar.inc(range.end - range.start);
            found.into_iter().for_each(|kind| *changed.entry(kind as u8).or_default() += 1);
            ControlFlow::Continue(())
        },
    );
    bar.finish_and_clear();
    let count = |kind: Kind| changed.get(&(kind as u8)).copied().unwrap_or(0);
    Kind::ALL.map(|kind| KindDiff { kind: kind.name(), floors: per_kind, changed: count(kind) }).into()
}

/// A floor of the sample, without its name; `None` if the pack's own generator does not make it.
fn content(pack: &LoadedPack, generator: &mut Generator, index: u64) -> Option<v1::Floor> {
    let floor = pack.message(generator, &pack_sample::spec(pack.pack(), index)).ok()?;
    Some(v1::Floor { spec: None, pack_hash: 0, ..floor })
}

fn write_text(out: &mut impl Write, json: &DiffJson) -> io::Result<()> {
    if json.equal {
        return writeln!(out, "the packs have the same files: {}", json.a);
    }
    writeln!(out, "{} -> {}", json.a, json.b)?;
    if !json.files.is_empty() {
        writeln!(out, "\nfiles")?;
    }
    for FileDiff { path, change } in &json.files {
        let sign = match change {
            Change::Removed => '-',
            Change::Added => '+',
            Change::Changed => '~',
        };
        writeln!(out, "  {sign} {path}")?;
    }
    if !json.values.is_empty() {
        writeln!(out, "\nvalues of {}", pack_text::MAIN)?;
    }
    for ValueDiff { key, a, b } in &json.values {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        writeln!(out, "  {key}: {} -> {}", shown(a), shown(b))?;
    }
    if json.floors.iter().any(|kind| kind.floors > 0) {
        writeln!(out, "\nfloors that differ")?;
        for KindDiff { kind, floors, changed } in &json.floors {
            writeln!(out, "  {kind:<9} {:>3} %  {changed} of {floors}", percent(*changed, *floors))?;
        }
    }
    Ok(())
}

/// Rounded, but 0 and 100 stand for none and all.
fn percent(part: u64, whole: u64) -> u64 {
    let rounded = (part * 200 + whole) / (whole * 2).max(1);
    if part == 0 || part == whole { rounded } else { rounded.clamp(1, 99) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_none_is_0_per_cent_and_only_all_is_100() {
        assert_eq!([(0, 9), (1, 1_000), (1, 2), (999, 1_000), (9, 9)].map(|(a, b)| percent(a, b)), [0, 1, 50, 99, 100]);
    }
}
