//! What is seen from where.

use std::collections::HashSet;

use climb_rules::fov::seen_from;
use glam::IVec2;

const MAP: [&str; 7] = ["#########", "#...#...#", "#.......#", "#..##.#.#", "#.......#", "#.#...#.#", "#########"];

fn is_opaque(at: IVec2) -> bool {
    MAP.get(at.y as usize).and_then(|row| row.as_bytes().get(at.x as usize)) != Some(&b'.')
}

fn seen(from: IVec2) -> HashSet<IVec2> {
    seen_from(from, 12, is_opaque)
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
