//! Draws the pictures of docs/generator.md: a contact sheet of each kind, heat maps of metrics, and the difficulty
//! along the walk. `cargo run --release -p floor-gen --example gallery -- --out docs/generator`.

mod difficulty;
mod picture;
mod range;
mod sheet;

use std::fs;
use std::path::PathBuf;

use clap::Parser;
use floor_gen::{FloorSpec, Generator, Kind};
use indicatif::{ProgressBar, ProgressStyle};

/// Draws contact sheets, heat maps and the difficulty curve.
#[derive(Parser)]
struct Options {
    /// The folder for the pictures.
    #[arg(long)]
    out: PathBuf,
    /// Floors of each kind in the heat maps.
    #[arg(long, default_value_t = 10_000)]
    floors: u64,
    /// Only the contact sheet of this kind.
    #[arg(long, value_parser = |name: &str| Kind::from_name(name).ok_or("no such kind"))]
    sheet: Option<Kind>,
    /// Width and height of the floors on the contact sheets, in cells.
    #[arg(long, num_args = 2, value_names = ["WIDTH", "HEIGHT"], default_values_t = [100, 100])]
    size: Vec<u32>,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let options = Options::parse();
    fs::create_dir_all(&options.out)?;
    if let Some(kind) = options.sheet {
        return draw_sheet(&options, kind);
    }
    let style = ProgressStyle::with_template("{msg:8} {bar:40} {pos}/{len}, {eta} left")?;
    let bar = ProgressBar::new(options.floors * Kind::ALL.len() as u64).with_style(style);
    let mut maps = range::Maps::new(options.floors);
    let mut generator = Generator::new();
    for kind in Kind::ALL {
        bar.set_message(kind.name());
        draw_sheet(&options, kind)?;
        for i in 0..options.floors {
            maps.add(&generator.generate(&spec(&options, kind, i)?));
            bar.inc(1);
        }
    }
    maps.draw().save(&options.out.join("range.png"))?;
    difficulty::draw(options.seed, options.floors.min(4_000))?.save(&options.out.join("difficulty.png"))?;
    bar.finish_and_clear();
    println!("{}", options.out.display());
    Ok(())
}

fn draw_sheet(options: &Options, kind: Kind) -> Outcome<()> {
    let sized = |i| {
        let spec = spec(options, kind, i * 5)?;
        Ok(FloorSpec::resolve(spec.seed(), spec.number(), options.size[0], options.size[1], Some(kind))?)
    };
    sheet::draw(kind, sized)?.save(&options.out.join(format!("{}.png", kind.name())))
}

fn spec(options: &Options, kind: Kind, i: u64) -> Outcome<FloorSpec> {
    Ok(FloorSpec::resolve(options.seed + i, 1 + (i % 70) as u32, 0, 0, Some(kind))?)
}
