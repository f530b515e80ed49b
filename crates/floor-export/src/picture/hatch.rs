//! The hatching of rock: for each cell of a floor the same lines in every picture, in sides of a cell from its upper left
//! corner.

use floor_gen::pack::Hatch;

type Line = Vec<(f32, f32)>;

/// The lines of a cell.
pub(crate) fn lines(hatch: Hatch, x: u32, y: u32) -> Vec<Line> {
    let random = |n| grain(x, y, n);
    match hatch {
        Hatch::Plain => Vec::new(),
        Hatch::Strokes => strokes(random),
        Hatch::Dots => (0..3).map(|i| pebble(random(3 * i), random(3 * i + 1), random(3 * i + 2))).collect(),
        Hatch::Waves => (0..2).map(|i| wave(0.4 * random(i), 0.1 + 0.5 * (i as f32) + 0.2 * random(i + 2))).collect(),
        Hatch::Bricks => bricks(x, y),
        Hatch::Shards => shards(random(0), random(1), random(2)),
        Hatch::Lines => (0..4).map(|i| level(random(i), (i as f32).mul_add(0.25, 0.12), random(i + 4))).collect(),
    }
}

/// A number from 0 to below 1 that follows from the cell and `n`.
pub(crate) fn grain(x: u32, y: u32, n: u32) -> f32 {
    let mixed = x.wrapping_mul(0x9e37_79b1) ^ y.wrapping_mul(0x85eb_ca77) ^ n.wrapping_mul(0x27d4_eb2f);
    let mixed = (mixed ^ mixed >> 15).wrapping_mul(0xc2b2_ae3d);
    ((mixed ^ mixed >> 13) & 0xffff) as f32 / 65_536.0
}

/// Three or four strokes that are nearly parallel, around a point near the middle, at any angle.
fn strokes(random: impl Fn(u32) -> f32) -> Vec<Line> {
    let (cos, sin) = direction(2.0f32.mul_add(random(0), -1.0));
    let middle = [1, 2].map(|n| 0.2f32.mul_add(random(n), 0.4));
    let count = if random(3) < 0.55 { 3 } else { 4 };
    let stroke = |i: u32| {
        let spread = |n: u32| random(4 + 5 * i + n) - 0.5;
        let side = 0.27 * (i as f32 - (count - 1) as f32 / 2.0) + 0.08 * spread(0);
        let at = |along: f32, lean: f32| {
            let side = side + lean;
            (middle[0] + along * cos - side * sin, middle[1] + along * sin + side * cos)
        };
        vec![
            at(0.24f32.mul_add(spread(1), -0.5), 0.1 * spread(2)),
            at(0.24f32.mul_add(spread(3), 0.5), 0.1 * spread(4)),
        ]
    };
    (0..count).map(stroke).collect()
}

/// The area of strokes, which hides those below them.
pub(crate) fn area(strokes: &[Line]) -> Line {
    let [first, .., last] = strokes else { return Vec::new() };
    first.iter().chain(last.iter().rev()).copied().collect()
}

/// A direction to the right, from up (-1) to down (1): cosine and sine. The functions of the standard library are not the
/// same on every platform.
const fn direction(turn: f32) -> (f32, f32) {
    let square = turn * turn;
    ((1.0 - square) / (1.0 + square), 2.0 * turn / (1.0 + square))
}

fn pebble(x: f32, y: f32, size: f32) -> Line {
    let radius = 0.1f32.mul_add(size, 0.06);
    let corner = |(cos, sin): (f32, f32)| (radius.mul_add(cos, x), radius.mul_add(0.8 * sin, y));
    let right = [-1.0, -0.5, 0.0, 0.5, 1.0].map(direction);
    let left = right.map(|(cos, sin)| (-cos, -sin));
    right.into_iter().chain(left).map(corner).collect()
}

fn wave(left: f32, top: f32) -> Line {
    [(0.0, 0.1), (0.15, 0.0), (0.3, 0.1), (0.45, 0.0), (0.6, 0.1)].map(|(x, y)| (left + x, top + y)).into()
}

/// Two courses; the joints of one lie between those of the other.
fn bricks(x: u32, y: u32) -> Vec<Line> {
    let bed = |y: f32| vec![(0.0, y), (1.0, y)];
    let joint = |x: f32, y: f32| vec![(x, y), (x, y + 0.5)];
    let shift = if (x + y).is_multiple_of(2) { 0.2 } else { 0.3 };
    vec![bed(0.0), bed(0.5), joint(shift, 0.0), joint(shift + 0.5, 0.5)]
}

/// Two splinters that share a side.
fn shards(a: f32, b: f32, c: f32) -> Vec<Line> {
    let (top, right, low) = ((a, 0.0), (1.0, b), (c, 1.0));
    let inner = (0.4f32.mul_add(b, 0.3), 0.4f32.mul_add(c, 0.3));
    vec![vec![top, inner, right], vec![inner, low]]
}

fn level(start: f32, y: f32, length: f32) -> Line {
    let left = 0.5 * start - 0.1;
    vec![(left, y), (0.4f32.mul_add(length, left + 0.5), y)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hatching_differs_and_stays_near_its_cell() {
        let all = Hatch::ALL.map(|hatch| lines(hatch, 3, 4));
        for (i, one) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|other| other != one), "{:?}", Hatch::ALL[i]);
            assert_eq!(one.is_empty(), Hatch::ALL[i] == Hatch::Plain);
        }
        let cells = || (0..40).flat_map(|x| (0..40).map(move |y| (x, y)));
        for (x, y) in cells().flat_map(|(x, y)| Hatch::ALL.map(|hatch| lines(hatch, x, y))).flatten().flatten() {
            assert!((-0.6..=1.6).contains(&x) && (-0.6..=1.6).contains(&y), "({x}, {y})");
        }
        assert!(cells().all(|(x, y)| (0.0..1.0).contains(&grain(x, y, 7))));
    }
}
