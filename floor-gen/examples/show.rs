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
    /// Also lists rooms, connections, monsters, loot and traps.
    #[arg(long)]
    list: bool,
    /// Also prints what each stage did, and the order of the locks.
    #[arg(long)]
    explain: bool,
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
        println!(
            "{} {}x{} seed {} number {number}: {:?}",
            spec.kind(),
            spec.width(),
            spec.height(),
            spec.seed(),
            floor.metrics
        );
        print!("{}", draw(&floor));
        if options.list {
            list(&floor);
        }
    }
    Ok(())
}

/// One character for each cell: its terrain, or the thing on it.
fn draw(floor: &Floor) -> String {
    let width = usize::from(floor.spec.width());
    let mut cells: Vec<char> = floor.terrain.iter().map(|&cell| glyph(cell)).collect();
    let mut put = |at: floor_gen::Point, glyph| cells[usize::from(at.y) * width + usize::from(at.x)] = glyph;
    floor.spawns.iter().for_each(|spawn| put(spawn.at, spawn.archetype.chars().next().unwrap_or('m')));
    floor.traps.iter().for_each(|trap| put(trap.at, '^'));
    floor.items.iter().for_each(|item| put(item.at, if item.opens_lock == 0 { '!' } else { 'K' }));
    cells.chunks(width).flat_map(|row| row.iter().chain(&['\n'])).collect()
}

const fn glyph(cell: Terrain) -> char {
    match cell {
        Terrain::Wall => ' ',
        Terrain::Floor => '.',
        Terrain::Door => '+',
        Terrain::LockedDoor => 'X',
        Terrain::SecretDoor => 'S',
        Terrain::StairsUp => '<',
        Terrain::StairsDown => '>',
        Terrain::ShallowWater => '~',
        Terrain::DeepWater => '≈',
        Terrain::Lava => '&',
        Terrain::Chasm => ':',
        Terrain::Bridge => '=',
        Terrain::Grass => '"',
        Terrain::Rubble => ',',
        Terrain::Pillar => 'O',
    }
}

fn list(floor: &Floor) {
    floor.rooms.iter().for_each(|room| println!("{room:?}"));
    floor.connections.iter().for_each(|connection| println!("{connection:?}"));
    floor.spawns.iter().for_each(|spawn| println!("{spawn:?}"));
    floor.items.iter().for_each(|item| println!("{item:?}"));
    floor.traps.iter().for_each(|trap| println!("{trap:?}"));
}
