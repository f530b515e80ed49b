//! How well five plain measures tell kinds apart, and how many floors have rooms in at least three quarters.

use floor_gen::{Floor, Generator, Kind, Terrain};

use super::measure::specs;

/// Names of the measures, in their order.
pub(crate) const MEASURES: [&str; 5] =
    ["open cells", "rooms", "cells outside rooms", "cells of the largest room", "doors of a connection"];
type Measures = [f64; MEASURES.len()];

/// Nearest floors that say of which kind a floor is.
const NEAREST: usize = 7;

/// Floors of all kinds and one size: the first half of each kind is known, the second is to be told.
pub(crate) struct Told {
    /// For each kind, how many floors of the second half were taken for each kind.
    pub(crate) answers: Vec<Vec<usize>>,
    /// For each kind, the means of the measures.
    pub(crate) means: Vec<Measures>,
    /// For each kind, the share of floors with rooms in at least three quarters.
    pub(crate) quarters: Vec<f64>,
}

impl Told {
    /// Generates `count` floors of each kind and tells the second half of them apart by the first.
    pub(crate) fn measure(size: (u32, u32), count: u64) -> Self {
        let mut generator = Generator::new();
        let mut quarters = Vec::new();
        let floors: Vec<Vec<Measures>> = Kind::ALL
            .into_iter()
            .map(|kind| {
                let mut spread = 0;
                let list = specs(kind, size, count).map(|spec| {
                    let floor = generator.generate(&spec);
                    spread += u64::from(quarters_with_rooms(&floor) >= 3);
                    measures(&floor)
                });
                let list = list.collect();
                quarters.push(spread as f64 / count as f64);
                list
            })
            .collect();
        let mean = |list: &[Measures], m: usize| list.iter().map(|floor| floor[m]).sum::<f64>() / list.len() as f64;
        let means: Vec<Measures> = floors.iter().map(|list| std::array::from_fn(|m| mean(list, m))).collect();
        // A measure counts by its spread within the kinds.
        let spread: Measures = std::array::from_fn(|m| {
            let squares = floors.iter().zip(&means);
            let squares = squares.flat_map(|(list, means)| list.iter().map(move |floor| (floor[m] - means[m]).powi(2)));
            (squares.sum::<f64>() / (floors.len() as f64 * count as f64)).sqrt().max(1e-9)
        });
        let distance =
            |a: &Measures, b: &Measures| (0..MEASURES.len()).map(|m| ((a[m] - b[m]) / spread[m]).powi(2)).sum::<f64>();
        let half = count as usize / 2;
        let tell = |floor: &Measures| {
            let known =
                floors.iter().enumerate().flat_map(|(kind, list)| list[..half].iter().map(move |one| (kind, one)));
            let mut near: Vec<(f64, usize)> = known.map(|(kind, one)| (distance(floor, one), kind)).collect();
            near.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut votes = vec![0.0; floors.len()];
            near[..NEAREST].iter().for_each(|&(off, kind)| votes[kind] += 1.0 / (0.1 + off.sqrt()));
            (0..votes.len()).max_by(|&a, &b| votes[a].total_cmp(&votes[b])).expect("there are kinds")
        };
        let answers = floors.iter().map(|list| {
            let mut answers = vec![0; floors.len()];
            list[half..].iter().for_each(|floor| answers[tell(floor)] += 1);
            answers
        });
        Self { answers: answers.collect(), means, quarters }
    }

    /// The share of floors of a kind that are told right.
    pub(crate) fn right(&self, kind: usize) -> f64 {
        self.answers[kind][kind] as f64 / self.answers[kind].iter().sum::<usize>() as f64
    }

    /// The same of all kinds.
    pub(crate) fn right_of_all(&self) -> f64 {
        (0..self.answers.len()).map(|kind| self.right(kind)).sum::<f64>() / self.answers.len() as f64
    }
}

fn measures(floor: &Floor<'_>) -> Measures {
    let is_door = |at: &usize| matches!(floor.terrain[*at], Terrain::Door | Terrain::LockedDoor | Terrain::SecretDoor);
    let open = |at: &usize| floor.terrain[*at].passable() || is_door(at);
    let cells = || (0..floor.terrain.len()).filter(open);
    let mut areas = vec![0usize; floor.rooms.len() + 1];
    cells().for_each(|at| areas[usize::from(floor.region[at])] += 1);
    let count = cells().count() as f64;
    let largest = areas[1..].iter().max().copied().unwrap_or_default();
    let doors = cells().filter(is_door).count();
    [
        count / floor.terrain.len() as f64,
        floor.rooms.len() as f64,
        areas[0] as f64 / count,
        (largest as f64 / count).sqrt(),
        doors as f64 / floor.connections.len() as f64,
    ]
}

fn quarters_with_rooms(floor: &Floor<'_>) -> usize {
    let mut held = [false; 4];
    for room in &floor.rooms {
        let (east, south) = (2 * room.center.x >= floor.spec.width(), 2 * room.center.y >= floor.spec.height());
        held[usize::from(east) + 2 * usize::from(south)] = true;
    }
    held.iter().filter(|&&is_held| is_held).count()
}
