//! `floorctl explain`: shows how a floor was generated.

use std::{
    io::{self, Write},
    time::Duration,
};

use anyhow::bail;
use clap::Args;
use comfy_table::{Table, presets::NOTHING};
use floor_gen::{GENERATOR_VERSION, explain, validate::validate};
use serde::Serialize;

use crate::{
    failure::UsageError,
    local,
    output::{self, ReportFormat},
    profile::{Attempt, GenerationProfile, Stage, micros},
    server::Server,
    target::Target,
};

const AFTER_HELP: &str = "\
Generates the floor with the generator in this program and shows the time (median of --runs) and the choices of each \
stage, the rejected layouts with the reasons, and which key opens which lock. Needs no server. If a server answers at \
--server and has another generator version, a note says so.

Examples:
  floorctl explain 42/7
  floorctl explain 42/7:cyclic@64x64 --json | jq '.attempts[-1].stages[].name'
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
    lock_graph: Vec<&'a str>,
    violations: &'a [String],
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
                lock_graph: lock_graph.lines().collect(),
                violations: &violations,
            };
            floor_export::json_layout::write(&mut out, &json)?;
        } else {
            write_text(&mut out, &profile, self.runs, &violations)?;
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
    use super::*;

    /// The text around the times and counts.
    #[test]
    fn the_page() {
        let spec = floor_gen::FloorSpec::resolve(42, 7, 32, 32, None).unwrap();
        let us = Duration::from_micros;
        let stage = |name, took, choices: &[_]| Stage { name, took: us(took), choices: choices.to_vec() };
        let attempts = vec![
            Attempt {
                stages: vec![stage("accretion", 30, &[("rooms", 2)])],
                rejected: Some("too few rooms"),
                fallback: false,
            },
            Attempt {
                stages: vec![stage("accretion", 60, &[("rooms", 9), ("locks", 1)]), stage("loot", 10, &[])],
                ..Attempt::default()
            },
        ];
        let mut floor = floor_gen::generate(&spec);
        floor.rooms.truncate(0);
        floor.connections.clear();
        floor.locks.clear();
        let profile = GenerationProfile { floor, took: us(100), attempts };
        let mut page = Vec::new();
        write_text(&mut page, &profile, 25, &["a made-up fault".to_owned()]).unwrap();
        let page = String::from_utf8(page).unwrap();
        insta::assert_snapshot!(page);
    }
}
