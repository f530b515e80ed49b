//! Compares floor-cache, over sources that are no floors, with its fixed choices and with other caches:
//! `cargo run --release`, in this directory. Needs redis-server.
//!
//! A cell is a source, a store and a number of callers. All caches of a cell hold a tenth of the values in memory and
//! have all of them in their store. They are asked for values at random in turns of a second, in rotating order.

mod caches;
#[path = "../../src/delay_proxy.rs"]
#[allow(dead_code, reason = "the benches of floors use more of it")]
mod delay_proxy;
mod load;
#[path = "../../src/process.rs"]
#[allow(dead_code, reason = "the benches of floors use more of it")]
mod process;
#[path = "../../src/redis_server.rs"]
#[allow(dead_code, reason = "the benches of floors use more of it")]
mod redis_server;
mod sources;
mod stores;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Parser;
use comfy_table::{Table, presets::ASCII_MARKDOWN};
use floor_cache::Bypass;

use crate::{
    caches::{Below, Subject},
    load::{Rates, Turns},
    sources::{Source, Values},
    stores::Store,
};

#[derive(Debug, Parser)]
#[command(about = "Compares floor-cache with its fixed choices and with other caches, over sources that are no floors")]
struct Args {
    /// Only these sources
    #[arg(long, value_delimiter = ',', value_enum, default_values_t = [Source::Tile, Source::Thumbnail, Source::Regex])]
    sources: Vec<Source>,
    /// Milliseconds by which replies of Redis come later
    #[arg(long, value_delimiter = ',', default_values_t = [0, 1, 6])]
    redis: Vec<u64>,
    /// Concurrent callers
    #[arg(long, value_delimiter = ',', default_values_t = [1, 40])]
    callers: Vec<usize>,
    /// Turns of a second of each cache in a cell
    #[arg(long, default_value_t = 6)]
    turns: usize,
    /// For developers: it shows that the command works, and no figure to publish
    #[arg(long)]
    quick: bool,
}

/// The least ratio of `auto` to the better fixed choice.
const TARGET: f64 = 0.97;

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let turns = if args.quick { Turns::QUICK } else { Turns::new(args.turns) };
    let mut table = Table::new();
    table.load_preset(ASCII_MARKDOWN).set_header(["cell", "computing", "cache", "answers/s", "to the better choice"]);
    let mut passes = true;
    for source in &args.sources {
        let values = Values::of(*source, args.quick);
        let computing = time_of(values)?;
        let stores = args.redis.iter().map(|delay| Some(Duration::from_millis(*delay))).chain([None]);
        for delay in stores {
            let store = delay.map_or_else(Store::disk, Store::redis)?;
            let subjects = subjects(values, &store.below()).await?;
            for callers in &args.callers {
                let cell = cell_name(*source, delay, *callers);
                let rates = turns.measure(&subjects, values, *callers).await?;
                let shown = rates.iter().map(|of| format!("{} {:.0}/s", of.name, of.mean())).collect::<Vec<_>>();
                eprintln!("{cell}: {}", shown.join(", "));
                passes &= add_rows(&mut table, &cell, computing, &rates);
            }
        }
    }
    println!("{table}");
    println!(
        "\nTarget: floor-cache reaches {TARGET} of the better fixed choice. {}",
        if passes { "Passes." } else { "FAILS." }
    );
    Ok(if passes { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn cell_name(source: Source, delay: Option<Duration>, callers: usize) -> String {
    let store = delay.map_or_else(|| "disk".to_owned(), |delay| format!("Redis +{} ms", delay.as_millis()));
    format!("{}, {store}, {callers} callers", source.name())
}

/// The median time of computing a value.
fn time_of(values: Values) -> anyhow::Result<Duration> {
    let mut times = Vec::new();
    for number in 0..50 {
        let started = Instant::now();
        values.compute(number * values.count / 50)?;
        times.push(started.elapsed());
    }
    times.sort();
    Ok(times[times.len() / 2])
}

/// The caches of a cell, with filled stores.
async fn subjects(values: Values, below: &Below) -> anyhow::Result<Vec<Subject>> {
    let mut subjects = Vec::new();
    for bypass in [Bypass::Off, Bypass::Auto, Bypass::Forced] {
        subjects.push(caches::floor(values, below, bypass)?);
    }
    match below {
        Below::Redis(url) => {
            subjects.push(caches::multi_tier(values, url).await?);
            subjects.push(caches::hitbox(values, url)?);
        }
        Below::Disk(path) => subjects.push(caches::foyer(values, path.clone()).await?),
    }
    for subject in &subjects {
        subject.fill(values).await?;
    }
    Ok(subjects)
}

/// Adds the rows of a cell. Returns whether floor-cache reaches the target.
fn add_rows(table: &mut Table, cell: &str, computing: Duration, rates: &[Rates]) -> bool {
    let [always, auto, never, ..] = rates else { unreachable!("every cell has the three choices") };
    let better = if always.mean() > never.mean() { always } else { never };
    for (number, of) in rates.iter().enumerate() {
        let first = |text: String| if number == 0 { text } else { String::new() };
        let ratio = of.to(better);
        table.add_row([
            first(cell.to_owned()),
            first(format!("{computing:.1?}")),
            of.name.to_owned(),
            format!("{:.0}", of.mean()),
            format!("{:.2} ({:.2} to {:.2})", of.mean() / better.mean(), ratio.0, ratio.1),
        ]);
    }
    auto.to(better).1 >= TARGET
}
