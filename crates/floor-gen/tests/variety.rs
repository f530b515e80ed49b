//! Floors of one kind differ, and small floors are floors. The limits leave room for noise; `cargo run --release -p
//! floor-gen --example variety` prints what is measured.

use floor_gen::Kind;

use measure::Variety;

#[allow(dead_code, reason = "the example prints more than is checked here")]
#[path = "../examples/variety/measure.rs"]
mod measure;

#[allow(dead_code, reason = "the example prints more than is checked here")]
#[path = "../examples/variety/kinds.rs"]
mod kinds;

/// Floors of each kind and size.
const FLOORS: u64 = 100;

/// The most that the open cells of two floors of a kind may correlate in the mean.
fn most_alike(kind: Kind) -> f64 {
    match kind {
        // Their largest part, the arena or the castle, is on every floor.
        Kind::Boss | Kind::Keep => 0.52,
        _ => 0.47,
    }
}

#[test]
fn floors_of_one_kind_differ() {
    let mut wrong = Vec::new();
    for kind in Kind::ALL {
        for (size, least_rooms, least_looped) in [((100, 100), 12, 0.95), ((60, 60), 12, 0.7), ((40, 32), 7, 0.7)] {
            let variety = Variety::measure(measure::specs(kind, size, FLOORS));
            let mut check = |holds: bool, what: &str, value: f64| {
                if !holds {
                    wrong.push(format!("{kind} {size:?}: {what} {value:.2}"));
                }
            };
            let [_, median, _] = variety.rooms;
            check(median >= least_rooms, "rooms in the median", median as f64);
            // On the smallest floors one room more is a seventh.
            check(
                variety.spread() >= if size == (40, 32) { 0.25 } else { 0.35 },
                "spread of the number of rooms",
                variety.spread(),
            );
            check(variety.looped >= least_looped, "share of floors with a loop", variety.looped);
            check(variety.bare[0] <= 0.12, "share of bare cells", variety.bare[0]);
            check(variety.bare[1] <= 0.35, "share of bare cells of the barest floor", variety.bare[1]);
            check(variety.fallbacks == 0 || size == (40, 32), "fallbacks", variety.fallbacks as f64);
            if size == (100, 100) {
                check(variety.alike <= most_alike(kind), "alike", variety.alike);
                let least_roles = if kind == Kind::Story { 40 } else { 30 };
                check(variety.roles >= least_roles, "sequences of roles", variety.roles as f64);
                check(variety.phase >= 0.24, "phase of the rooms in a lattice", variety.phase);
                check(
                    variety.level <= 1.3 || kind != Kind::Maze,
                    "steps east and west over north and south",
                    variety.level,
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn five_plain_measures_tell_kinds_apart() {
    let told = kinds::Told::measure((100, 100), 2 * FLOORS);
    let table: Vec<String> = (0..Kind::ALL.len())
        .map(|kind| {
            format!("{:9} {:.2} {:?} {:.2?}", Kind::ALL[kind], told.right(kind), told.answers[kind], told.means[kind])
        })
        .collect();
    let each = (0..Kind::ALL.len()).all(|kind| told.right(kind) >= 0.7);
    assert!(told.right_of_all() >= 0.85 && each, "{:.2}\n{}", told.right_of_all(), table.join("\n"));
}

#[test]
fn a_floor_is_used_on_all_sides() {
    for size in [(100, 100), (64, 64), (40, 32)] {
        let told = kinds::Told::measure(size, FLOORS);
        for (kind, share) in Kind::ALL.iter().zip(told.quarters) {
            assert!(share >= 0.95, "{kind} {size:?}: {share:.2} of floors have rooms in three quarters");
        }
    }
}
