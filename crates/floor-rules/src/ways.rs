//! How many steps cells are from one, by breadth-first search. The memory is used again from search to search.

use alloc::{vec, vec::Vec};

use crate::{
    bit_grid::BitGrid,
    point::{Direction, Point},
};

/// How far monsters find their way, in steps.
pub(crate) const SEEK: u8 = 30;
/// The cells within so many steps on open ground.
const MOST_REACHED: usize = 2 * SEEK as usize * (SEEK as usize + 1) + 1;
const FAR: u8 = u8::MAX;

/// The steps from the cells around one.
#[derive(Debug, Clone)]
pub(crate) struct Ways {
    width: u16,
    /// [`FAR`] for most.
    steps: Vec<u8>,
    /// `y * width + x` of the cells that are not far, the nearest first.
    reached: Vec<u32>,
}

impl Ways {
    pub(crate) fn new(width: u16, height: u16) -> Self {
        let cells = usize::from(width) * usize::from(height);
        Self { width, steps: vec![FAR; cells], reached: Vec::with_capacity(MOST_REACHED.min(cells)) }
    }

    /// Finds the ways of at most `limit` steps to `goal`, and of no more than `until` needs. No cell of `passable` is
    /// on the border, nor is the goal.
    pub(crate) fn find(&mut self, goal: Point, limit: u8, until: Option<Point>, passable: &BitGrid) {
        self.reached.iter().for_each(|cell| self.steps[*cell as usize] = FAR);
        self.reached.clear();
        let width = usize::from(self.width);
        let until = until.map(|at| at.index(self.width));
        self.reach(goal.index(self.width), 0);
        let mut next = 0;
        while let Some(&cell) = self.reached.get(next) {
            let cell = cell as usize;
            let steps = self.steps[cell] + 1;
            if steps > limit || Some(cell) == until {
                break;
            }
            for to in [cell - width, cell - 1, cell + 1, cell + width] {
                if self.steps[to] == FAR && passable.has(to) {
                    self.reach(to, steps);
                }
            }
            next += 1;
        }
    }

    /// `None` if no way was found from there.
    pub(crate) fn steps(&self, at: Point) -> Option<u8> {
        Some(self.steps[at.index(self.width)]).filter(|steps| *steps != FAR)
    }

    /// The cells with a way, the nearest first.
    pub(crate) fn reached(&self) -> impl ExactSizeIterator<Item = Point> + '_ {
        let width = u32::from(self.width);
        self.reached.iter().map(move |cell| Point::new((cell % width) as u16, (cell / width) as u16))
    }

    /// The way from a cell, which the last search was until. Empty if there is none.
    pub(crate) fn route(&self, from: Point) -> Route {
        let mut route = Route::default();
        let Some(mut left) = self.steps(from) else { return route };
        let mut at = from;
        while left > 0 {
            left -= 1;
            let nearer = Direction::ALL.into_iter().find_map(|direction| {
                let to = at.step(direction).filter(|to| self.steps(*to) == Some(left))?;
                Some((direction, to))
            });
            // A cell with a way has a neighbour that is one step nearer.
            let Some((direction, to)) = nearer else { break };
            route.push(direction);
            at = to;
        }
        route
    }

    fn reach(&mut self, cell: usize, steps: u8) {
        self.steps[cell] = steps;
        self.reached.push(cell as u32);
    }
}

/// Up to 32 steps, of which a monster goes one a turn. A search for each turn would be most of the work of a floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Route {
    /// Two bits a step, the next one in the lowest; after the last one 0.
    bits: u64,
    pub(crate) steps: u8,
}

impl Route {
    /// [`SEEK`] steps fit.
    fn push(&mut self, direction: Direction) {
        self.bits |= (direction as u64) << (2 * self.steps);
        self.steps += 1;
    }

    /// The next step.
    pub(crate) fn first(self) -> Option<Direction> {
        (self.steps > 0).then(|| Direction::ALL[(self.bits & 3) as usize])
    }

    /// What is left after the next step.
    pub(crate) const fn rest(self) -> Self {
        Self { bits: self.bits >> 2, steps: self.steps.saturating_sub(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_leads_around_a_wall_and_no_farther_than_the_limit() {
        let rows = ["#######", "#.#...#", "#.#.#.#", "#...#.#", "#######"];
        let mut passable = BitGrid::new(7, 5);
        rows.concat().bytes().enumerate().for_each(|(index, glyph)| passable.set_index(index, glyph == b'.'));
        let (from, goal) = (Point::new(1, 1), Point::new(5, 3));
        let mut ways = Ways::new(7, 5);
        ways.find(goal, SEEK, Some(from), &passable);
        assert_eq!(ways.steps(from), Some(10));
        let (mut at, mut route) = (from, ways.route(from));
        for left in (0..10).rev() {
            at = route.first().and_then(|direction| at.step(direction)).unwrap_or_default();
            route = route.rest();
            assert_eq!(ways.steps(at), Some(left));
        }
        assert_eq!((at, route), (goal, Route::default()));
        ways.find(goal, 9, None, &passable);
        assert_eq!((ways.steps(from), ways.route(from)), (None, Route::default()));
        assert_eq!(ways.reached().len(), 10);
    }
}
