//! Shortest ways over the cells of a floor, by breadth-first search.

use floor_client::Floor;
use floor_rules::Point;

/// How many steps each cell is from a goal.
pub(crate) struct Ways {
    width: usize,
    steps: Vec<Option<u32>>,
    /// The reached cells, the nearest first.
    pub(crate) reached: Vec<Point>,
}

impl Ways {
    /// The ways to `goal`, over cells that one can `enter`. None lies on the border of a floor.
    pub(crate) fn to(goal: Point, floor: &Floor, enter: impl Fn(Point) -> bool) -> Self {
        let steps = vec![None; floor.terrain().len()];
        let mut ways = Self { width: floor.width() as usize, steps, reached: Vec::new() };
        ways.reach(goal, 0);
        let mut next = 0;
        while let Some(&at) = ways.reached.get(next) {
            next += 1;
            let steps = ways.steps(at).map_or(0, |steps| steps + 1);
            for to in at.neighbours() {
                if ways.steps(to).is_none() && enter(to) {
                    ways.reach(to, steps);
                }
            }
        }
        ways
    }

    fn reach(&mut self, at: Point, steps: u32) {
        let cell = self.cell(at);
        self.steps[cell] = Some(steps);
        self.reached.push(at);
    }

    /// `None` if there is no way from `at`.
    pub(crate) fn steps(&self, at: Point) -> Option<u32> {
        self.steps.get(self.cell(at)).copied().flatten()
    }

    fn cell(&self, at: Point) -> usize {
        usize::from(at.y) * self.width + usize::from(at.x)
    }
}
