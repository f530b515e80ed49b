//! Draws what docs/generator.md shows: a contact sheet of each kind, heat maps of what each kind comes to, and the
//! difficulty along the walk. `cargo run --release -p floor-gen --example gallery -- --out docs/generator`.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use clap::Parser;
use floor_gen::{Floor, FloorSpec, Generator, Kind, Point, Terrain};
use indicatif::{ProgressBar, ProgressStyle};

/// Draws contact sheets, heat maps and the difficulty curve.
#[derive(Parser)]
struct Options {
    /// The folder that the pictures go to.
    #[arg(long)]
    out: PathBuf,
    /// Floors of each kind in the heat maps.
    #[arg(long, default_value_t = 10_000)]
    floors: u64,
    /// The first tower.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

type Colour = [u8; 3];
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let options = Options::parse();
    fs::create_dir_all(&options.out)?;
    let style = ProgressStyle::with_template("{msg:8} {bar:40} {pos}/{len}, {eta} left")?;
    let bar = ProgressBar::new(options.floors * Kind::ALL.len() as u64).with_style(style);
    let mut maps = Picture::blank(Kind::ALL.len() * (MAP + 8) + 8, 2 * (MAP + 8) + 8, PAPER);
    for (column, kind) in Kind::ALL.into_iter().enumerate() {
        bar.set_message(kind.name());
        contact_sheet(&options, kind)?.save(&options.out.join(format!("{}.png", kind.name())))?;
        let (mut shape, mut ways) = (HeatMap::default(), HeatMap::default());
        let mut generator = Generator::new();
        for i in 0..options.floors {
            let floor = generator.generate(&spec(&options, kind, i)?);
            let range = Range::of(&floor);
            shape.add(range.linearity, range.openness);
            ways.add(range.loops, range.dead_ends);
            bar.inc(1);
        }
        for (row, map) in [shape, ways].iter().enumerate() {
            map.draw(&mut maps, 8 + column * (MAP + 8), 8 + row * (MAP + 8));
        }
    }
    maps.save(&options.out.join("range.png"))?;
    difficulty_plot(&options)?.save(&options.out.join("difficulty.png"))?;
    bar.finish_and_clear();
    println!("{}", options.out.display());
    Ok(())
}

fn spec(options: &Options, kind: Kind, i: u64) -> Outcome<FloorSpec> {
    Ok(FloorSpec::resolve(options.seed + i, 1 + (i % 70) as u32, 0, 0, Some(kind))?)
}

/// Sixteen floors of a kind, two pixels a cell.
fn contact_sheet(options: &Options, kind: Kind) -> Outcome<Picture> {
    const SCALE: usize = 2;
    const GAP: usize = 8;
    let step = 100 * SCALE + GAP;
    let mut sheet = Picture::blank(4 * step + GAP, 4 * step + GAP, PAPER);
    let mut generator = Generator::new();
    for i in 0..16 {
        let floor = generator.generate(&spec(options, kind, i as u64 * 5)?);
        let (left, top) = (GAP + i % 4 * step, GAP + i / 4 * step);
        let mut put =
            |at: usize, colour: Colour| sheet.fill(left + at % 100 * SCALE, top + at / 100 * SCALE, SCALE, colour);
        floor.terrain.iter().enumerate().for_each(|(at, &cell)| put(at, colour(cell)));
        let place = |at: Point| usize::from(at.y) * 100 + usize::from(at.x);
        floor.spawns.iter().for_each(|spawn| put(place(spawn.at), [0xd0, 0x40, 0x40]));
        floor.traps.iter().for_each(|trap| put(place(trap.at), [0xe0, 0x80, 0x20]));
        for item in &floor.items {
            put(place(item.at), if item.opens_lock == 0 { [0xf0, 0xd0, 0x40] } else { [0xff, 0xff, 0xff] });
        }
    }
    Ok(sheet)
}

const PAPER: Colour = [0x20, 0x20, 0x24];

const fn colour(cell: Terrain) -> Colour {
    match cell {
        Terrain::Wall => [0x0c, 0x0c, 0x10],
        Terrain::Floor => [0x6c, 0x68, 0x60],
        Terrain::Door => [0xb0, 0x80, 0x40],
        Terrain::LockedDoor => [0xff, 0x40, 0xff],
        Terrain::SecretDoor => [0x90, 0x50, 0xc0],
        Terrain::StairsUp => [0x40, 0xff, 0x60],
        Terrain::StairsDown => [0x40, 0xe0, 0xff],
        Terrain::ShallowWater => [0x50, 0x90, 0xb0],
        Terrain::DeepWater => [0x20, 0x48, 0x90],
        Terrain::Lava => [0xc8, 0x48, 0x10],
        Terrain::Chasm => [0x2c, 0x20, 0x30],
        Terrain::Bridge => [0x90, 0x68, 0x38],
        Terrain::Grass => [0x50, 0x80, 0x40],
        Terrain::Rubble => [0x80, 0x78, 0x68],
        Terrain::Pillar => [0x30, 0x30, 0x34],
    }
}

/// Where a floor lies in what its kind can come to, each from 0 to 1.
struct Range {
    /// Steps of the critical path, of the most that fit five half perimeters.
    linearity: f64,
    /// Share of cells that can be walked.
    openness: f64,
    /// Loops a room.
    loops: f64,
    /// Share of rooms with one way.
    dead_ends: f64,
}

impl Range {
    fn of(floor: &Floor) -> Self {
        let rooms = floor.rooms.len() as f64;
        let ways = |room: u8| floor.connections.iter().filter(move |way| way.from_room == room || way.to_room == room);
        let dead_ends = floor.rooms.iter().filter(|room| ways(room.id).count() == 1).count();
        let sides = f64::from(floor.spec.width()) + f64::from(floor.spec.height());
        Self {
            linearity: f64::from(floor.metrics.critical_path) / sides / 5.0,
            openness: f64::from(floor.metrics.passable_cells) / floor.terrain.len() as f64,
            loops: f64::from(floor.metrics.loops) / rooms,
            dead_ends: dead_ends as f64 / rooms,
        }
    }
}

/// Pixels of a heat map's side, and of a bin's.
const MAP: usize = 128;
const BIN: usize = 4;
const BINS: usize = MAP / BIN;

/// How many floors fell where. The first value grows eastwards, the second northwards.
struct HeatMap {
    bins: [[u32; BINS]; BINS],
}

impl Default for HeatMap {
    fn default() -> Self {
        Self { bins: [[0; BINS]; BINS] }
    }
}

impl HeatMap {
    fn add(&mut self, x: f64, y: f64) {
        let bin = |value: f64| ((value * BINS as f64) as usize).min(BINS - 1);
        self.bins[BINS - 1 - bin(y)][bin(x)] += 1;
    }

    fn draw(&self, picture: &mut Picture, left: usize, top: usize) {
        let most = self.bins.iter().flatten().copied().max().unwrap_or(1).max(1);
        for (y, row) in self.bins.iter().enumerate() {
            for (x, &count) in row.iter().enumerate() {
                // The root lets rare floors be seen beside common ones.
                let heat = (f64::from(count) / f64::from(most)).sqrt();
                let shade = |least: f64, most: f64| (least + heat * (most - least)) as u8;
                let colour = [shade(12.0, 255.0), shade(12.0, 200.0), shade(24.0, 90.0)];
                picture.fill(left + x * BIN, top + y * BIN, BIN, colour);
            }
        }
    }
}

/// Mean strength of the packs along the walk, over STANDARD floors of one number: levels met in each part of it.
fn difficulty_plot(options: &Options) -> Outcome<Picture> {
    const PARTS: usize = 60;
    const STEP: usize = 8;
    const HEIGHT: usize = 200;
    let mut levels = [0u64; PARTS];
    let mut cells = [0u64; PARTS];
    let mut generator = Generator::new();
    for i in 0..options.floors.min(4_000) {
        let spec = FloorSpec::resolve(options.seed + i, 29, 0, 0, Some(Kind::Standard))?;
        let floor = generator.generate(&spec);
        let steps = steps_from_entry(&floor);
        let place = |at: Point| usize::from(at.y) * 100 + usize::from(at.x);
        let Some(end) = steps[place(floor.exit)] else { continue };
        let part = |steps: u32| (steps as usize * PARTS / (end as usize + 1)).min(PARTS - 1);
        steps.iter().flatten().for_each(|&steps| cells[part(steps)] += 1);
        for spawn in &floor.spawns {
            if let Some(steps) = steps[place(spawn.at)] {
                levels[part(steps)] += u64::from(spawn.level);
            }
        }
    }
    let mut plot = Picture::blank(PARTS * STEP + 16, HEIGHT + 16, PAPER);
    let mean = |part: usize| levels[part] as f64 / cells[part].max(1) as f64;
    let most = (0..PARTS - 1).map(mean).fold(f64::MIN_POSITIVE, f64::max);
    for part in 0..PARTS {
        let height = ((mean(part) / most).min(1.0) * HEIGHT as f64) as usize;
        for y in 0..height {
            for x in 0..STEP - 1 {
                plot.fill(8 + part * STEP + x, 8 + HEIGHT - 1 - y, 1, [0xc0, 0x60, 0x40]);
            }
        }
    }
    Ok(plot)
}

/// Steps from the entry to every cell, locked doors open.
fn steps_from_entry(floor: &Floor) -> Vec<Option<u32>> {
    let width = usize::from(floor.spec.width());
    let start = usize::from(floor.entry.y) * width + usize::from(floor.entry.x);
    let mut steps = vec![None; floor.terrain.len()];
    steps[start] = Some(0);
    let mut queue = std::collections::VecDeque::from([(start, 0)]);
    while let Some((at, walked)) = queue.pop_front() {
        // The border is wall, so every neighbour of a walked cell is inside.
        for there in [at - width, at + 1, at + width, at - 1] {
            let cell = floor.terrain[there];
            if steps[there].is_none() && (cell.passable() || cell == Terrain::LockedDoor) {
                steps[there] = Some(walked + 1);
                queue.push_back((there, walked + 1));
            }
        }
    }
    steps
}

/// A picture with a palette: floors have few colours.
struct Picture {
    width: usize,
    height: usize,
    palette: Vec<Colour>,
    pixels: Vec<u8>,
}

impl Picture {
    fn blank(width: usize, height: usize, paper: Colour) -> Self {
        Self { width, height, palette: vec![paper], pixels: vec![0; width * height] }
    }

    /// A square of one colour.
    fn fill(&mut self, left: usize, top: usize, side: usize, colour: Colour) {
        let known = self.palette.iter().position(|&known| known == colour);
        // A heat map has more shades than a palette holds: the nearest does.
        let index = known.unwrap_or_else(|| {
            if self.palette.len() < 256 {
                self.palette.push(colour);
                self.palette.len() - 1
            } else {
                let far = |other: &Colour| (0..3).map(|i| u32::from(other[i].abs_diff(colour[i]))).sum::<u32>();
                (0..256).min_by_key(|&i| far(&self.palette[i])).unwrap_or(0)
            }
        });
        for y in top..top + side {
            self.pixels[y * self.width + left..y * self.width + left + side].fill(index as u8);
        }
    }

    fn save(&self, path: &Path) -> Outcome<()> {
        let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_palette(self.palette.concat());
        encoder.write_header()?.write_image_data(&self.pixels)?;
        Ok(())
    }
}
