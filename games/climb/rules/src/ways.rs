//! Shortest ways over the cells of a floor, by breadth-first search.

use std::collections::VecDeque;

use floor_client::v1::Point;
use glam::{IVec2, UVec2};

/// The steps to the four neighbours of a cell.
pub const STEPS: [IVec2; 4] = [IVec2::X, IVec2::Y, IVec2::NEG_X, IVec2::NEG_Y];

/// How many steps each cell is from a goal.
pub struct Ways {
    size: UVec2,
    steps: Vec<Option<u32>>,
    /// The reached cells, the nearest first.
    pub reached: Vec<UVec2>,
}

impl Ways {
    /// The ways of at most `limit` steps to `goal`, over cells that one can `enter`.
    pub fn to(goal: UVec2, size: UVec2, limit: u32, enter: impl Fn(UVec2) -> bool) -> Self {
        let mut ways = Self { size, steps: vec![None; (size.x * size.y) as usize], reached: Vec::new() };
        let mut queue = VecDeque::from([(goal, 0)]);
        ways.set(goal, 0);
        while let Some((at, steps)) = queue.pop_front() {
            ways.reached.push(at);
            for to in neighbours(at, size) {
                if steps < limit && ways.steps(to).is_none() && enter(to) {
                    ways.set(to, steps + 1);
                    queue.push_back((to, steps + 1));
                }
            }
        }
        ways
    }

    /// `None` if there is no way from `at`.
    pub fn steps(&self, at: UVec2) -> Option<u32> {
        self.steps[(at.y * self.size.x + at.x) as usize]
    }

    /// The neighbours of `at` from which there is a way, with its length.
    pub fn around(&self, at: UVec2) -> impl Iterator<Item = (UVec2, u32)> {
        neighbours(at, self.size).filter_map(|to| Some((to, self.steps(to)?)))
    }

    fn set(&mut self, at: UVec2, steps: u32) {
        self.steps[(at.y * self.size.x + at.x) as usize] = Some(steps);
    }
}

fn neighbours(at: UVec2, size: UVec2) -> impl Iterator<Item = UVec2> {
    let inside = move |to: &UVec2| to.x < size.x && to.y < size.y;
    STEPS.into_iter().filter_map(move |step| at.checked_add_signed(step)).filter(inside)
}

/// A point of the wire. The client has checked that it is there.
pub fn cell(at: Option<Point>) -> UVec2 {
    at.map_or(UVec2::ZERO, |at| UVec2::new(at.x, at.y))
}
