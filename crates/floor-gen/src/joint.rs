//! Where the stairs of a tower lie: those down of a floor and those up of the next are one cell, so that floors fit
//! together although each is made alone.

use crate::floor::Point;
use crate::kinds::fallback_room_of;
use crate::rng::{Rng, Root};
use crate::spec::FloorSpec;

/// Cells drawn in each quarter of the floor for a joint.
const DRAWN_IN_A_QUARTER: u64 = 3;
/// Least distance from a joint to the border, in cells: rooms of every kind fit around the cell. Narrow sides have
/// less.
const MARGIN: u16 = 5;
const NARROW_MARGIN: u16 = 4;
const NARROW: u16 = 32;

impl FloorSpec {
    /// The cell of the stairs up, on which a climber arrives: the [`departure`](Self::departure) of the floor below.
    #[must_use]
    pub fn arrival(&self) -> Point {
        joint(self, self.number() - 1)
    }

    /// The cell of the stairs to the next floor.
    #[must_use]
    pub fn departure(&self) -> Point {
        joint(self, self.number())
    }
}

/// The cell between floor `below` and the next, for towers of that seed and floors of that size. Every other joint lies
/// anywhere; those between lie far from both neighbours.
fn joint(spec: &FloorSpec, below: u32) -> Point {
    let mut rng = rng_of(spec, below);
    if below.is_multiple_of(2) {
        return draw(spec, rng.below(4), &mut rng);
    }
    let neighbours = [below - 1, below + 1].map(|other| {
        let mut rng = rng_of(spec, other);
        draw(spec, rng.below(4), &mut rng)
    });
    // The fallback needs three rooms: it is the one layout that has to work with any two joints.
    let apart = |at: &Point| neighbours.iter().all(|other| room_of(spec, *other) != room_of(spec, *at));
    let distance = |at: &Point| neighbours.iter().map(|other| steps(*other, *at)).min();
    let drawn = (0..4 * DRAWN_IN_A_QUARTER).map(|i| draw(spec, i as u32 % 4, &mut rng));
    let corners = (0..4).map(|quarter| corner(spec, quarter));
    // Of four corners, at least two lie in rooms without a neighbour.
    let best = drawn.filter(apart).max_by_key(distance).or_else(|| corners.filter(apart).max_by_key(distance));
    best.unwrap_or_else(|| corner(spec, 0))
}

fn rng_of(spec: &FloorSpec, below: u32) -> Rng {
    let [width, height] = [spec.width(), spec.height()].map(u32::from);
    Rng::from_seed(Root::Joint.of(spec.seed(), [below, width, height]))
}

/// A cell of that quarter. The walls of the fallback are left out.
fn draw(spec: &FloorSpec, quarter: u32, rng: &mut Rng) -> Point {
    let mut along = |side: u16, far: bool| {
        let margin = margin(side);
        let (first, last) = (usize::from(margin), usize::from(side - 1 - margin));
        let half = (last - first).div_ceil(2);
        (first + if far { half } else { 0 } + rng.index(half)) as u16
    };
    let at = Point { x: along(spec.width(), quarter & 1 == 1), y: along(spec.height(), quarter & 2 == 2) };
    inside(spec, at)
}

const fn margin(side: u16) -> u16 {
    if side < NARROW { NARROW_MARGIN } else { MARGIN }
}

/// A cell in a corner of the floor.
fn corner(spec: &FloorSpec, quarter: u32) -> Point {
    let along = |side: u16, far: bool| if far { side - 1 - margin(side) } else { margin(side) };
    inside(spec, Point { x: along(spec.width(), quarter & 1 == 1), y: along(spec.height(), quarter & 2 == 2) })
}

/// The cell, or the one before it if that is a wall of the fallback.
fn inside(spec: &FloorSpec, at: Point) -> Point {
    let (column, row) = room_of(spec, at);
    Point { x: at.x - u16::from(column.is_none()), y: at.y - u16::from(row.is_none()) }
}

/// Column and row of the fallback's room.
fn room_of(spec: &FloorSpec, at: Point) -> (Option<usize>, Option<usize>) {
    (fallback_room_of(spec.width(), at.x), fallback_room_of(spec.height(), at.y))
}

const fn steps(a: Point, b: Point) -> u32 {
    a.x.abs_diff(b.x) as u32 + a.y.abs_diff(b.y) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joints_lie_in_different_rooms_of_the_fallback() {
        let sizes = [(16, 16), (17, 31), (33, 16), (40, 32), (48, 48), (60, 60), (100, 100), (16, 512), (512, 512)];
        for (width, height) in sizes {
            let mut near = 0;
            for i in 0..20_000 {
                let spec = FloorSpec::resolve(i / 40, 1 + i as u32 % 40, width, height, None).unwrap();
                let (from, to) = (spec.arrival(), spec.departure());
                for at in [from, to] {
                    assert!(
                        (3..=spec.width() - 4).contains(&at.x) && (3..=spec.height() - 4).contains(&at.y),
                        "{at:?}"
                    );
                }
                let (a, b) = (room_of(&spec, from), room_of(&spec, to));
                assert!(a.0.is_some() && a.1.is_some() && b.0.is_some() && b.1.is_some(), "{spec:?}");
                assert_ne!(a, b, "{spec:?}");
                near += u32::from(steps(from, to) < (width + height) / 4);
            }
            assert!(
                near < 2_000 || width.min(height) < 32,
                "{width}x{height}: {near} of 20,000 stairs are near each other"
            );
        }
    }

    #[test]
    fn stairs_of_two_floors_meet() {
        for number in 1..200 {
            let of = |number| FloorSpec::resolve(7, number, 100, 80, None).unwrap();
            assert_eq!(of(number).departure(), of(number + 1).arrival());
        }
    }
}
