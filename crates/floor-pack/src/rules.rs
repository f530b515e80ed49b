//! Checks a floor that was saved, edited or authored against every rule, with the generator's validator.

use std::fmt;

use floor_gen::{
    Floor, Point,
    validate::{Violation, validate},
};
use floor_proto::v1;
use floor_wire::decode;

/// The rule of what the message cannot say at all: sizes, ids and positions beyond the protocol's limits.
const LIMITS: &str = "limits";

/// A rule that a floor breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenRule {
    /// Its name.
    pub rule: &'static str,
    /// What is wrong.
    pub message: String,
    /// Where.
    pub cells: Vec<(u16, u16)>,
    /// The metric that is wrong, and its correct value.
    metric: Option<(&'static str, u32)>,
}

/// Every rule that `message` breaks, once for each place.
#[must_use]
pub fn broken_by(message: &v1::Floor) -> Vec<BrokenRule> {
    let floor = match decode::floor(message) {
        Ok(floor) => floor,
        Err(error) => {
            return vec![BrokenRule { rule: LIMITS, message: error.to_string(), cells: Vec::new(), metric: None }];
        }
    };
    let violations = validate(&floor).err().unwrap_or_default();
    violations.iter().map(|violation| BrokenRule::of(violation, &floor)).collect()
}

/// Puts the correct metrics into `message`, for the rules that its metrics break.
pub fn correct_metrics(message: &mut v1::Floor, broken: &[BrokenRule]) {
    let metrics = message.metrics.get_or_insert_default();
    for (name, counted) in broken.iter().filter_map(|broken| broken.metric) {
        match name {
            "critical_path" => metrics.critical_path = counted,
            "passable_cells" => metrics.passable_cells = counted,
            "loops" => metrics.loops = counted,
            _ => {}
        }
    }
}

impl fmt::Display for BrokenRule {
    /// The rule, the first cell, and what is wrong.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule)?;
        if let Some((x, y)) = self.cells.first() {
            write!(f, " at ({x}, {y})")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl BrokenRule {
    fn of(violation: &Violation, floor: &Floor<'_>) -> Self {
        let metric = match *violation {
            Violation::Metric { name, counted, .. } => Some((name, counted)),
            _ => None,
        };
        let cells = violation.cells(floor).into_iter().map(|Point { x, y }| (x, y)).collect();
        Self { rule: violation.rule(), message: violation.to_string(), cells, metric }
    }

    /// Whether recounting the metrics mends it.
    #[must_use]
    pub const fn is_metric(&self) -> bool {
        self.metric.is_some()
    }
}

#[cfg(test)]
mod tests {
    use floor_gen::{FloorSpec, Kind};
    use floor_proto::{grid, v1::Terrain};

    use super::*;

    /// A generated floor of each kind.
    fn floors() -> impl Iterator<Item = v1::Floor> {
        Kind::ALL.into_iter().map(|kind| {
            let spec = FloorSpec::resolve(42, 7, 64, 64, Some(kind)).unwrap();
            floor_wire::message(&floor_gen::generate(&spec))
        })
    }

    #[test]
    fn a_generated_floor_breaks_no_rule() {
        for floor in floors() {
            assert_eq!(broken_by(&floor), []);
        }
    }

    #[test]
    fn a_broken_rule_names_its_cells() {
        for mut floor in floors() {
            let mut cells = grid::decode(floor.terrain.as_ref().unwrap()).unwrap();
            cells[3 * 64] = Terrain::Floor as u8;
            floor.terrain = Some(grid::encode(64, 64, &cells));
            let broken = broken_by(&floor);
            assert_eq!((broken[0].rule, &broken[0].cells[..]), ("open border", &[(0, 3)][..]));
            assert!(broken[1..].iter().all(BrokenRule::is_metric), "{broken:?}");
        }
    }

    #[test]
    fn corrected_metrics_break_no_rule() {
        for good in floors() {
            let mut floor = good.clone();
            let metrics = floor.metrics.as_mut().unwrap();
            (metrics.loops, metrics.critical_path, metrics.passable_cells) = (99, 0, 1);
            let broken = broken_by(&floor);
            assert_eq!(broken.len(), 3, "{broken:?}");
            correct_metrics(&mut floor, &broken);
            assert_eq!(floor, good);
        }
    }

    #[test]
    fn what_the_rules_cannot_be_asked_about_breaks_the_limits() {
        let good = floors().next().unwrap();
        let broken = |edit: &dyn Fn(&mut v1::Floor)| {
            let mut floor = good.clone();
            edit(&mut floor);
            let broken = broken_by(&floor);
            assert_eq!((broken.len(), broken[0].rule), (1, LIMITS));
            broken[0].message.clone()
        };
        for (message, expected) in [
            (broken(&|floor| floor.spec = None), "no spec"),
            (broken(&|floor| floor.spec.as_mut().unwrap().kind = 77), "kind 77 is unknown"),
            (broken(&|floor| floor.spec.as_mut().unwrap().number = 0), "floor number 0"),
            (broken(&|floor| floor.spec.as_mut().unwrap().width = 80), "64x64 cells, and the floor 80x64"),
            (broken(&|floor| floor.rooms[0].id = 300), "the id 300"),
            (broken(&|floor| floor.rooms[0].role = 0), "room role 0"),
            (broken(&|floor| floor.entry = None), "the entry has no position"),
            (broken(&|floor| floor.spawns[0].behaviour = 5), "behaviour 5 is unknown to this program; they are 1 to 4"),
            (broken(&|floor| floor.spawns[0].group = 256), "group 256 is more than 255"),
            (broken(&|floor| floor.landing.as_mut().unwrap().y = 65_536), "the landing is at ("),
            (broken(&|floor| floor.exit.as_mut().unwrap().x = 70_000), "(70000, "),
            (broken(&|floor| floor.rooms = vec![floor.rooms[0].clone(); 256]), "at most 255 rooms, not 256"),
        ] {
            assert!(message.contains(expected), "{message}");
        }
    }
}
