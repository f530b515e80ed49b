//! Shortest ways over the cells of a floor, by breadth-first search.

use floor_client::{Floor, v1::Point};
use glam::{IVec2, UVec2};

/// The steps to the four neighbours of a cell.
pub const STEPS: [IVec2; 4] = [IVec2::X, IVec2::Y, IVec2::NEG_X, IVec2::NEG_Y];

/// How many steps each cell is from a goal.
pub struct Ways {
    width: u32,
    steps: Vec<Option<u32>>,
    /// The reached cells, the nearest first.
    pub reached: Vec<UVec2>,
}

impl Ways {
    /// The ways of at most `limit` steps to `goal`, over cells that one can `enter`. None lies on the border of a floor.
    pub fn to(goal: UVec2, floor: &Floor, limit: u32, enter: impl Fn(UVec2) -> bool) -> Self {
        let mut ways = Self { width: floor.width(), steps: vec![None; floor.terrain().len()], reached: Vec::new() };
        ways.reach(goal, 0);
        let mut next = 0;
        while let Some(&at) = ways.reached.get(next) {
            next += 1;
            let steps = ways.steps(at).map_or(0, |steps| steps + 1);
            for to in neighbours(at) {
                if steps <= limit && ways.steps(to).is_none() && enter(to) {
                    ways.reach(to, steps);
                }
            }
        }
        ways
    }

    fn reach(&mut self, at: UVec2, steps: u32) {
        self.steps[(at.y * self.width + at.x) as usize] = Some(steps);
        self.reached.push(at);
    }

    /// `None` if there is no way from `at`.
    pub fn steps(&self, at: UVec2) -> Option<u32> {
        self.steps.get((at.y * self.width + at.x) as usize).copied().flatten()
    }

    /// The neighbours of `at` from which there is a way, with its length.
    pub fn around(&self, at: UVec2) -> impl Iterator<Item = (UVec2, u32)> {
        neighbours(at).filter_map(|to| Some((to, self.steps(to)?)))
    }
}

/// The cells beside `at`. Some may lie outside the floor.
pub fn neighbours(at: UVec2) -> impl Iterator<Item = UVec2> {
    STEPS.into_iter().filter_map(move |step| at.checked_add_signed(step))
}

/// A point of the wire. The client has checked that it is there.
pub fn cell(at: Option<Point>) -> UVec2 {
    at.map_or(UVec2::ZERO, |at| UVec2::new(at.x, at.y))
}
