//! Somebody who walks the floor: opens a locked door once every key to it is in the bag, and may search for doors.

use alloc::vec;
use alloc::vec::Vec;

use super::index;
use crate::floor::{Floor, Point, Terrain};

/// Where a walker got to.
pub(super) struct Walker {
    width: usize,
    reached: Vec<bool>,
}

impl Walker {
    /// Walks everywhere from the entry, over and over, until no key that was found opens anything new. Leaves the lock
    /// `shunned` shut even with its key.
    pub(super) fn explore(floor: &Floor, searches: bool, shunned: Option<u8>) -> Self {
        let mut opened = vec![false; floor.locks.len()];
        loop {
            let steps = steps_from(floor, floor.entry, searches, |lock| opened[lock]);
            let reached: Vec<bool> = steps.into_iter().map(|steps| steps.is_some()).collect();
            let mut progress = false;
            for (lock, open) in floor.locks.iter().zip(&mut opened) {
                let mut keys = floor.items.iter().filter(|item| item.opens_lock == lock.id);
                let holds_all = keys.all(|key| reached[index(floor, key.at)]);
                if holds_all && shunned != Some(lock.id) && !*open {
                    *open = true;
                    progress = true;
                }
            }
            if !progress {
                return Self { width: floor.spec.width().into(), reached };
            }
        }
    }

    pub(super) fn reaches(&self, at: Point) -> bool {
        self.reached[usize::from(at.y) * self.width + usize::from(at.x)]
    }
}

/// Steps of the shortest walk from `start` to every cell, through the locked doors whose lock, by its place in the
/// floor's list, is `open`.
pub(super) fn steps_from(
    floor: &Floor,
    start: Point,
    searches: bool,
    open: impl Fn(usize) -> bool,
) -> Vec<Option<u32>> {
    let (width, height) = (usize::from(floor.spec.width()), usize::from(floor.spec.height()));
    let walkable = |x: usize, y: usize| match floor.terrain[y * width + x] {
        Terrain::SecretDoor => searches,
        Terrain::LockedDoor => {
            let here = Point { x: x as u16, y: y as u16 };
            floor.locks.iter().position(|lock| lock.at == here).is_some_and(&open)
        }
        Terrain::Wall | Terrain::DeepWater | Terrain::Lava | Terrain::Chasm | Terrain::Pillar => false,
        Terrain::Floor
        | Terrain::Door
        | Terrain::StairsUp
        | Terrain::StairsDown
        | Terrain::ShallowWater
        | Terrain::Bridge
        | Terrain::Grass
        | Terrain::Rubble => true,
    };
    let mut steps = vec![None; width * height];
    let (x, y) = (usize::from(start.x), usize::from(start.y));
    steps[y * width + x] = Some(0);
    let mut ring = vec![(x, y)];
    let mut walked = 0;
    // Ring by ring: all cells that are `walked` steps away, then those one further.
    while !ring.is_empty() {
        walked += 1;
        let mut next = Vec::new();
        for (x, y) in ring {
            let around = [(x.wrapping_sub(1), y), (x + 1, y), (x, y.wrapping_sub(1)), (x, y + 1)];
            for (x, y) in around {
                if x < width && y < height && steps[y * width + x].is_none() && walkable(x, y) {
                    steps[y * width + x] = Some(walked);
                    next.push((x, y));
                }
            }
        }
        ring = next;
    }
    steps
}
