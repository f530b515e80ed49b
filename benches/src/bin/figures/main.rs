//! Draws the pictures of the documents from the newest records:
//! `cargo run -p benches --bin figures -- benches/records docs/images`. It measures nothing.

use std::{fs, path::PathBuf};

use anyhow::Context;
use benches::{
    figure::{Bar, Bars, Caption, Estimate, Figure, Line, Lines},
    load::Shape,
    record::Record,
    regret::{Cell, grid},
};
use clap::Parser;
use floor_cache::Bypass;
use indicatif::HumanCount;

#[derive(Debug, Parser)]
#[command(about = "Draws the pictures of the documents from the newest records")]
struct Args {
    /// The directory of the records, which has one for each day
    records: PathBuf,
    /// The directory for the pictures
    images: PathBuf,
}

type Draw = fn(&Record) -> anyhow::Result<Figure>;

/// The pictures, each with the name of its record.
const FIGURES: [(&str, Draw); 4] = [
    ("regret-distances", when_a_tier_pays),
    ("peers", hits_beside_other_servers),
    ("cores", answers_by_cores),
    ("regret-distances", what_auto_chooses),
];

fn main() -> anyhow::Result<()> {
    let Args { records, images } = Args::parse();
    for (name, draw) in FIGURES {
        let Figure { name, svg } = Record::newest(&records, name).and_then(|record| draw(&record)).context(name)?;
        let file = images.join(name).with_extension("svg");
        fs::write(&file, svg).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

/// The median time of a call by side, for one caller: from Redis at each distance, and generated.
fn when_a_tier_pays(record: &Record) -> anyhow::Result<Figure> {
    let place = |side: u16| f64::from(side).ln();
    let mut generated = Line { name: "generated".to_owned(), points: Vec::new() };
    let mut asked = grid::DISTANCES.map(|store| {
        let here = "Redis on this machine".to_owned();
        let away = format!("Redis {} ms away", store.delay_us as f64 / 1e3);
        Line { name: if store.delay_us == 0 { here } else { away }, points: Vec::new() }
    });
    for side in grid::SIDES {
        // Generating does not depend on the distance: the least and the greatest of all cells.
        let mut all = Vec::new();
        for (store, line) in grid::DISTANCES.into_iter().zip(&mut asked) {
            let cell = Cell { store, side, shape: grid::LOADS[0], ..Cell::PLAIN };
            line.points.push((place(side), figure(record, cell, Bypass::Off, "p50 us")?));
            all.push(figure(record, cell, Bypass::Forced, "p50 us")?);
        }
        generated.points.push((place(side), all_of(&all)));
    }
    let lines = Lines {
        caption: Caption {
            name: "when-a-tier-pays",
            title: "A tier pays where its line is below that of generating",
            axes: "Median time of a call for one floor, from one caller. Both axes are logarithmic.",
        },
        x_title: "cells of the floor",
        x_labels: grid::SIDES.map(|side| (place(side), format!("{side}x{side}"))).into(),
        y_label: |us| if us < 999.0 { format!("{us:.0} us") } else { format!("{:.0} ms", us / 1e3) },
        panels: vec![(String::new(), [generated].into_iter().chain(asked).collect())],
    };
    lines.draw()
}

/// Answers a second of each server at each load.
fn hits_beside_other_servers(record: &Record) -> anyhow::Result<Figure> {
    let mut groups = Vec::new();
    for load in record.loads() {
        let rows = record.column(load, "answers/s")?.into_iter().filter(|(name, _)| !name.ends_with("again"));
        let bar = |(name, estimate): (&str, Estimate)| Bar {
            name: if name == "ours" { "this server".to_owned() } else { name.replace('-', " ") },
            estimate,
            text: HumanCount(estimate.value as u64).to_string(),
            is_marked: name == "ours",
        };
        groups.push((in_words(load.parse()?), rows.map(bar).collect()));
    }
    let caption = Caption {
        name: "hits-beside-other-servers",
        title: "Answers a second for a floor in memory, beside other servers",
        axes: "By connections, and calls in flight on each. Medians; thin lines: the least to the greatest round.",
    };
    Bars { caption, groups }.draw()
}

/// Answers a second by cores, at each load.
fn answers_by_cores(record: &Record) -> anyhow::Result<Figure> {
    /// Rows whose names contain the first, and the names of their lines.
    const ROWS: [(&str, &str); 3] =
        [("ours", "one server"), ("one core each", "one a core"), ("static-tonic", "static tonic")];
    let (mut panels, mut labels): (Vec<(String, Vec<Line>)>, Vec<_>) = Default::default();
    for load in record.loads() {
        let (cores, shape) = load.split_once(" cores, ").with_context(|| format!("{load:?} names no cores"))?;
        let (at, heading): (f64, String) = (cores.parse::<f64>()?.ln(), in_words(shape.parse()?));
        if labels.last().is_none_or(|(last, _)| *last != at) {
            labels.push((at, cores.to_owned()));
        }
        let panel = panels.iter().position(|(other, _)| *other == heading).unwrap_or_else(|| {
            let lines = ROWS.map(|(_, name)| Line { name: name.to_owned(), points: Vec::new() });
            panels.push((heading, lines.into()));
            panels.len() - 1
        });
        let rows = record.column(load, "answers/s")?;
        for (line, (part, _)) in panels[panel].1.iter_mut().zip(ROWS) {
            // With one core, one server a core is the first row, one server.
            let row = rows.iter().find(|(row, _)| row.contains(part)).or(rows.first());
            line.points.extend(row.map(|(_, estimate)| (at, *estimate)));
        }
    }
    let lines = Lines {
        caption: Caption {
            name: "answers-by-cores",
            title: "Answers a second for a floor in memory, by cores",
            axes: "One server with all cores, one server for each core, and static tonic with all. Logarithmic axes.",
        },
        x_title: "cores",
        x_labels: labels,
        y_label: |rate| HumanCount(rate.round() as u64).to_string(),
        panels,
    };
    lines.draw()
}

/// Answers a second with each value of `cache.bypass`, by the distance of Redis, at each load.
fn what_auto_chooses(record: &Record) -> anyhow::Result<Figure> {
    let mut panels = Vec::new();
    for shape in grid::LOADS {
        let calls = shape.in_flight();
        let mut lines = Vec::new();
        for (bypass, name) in [(Bypass::Auto, "auto"), (Bypass::Off, "always asks"), (Bypass::Forced, "never asks")] {
            let cells = grid::DISTANCES.into_iter().enumerate();
            let point = |(at, store)| {
                anyhow::Ok((at as f64, figure(record, Cell { store, shape, ..Cell::PLAIN }, bypass, "answers/s")?))
            };
            lines.push(Line { name: name.to_owned(), points: cells.map(point).collect::<anyhow::Result<_>>()? });
        }
        panels.push((format!("{calls} call{} in flight", if calls == 1 { "" } else { "s" }), lines));
    }
    let ticks = grid::DISTANCES.into_iter().enumerate();
    let lines = Lines {
        caption: Caption {
            name: "what-auto-chooses",
            title: "What auto chooses, beside always and never asking",
            axes: "Answers a second for floors of 100x100 by the distance of Redis, on a logarithmic axis.",
        },
        x_title: "distance of Redis, ms",
        x_labels: ticks.map(|(at, store)| (at as f64, (store.delay_us as f64 / 1e3).to_string())).collect(),
        y_label: |rate| HumanCount(rate.round() as u64).to_string(),
        panels,
    };
    lines.draw()
}

fn in_words(Shape { connections, streams }: Shape) -> String {
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let connections_in_words = HumanCount(connections as u64);
    format!("{connections_in_words} connection{} x {streams} call{}", plural(connections), plural(streams))
}

/// The figure in `column` of a cell with `bypass`.
fn figure(record: &Record, cell: Cell, bypass: Bypass, column: &str) -> anyhow::Result<Estimate> {
    let rows = record.column(&cell.to_string(), column)?;
    let found = rows.into_iter().find(|(row, _)| *row == bypass.name());
    found.map(|(_, estimate)| estimate).with_context(|| format!("the record has no {bypass} of {cell}"))
}

/// The mean of `estimates`, with the least and the greatest.
fn all_of(estimates: &[Estimate]) -> Estimate {
    Estimate {
        value: estimates.iter().map(|it| it.value).sum::<f64>() / estimates.len() as f64,
        low: estimates.iter().map(|it| it.low).fold(f64::MAX, f64::min),
        high: estimates.iter().map(|it| it.high).fold(f64::MIN, f64::max),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_pictures_of_the_documents_are_those_of_the_records() {
        let benches = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (name, draw) in FIGURES {
            let Figure { name, svg } = draw(&Record::newest(&benches.join("records"), name).unwrap()).unwrap();
            let file = benches.join("../docs/images").join(name).with_extension("svg");
            let drawn = fs::read_to_string(&file).unwrap();
            assert!(drawn == svg, "draw {} anew: run the command `figures`", file.display());
        }
    }
}
