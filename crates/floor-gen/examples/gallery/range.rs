//! Heat maps of metrics, one column for each kind.

use floor_gen::{Floor, Kind};

use crate::picture::{INK, LETTER, Picture};

/// Sizes in pixels: the side of a map, the gap between maps, the margin for the axes' names.
const MAP: usize = 140;
const GAP: usize = 20;
const MARGIN: usize = 88;
/// Pixels above a row of maps for the kinds' names, and below it for the axis.
const ABOVE: usize = 20;
const BELOW: usize = 44;
/// The greatest critical path of the upper maps, in steps; the last bin holds all above.
const MAX_STEPS: u32 = 2_100;
/// Bins along a side of the upper maps; and of the lower maps, where each count has a bin and the last holds all above.
const FINE: usize = 35;
const COUNTS: usize = 28;

/// Two heat maps for each kind.
pub(crate) struct Maps {
    floors: u64,
    shapes: Vec<HeatMap>,
    connections: Vec<HeatMap>,
}

impl Maps {
    pub(crate) fn new(floors: u64) -> Self {
        let maps = |bins| Kind::ALL.iter().map(|_| HeatMap::new(bins)).collect();
        Self { floors, shapes: maps(FINE), connections: maps(COUNTS) }
    }

    /// Counts a floor.
    pub(crate) fn add(&mut self, floor: &Floor<'_>) {
        let Some(column) = Kind::ALL.iter().position(|&kind| kind == floor.spec.kind()) else { return };
        let ends = || floor.connections.iter().flat_map(|connection| [connection.from_room, connection.to_room]);
        let dead_ends = floor.rooms.iter().filter(|room| ends().filter(|&end| end == room.id).count() == 1).count();
        let steps = floor.metrics.critical_path as usize * FINE / MAX_STEPS as usize;
        let open = floor.metrics.passable_cells as usize * FINE / floor.terrain.len();
        self.shapes[column].add(steps, open);
        self.connections[column].add(floor.metrics.loops as usize, dead_ends);
    }

    pub(crate) fn draw(&self) -> Picture {
        let row = ABOVE + MAP + BELOW;
        let mut picture = Picture::blank(MARGIN + Kind::ALL.len() * (MAP + GAP), 16 + 2 * row);
        picture.text(
            GAP / 2,
            6,
            &format!("{} floors of 100x100 of each kind; the brighter, the more floors", self.floors),
        );
        for (y, maps, side, along) in [
            (16 + ABOVE, &self.shapes, ["100 %", "open", "cells", "0 %"], ["0", "2100+", "path, steps"]),
            (16 + row + ABOVE, &self.connections, ["27+", "dead", "ends", "0"], ["0", "27+", "loops"]),
        ] {
            let [most, what, more, least] = side;
            picture.text_before(MARGIN - 8, y, most);
            picture.text_before(MARGIN - 8, y + MAP / 2 - LETTER, what);
            picture.text_before(MARGIN - 8, y + MAP / 2 + 2, more);
            picture.text_before(MARGIN - 8, y + MAP - LETTER, least);
            for (column, (kind, map)) in Kind::ALL.into_iter().zip(maps).enumerate() {
                let x = MARGIN + column * (MAP + GAP);
                picture.text_around(x + MAP / 2, y - 12, &kind.name().to_uppercase());
                picture.fill(x - 1, y - 1, (MAP + 2, MAP + 2), INK);
                map.draw(&mut picture, x, y);
                picture.text(x, y + MAP + 6, along[0]);
                picture.text_before(x + MAP, y + MAP + 6, along[1]);
                // Below the numbers, because the name is as wide as the map.
                picture.text_around(x + MAP / 2, y + MAP + 18, along[2]);
            }
        }
        picture
    }
}

/// How many floors have which values. The first value grows to the east, the second to the north.
struct HeatMap {
    bins: usize,
    counts: Vec<u32>,
}

impl HeatMap {
    fn new(bins: usize) -> Self {
        Self { bins, counts: vec![0; bins * bins] }
    }

    fn add(&mut self, x: usize, y: usize) {
        let last = self.bins - 1;
        self.counts[(last - y.min(last)) * self.bins + x.min(last)] += 1;
    }

    fn draw(&self, picture: &mut Picture, left: usize, top: usize) {
        let side = MAP / self.bins;
        let most = self.counts.iter().copied().max().unwrap_or(1).max(1);
        for (i, &count) in self.counts.iter().enumerate() {
            // A square root, so that rare values stay visible.
            let heat = (f64::from(count) / f64::from(most)).sqrt();
            let shade = |least: f64, most: f64| (least + heat * (most - least)) as u8;
            let colour = [shade(12.0, 255.0), shade(12.0, 200.0), shade(24.0, 90.0)];
            picture.fill(left + i % self.bins * side, top + i / self.bins * side, (side, side), colour);
        }
    }
}
