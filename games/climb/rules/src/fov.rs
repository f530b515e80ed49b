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
