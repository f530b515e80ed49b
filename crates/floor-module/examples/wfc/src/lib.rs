//! A generator for a pack: wave function collapse, which fills a floor with the 3x3 patterns of `sample.txt` in the pack. A
//! cell of the sample is 2x2 cells of a floor, because the time grows with cells times patterns.
//!
//! ```sh
//! cargo build --release --target wasm32-unknown-unknown
//! cp target/wasm32-unknown-unknown/release/wfc_floors.wasm PACK/generator.wasm
//! ```

use std::{collections::VecDeque, num::NonZeroU32};

use coord_2d::{Coord, Size};
use floor_module::{
    FloorSpec, Module, export,
    floor_proto::grid,
    pack::Files,
    v1::{Floor, Point, Room, RoomRole, Terrain},
};
use grid_2d::Grid;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use wfc::{ForbidNothing, RunOwn, overlapping::OverlappingPatterns, retry::NumTimes, wrap::WrapNone};

/// Floors that fail are drawn again so often.
const TRIES: usize = 20;

struct Wfc {
    patterns: OverlappingPatterns<u8>,
}

impl Module for Wfc {
    fn load(files: &Files) -> Result<Self, String> {
        let text = files.get("sample.txt").ok_or("the pack has no sample.txt")?;
        let rows: Vec<&[u8]> = text.trim_ascii_end().split(|byte| *byte == b'\n').collect();
        let (width, height) = (rows[0].len(), rows.len());
        if rows.iter().any(|row| row.len() != width) || width < 3 || height < 3 {
            return Err("the lines of sample.txt have different lengths, or it has fewer than 3x3 cells".to_owned());
        }
        let cells = rows.concat().into_iter().map(terrain).collect::<Result<Vec<_>, _>>()?;
        let sample = Grid::new_iterator(Size::new(width as u32, height as u32), cells.into_iter());
        Ok(Self { patterns: OverlappingPatterns::new_original_orientation(sample, NonZeroU32::new(3).unwrap()) })
    }

    fn generate(&mut self, spec: &FloorSpec) -> Result<Floor, String> {
        let seed = spec.seed() ^ u64::from(spec.number()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        (0..TRIES).find_map(|_| self.draw(spec, &mut rng)).ok_or_else(|| format!("{TRIES} tries gave no floor"))
    }
}

impl Wfc {
    fn draw(&self, spec: &FloorSpec, rng: &mut ChaCha8Rng) -> Option<Floor> {
        let (width, height) = (usize::from(spec.width()), usize::from(spec.height()));
        let stats = self.patterns.global_stats();
        let size = Size::new(width as u32 / 2, height as u32 / 2);
        let run = RunOwn::new_wrap_forbid(size, &stats, WrapNone, ForbidNothing, rng);
        let wave = run.collapse_retrying(NumTimes(3), rng).ok()?;
        let mut cells = vec![Terrain::Wall as u8; width * height];
        for at in (0..width * height).filter(|at| is_inside(*at, width, height)) {
            let of_sample = Coord::new((at % width) as i32 / 2, (at / width) as i32 / 2);
            let pattern = wave.grid().get_checked(of_sample).chosen_pattern_id().ok()?;
            cells[at] = *self.patterns.pattern_top_left_value(pattern);
        }
        let entry = keep_largest_part(&mut cells, width)?;
        let exit = farthest(&cells, width, entry);
        (cells[entry], cells[exit]) = (Terrain::StairsUp as u8, Terrain::StairsDown as u8);
        // One room: all that is no wall.
        let region: Vec<u8> = cells.iter().map(|cell| u8::from(*cell != Terrain::Wall as u8)).collect();
        let inside = |at: &usize| region[*at] == 1;
        let xs = || (0..cells.len()).filter(inside).map(|at| (at % width) as u32);
        let ys = || (0..cells.len()).filter(inside).map(|at| (at / width) as u32);
        let point = |at: usize| Some(Point { x: (at % width) as u32, y: (at / width) as u32 });
        let room = Room {
            id: 0,
            min: Some(Point { x: xs().min()?, y: ys().min()? }),
            max: Some(Point { x: xs().max()?, y: ys().max()? }),
            role: RoomRole::Entry as i32,
            center: point(entry),
            ..Room::default()
        };
        Some(Floor {
            generator_version: 1,
            terrain: Some(grid::encode(width as u32, height as u32, &cells)),
            region: Some(grid::encode(width as u32, height as u32, &region)),
            entry: point(entry),
            exit: point(exit),
            rooms: vec![room],
            theme: "wfc".to_owned(),
            ..Floor::default()
        })
    }
}

/// Whether a cell is none of the border.
const fn is_inside(at: usize, width: usize, height: usize) -> bool {
    let (x, y) = (at % width, at / width);
    x > 0 && y > 0 && x < width - 1 && y < height - 1
}

fn terrain(glyph: u8) -> Result<u8, String> {
    Ok(match glyph {
        b'#' => Terrain::Wall,
        b'.' => Terrain::Floor,
        b'~' => Terrain::ShallowWater,
        other => return Err(format!("sample.txt has {:?}; it may have # . ~", char::from(other))),
    } as u8)
}

/// Makes wall of all but the largest connected part; a cell at one end of that.
fn keep_largest_part(cells: &mut [u8], width: usize) -> Option<usize> {
    let (mut rest, mut largest) = (cells.to_vec(), Vec::new());
    while let Some(start) = rest.iter().position(|cell| *cell != Terrain::Wall as u8) {
        let part = walk(&rest, width, start);
        part.iter().for_each(|at| rest[*at] = Terrain::Wall as u8);
        if part.len() > largest.len() {
            largest = part;
        }
    }
    let mut kept = vec![Terrain::Wall as u8; cells.len()];
    largest.iter().for_each(|at| kept[*at] = cells[*at]);
    cells.copy_from_slice(&kept);
    (largest.len() > cells.len() / 8).then(|| farthest(cells, width, largest[0]))
}

/// The last cell of a walk that is dry.
fn farthest(cells: &[u8], width: usize, start: usize) -> usize {
    let walked = walk(cells, width, start);
    walked.into_iter().rev().find(|at| cells[*at] == Terrain::Floor as u8).unwrap_or(start)
}

/// Cells that can be reached from `start`, near ones first.
fn walk(cells: &[u8], width: usize, start: usize) -> Vec<usize> {
    let (mut seen, mut walked, mut frontier) = (vec![false; cells.len()], Vec::new(), VecDeque::from([start]));
    seen[start] = true;
    while let Some(here) = frontier.pop_front() {
        walked.push(here);
        for there in [here - width, here - 1, here + 1, here + width] {
            if cells[there] != Terrain::Wall as u8 && !seen[there] {
                seen[there] = true;
                frontier.push_back(there);
            }
        }
    }
    walked
}

fn no_randomness(_: &mut [u8]) -> Result<(), getrandom::Error> {
    Err(getrandom::Error::UNSUPPORTED)
}
getrandom::register_custom_getrandom!(no_randomness);
export!(Wfc);
