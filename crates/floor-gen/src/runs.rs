//! Connected parts of a floor, as horizontal runs of cells.
//!
//! Joins runs rather than cells: He, Chao, Suzuki, "A run-based two-scan labeling algorithm", IEEE Transactions on
//! Image Processing 2008.

use alloc::vec::Vec;

/// Horizontal runs of one ground, joined into components.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    runs: Vec<Run>,
}

/// A horizontal run of cells, and its component.
#[derive(Debug, Clone, Copy)]
struct Run {
    row: u16,
    /// Columns `from .. to`.
    from: u16,
    to: u16,
    /// Another run of the same component; a root is its own parent.
    parent: u32,
    /// Cells of the component, in the root.
    cells: u32,
}

impl Runs {
    /// Lists the runs of one ground and joins those that touch. `next` finds the first run of a row from a column on.
    pub(crate) fn label(
        &mut self,
        (width, height): (usize, usize),
        next: impl Fn(usize, usize) -> Option<(usize, usize)>,
    ) {
        self.runs.clear();
        // The runs of the row above.
        let (mut above, mut here) = (0, 0);
        for y in 0..height {
            let mut x = 0;
            while let Some((from, to)) = next(y, x).filter(|_| x < width) {
                let place = self.runs.len();
                let cells = (to - from) as u32;
                self.runs.push(Run { row: y as u16, from: from as u16, to: to as u16, parent: place as u32, cells });
                while above < here && usize::from(self.runs[above].to) <= from {
                    above += 1;
                }
                let mut touching = above;
                while touching < here && usize::from(self.runs[touching].from) < to {
                    self.join(touching, place);
                    touching += 1;
                }
                x = to;
            }
            (above, here) = (here, self.runs.len());
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.runs.len()
    }

    /// The row of a run, its first column, and the column after its last.
    pub(crate) fn place(&self, run: usize) -> (usize, usize, usize) {
        let Run { row, from, to, .. } = self.runs[run];
        (row.into(), from.into(), to.into())
    }

    /// One run of each component.
    pub(crate) fn roots(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.runs.len()).filter(|&run| self.is_root(run))
    }

    /// How many cells the component of that root has.
    pub(crate) fn cells(&self, root: usize) -> u32 {
        self.runs[root].cells
    }

    /// The root of a run's component, with path halving.
    pub(crate) fn root(&mut self, mut run: usize) -> usize {
        while !self.is_root(run) {
            self.runs[run].parent = self.runs[self.runs[run].parent as usize].parent;
            run = self.runs[run].parent as usize;
        }
        run
    }

    fn is_root(&self, run: usize) -> bool {
        self.runs[run].parent as usize == run
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.runs[a].parent = b as u32;
            self.runs[b].cells += self.runs[a].cells;
        }
    }
}
