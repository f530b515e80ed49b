//! The floors of a pack that `pack check` proves and `pack diff` compares: always the same ones.

use floor_gen::{FloorSpec, Kind, Pack};

/// Sizes of sampled floors: least side, greatest side, and how many of 20 floors have it. Most are as large as games ask
/// for; a few are as small and as large as a floor can be.
const SIDES: [(u64, u64, u64); 4] = [(16, 47, 4), (48, 100, 12), (101, 200, 3), (201, 512, 1)];
/// Numbers of sampled floors, likewise: themes follow each other within a hundred floors, and some things begin late.
const NUMBERS: [(u64, u64, u64); 3] = [(1, 140, 14), (141, 1_000, 4), (1_001, 1_000_000, 2)];

/// How many floors `per_kind` of each kind are.
pub(crate) const fn len(per_kind: u64) -> u64 {
    per_kind * Kind::ALL.len() as u64
}

/// The floor with that index. Kinds take turns.
pub(crate) fn spec(pack: &Pack, index: u64) -> FloorSpec {
    let kinds = Kind::ALL.len() as u64;
    let seed = index / kinds;
    let draw = |what: u64| mixed(index * 4 + what);
    let side = |what| among(&SIDES, draw(what)) as u32;
    let kind = Kind::ALL[(index % kinds) as usize];
    let number = among(&NUMBERS, draw(2)) as u32;
    pack.resolve(seed, number, side(0), side(1), Some(kind)).expect("sizes and numbers are in range")
}

/// A value of one of the ranges, which are drawn by their shares of 20.
fn among(ranges: &[(u64, u64, u64)], draw: u64) -> u64 {
    let mut share = draw % 20;
    for &(least, greatest, weight) in ranges {
        if share < weight {
            return least + (draw >> 8) % (greatest - least + 1);
        }
        share -= weight;
    }
    ranges[0].0
}

/// `SplitMix64`: <https://prng.di.unimi.it/splitmix64.c>.
const fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_sampled_floors_have_the_size_of_a_game() {
        let specs = (0..len(200)).map(|index| spec(Pack::tower(), index)).collect::<Vec<_>>();
        assert_eq!(specs.iter().filter(|spec| spec.kind() == Kind::Maze).count(), 200);
        let usual = specs.iter().filter(|spec| (48..=100).contains(&spec.width())).count();
        assert!((900..1_260).contains(&usual), "{usual} of 1800");
        assert!(specs.iter().any(|spec| spec.width() > 400) && specs.iter().any(|spec| spec.height() < 20));
        assert!(specs.iter().any(|spec| spec.number() > 100_000) && specs.iter().any(|spec| spec.number() < 10));
        let shares = |ranges: &[(u64, u64, u64)]| ranges.iter().map(|(_, _, share)| share).sum::<u64>();
        assert_eq!((shares(&SIDES), shares(&NUMBERS)), (20, 20));
    }
}
