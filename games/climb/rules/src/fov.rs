//! The field of view: symmetric shadowcasting, after Albert Ford, <https://www.albertford.com/shadowcasting/>.
//!
//! If a cell sees another one, that one sees it too. So a player sees every monster that could see the player.

use glam::IVec2;

/// A slope as a fraction with a positive denominator.
type Slope = (i32, i32);

/// Calls `see` for each cell within `radius` that `origin` sees. Walls are seen, but not through. A cell may be seen
/// more than once.
pub fn see_from(origin: IVec2, radius: i32, is_opaque: impl Fn(IVec2) -> bool, mut see: impl FnMut(IVec2)) {
    see(origin);
    for (x_axis, y_axis) in
        [(IVec2::X, IVec2::Y), (IVec2::X, IVec2::NEG_Y), (IVec2::Y, IVec2::X), (IVec2::Y, IVec2::NEG_X)]
    {
        let cell = |depth: i32, column: i32| origin + y_axis * depth + x_axis * column;
        // Rows to scan: their distance, and the slopes between which light arrives.
        let mut rows: Vec<(i32, Slope, Slope)> = vec![(1, (-1, 1), (1, 1))];
        while let Some((depth, mut start, end)) = rows.pop() {
            if depth > radius {
                continue;
            }
            let mut before = None;
            for column in round_ties_up(depth, start)..=round_ties_down(depth, end) {
                let at = cell(depth, column);
                let wall = is_opaque(at);
                let in_light = column * start.1 >= depth * start.0 && column * end.1 <= depth * end.0;
                // A disc that is rounder than that of the radius alone.
                if (wall || in_light) && column * column + depth * depth <= radius * radius + radius {
                    see(at);
                }
                let slope = (2 * column - 1, 2 * depth);
                match (before, wall) {
                    (Some(true), false) => start = slope,
                    (Some(false), true) => rows.push((depth + 1, start, slope)),
                    _ => {}
                }
                before = Some(wall);
            }
            if before == Some(false) {
                rows.push((depth + 1, start, end));
            }
        }
    }
}

fn round_ties_up(depth: i32, (up, along): Slope) -> i32 {
    (2 * depth * up + along).div_euclid(2 * along)
}

fn round_ties_down(depth: i32, (up, along): Slope) -> i32 {
    -(along - 2 * depth * up).div_euclid(2 * along)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const MAP: [&str; 7] = ["#########", "#...#...#", "#.......#", "#..##.#.#", "#.......#", "#.#...#.#", "#########"];

    fn is_opaque(at: IVec2) -> bool {
        MAP.get(at.y as usize).and_then(|row| row.as_bytes().get(at.x as usize)) != Some(&b'.')
    }

    fn seen(from: IVec2) -> HashSet<IVec2> {
        let mut seen = HashSet::new();
        see_from(from, 12, is_opaque, |at| _ = seen.insert(at));
        seen
    }

    #[test]
    fn sight_is_mutual() {
        let cells = (0..7).flat_map(|y| (0..9).map(move |x| IVec2::new(x, y))).filter(|at| !is_opaque(*at));
        let cells: Vec<IVec2> = cells.collect();
        for a in &cells {
            for b in &cells {
                assert_eq!(seen(*a).contains(b), seen(*b).contains(a), "{a} and {b}");
            }
        }
    }

    #[test]
    fn walls_hide_what_is_behind_them() {
        let seen = seen(IVec2::new(3, 1));
        assert!(seen.contains(&IVec2::new(4, 1)) && !seen.contains(&IVec2::new(5, 1)));
        assert!(!seen.contains(&IVec2::new(3, 4)));
    }
}
