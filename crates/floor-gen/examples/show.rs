//! Draws floors in the terminal: `cargo run --release -p floor-gen --example show -- --kind boss --seed 7`.

use std::cell::Cell;
use std::time::Instant;

use clap::Parser;
use floor_gen::explain::{self, Observer};
use floor_gen::{Floor, FloorSpec, Generator, Kind, Terrain};

/// Draws floors as text.
#[derive(Parser)]
struct Options {
    /// The tower's seed.
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// The first floor.
    #[arg(long, default_value_t = 7)]
    number: u32,
    /// How many floors.
    #[arg(long, default_value_t = 1)]
    count: u32,
    /// Cells from west to east.
    #[arg(long, default_value_t = 100)]
    width: u32,
    /// Cells from north to south.
    #[arg(long, default_value_t = 100)]
    height: u32,
    /// The kind by name; by default the one in the tower's schedule.
    #[arg(long, value_parser = kind)]
    kind: Option<Kind>,
    /// Also prints what each stage did, and the order of the locks.
    #[arg(long)]
    explain: bool,
    /// Prints what the floors and their rooms are called, and draws nothing.
    #[arg(long)]
    names: bool,
}

/// Prints what the generator does, and how long each stage takes.
#[derive(Default)]
struct Printer {
    running: Cell<Option<(&'static str, Instant)>>,
}

impl Printer {
    /// Prints the time of the current stage.
    fn end_stage(&self) {
        if let Some((name, started)) = self.running.take() {
            println!("  {name:12} {:6.1} us", started.elapsed().as_secs_f64() * 1e6);
        }
    }
}

impl Observer for Printer {
    fn attempt(&self, number: u32) {
        println!("attempt {number}");
    }

    fn stage(&self, name: &'static str) {
        self.end_stage();
        self.running.set(Some((name, Instant::now())));
    }

    fn note(&self, what: &'static str, value: usize) {
        self.end_stage();
        println!("    {what}: {value}");
    }

    fn chose(&self, what: &'static str, key: &'static str) {
        self.end_stage();
        println!("    {what}: {key}");
    }

    fn rejected(&self, why: &'static str) {
        self.end_stage();
        println!("  rejected: {why}");
    }
}

fn kind(name: &str) -> Result<Kind, String> {
    Kind::from_name(name).ok_or_else(|| format!("no kind {name}"))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::parse();
    let mut generator = Generator::new();
    for number in options.number..options.number.saturating_add(options.count) {
        let spec = FloorSpec::resolve(options.seed, number, options.width, options.height, options.kind)?;
        let floor = if options.explain {
            let printer = Printer::default();
            let floor = generator.generate_observed(&spec, &printer);
            printer.end_stage();
            print!("{}", explain::lock_graph(&floor));
            floor
        } else {
            generator.generate(&spec)
        };
        if options.names {
            print!("{}", names(&floor));
            continue;
        }
        println!("{spec:?}: {:?}", floor.metrics);
        print!("{}", draw(&floor));
    }
    Ok(())
}

/// The floor's name, its hook, and the rooms' names.
fn names(floor: &Floor<'_>) -> String {
    let (names, spec) = (&floor.names, &floor.spec);
    let rooms: Vec<&str> = names.rooms.iter().map(|(_, text)| &*text.text).collect();
    let (name, hook, rooms) = (&names.floor.text, &names.hook.text, rooms.join("; "));
    format!("{:5} {:8} {name}. {hook}\n{:15}{rooms}\n", spec.number(), spec.kind().name(), "")
}

/// The character of each terrain, by its number, which counts from 1.
const GLYPHS: [char; Terrain::Pillar as usize] =
    [' ', '.', '+', 'X', 'S', '<', '>', '~', '≈', '&', ':', '=', '"', ',', 'O'];

/// One character for each cell: its terrain, or the thing on it.
fn draw(floor: &Floor<'_>) -> String {
    let width = usize::from(floor.spec.width());
    let mut cells: Vec<char> = floor.terrain.iter().map(|&cell| GLYPHS[cell as usize - 1]).collect();
    let mut put = |at: floor_gen::Point, glyph| cells[usize::from(at.y) * width + usize::from(at.x)] = glyph;
    for piece in &floor.furniture {
        put(piece.at, piece.archetype.chars().next().unwrap_or('f'));
    }
    floor.spawns.iter().for_each(|spawn| put(spawn.at, spawn.archetype.chars().next().unwrap_or('m')));
    floor.traps.iter().for_each(|trap| put(trap.at, '^'));
    floor.items.iter().for_each(|item| put(item.at, if item.opens_lock == 0 { '!' } else { 'K' }));
    cells.chunks(width).flat_map(|row| row.iter().chain(&['\n'])).collect()
}
