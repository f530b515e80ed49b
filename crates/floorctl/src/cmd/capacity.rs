//! `floorctl capacity`: the cores, the memory, the disk and the machines for a number of players, from figures that it
//! measures on a server.

use std::{io::Write as _, num::NonZero, thread, time::Duration};

use anyhow::Context as _;
use clap::{Args, builder::RangedU64ValueParser};
use comfy_table::{Table, presets::UTF8_HORIZONTAL_ONLY};
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;

use crate::{
    figures::Figures,
    output::{self, ReportFormat},
    progress,
    server::Server,
    target,
};

const AFTER_HELP: &str = "\
Measures in 28 s what a new floor, a hit in memory and a connection cost the server. It asks for floors of unused \
towers, which the server stores. Other calls would count, and memory that is free again would hide what is used: \
measure a release build that has just started and has no players. docs/operators.md has the formulae. The rate is that of the peak, and \
so are the CPU times: a server with few calls takes more CPU for each, but far less than a core in all. Memory and disk are of each \
machine, as if the peak lasted; a tier that is not in the server's chain has no figure.

Examples:
  floorctl capacity --players 10000 --floors-per-minute 2 --cached 0.9 --size 100x100
  floorctl capacity --players 1000,100000 --floors-per-minute 1 --cached 0.5 --cores 8 --json";

/// Calculate the machines for a number of players, from figures measured on the server
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Capacity {
    /// Players at the peak; several numbers are separated by commas
    #[arg(long, required = true, value_delimiter = ',', value_name = "LIST", value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    players: Vec<u64>,
    #[command(flatten)]
    load: PlayerLoad,
    /// Cores of a machine; by default as many as this machine has
    #[arg(long)]
    cores: Option<NonZero<u32>>,
    /// Number of connections that load the server, each with one call in flight
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=128))]
    streams: u16,
    #[command(flatten)]
    report: ReportFormat,
}

/// What a player does, and what a machine may be used for.
#[derive(Debug, Clone, Args, Serialize)]
#[serde(rename_all = "camelCase")]
struct PlayerLoad {
    /// Floors that a player asks for in a minute, at the peak
    #[arg(long, value_name = "FLOORS", value_parser = positive)]
    floors_per_minute: f64,
    /// The share of these floors that a tier has, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share)]
    cached: f64,
    /// Width and height of the floors
    #[arg(long, value_name = "WxH", default_value = "100x100", value_parser = target::size)]
    size: (u32, u32),
    /// The share of the cores that may be used at the peak, above 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.6, value_parser = utilisation)]
    utilisation: f64,
    /// Connections of a player to the servers; less than 1 if game servers call for their players
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0, value_parser = positive)]
    connections_per_player: f64,
    /// How long new floors stay in memory
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = humantime::parse_duration)]
    #[serde(serialize_with = "seconds")]
    in_memory: Duration,
    /// How long new floors stay on disk and in Redis
    #[arg(long, value_name = "TIME", default_value = "1day", value_parser = humantime::parse_duration)]
    #[serde(serialize_with = "seconds")]
    stored: Duration,
}

/// What a number of players needs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Needs {
    players: u64,
    floors_per_second: f64,
    /// Cores of all machines, with the reserve.
    cores: f64,
    machines: u64,
    /// Of each machine.
    memory_bytes: u64,
    /// Of each machine.
    disk_bytes: Option<u64>,
    /// Of all machines together.
    redis_bytes: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CapacityJson<'a> {
    #[serde(flatten)]
    load: &'a PlayerLoad,
    cores_per_machine: u32,
    measured: &'a Figures,
    needs: &'a [Needs],
}

impl Capacity {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let cores = match self.cores {
            Some(cores) => cores.get(),
            None => u32::try_from(thread::available_parallelism().context("name the number of --cores")?.get())?,
        };
        let measuring = Figures::measure(server, self.load.size, self.streams);
        let bar = progress::timer("measuring", Figures::TIME);
        let what = || format!("the measurement, which takes {} s", Figures::TIME.as_secs());
        let figures = progress::waiting(&bar, what, measuring).await?;
        bar.finish_and_clear();
        let needs = self.players.iter().map(|players| self.load.needs(*players, cores, &figures)).collect::<Vec<_>>();
        if self.report.json {
            let load = &self.load;
            return output::print_json(&CapacityJson {
                load,
                cores_per_machine: cores,
                measured: &figures,
                needs: &needs,
            });
        }
        let mut out = output::stdout();
        writeln!(out, "{}\n{SATURATED}", measured_lines(&figures))?;
        writeln!(out, "{}", table(&needs))?;
        writeln!(out, "A machine has {cores} cores, used to {:.0} % at the peak.", self.load.utilisation * 100.0)?;
        Ok(out.flush()?)
    }
}

impl PlayerLoad {
    /// The formulae of docs/operators.md.
    fn needs(&self, players: u64, cores_per_machine: u32, figures: &Figures) -> Needs {
        let rate = players as f64 * self.floors_per_minute / 60.0;
        let (new, hits) = (rate * (1.0 - self.cached), rate * self.cached);
        let cores = (new * figures.new_floor_cpu_seconds + hits * figures.hit_cpu_seconds) / self.utilisation;
        let machines = (cores / f64::from(cores_per_machine)).ceil().max(1.0);
        let connections = players as f64 * self.connections_per_player / machines;
        let in_memory = new * self.in_memory.as_secs_f64() * figures.memory_bytes_per_floor.unwrap_or(0.0);
        let stored = new * self.stored.as_secs_f64();
        let stored_bytes = |per_floor: Option<f64>| per_floor.map(|bytes| (stored * bytes) as u64);
        Needs {
            players,
            floors_per_second: rate,
            cores,
            machines: machines as u64,
            memory_bytes: (figures.base_bytes + connections * figures.connection_bytes + in_memory) as u64,
            disk_bytes: stored_bytes(figures.disk_bytes_per_floor),
            redis_bytes: stored_bytes(figures.redis_bytes_per_floor),
        }
    }
}

/// For which load the CPU times hold. The figures are of an AMD EPYC with 2 cores.
const SATURATED: &str = "The CPU times are those of a busy server. One that waits between calls takes more for each, since its \
                         threads sleep and wake: a hit of 20 us took 82 us at 1,000 calls a second and 221 us at 200, which is \
                         8 and 4 % of a core.";

fn measured_lines(figures: &Figures) -> String {
    let us = |seconds: f64| format!("{:.1} us", seconds * 1e6);
    let bytes = |bytes: Option<f64>| bytes.map_or_else(|| "-".to_owned(), |bytes| format!("{bytes:.0} B"));
    format!(
        "Measured on the server, as busy as these connections keep it:\n  new floor   {} of CPU, {} us until the answer, {:.0} B\n  hit         {} of CPU, {} us \
         until the answer\n  a floor in  memory {}, on disk {}, in Redis {}\n  memory      {} without floors, {} for a \
         connection",
        us(figures.new_floor_cpu_seconds),
        HumanCount(figures.new_floor_us),
        figures.floor_bytes,
        us(figures.hit_cpu_seconds),
        HumanCount(figures.hit_us),
        bytes(figures.memory_bytes_per_floor),
        bytes(figures.disk_bytes_per_floor),
        bytes(figures.redis_bytes_per_floor),
        HumanBytes(figures.base_bytes.max(0.0) as u64),
        HumanBytes(figures.connection_bytes as u64),
    )
}

fn table(needs: &[Needs]) -> Table {
    let header = ["players", "floors/s", "cores", "machines", "memory each", "disk each", "Redis"];
    let bytes = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), |bytes| HumanBytes(bytes).to_string());
    let row = |needs: &Needs| {
        [
            HumanCount(needs.players).to_string(),
            HumanCount(needs.floors_per_second.round() as u64).to_string(),
            format!("{:.2}", needs.cores),
            HumanCount(needs.machines).to_string(),
            bytes(Some(needs.memory_bytes)),
            bytes(needs.disk_bytes),
            bytes(needs.redis_bytes),
        ]
    };
    output::table(UTF8_HORIZONTAL_ONLY, header, needs.iter().map(row), 0..=6)
}

fn positive(text: &str) -> Result<f64, String> {
    number(text).filter(|number| *number > 0.0).ok_or_else(|| format!("write a number above 0, not {text:?}"))
}

fn share(text: &str) -> Result<f64, String> {
    let share = number(text).filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("write a share from 0 to 1, e.g. 0.9, not {text:?}"))
}

fn utilisation(text: &str) -> Result<f64, String> {
    share(text)?;
    positive(text)
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}

fn seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct TestArgs {
        #[command(flatten)]
        capacity: Capacity,
    }

    const FIGURES: Figures = Figures {
        new_floor_cpu_seconds: 300e-6,
        hit_cpu_seconds: 20e-6,
        new_floor_us: 400,
        hit_us: 100,
        floor_bytes: 4400.0,
        base_bytes: 40e6,
        connection_bytes: 20e3,
        memory_bytes_per_floor: Some(4600.0),
        disk_bytes_per_floor: Some(7000.0),
        redis_bytes_per_floor: None,
    };

    fn load(arguments: &[&str]) -> PlayerLoad {
        let arguments = [&["x", "--players", "1", "--floors-per-minute", "60"], arguments].concat();
        TestArgs::try_parse_from(arguments).unwrap_or_else(|error| panic!("{error}")).capacity.load
    }

    #[test]
    fn needs_follow_from_the_figures() {
        let needs = load(&["--cached", "0.75"]).needs(40_000, 4, &FIGURES);
        // 10,000 new floors a second take 3 cores and 30,000 hits 0.6, of which 0.6 may be used: 6 cores.
        assert!((needs.cores - 6.0).abs() < 1e-9 && needs.machines == 2, "{needs:?}");
        let memory = 40e6 + 20_000.0 * 20e3 + 10_000.0 * 3600.0 * 4600.0;
        assert_eq!(needs.memory_bytes, memory as u64);
        assert_eq!(needs.disk_bytes, Some(10_000 * 86_400 * 7000));
        assert_eq!(needs.redis_bytes, None, "not measured without Redis");
    }

    #[test]
    fn cached_floors_need_no_store_and_nobody_needs_less_than_a_machine() {
        let needs = load(&["--cached", "1", "--connections-per-player", "0.01"]).needs(1, 4, &FIGURES);
        assert_eq!((needs.machines, needs.disk_bytes), (1, Some(0)));
        let more = load(&["--cached", "0", "--utilisation", "0.3"]).needs(1000, 4, &FIGURES);
        assert!((more.cores - 1.0).abs() < 1e-9, "{more:?}");
    }
}
