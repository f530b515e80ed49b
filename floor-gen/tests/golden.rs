//! Floors never change unseen: a change here is a change for every client, and raises GENERATOR_VERSION once a version
//! was released.

use std::fmt::Write;

use floor_gen::{Floor, FloorSpec, Generator, Kind};

const SIZES: [(u32, u32); 4] = [(16, 16), (64, 64), (100, 100), (200, 120)];

/// FNV-1a, 64 bits, over every field in the order of its declaration.
struct Fingerprint(u64);

impl Fingerprint {
    fn of(floor: &Floor) -> u64 {
        let mut print = Self(0xcbf2_9ce4_8422_2325);
        let spec = floor.spec;
        print.numbers([
            spec.seed(),
            spec.number().into(),
            spec.width().into(),
            spec.height().into(),
            spec.kind() as u64,
        ]);
        floor.terrain.iter().for_each(|&cell| print.byte(cell as u8));
        floor.region.iter().for_each(|&mark| print.byte(mark));
        print.points([floor.entry, floor.exit]);
        for room in &floor.rooms {
            print.numbers([room.id.into(), room.role as u64]);
            print.points([room.min, room.max, room.center]);
        }
        for way in &floor.connections {
            print.numbers([way.from_room.into(), way.to_room.into(), way.lock_id.into(), way.secret.into()]);
        }
        for spawn in &floor.spawns {
            print.points([spawn.at]);
            print.text(spawn.archetype);
            print.numbers([spawn.level.into()]);
        }
        for item in &floor.items {
            print.points([item.at]);
            print.text(item.archetype);
            print.numbers([item.value.into(), item.opens_lock.into()]);
        }
        for lock in &floor.locks {
            print.numbers([lock.id.into()]);
            print.points([lock.at]);
        }
        for trap in &floor.traps {
            print.points([trap.at]);
            print.text(trap.archetype);
            print.numbers([trap.level.into()]);
        }
        let metrics = floor.metrics;
        print
            .numbers([metrics.critical_path, metrics.passable_cells, metrics.loops, metrics.difficulty].map(u64::from));
        print.0
    }

    fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }

    fn numbers<const N: usize>(&mut self, numbers: [u64; N]) {
        numbers.iter().flat_map(|number| number.to_le_bytes()).for_each(|byte| self.byte(byte));
    }

    fn points<const N: usize>(&mut self, points: [floor_gen::Point; N]) {
        points.iter().for_each(|at| self.numbers([at.x.into(), at.y.into()]));
    }

    fn text(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.byte(byte));
        self.byte(0xff);
    }
}

fn specs() -> impl Iterator<Item = FloorSpec> {
    Kind::OFFERED.iter().flat_map(|&kind| {
        SIZES.map(|(width, height)| FloorSpec::resolve(0x5eed, 27, width, height, Some(kind)).expect("in range"))
    })
}

#[test]
fn floors_stay_what_they_were() {
    let mut generator = Generator::new();
    let mut table = String::new();
    for spec in specs() {
        let print = Fingerprint::of(&generator.generate(&spec));
        writeln!(table, "{:8} {:3}x{:<3} {print:016x}", spec.kind().name(), spec.width(), spec.height()).unwrap();
    }
    insta::assert_snapshot!(table);
}

#[test]
fn threads_make_the_same_floors() {
    let alone: Vec<u64> = specs().map(|spec| Fingerprint::of(&floor_gen::generate(&spec))).collect();
    let together: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut generator = Generator::new();
                    specs().map(|spec| Fingerprint::of(&generator.generate(&spec))).collect()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(together.iter().all(|prints| *prints == alone));
}
