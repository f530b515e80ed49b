//! Caves: chambers and winding necks are sketched, and a cellular automaton smooths noise around them, 64 cells at a
//! time. The rule (a cell becomes what most of the nine cells around it are) is from Jim Babcock, 2005.

use crate::floor::Terrain;
use crate::mask::Mask;
use crate::pack::params::Cavern;
use crate::rng::Rng;
use crate::runs::Runs;

/// A cave under construction.
#[derive(Debug, Default)]
pub(crate) struct Cave {
    /// The sketched chambers.
    chambers: Mask,
    /// The middle lines of the necks, which always stay open.
    necks: Mask,
    /// Rock that nothing else opens.
    rock: Mask,
    open: Mask,
    /// The next generation of the automaton.
    next: Mask,
    /// Of rock or of open cells.
    runs: Runs,
}

impl Cave {
    /// Resets to solid rock and an empty sketch.
    pub(crate) fn reset(&mut self, width: usize, height: usize) {
        for mask in [&mut self.chambers, &mut self.necks, &mut self.rock, &mut self.open, &mut self.next] {
            mask.reset(width, height);
        }
    }

    /// Adds an ellipse to the sketch, clipped to the border.
    pub(crate) fn sketch(&mut self, size: (usize, usize), center: (i32, i32), reach: (i32, i32)) {
        insert_ellipse(&mut self.chambers, size, center, reach);
    }

    /// Keeps an ellipse of rock, which only necks cut.
    pub(crate) fn keep_rock(&mut self, size: (usize, usize), center: (i32, i32), reach: (i32, i32)) {
        insert_ellipse(&mut self.rock, size, center, reach);
    }

    /// Cuts the middle line of a neck between two cells, two cells wide, by random steps towards the end. Both ends lie
    /// at least two cells inside the floor's eastern and southern sides.
    pub(crate) fn cut_neck(&mut self, from: (usize, usize), to: (usize, usize), rng: &mut Rng) {
        let (mut x, mut y) = from;
        loop {
            self.necks.insert_run(y, x, x + 2);
            self.necks.insert_run(y + 1, x, x + 2);
            let (dx, dy) = (x.abs_diff(to.0), y.abs_diff(to.1));
            if dx + dy == 0 {
                return;
            }
            if rng.index(dx + dy) < dx {
                x = if x < to.0 { x + 1 } else { x - 1 };
            } else {
                y = if y < to.1 { y + 1 } else { y - 1 };
            }
        }
    }

    /// Generates the cave: noise by the sketch, smoothed, with the necks cut through it. The border stays rock.
    pub(crate) fn generate(&mut self, (width, height): (usize, usize), numbers: &Cavern, rng: &mut Rng) {
        for y in 1..height - 1 {
            for (word, &inside) in self.open.row_mut(y).iter_mut().zip(self.chambers.row(y)) {
                *word = (inside & noise(numbers.open_inside, rng)) | (!inside & noise(numbers.open_outside, rng));
            }
            clear_border(&mut self.open, width, y);
        }
        self.smooth((width, height), numbers.rounds as usize);
        // From here on the mask holds the cells around the necks.
        self.chambers.reset(width, height);
        self.chambers.insert_around(&self.necks, height);
        for y in 1..height - 1 {
            for (word, &beside) in self.open.row_mut(y).iter_mut().zip(self.chambers.row(y)) {
                if beside != 0 {
                    *word |= beside & noise(numbers.open_beside, rng);
                }
            }
            self.open_necks(y);
            clear_border(&mut self.open, width, y);
        }
        self.smooth((width, height), numbers.last_rounds as usize);
        for y in 1..height - 1 {
            self.open.row_mut(y).iter_mut().zip(self.rock.row(y)).for_each(|(word, &rock)| *word &= !rock);
            self.open_necks(y);
        }
    }

    fn open_necks(&mut self, y: usize) {
        self.open.row_mut(y).iter_mut().zip(self.necks.row(y)).for_each(|(word, &neck)| *word |= neck);
    }

    fn smooth(&mut self, (width, height): (usize, usize), rounds: usize) {
        for _ in 0..rounds {
            for y in 1..height - 1 {
                smooth_row(&self.open, &mut self.next, y);
                clear_border(&mut self.next, width, y);
            }
            core::mem::swap(&mut self.open, &mut self.next);
        }
    }

    /// Removes rocks smaller than `least`.
    pub(crate) fn remove_small_rocks(&mut self, size @ (width, _): (usize, usize), least: u32) {
        self.runs.label(size, |y, x| {
            let from = self.open.next_unset(y, x).filter(|&from| from < width)?;
            Some((from, self.open.next_set(y, from).unwrap_or(width)))
        });
        // The first run is a part of the border.
        let border = self.runs.root(0);
        for i in 0..self.runs.len() {
            let component = self.runs.root(i);
            if component != border && self.runs.cells(component) < least {
                let (y, from, to) = self.runs.place(i);
                self.open.insert_run(y, from, to);
            }
        }
    }

    /// Carves the largest cave into `terrain` and claims its cells and their neighbours. The rest stays rock.
    pub(crate) fn carve_largest(
        &mut self,
        size @ (width, height): (usize, usize),
        terrain: &mut [Terrain],
        claimed: &mut Mask,
    ) {
        let Self { open, next: kept, runs, .. } = self;
        runs.label(size, |y, x| {
            let from = open.next_set(y, x)?;
            Some((from, open.next_unset(y, from).unwrap_or(width)))
        });
        let Some(largest) = runs.roots().max_by_key(|&i| runs.cells(i)) else { return };
        kept.reset(width, height);
        for i in 0..runs.len() {
            if runs.root(i) == largest {
                let (y, from, to) = runs.place(i);
                terrain[y * width + from..y * width + to].fill(Terrain::Floor);
                kept.insert_run(y, from, to);
            }
        }
        claimed.insert_around(kept, height);
    }
}

/// Adds an ellipse, clipped to the border.
fn insert_ellipse(mask: &mut Mask, (width, height): (usize, usize), (x, y): (i32, i32), reach: (i32, i32)) {
    let (rx, ry) = (reach.0.max(1), reach.1.max(1));
    for dy in -ry..=ry {
        let row = y + dy;
        if row < 1 || row >= height as i32 - 1 {
            continue;
        }
        let half = ((rx * rx * (ry * ry - dy * dy) + ry * ry / 2) / (ry * ry)).isqrt();
        let (from, to) = ((x - half).max(1), (x + half + 1).min(width as i32 - 1));
        if from < to {
            mask.insert_run(row as usize, from as usize, to as usize);
        }
    }
}

/// 64 bits, each set with a probability of `open` in 16: one draw for each binary digit.
pub(crate) fn noise(open: u32, rng: &mut Rng) -> u64 {
    (0..4).fold(0, |bits, digit| if open >> digit & 1 == 1 { bits | rng.next() } else { bits & rng.next() })
}

/// Clears the row's first and last column and the bits beyond.
fn clear_border(mask: &mut Mask, width: usize, y: usize) {
    for (i, word) in mask.row_mut(y).iter_mut().enumerate() {
        let end = (width - 1).saturating_sub(i * 64);
        *word &= if end >= 64 { u64::MAX } else { (1 << end) - 1 };
        if i == 0 {
            *word &= !1;
        }
    }
}

/// Applies the rule to a row.
fn smooth_row(now: &Mask, next: &mut Mask, y: usize) {
    let rows = [now.row(y - 1), now.row(y), now.row(y + 1)];
    for i in 0..rows[0].len() {
        next.row_mut(y)[i] = majority(rows.map(|row| {
            let west = row[i] << 1 | if i > 0 { row[i - 1] >> 63 } else { 0 };
            let east = row[i] >> 1 | row.get(i + 1).map_or(0, |next| next << 63);
            [west, row[i], east]
        }));
    }
}

/// The majority of nine, bit by bit, in bit-sliced counters.
pub(crate) fn majority(rows: [[u64; 3]; 3]) -> u64 {
    // The open cells of each row of three, as a low and a high bit.
    let counts = rows.map(|[west, here, east]| (west ^ here ^ east, (west & here) | (here & east) | (west & east)));
    let [(a0, a1), (b0, b1), (c0, c1)] = counts;
    let ones = a0 ^ b0 ^ c0;
    let carry = (a0 & b0) | (b0 & c0) | (a0 & c0);
    // The count of twos, 0 to 4; `carry` is one of them.
    let half = a1 ^ b1;
    let half_carry = a1 & b1;
    let other = c1 ^ carry;
    let other_carry = c1 & carry;
    let twos = half ^ other;
    let fours = half_carry | other_carry | (half & other);
    let eights = half_carry & other_carry;
    // At least five: eight or nine, or four and at least one more.
    eights | (fours & (ones | twos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::Pack;
    use crate::spec::Kind;
    use alloc::vec::Vec;

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
            clear_border(&mut now, 130, y);
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
    fn noise_has_the_given_share() {
        let mut rng = Rng::from_seed(4);
        for open in 1..16 {
            let set: u32 = (0..4_000).map(|_| noise(open, &mut rng).count_ones()).sum();
            // Ten standard deviations of 256,000 cells are 2,530.
            assert!(set.abs_diff(open * 16_000) < 2_530, "{open}: {set}");
        }
    }

    #[test]
    fn a_cave_is_connected_and_has_no_small_rock() {
        let size = (130, 60);
        let numbers = Pack::tower().content.params(Kind::Cavern).cavern;
        for seed in 0..40 {
            let mut rng = Rng::from_seed(seed);
            let mut cave = Cave::default();
            cave.reset(size.0, size.1);
            cave.sketch(size, (30, 20), (20, 12));
            cave.sketch(size, (100, 40), (20, 12));
            cave.cut_neck((30, 20), (100, 40), &mut rng);
            cave.generate(size, &numbers, &mut rng);
            cave.remove_small_rocks(size, numbers.least_rock);
            let mut components = |open: bool| {
                cave.runs.label(size, |y, x| {
                    let next = |set, x| if set { cave.open.next_set(y, x) } else { cave.open.next_unset(y, x) };
                    let from = next(open, x).filter(|&from| from < size.0)?;
                    Some((from, next(!open, from).unwrap_or(size.0).min(size.0)))
                });
                cave.runs.roots().map(|i| cave.runs.cells(i)).collect::<Vec<_>>()
            };
            assert!(components(false).iter().all(|&cells| cells >= numbers.least_rock), "seed {seed}");
            // Unconnected pockets are small; the cave holds both chambers.
            let open = components(true);
            let largest = open.iter().max().unwrap();
            assert!(*largest > 1_000 && 2 * largest > open.iter().sum(), "seed {seed}: {open:?}");
        }
    }
}
