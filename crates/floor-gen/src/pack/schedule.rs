//! The kind of each floor of a tower: bosses and stories by number, and the floors between two bosses drawn in order, so
//! that no kind comes three times in a row.

use super::content::{Content, DRAWN};
use crate::rng::{Rng, Root};
use crate::spec::Kind;

/// Floors that are drawn in a row in a tower without bosses.
const ROW: u32 = 10;

/// The kind of floor `number` of tower `seed`.
pub(crate) fn kind_of(content: &Content, seed: u64, number: u32) -> Kind {
    if let Some(fixed) = fixed(content, number) {
        return fixed;
    }
    let row = match content.params(Kind::Standard).schedule.boss_interval {
        0 => ROW,
        interval => interval,
    };
    let first = (number - 1) / row * row + 1;
    let mut rng = Rng::from_seed(Root::Schedule.of(seed, [first]));
    // The kinds of the two floors before.
    let (mut before, mut last) = (None, None);
    for below in first..=number {
        let kind = fixed(content, below).unwrap_or_else(|| {
            let mut weights = content.themes[content.theme_of(below)].weights;
            let barred = DRAWN.iter().position(|&kind| last == Some(kind) && before == Some(kind));
            // A theme with one kind has nothing else.
            if let Some(barred) = barred.filter(|&barred| weights[barred] < weights.iter().sum()) {
                weights[barred] = 0;
            }
            DRAWN[rng.weighted(&weights)]
        });
        (before, last) = (last, Some(kind));
    }
    last.unwrap_or(Kind::Standard)
}

/// The kind of a floor whose number decides it.
fn fixed(content: &Content, number: u32) -> Option<Kind> {
    let schedule = content.params(Kind::Standard).schedule;
    match number {
        1 if content.first.is_some() => content.first,
        _ if schedule.boss_interval > 0 && number.is_multiple_of(schedule.boss_interval) => Some(Kind::Boss),
        _ if schedule.story_interval > 0 && number % schedule.story_interval == schedule.story_offset => {
            Some(Kind::Story)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::Pack;

    fn kind_of(seed: u64, number: u32) -> Kind {
        super::kind_of(&Pack::tower().content, seed, number)
    }

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
