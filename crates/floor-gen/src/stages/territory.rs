//! Territories, for floors whose rooms have no walls between them: every open cell belongs to the room with the nearest
//! seed, and rooms whose territories touch are connected.

use alloc::vec::Vec;

use crate::arena::{ConnectionDraft, MAX_ROOMS};

/// Spreads the marks of the cells in `queue` over all open unmarked cells, breadth first. Afterwards `queue` holds
/// every marked cell, by distance. A territory is connected, because a cell takes its mark from a neighbour.
pub(crate) fn spread(marks: &mut [u8], queue: &mut Vec<u32>, width: usize, open: impl Fn(usize) -> bool) {
    let mut next = 0;
    while let Some(&at) = queue.get(next) {
        next += 1;
        let at = at as usize;
        for there in [at - width, at + 1, at + width, at - 1] {
            if marks[there] == 0 && open(there) {
                marks[there] = marks[at];
                queue.push(there as u32);
            }
        }
    }
}

/// Adds a connection without a gate between every two rooms (mark - 1) whose territories touch.
pub(crate) fn join_touching(marks: &[u8], cells: &[u32], width: usize, connections: &mut Vec<ConnectionDraft>) {
    let mut met = [[0u64; 4]; MAX_ROOMS + 1];
    for &at in cells {
        let at = at as usize;
        for there in [at + 1, at + width] {
            let (a, b) = (marks[at], marks[there]);
            if b == 0 || a == b {
                continue;
            }
            let (a, b) = (a.min(b), a.max(b));
            let (word, bit) = (&mut met[usize::from(a)][usize::from(b / 64)], 1 << (b % 64));
            if *word & bit == 0 {
                *word |= bit;
                connections.push(ConnectionDraft::open(a - 1, b - 1, None));
            }
        }
    }
}
