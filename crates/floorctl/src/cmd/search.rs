//! `floorctl search`: finds floors that meet a condition.

use std::{
    cell::RefCell,
    fs,
    io::{self, Write as _},
    ops::{ControlFlow, RangeInclusive},
    path::{Path, PathBuf},
    process::ExitCode,
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context as _;
use clap::{Args, builder::ArgPredicate};
use floor_gen::{FloorSpec, Generator, Theme};
use floor_pack::{LoadedPack, ModuleError, ResolveError};
use floor_query::{Candidate, Condition, Fact, seed};
use indicatif::{HumanCount, ProgressBar};
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use floor_export::json_layout;

use crate::{failure::UsageError, local, numbers::Numbers, output, progress, target::Tower};

const AFTER_HELP: &str = "\
Generates floors on all cores of this machine and prints those that meet the condition, in order, as they are found. \
Needs no server. Exit code 1 if no floor meets the condition.

A condition compares numbers and combines comparisons with operators:
  from the name        seed, number, width, height; kind, theme (only with == and !=)
  structure            rooms, connections, loops, locks
  rooms by role        secrets, treasures, vaults, shrines, shops
  contents             spawns, items (keys included), traps, furniture (pieces)
  spawns by behaviour  sleepers, guards, patrollers, wanderers; groups (of spawns)
  measures             passable (cells), critical_path (steps), difficulty (thousandths),
                       bytes (of the message)
  kinds                standard, keep, halls, cavern, cyclic, maze, boss, event, story
  themes               crypt, warren, mire, forge, glacier, archive, abyss; with --pack those of the pack
  operators            || && == != < <= > >= + - * / % ! ( ), as in Rust and C; whole numbers

A condition is evaluated from left to right, only as far as needed. Put comparisons of the name first, for example \
kind == cavern && ...: then other floors are not generated. A division by zero means no match.

Examples:
  floorctl search --where 'kind == cavern && loops > 4'
  floorctl search --numbers 1-100000 --where 'locks >= 3 && critical_path > 6 * rooms' --limit 5
  floorctl search --seeds 0-9999 --numbers 10 --where 'difficulty < 2000' --json
  floorctl search --seeds-from towers.txt --numbers 1-3 --where 'shops > 0'
  floorctl render $(floorctl search --where 'shops > 1' --limit 1 | cut -d' ' -f1)";

/// Find floors that meet a condition
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Search {
    /// The condition that floors must meet, e.g. 'kind == cavern && loops > 4'
    #[arg(long = "where", value_name = "CONDITION")]
    condition: String,
    #[command(flatten)]
    tower: Tower,
    /// A range of seeds instead of one, e.g. 0-9999
    #[arg(long, value_name = "A-B", conflicts_with = "seed", help_heading = "Floor", allow_negative_numbers = true)]
    seeds: Option<Seeds>,
    /// A file with a tower on each line, a number or a text, instead of one; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "seeds"], help_heading = "Floor")]
    seeds_from: Option<PathBuf>,
    /// Floor numbers and ranges in each tower, e.g. 1-1000,2000
    #[arg(
        long,
        value_name = "LIST",
        default_value = "1-1000",
        default_value_ifs([("seeds", ArgPredicate::IsPresent, "1"), ("seeds_from", ArgPredicate::IsPresent, "1")]),
        help_heading = "Floor"
    )]
    numbers: Numbers,
    /// Stop after this many matches
    #[arg(long, value_name = "N", value_parser = at_least_one, help_heading = "Output")]
    limit: Option<u64>,
    /// Print all facts, with one JSON object per line
    #[arg(long, help_heading = "Output")]
    json: bool,
}

fn at_least_one(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("{text:?} is no number of matches; write 1 or more"))
}

/// A range of seeds.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seeds(RangeInclusive<u64>);

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (seed(first)?, seed(last)?);
        if first > last {
            return Err(format!("{text} runs backwards; write {last}-{first}"));
        }
        Ok(Self(first..=last))
    }
}

/// The towers to search.
enum Towers {
    /// So many from the first on.
    Range(u64, u128),
    Listed(Vec<u64>),
}

impl Towers {
    fn count(&self) -> u128 {
        match self {
            Self::Range(_, count) => *count,
            Self::Listed(seeds) => seeds.len() as u128,
        }
    }

    fn seed(&self, index: u64) -> u64 {
        match self {
            Self::Range(first, _) => first + index,
            Self::Listed(seeds) => seeds[index as usize],
        }
    }

    /// Those of a file. Empty lines do not count.
    fn read(path: &Path) -> anyhow::Result<Self> {
        let text = if path == Path::new("-") { io::read_to_string(io::stdin()) } else { fs::read_to_string(path) };
        let text = text.with_context(|| format!("cannot read the towers in {}", path.display()))?;
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let wrong = |line, error| UsageError(format!("line {line} of {}: {error}", path.display()));
        let seeds = lines.map(|(line, text)| floor_proto::seed::seed(text).map_err(|error| wrong(line, error)));
        let seeds = seeds.collect::<Result<Vec<_>, _>>()?;
        if seeds.is_empty() {
            return Err(UsageError(format!("{} has no tower; write one on each line", path.display())).into());
        }
        Ok(Self::Listed(seeds))
    }
}

/// The floors to search, by index: all floors of the first tower, then those of the next.
struct SearchSpace<'a> {
    search: &'a Search,
    pack: Arc<LoadedPack>,
    condition: Condition,
    towers: Towers,
    floors: u64,
}

/// A floor that meets the condition.
struct Match {
    name: String,
    /// What it is called. Empty without a name, and unless all facts are shown.
    title: String,
    facts: Vec<(Fact, String)>,
}

/// What a search has seen so far.
#[derive(Default)]
struct Results {
    scanned: u64,
    matches: u64,
    /// Floors that the pack's own generator failed to make, and the first error.
    failures: u64,
    failure: Option<ModuleError>,
}

impl Results {
    fn summarise(&self, generated: u64, time: Duration) -> anyhow::Result<()> {
        let (scanned, generated) = (HumanCount(self.scanned), HumanCount(generated));
        writeln!(
            output::stderr(),
            "{} in {scanned} floors, {generated} of them generated, in {:.2} s",
            matches(self.matches),
            time.as_secs_f64()
        )?;
        if let Some(error) = &self.failure {
            let floors = if self.failures == 1 { "floor has" } else { "floors have" };
            writeln!(output::stderr(), "{} {floors} failed, the first one with: {error}", HumanCount(self.failures))?;
        }
        Ok(())
    }
}

fn matches(count: u64) -> String {
    if count == 1 { "1 match".to_owned() } else { format!("{} matches", HumanCount(count)) }
}

impl Search {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        self.tower.refuse_view("conditions are about whole floors")?;
        let space = SearchSpace::new(&self)?;
        // JSON has all facts; text has those in the condition.
        let shown = if self.json { Fact::ALL.to_vec() } else { space.condition.facts().into_iter().collect() };
        let bar = progress::bar("searching", space.floors);
        let (started, generated) = (Instant::now(), AtomicU64::new(0));
        let mut results = Results::default();
        let end = crate::parallel_scan::in_order(
            space.floors,
            RefCell::<Generator>::default,
            |generator, index| {
                let (found, was_generated) = space.test(index, &shown, generator);
                generated.fetch_add(was_generated.into(), Ordering::Relaxed);
                found.transpose()
            },
            |indexes, found| {
                results.scanned += indexes.end - indexes.start;
                bar.inc(indexes.end - indexes.start);
                found.into_iter().try_for_each(|found| self.report(&bar, found, &mut results))
            },
        );
        bar.finish_and_clear();
        if let ControlFlow::Break(printed) = end {
            printed?;
        }
        results.summarise(generated.into_inner(), started.elapsed())?;
        Ok(if results.matches > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Prints a match or counts a failure. Breaks after the last match, or if the search cannot go on.
    fn report(
        &self,
        bar: &ProgressBar,
        found: Result<Match, ModuleError>,
        results: &mut Results,
    ) -> ControlFlow<anyhow::Result<()>> {
        match found {
            Ok(found) => {
                let printed = self.print(bar, &found);
                results.matches += 1;
                bar.set_message(format!("searching, {}", matches(results.matches)));
                if printed.is_err() || Some(results.matches) == self.limit {
                    return ControlFlow::Break(printed);
                }
            }
            // The rest would not be tried.
            Err(closed @ ModuleError::Closed { .. }) => return ControlFlow::Break(Err(closed.into())),
            Err(error) => {
                results.failures += 1;
                results.failure.get_or_insert(error);
            }
        }
        ControlFlow::Continue(())
    }

    fn print(&self, bar: &ProgressBar, found: &Match) -> anyhow::Result<()> {
        // Hides the bar while the line is written. Flushes, so that a match is visible immediately.
        bar.suspend(|| {
            let mut out = output::stdout();
            if self.json {
                json_layout::write_line(&mut out, found)?;
            } else {
                write!(out, "{}", found.name)?;
                for (fact, value) in &found.facts {
                    write!(out, "  {} {value}", fact.name())?;
                }
                writeln!(out)?;
            }
            Ok(out.flush()?)
        })
    }
}

impl<'a> SearchSpace<'a> {
    /// Checks that every index names a valid floor.
    fn new(search: &'a Search) -> anyhow::Result<Self> {
        let pack = search.tower.pack_or_built_in()?;
        let condition = condition(&pack, &search.condition)?;
        let towers = match (&search.seeds_from, &search.seeds) {
            (Some(file), _) => Towers::read(file)?,
            (None, Some(Seeds(range))) => Towers::Range(*range.start(), u128::from(range.end() - range.start()) + 1),
            (None, None) => Towers::Range(search.tower.floor(1).seed, 1),
        };
        let floors = towers.count().saturating_mul(search.numbers.len().into());
        let floors = u64::try_from(floors).context("these are more floors than can be counted; narrow --seeds")?;
        for number in search.numbers.bounds() {
            match local::resolve(&pack, &search.tower.floor(number)) {
                // That the pack's own generator has no such floor is said of each.
                Ok(_) | Err(ResolveError::Module(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Self { search, pack, condition, towers, floors })
    }

    /// The floor, if it meets the condition, and whether it was generated. That it does not exist is no error.
    fn test(
        &self,
        index: u64,
        shown: &[Fact],
        generator: &RefCell<Generator>,
    ) -> (Result<Option<Match>, ModuleError>, bool) {
        let spec = match self.spec(index) {
            Ok(spec) => spec,
            Err(ResolveError::Module(error)) => return (no_match(error), false),
            Err(_) => return (Ok(None), false),
        };
        let candidate = Candidate::new(&self.pack, spec, generator);
        let found = (self.condition.holds(&candidate) == Some(true)).then(|| Match {
            name: local::name(&spec).to_string(),
            // A name may have what a terminal would obey.
            title: match self.search.json {
                true => candidate.name().map_or_else(String::new, |name| name.text.replace(char::is_control, " ")),
                false => String::new(),
            },
            facts: shown.iter().map(|fact| (*fact, fact.display(&candidate))).collect(),
        });
        let found = candidate.error().map_or(Ok(found), |error| no_match(error.clone()));
        (found, candidate.was_generated())
    }

    fn spec(&self, index: u64) -> Result<FloorSpec, ResolveError> {
        let numbers = &self.search.numbers;
        let number = numbers.nth(index % numbers.len()).unwrap_or_default();
        let mut requested = self.search.tower.floor(number);
        requested.seed = self.towers.seed(index / numbers.len());
        local::resolve(&self.pack, &requested)
    }
}

/// No match, if the generator says that there is no such floor.
fn no_match(error: ModuleError) -> Result<Option<Match>, ModuleError> {
    if matches!(error, ModuleError::Refused { .. }) { Ok(None) } else { Err(error) }
}

/// The condition, which may name the themes of `pack`.
fn condition(pack: &LoadedPack, text: &str) -> anyhow::Result<Condition> {
    let themes = || pack.pack().themes().iter().map(Theme::name).collect::<Vec<_>>().join(", ");
    Condition::of_pack(pack.pack(), text).map_err(|wrong| {
        let of_pack = match pack.reference() {
            "" => String::new(),
            reference => format!("\n\nThe themes of {reference} are {}.", themes()),
        };
        UsageError(format!("invalid value '{text}' for '--where <CONDITION>': {wrong}{of_pack}")).into()
    })
}

impl Serialize for Match {
    /// Each fact under its name in camelCase. The seed is a string, as in all JSON of floorctl.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("floor", &self.name)?;
        if !self.title.is_empty() {
            map.serialize_entry("name", &self.title)?;
        }
        for (fact, value) in &self.facts {
            match value.parse::<u64>() {
                Ok(number) if !matches!(fact, Fact::Seed | Fact::Theme) => {
                    map.serialize_entry(&camel_case(fact.name()), &number)?;
                }
                _ => map.serialize_entry(&camel_case(fact.name()), value)?,
            }
        }
        map.end()
    }
}

/// `criticalPath` for `critical_path`.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &word[..1].to_uppercase() + &word[1..])
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use floor_gen::{Kind, Pack};

    use super::*;

    #[derive(Parser)]
    struct TestArgs {
        #[command(flatten)]
        search: Search,
    }

    fn search(line: &str) -> Search {
        let arguments = [&["x", "--where", "1 == 1"][..], &line.split(' ').collect::<Vec<_>>()].concat();
        TestArgs::try_parse_from(arguments).unwrap().search
    }

    #[test]
    fn the_help_lists_every_kind_and_theme() {
        for name in Kind::ALL.into_iter().map(Kind::name).chain(Pack::tower().themes().iter().map(Theme::name)) {
            assert!(AFTER_HELP.contains(name), "{name} is missing");
        }
    }

    #[test]
    fn a_search_space_lists_the_floors_of_each_tower() {
        let search = search("--seeds 7-9 --numbers 3,10-11 --size 64x48");
        let space = SearchSpace::new(&search).unwrap();
        let names = (0..space.floors).map(|index| local::name(&space.spec(index).unwrap()).to_string());
        let starts = names.map(|name| name.split(':').next().unwrap().to_owned()).collect::<Vec<_>>();
        assert_eq!(starts, ["7/3", "7/10", "7/11", "8/3", "8/10", "8/11", "9/3", "9/10", "9/11"]);
    }

    #[test]
    fn several_towers_are_searched_on_floor_1_by_default() {
        assert_eq!(SearchSpace::new(&search("--limit 1")).unwrap().floors, 1_000);
        assert_eq!(SearchSpace::new(&search("--seeds 0-99")).unwrap().floors, 100);
    }

    #[test]
    fn towers_are_read_from_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().display().to_string();
        fs::write(&path, "42\n\n  my dungeon \n-1\n").unwrap();
        let search = search(&format!("--seeds-from {path} --size 64x48"));
        let space = SearchSpace::new(&search).unwrap();
        let seeds: Vec<_> = (0..space.floors).map(|index| space.spec(index).unwrap().seed()).collect();
        assert_eq!(seeds, [42, floor_proto::seed::seed("my dungeon").unwrap(), u64::MAX]);
        fs::write(&path, "42\n99999999999999999999\n").unwrap();
        let error = SearchSpace::new(&search).err().unwrap().to_string();
        assert!(error.contains("line 2 of "), "{error}");
    }

    #[test]
    fn a_search_space_too_large_to_count_is_rejected() {
        let all = format!("--seeds 0-{} --numbers 1-2", u64::MAX);
        assert!(SearchSpace::new(&search(&all)).is_err());
    }

    #[test]
    fn keys_are_in_camel_case() {
        assert_eq!(["critical_path", "rooms"].map(camel_case), ["criticalPath", "rooms"]);
    }

    #[test]
    fn seeds_are_a_range() {
        assert_eq!("0x10-20".parse(), Ok(Seeds(16..=20)));
        assert_eq!("7".parse(), Ok(Seeds(7..=7)));
        assert!("20-7".parse::<Seeds>().unwrap_err().contains("write 7-20"));
        assert!("-7".parse::<Seeds>().is_err());
    }
}
