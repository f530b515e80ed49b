//! `floorctl explain`: shows how a floor was generated.

use std::{
    io::{self, Write},
    time::Duration,
};

use anyhow::bail;
use clap::Args;
use comfy_table::{Table, presets::NOTHING};
use floor_export::names::room_number;
use floor_gen::{Floor, GENERATOR_VERSION, Pack, Text, explain, validate::validate};
use serde::Serialize;

use crate::{
    failure::UsageError,
    local,
    output::{self, ReportFormat},
    profile::{Attempt, Cells, DrawnVault, GenerationProfile, Stage, micros},
    server::Server,
    target::Target,
};

const AFTER_HELP: &str = "\
Generates the floor with the generator in this program and shows the time (median of --runs) and the choices of each \
stage, the rejected layouts with the reasons, what it used of the pack (vaults with their places, furniture sets with \
their rooms, sentences and parts of names), and which key opens which lock. Needs no server. If a server answers at \
--server and has another generator version, a note says so.

Examples:
  floorctl explain 42/7
  floorctl explain 42/7:cyclic@64x64 --json | jq '.attempts[-1].stages[].name'
  floorctl explain 42/7:event --pack mine --json | jq -c '.attempts[-1].vaults[]'
  floorctl explain --seed 42 --number 10";

/// Time limit for the optional call to the server.
const SERVER_TIMEOUT: Duration = Duration::from_millis(300);

/// Show how a floor is generated: stages, times, choices, locks
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Explain {
    #[command(flatten)]
    target: Target,
    /// How often to generate the floor; times are medians
    #[arg(long, value_name = "TIMES", default_value_t = 25, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    runs: u16,
    #[command(flatten)]
    report: ReportFormat,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExplainJson<'a> {
    floor: String,
    theme: &'a str,
    generator_version: u32,
    /// Null if no server answers.
    server_generator_version: Option<u32>,
    runs: u16,
    took_us: f64,
    attempts: &'a [Attempt],
    furniture: Vec<FurnitureJson<'a>>,
    names: &'a [NameJson<'a>],
    lock_graph: Vec<&'a str>,
    violations: &'a [String],
}

/// A furniture set of the pack, and the ids of its rooms.
#[derive(Serialize)]
struct FurnitureJson<'a> {
    set: &'a str,
    rooms: &'a [u8],
}

/// A text of the floor, and the texts of the pack that it is made of.
#[derive(Serialize)]
struct NameJson<'a> {
    /// `floor`, `hook` or `room`.
    of: &'static str,
    /// The id of the room.
    room: Option<u8>,
    text: &'a str,
    /// The id of the sentence, and the conditions under which the pack has it; empty: none.
    sentence: &'a str,
    when: &'a str,
    /// The ids of the parts.
    parts: &'a [&'a str],
}

impl Explain {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        self.target.tower().refuse_view("this command explains whole floors")?;
        let pack = self.target.tower().pack_or_built_in()?;
        if pack.pack().generator().is_some() {
            let reference = pack.reference();
            let why = format!("{reference} has a generator of its own, and this command looks into that of floorctl");
            return Err(UsageError(why).into());
        }
        let spec = local::resolve(&pack, &self.target.floor())?;
        if pack.is_authored(&spec) {
            bail!("floor {} is authored: it is a file of the pack, and not generated", local::name(&spec));
        }
        let profile = GenerationProfile::of(pack.pack(), &spec, self.runs.into());
        let violations = validate(&profile.floor).err().unwrap_or_default();
        let violations = violations.iter().map(ToString::to_string).collect::<Vec<_>>();
        let names = names(pack.pack(), &profile.floor);
        let server_version = generator_version_of(server).await;
        let mut out = output::stdout();
        if self.report.json {
            let lock_graph = explain::lock_graph(&profile.floor);
            let json = ExplainJson {
                floor: local::name(&profile.floor.spec).to_string(),
                theme: profile.floor.theme,
                generator_version: GENERATOR_VERSION,
                server_generator_version: server_version,
                runs: self.runs,
                took_us: micros(profile.took),
                attempts: &profile.attempts,
                furniture: profile.furniture.iter().map(|(set, rooms)| FurnitureJson { set, rooms }).collect(),
                names: &names,
                lock_graph: lock_graph.lines().collect(),
                violations: &violations,
            };
            floor_export::json_layout::write(&mut out, &json)?;
        } else {
            write_text(&mut out, &profile, self.runs, &names, &violations)?;
        }
        out.flush()?;
        if let Some(server_version) = server_version.filter(|server_version| *server_version != GENERATOR_VERSION) {
            writeln!(
                output::stderr(),
                "note: {} has generator version {server_version}, this program {GENERATOR_VERSION}; floors differ",
                server.url()
            )?;
        }
        Ok(())
    }
}

/// Writes the profile as text.
fn write_text(
    out: &mut impl Write,
    profile: &GenerationProfile<'_>,
    runs: u16,
    names: &[NameJson<'_>],
    violations: &[String],
) -> io::Result<()> {
    let floor = &profile.floor;
    writeln!(
        out,
        "{}: {} rooms, {} ways, theme {}, generator version {GENERATOR_VERSION}",
        local::name(&floor.spec),
        floor.rooms.len(),
        floor.connections.len(),
        floor.theme
    )?;
    writeln!(
        out,
        "made in {:.1} us, the median of {}, at attempt {}",
        micros(profile.took),
        runs,
        profile.attempts.len()
    )?;
    for (number, attempt) in (1..).zip(&profile.attempts) {
        writeln!(out, "\n{}", heading(number, attempt))?;
        for line in table(attempt, profile.took).lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    write_used(out, profile, names)?;
    writeln!(out, "\nlocks")?;
    let locks = explain::lock_graph(floor);
    if locks.is_empty() {
        writeln!(out, "  none")?;
    }
    for lock in locks.lines() {
        writeln!(out, "  {lock}")?;
    }
    match violations {
        [] => writeln!(out, "\nvalid: every rule holds")?,
        violations => {
            writeln!(out, "\nnot valid")?;
            for violation in violations {
                writeln!(out, "  {violation}")?;
            }
        }
    }
    Ok(())
}

/// Writes what the floor has of the pack.
fn write_used(out: &mut impl Write, profile: &GenerationProfile<'_>, names: &[NameJson<'_>]) -> io::Result<()> {
    let vaults = profile.attempts.last().map(|attempt| &*attempt.vaults).unwrap_or_default();
    if !vaults.is_empty() {
        writeln!(out, "\nvaults")?;
    }
    for DrawnVault { vault, cells, rejected } in vaults {
        match (cells, rejected) {
            (Some(Cells { min, max }), _) => {
                writeln!(out, "  {vault} from ({}, {}) to ({}, {})", min.x, min.y, max.x, max.y)?;
            }
            (None, why) => writeln!(out, "  {vault} was drawn and is not there: {}", why.unwrap_or_default())?,
        }
    }
    if !profile.furniture.is_empty() {
        writeln!(out, "\nfurniture")?;
    }
    for (set, rooms) in &profile.furniture {
        let rooms = rooms.iter().map(|room| room_number((*room).into()).to_string()).collect::<Vec<_>>();
        let noun = if rooms.len() == 1 { "room" } else { "rooms" };
        writeln!(out, "  {set} in {noun} {}", rooms.join(", "))?;
    }
    if !names.is_empty() {
        writeln!(out, "\nnames")?;
    }
    for NameJson { of, room, text, sentence, when, parts } in names {
        let room = room.map(|room| format!(" {}", room_number(room.into()))).unwrap_or_default();
        let when = if when.is_empty() { String::new() } else { format!(" of {when}") };
        let parts = if parts.is_empty() { String::new() } else { format!(", parts {}", parts.join(", ")) };
        writeln!(out, "  {of}{room}: {text}\n    sentence {sentence}{when}{parts}")?;
    }
    Ok(())
}

/// What the floor and its rooms are called.
fn names<'a>(pack: &'a Pack, floor: &'a Floor<'_>) -> Vec<NameJson<'a>> {
    let named = &floor.names;
    let whole = [("floor", None, &named.floor), ("hook", None, &named.hook)];
    let rooms = named.rooms.iter().map(|(room, text)| ("room", Some(*room), text));
    let name = |(of, room, Text { text, id, parts }): (_, _, &'a Text<'_>)| {
        let when = pack.texts().find(|text| text.id == *id).map(|text| text.when).unwrap_or_default();
        NameJson { of, room, text, sentence: id, when, parts }
    };
    whole.into_iter().chain(rooms).filter(|(_, _, text)| !text.text.is_empty()).map(name).collect()
}

fn heading(number: usize, attempt: &Attempt) -> String {
    match (attempt.fallback, attempt.rejected) {
        (true, _) => "the fallback layout, which always fits".to_owned(),
        (false, Some(why)) => format!("attempt {number}, thrown away: {why}"),
        (false, None) => format!("attempt {number}"),
    }
}

/// One line per stage. A share is relative to the time of the whole floor, including all attempts.
fn table(attempt: &Attempt, whole: Duration) -> Table {
    let row = |stage: &Stage| {
        let share = 100.0 * stage.took.as_secs_f64() / whole.as_secs_f64();
        let choices = stage.choices.iter().map(|(what, value)| format!("{what} {value}")).collect::<Vec<_>>();
        let took = format!("{:.1}", micros(stage.took));
        [stage.name.to_owned(), took, format!("{share:.0} %"), choices.join(", ")]
    };
    output::table(NOTHING, ["stage", "us", "share", "chose"], attempt.stages.iter().map(row), 1..=2)
}

/// The generator version of the server, `None` if no server answers in time.
async fn generator_version_of(server: &Server) -> Option<u32> {
    let call = async {
        let info = server.connect().await.ok()?.server_info().await.ok()?;
        Some(info.generator_version)
    };
    tokio::time::timeout(SERVER_TIMEOUT, call).await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use floor_gen::Point;

    use super::*;
    use crate::profile::Choice;

    /// The text around the times and counts.
    #[test]
    fn the_page() {
        let spec = floor_gen::FloorSpec::resolve(42, 7, 32, 32, None).unwrap();
        let us = Duration::from_micros;
        let stage = |name, took, choices: &[_]| Stage { name, took: us(took), choices: choices.to_vec() };
        let number = Choice::Number;
        let vault = |name: &str, cells, rejected| DrawnVault { vault: name.to_owned(), cells, rejected };
        let cells = Cells { min: Point { x: 3, y: 4 }, max: Point { x: 12, y: 9 } };
        let attempts = vec![
            Attempt {
                stages: vec![stage("accretion", 30, &[("rooms", number(2))])],
                rejected: Some("too few rooms"),
                ..Attempt::default()
            },
            Attempt {
                stages: vec![
                    stage("accretion", 60, &[("family", Choice::Key("dense")), ("rooms", number(9))]),
                    stage("loot", 10, &[]),
                ],
                vaults: vec![vault("hermit", Some(cells), None), vault("mine well", None, Some("no place for it"))],
                ..Attempt::default()
            },
        ];
        let mut floor = floor_gen::generate(&spec);
        floor.rooms.truncate(0);
        floor.connections.clear();
        floor.locks.clear();
        let furniture = [("chapel".to_owned(), vec![0]), ("library".to_owned(), vec![2, 5])].into();
        let profile = GenerationProfile { floor, took: us(100), attempts, furniture };
        let names = names(Pack::tower(), &profile.floor);
        let mut page = Vec::new();
        write_text(&mut page, &profile, 25, &names, &["a made-up fault".to_owned()]).unwrap();
        let page = String::from_utf8(page).unwrap();
        insta::assert_snapshot!(page);
    }
}
