//! The difficulty along the walk from entry to exit: monster levels in each part of it.

use floor_gen::{Floor, FloorSpec, Generator, Kind, Point, Terrain};

use crate::Outcome;
use crate::picture::{Colour, INK, Picture};

/// Parts of the walk, one bar each.
const PARTS: usize = 60;
/// Sizes in pixels: the width of a bar, the height of the plot, the margins for the axes.
const STEP: usize = 10;
const HEIGHT: usize = 240;
const LEFT: usize = 64;
const TOP: usize = 56;
const BOTTOM: usize = 48;
/// The number of the floors.
const NUMBER: u32 = 29;
const ACTS: usize = 3;
/// Share of an act that is a rest, in hundredths, as in `curve.rs`.
const REST: usize = 28;

const BAR: Colour = [0xc0, 0x60, 0x40];
const BAR_AT_REST: Colour = [0x60, 0x90, 0xa0];
const GRID: Colour = [0x50, 0x50, 0x54];

/// Plots the monster levels in each part of the walk, for each thousand cells of that part, over STANDARD floors of one
/// number.
pub(crate) fn draw(seed: u64, floors: u64) -> Outcome<Picture> {
    let (mut levels, mut cells) = ([0u64; PARTS], [0u64; PARTS]);
    let mut generator = Generator::new();
    for i in 0..floors {
        let floor = generator.generate(&FloorSpec::resolve(seed + i, NUMBER, 0, 0, Some(Kind::Standard))?);
        let steps = steps_from_entry(&floor);
        let place = |at: Point| usize::from(at.y) * usize::from(floor.spec.width()) + usize::from(at.x);
        let Some(end) = steps[place(floor.exit)] else { continue };
        // Cells farther away than the exit are not part of the walk.
        let part = |steps: u32| (steps <= end).then(|| steps as usize * PARTS / (end as usize + 1));
        steps.iter().flatten().filter_map(|&steps| part(steps)).for_each(|part| cells[part] += 1);
        for spawn in &floor.spawns {
            if let Some(part) = steps[place(spawn.at)].and_then(part) {
                levels[part] += u64::from(spawn.level);
            }
        }
    }
    let mean = |part: usize| levels[part] * 1_000 / cells[part].max(1);
    let most = (0..PARTS).map(mean).max().unwrap_or(1).max(1);
    // The axis ends at a round number.
    let unit = [10, 20, 50, 100, 200, 500].into_iter().find(|unit| most / unit < 6).unwrap_or(1_000);
    let top_value = (most / unit + 1) * unit;

    let mut plot = Picture::blank(LEFT + PARTS * STEP + 24, TOP + HEIGHT + BOTTOM);
    plot.text(8, 8, &format!("monster levels for each 1,000 cells; {floors} STANDARD floors number {NUMBER}, 100x100"));
    for value in (0..=top_value).step_by(unit as usize) {
        let y = TOP + HEIGHT - (value as usize * HEIGHT / top_value as usize);
        plot.fill(LEFT, y, (PARTS * STEP, 1), GRID);
        plot.text_before(LEFT - 8, y - 3, &value.to_string());
    }
    for part in 0..PARTS {
        let height = (mean(part) as usize * HEIGHT) / top_value as usize;
        let within = part * ACTS % PARTS;
        let colour = if within * 100 < REST * PARTS { BAR_AT_REST } else { BAR };
        plot.fill(LEFT + part * STEP, TOP + HEIGHT - height, (STEP - 1, height), colour);
    }
    let axis = TOP + HEIGHT;
    plot.fill(LEFT, axis, (PARTS * STEP, 1), INK);
    plot.fill(LEFT, TOP, (1, HEIGHT), INK);
    for act in 0..ACTS {
        let (from, to) = (LEFT + act * PARTS * STEP / ACTS, LEFT + (act + 1) * PARTS * STEP / ACTS);
        plot.fill(to, TOP - 16, (1, HEIGHT + 16), INK);
        plot.text_around(from.midpoint(to), TOP - 16, &format!("act {}", act + 1));
    }
    for share in (0..=100).step_by(20) {
        plot.text_around(LEFT + share * PARTS * STEP / 100, axis + 8, &share.to_string());
    }
    plot.text_around(LEFT + PARTS * STEP / 2, axis + 24, "share of the steps from entry to exit, per cent");
    plot.fill(LEFT + 8, 26, (8, 8), BAR_AT_REST);
    plot.text(LEFT + 22, 26, "rest");
    plot.fill(LEFT + 78, 26, (8, 8), BAR);
    plot.text(LEFT + 92, 26, "rise");
    Ok(plot)
}

/// Steps from the entry to every cell, locked doors open.
fn steps_from_entry(floor: &Floor<'_>) -> Vec<Option<u32>> {
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
