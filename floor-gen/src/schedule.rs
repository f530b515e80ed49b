//! The kind of each floor of a tower. Every tenth floor is a boss floor. The nine floors between two bosses are drawn
//! in order, so that no kind comes three times in a row.

use crate::rng::{Rng, mix};
use crate::spec::Kind;
use crate::theme::Theme;

/// Floors from one boss to the next.
const BOSS_INTERVAL: u32 = 10;
/// Every second ten floors have a story, in their middle.
const STORY_INTERVAL: u32 = 2 * BOSS_INTERVAL;
const STORY_OFFSET: u32 = 5;

/// The kinds that are drawn, in the order of the weights below.
const DRAWN: [Kind; 7] = [Kind::Standard, Kind::Keep, Kind::Halls, Kind::Cavern, Kind::Cyclic, Kind::Maze, Kind::Event];

/// The weight of each kind by theme. Events are about one floor in 28.
const fn weights(theme: Theme) -> [u32; DRAWN.len()] {
    match theme {
        Theme::Crypt => [40, 8, 20, 8, 12, 8, 4],
        Theme::Warren => [24, 4, 12, 30, 16, 10, 4],
        Theme::Mire => [22, 8, 18, 26, 14, 8, 4],
        Theme::Forge => [20, 28, 16, 12, 14, 6, 4],
        Theme::Glacier => [18, 10, 24, 24, 14, 6, 4],
        Theme::Archive => [18, 20, 14, 2, 18, 24, 4],
        Theme::Abyss => [14, 12, 12, 20, 24, 14, 4],
    }
}

/// The kind of floor `number` of tower `seed`.
pub(crate) fn kind_of(seed: u64, number: u32) -> Kind {
    if let Some(fixed) = fixed(number) {
        return fixed;
    }
    let first = (number - 1) / BOSS_INTERVAL * BOSS_INTERVAL + 1;
    let mut rng = Rng::from_seed(mix(seed) ^ mix(u64::from(first)));
    // The kinds of the two floors before.
    let (mut before, mut last) = (None, None);
    for below in first..=number {
        let kind = fixed(below).unwrap_or_else(|| {
            let mut weights = weights(Theme::of_number(below));
            for (weight, kind) in weights.iter_mut().zip(DRAWN) {
                if last == Some(kind) && before == Some(kind) {
                    *weight = 0;
                }
            }
            DRAWN[rng.weighted(&weights)]
        });
        (before, last) = (last, Some(kind));
    }
    last.unwrap_or(Kind::Standard)
}

/// The kind of a floor whose number decides it.
const fn fixed(number: u32) -> Option<Kind> {
    match number {
        // Floor 1 is plain.
        1 => Some(Kind::Standard),
        _ if number.is_multiple_of(BOSS_INTERVAL) => Some(Kind::Boss),
        _ if number % STORY_INTERVAL == STORY_OFFSET => Some(Kind::Story),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_floors_are_fixed() {
        for seed in 0..50 {
            assert_eq!(kind_of(seed, 1), Kind::Standard);
            assert_eq!([5, 25, 45].map(|number| kind_of(seed, number)), [Kind::Story; 3]);
            assert_eq!([10, 20, 1_000_000].map(|number| kind_of(seed, number)), [Kind::Boss; 3]);
        }
    }

    #[test]
    fn no_kind_is_scheduled_three_times_in_a_row() {
        for seed in 0..2_000 {
            let kinds: alloc::vec::Vec<Kind> = (1..=80).map(|number| kind_of(seed, number)).collect();
            assert!(kinds.windows(3).all(|three| three[0] != three[1] || three[1] != three[2]), "tower {seed}");
        }
    }

    #[test]
    fn every_kind_is_scheduled_and_events_are_rare() {
        let mut seen = [0u32; 10];
        for seed in 0..200 {
            for number in 1..=140 {
                seen[kind_of(seed, number) as usize] += 1;
            }
        }
        assert!(Kind::ALL.iter().all(|&kind| seen[kind as usize] > 500), "{seen:?}");
        // 4 % of the five floors in six that are drawn, of 28,000 floors.
        assert!((700..1_300).contains(&seen[Kind::Event as usize]), "{seen:?}");
    }
}
