//! Caves: noise, smoothed by a cellular automaton that works on 64 cells at a time. (The rule is the one that
//! roguelike makers have used since Jim Babcock's of 2005: a cell is what most of the nine around it are.)

use crate::arena::Arena;
use crate::floor::Terrain;
use crate::mask::Mask;
use crate::rng::Rng;

/// Rounds of smoothing. Fewer leave single rocks, more change little.
const ROUNDS: usize = 4;

/// Fills the arena's cave with open rock, `open` in 16 cells before smoothing. The border stays rock.
pub(crate) fn hollow(arena: &mut Arena, open: u32, rng: &mut Rng) {
    let (width, height) = (arena.width, arena.height);
    let (now, next) = &mut arena.cave;
    now.reset(width, height);
    next.reset(width, height);
    for y in 1..height - 1 {
        for word in now.row_mut(y) {
            *word = noise(open, rng);
        }
        fence(now, width, y);
    }
    for _ in 0..ROUNDS {
        for y in 1..height - 1 {
            smooth_row(now, next, y);
            fence(next, width, y);
        }
        core::mem::swap(now, next);
    }
}

/// A level stretch of open cells, and the cave that it belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    row: u16,
    /// Columns `from .. to`.
    from: u16,
    to: u16,
    /// A run of the same cave, itself in the one that stands for the cave.
    parent: u32,
    /// Cells of the cave, in the run that stands for it.
    cells: u32,
}

/// Carves the largest of the caves and leaves the rest rock. Returns its cells.
///
/// Runs, not cells, are joined to caves: He, Chao, Suzuki, "A run-based two-scan labeling algorithm", IEEE Transactions
/// on Image Processing 2008.
pub(crate) fn carve_largest(arena: &mut Arena) -> usize {
    let Arena { width, height, cave: (open, kept), runs, terrain, claim, .. } = arena;
    runs.clear();
    // Runs of the row above.
    let (mut above, mut here) = (0, 0);
    for y in 1..*height - 1 {
        let mut x = 0;
        while let Some(from) = open.next_set(y, x) {
            let to = open.next_unset(y, from).unwrap_or(*width);
            let place = runs.len();
            let cells = (to - from) as u32;
            runs.push(Run { row: y as u16, from: from as u16, to: to as u16, parent: place as u32, cells });
            while above < here && usize::from(runs[above].to) <= from {
                above += 1;
            }
            let mut touching = above;
            while touching < here && usize::from(runs[touching].from) < to {
                join(runs, touching, place);
                touching += 1;
            }
            x = to;
        }
        (above, here) = (here, runs.len());
    }
    let Some(largest) = (0..runs.len()).max_by_key(|&i| if is_root(runs, i) { runs[i].cells } else { 0 }) else {
        return 0;
    };
    kept.reset(*width, *height);
    for i in 0..runs.len() {
        if root(runs, i) == largest {
            let Run { row, from, to, .. } = runs[i];
            let (row, from, to) = (usize::from(row), usize::from(from), usize::from(to));
            terrain[row * *width + from..row * *width + to].fill(Terrain::Floor);
            kept.insert_run(row, from, to);
        }
    }
    claim.insert_around(kept, *height);
    runs[largest].cells as usize
}

fn is_root(runs: &[Run], run: usize) -> bool {
    runs[run].parent as usize == run
}

/// The run that stands for a run's cave, paths halved on the way.
fn root(runs: &mut [Run], mut run: usize) -> usize {
    while !is_root(runs, run) {
        runs[run].parent = runs[runs[run].parent as usize].parent;
        run = runs[run].parent as usize;
    }
    run
}

fn join(runs: &mut [Run], a: usize, b: usize) {
    let (a, b) = (root(runs, a), root(runs, b));
    if a != b {
        runs[a].parent = b as u32;
        runs[b].cells += runs[a].cells;
    }
}

/// 64 bits, each set `open` times in 16: Horner's rule on the share's binary digits, a draw a digit.
fn noise(open: u32, rng: &mut Rng) -> u64 {
    (0..4).fold(0, |bits, digit| if open >> digit & 1 == 1 { bits | rng.next() } else { bits & rng.next() })
}

/// Shuts the row's first and last column and what lies beyond.
fn fence(mask: &mut Mask, width: usize, y: usize) {
    for (i, word) in mask.row_mut(y).iter_mut().enumerate() {
        let end = (width - 1).saturating_sub(i * 64);
        *word &= if end >= 64 { u64::MAX } else { (1 << end) - 1 };
        if i == 0 {
            *word &= !1;
        }
    }
}

/// What most of the nine cells around each cell are: three rows of three are added up in bit-sliced counters.
fn smooth_row(now: &Mask, next: &mut Mask, y: usize) {
    let rows = [now.row(y - 1), now.row(y), now.row(y + 1)];
    let words = rows[0].len();
    for i in 0..words {
        // Of each row, how many of three cells are open: a low and a high bit.
        let counts = rows.map(|row| {
            let here = row[i];
            let west = here << 1 | if i > 0 { row[i - 1] >> 63 } else { 0 };
            let east = here >> 1 | if i + 1 < words { row[i + 1] << 63 } else { 0 };
            (west ^ here ^ east, (west & here) | (here & east) | (west & east))
        });
        let [(a0, a1), (b0, b1), (c0, c1)] = counts;
        let ones = a0 ^ b0 ^ c0;
        let carry = (a0 & b0) | (b0 & c0) | (a0 & c0);
        // How many twos there are, 0 to 4, of which `carry` is one.
        let half = a1 ^ b1;
        let half_carry = a1 & b1;
        let other = c1 ^ carry;
        let other_carry = c1 & carry;
        let twos = half ^ other;
        let fours = half_carry | other_carry | (half & other);
        let eights = half_carry & other_carry;
        // Five or more: eight or nine, or four and at least one more.
        next.row_mut(y)[i] = eights | (fours & (ones | twos));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_becomes_what_most_around_it_are() {
        let mut rng = Rng::from_seed(3);
        let (mut now, mut next) = (Mask::default(), Mask::default());
        now.reset(130, 9);
        next.reset(130, 9);
        for y in 1..8 {
            for word in now.row_mut(y) {
                *word = noise(8, &mut rng);
            }
            fence(&mut now, 130, y);
        }
        for y in 1..8 {
            smooth_row(&now, &mut next, y);
            for x in 1..129 {
                let around = (y - 1..=y + 1).flat_map(|y| (x - 1..=x + 1).map(move |x| (x, y)));
                let open = around.filter(|&(x, y)| now.contains(x, y)).count();
                assert_eq!(next.contains(x, y), open >= 5, "({x}, {y}) with {open}");
            }
        }
    }

    #[test]
    fn noise_has_its_share() {
        let mut rng = Rng::from_seed(4);
        for open in 1..16 {
            let set: u32 = (0..4_000).map(|_| noise(open, &mut rng).count_ones()).sum();
            // Of 256,000 cells; ten standard deviations are 2,530.
            assert!(set.abs_diff(open * 16_000) < 2_530, "{open}: {set}");
        }
    }
}
