//! Outlines of cells as paths. The viewer draws the same (web/src/outline.ts).

use std::iter;

use tiny_skia::{Path, PathBuilder};

use crate::walls::Corner;

type Point = (f32, f32);

/// How the corners of an outline are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Corners {
    /// Steps between runs of at most two cells become slopes.
    Sloped,
    /// All are round, as in caverns: a B-spline through the middles of the edges of cells.
    Round,
}

/// A point of an outline.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Knot {
    Sharp(Point),
    Round(Point),
}

/// The longest run of cells that is a part of a slope.
const SHORT: u32 = 2;

/// The outlines as one path. `is_sharp`: whether a corner stays as it is; `place` gives the pixels of a point in cells.
pub(super) fn path(
    outlines: &[Vec<Corner>],
    corners: Corners,
    is_sharp: &dyn Fn(Corner) -> bool,
    place: &dyn Fn(Point) -> Point,
) -> Option<Path> {
    let mut path = PathBuilder::new();
    for outline in outlines {
        // The last corner is the first again.
        let outline = &outline[..outline.len() - 1];
        let knots = match corners {
            Corners::Sloped => slopes(outline, is_sharp),
            Corners::Round => curves(outline, is_sharp),
        };
        add(&mut path, &knots, place);
    }
    path.finish()
}

fn add(path: &mut PathBuilder, knots: &[Knot], place: &dyn Fn(Point) -> Point) {
    let Some(last) = knots.last() else { return };
    let (x, y) = place(middle(last.point(), knots[0].point()));
    path.move_to(x, y);
    for (knot, next) in knots.iter().zip(knots.iter().cycle().skip(1)) {
        let [(x, y), (to_x, to_y)] = [knot.point(), middle(knot.point(), next.point())].map(place);
        if let Knot::Sharp(_) = knot {
            path.line_to(x, y);
            path.line_to(to_x, to_y);
        } else {
            path.quad_to(x, y, to_x, to_y);
        }
    }
    path.close();
}

impl Knot {
    const fn point(self) -> Point {
        match self {
            Self::Sharp(point) | Self::Round(point) => point,
        }
    }
}

const fn middle(one: Point, other: Point) -> Point {
    (f32::midpoint(one.0, other.0), f32::midpoint(one.1, other.1))
}

const fn exact((x, y): Corner) -> Point {
    (x as f32, y as f32)
}

/// The middle of each edge of a cell, and the sharp corners.
fn curves(outline: &[Corner], is_sharp: &dyn Fn(Corner) -> bool) -> Vec<Knot> {
    let run = |(from, to): (Corner, Corner)| {
        let (start, edges) = (exact(from), length(from, to));
        let step = ((exact(to).0 - start.0) / edges as f32, (exact(to).1 - start.1) / edges as f32);
        let along = move |edge: u32| edge as f32 + 0.5;
        let middles = (0..edges)
            .map(move |edge| Knot::Round((along(edge).mul_add(step.0, start.0), along(edge).mul_add(step.1, start.1))));
        middles.chain(is_sharp(to).then(|| Knot::Sharp(exact(to))))
    };
    outline.iter().copied().zip(outline.iter().copied().cycle().skip(1)).flat_map(run).collect()
}

/// The corners, and instead of each of a slope the middles of the runs beside it.
fn slopes(outline: &[Corner], is_sharp: &dyn Fn(Corner) -> bool) -> Vec<Knot> {
    let len = outline.len();
    let at = |index: usize| outline[(index + len) % len];
    // Of the corner at `index`: positive to the right.
    let turn = |index: usize| {
        let [before, here, after] = [at(index + len - 1), at(index), at(index + 1)].map(|(x, y)| (x as i32, y as i32));
        ((here.0 - before.0) * (after.1 - here.1) - (here.1 - before.1) * (after.0 - here.0)).signum()
    };
    let knots = |index: usize| {
        let (before, here, after) = (at(index + len - 1), at(index), at(index + 1));
        let is_short = length(before, here).max(length(here, after)) <= SHORT;
        let is_step = turn(index + len - 1) != turn(index) || turn(index + 1) != turn(index);
        if is_short && is_step && !is_sharp(here) {
            let ends = [before, after].map(|end| Knot::Sharp(middle(exact(end), exact(here))));
            return ends.to_vec();
        }
        iter::once(Knot::Sharp(exact(here))).collect()
    };
    (0..len).flat_map(knots).collect()
}

/// Edges of cells between two corners of an outline.
const fn length(from: Corner, to: Corner) -> u32 {
    from.0.abs_diff(to.0) + from.1.abs_diff(to.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square of five cells with a step of one cell in its last corner.
    const STEP: [Corner; 6] = [(0, 0), (5, 0), (5, 4), (4, 4), (4, 5), (0, 5)];

    #[test]
    fn a_step_becomes_a_slope_unless_it_is_sharp() {
        let corners = |knots: Vec<Knot>| knots.into_iter().map(Knot::point).collect::<Vec<_>>();
        assert_eq!(corners(slopes(&STEP, &|_| true)), STEP.map(exact));
        let sloped = corners(slopes(&STEP, &|_| false));
        assert_eq!(sloped[3..5], [(4.5, 4.0), (4.0, 4.5)]);
        assert_eq!(sloped.len(), STEP.len() + 1);
    }

    #[test]
    fn curves_go_through_the_middles_of_edges_and_keep_sharp_corners() {
        let knots = curves(&STEP, &|corner| corner == (0, 0));
        assert_eq!(knots.len(), 20 + 1);
        assert_eq!((knots[0], knots[20]), (Knot::Round((0.5, 0.0)), Knot::Sharp((0.0, 0.0))));
        let mut outline = STEP.to_vec();
        outline.push(STEP[0]);
        let path = path(&[outline], Corners::Round, &|corner| corner == (0, 0), &|point| point).unwrap();
        let bounds = path.bounds();
        assert_eq!((bounds.left(), bounds.top()), (0.0, 0.0), "the sharp corner");
        assert!(path.compute_tight_bounds().is_some_and(|bounds| bounds.right() == 5.0 && bounds.bottom() == 5.0));
    }
}
