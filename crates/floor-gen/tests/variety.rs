//! Floors of one kind differ, and small floors are floors. The limits leave room for noise; `cargo run --release -p
//! floor-gen --example variety` prints what is measured.

use floor_gen::Kind;

use measure::Variety;

#[allow(dead_code, reason = "the example prints more than is checked here")]
#[path = "../examples/variety/measure.rs"]
mod measure;

/// Floors of each kind and size.
const FLOORS: u64 = 100;

/// The most that the open cells of two floors of a kind may correlate in the mean.
fn most_alike(kind: Kind) -> f64 {
    match kind {
        Kind::Boss => 0.52,
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
                variety.spread() >= if size == (40, 32) { 0.25 } else { 0.37 },
                "spread of the number of rooms",
                variety.spread(),
            );
            check(variety.looped >= least_looped, "share of floors with a loop", variety.looped);
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
