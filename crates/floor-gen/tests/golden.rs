//! Floors must not change unnoticed: a change here affects every client, and raises GENERATOR_VERSION once a version
//! was released.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write;

use floor_gen::explain::Observer;
use floor_gen::{Floor, FloorSpec, Generator, Kind, Pack, Point, Terrain};

const SIZES: [(u32, u32); 4] = [(16, 16), (64, 64), (100, 100), (200, 120)];

/// FNV-1a, 64 bits, over every field in the order of its declaration.
struct Fingerprint(u64);

impl Fingerprint {
    fn of(floor: &Floor<'_>) -> u64 {
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
        print.points([floor.entry, floor.exit, floor.landing]);
        for room in &floor.rooms {
            print.numbers([room.id.into(), room.role as u64]);
            print.points([room.min, room.max, room.center]);
        }
        for connection in &floor.connections {
            print.numbers([
                connection.from_room.into(),
                connection.to_room.into(),
                connection.lock_id.into(),
                connection.secret.into(),
            ]);
        }
        for spawn in &floor.spawns {
            print.points([spawn.at]);
            print.text(spawn.archetype);
            print.numbers([spawn.level.into(), spawn.behaviour as u64, spawn.group.into()]);
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
        for piece in &floor.furniture {
            print.points([piece.at]);
            print.text(piece.archetype);
        }
        print.numbers([floor.landmark.map_or(0, |id| u64::from(id) + 1)]);
        let names = &floor.names;
        for text in [&names.floor, &names.hook].into_iter().chain(names.rooms.iter().map(|(_, text)| text)) {
            print.text(&text.text);
            print.text(text.id);
            text.parts.iter().for_each(|part| print.text(part));
        }
        names.rooms.iter().for_each(|(room, _)| print.byte(*room));
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
    Kind::ALL.into_iter().flat_map(|kind| {
        SIZES.map(|(width, height)| FloorSpec::resolve(0x5eed, 27, width, height, Some(kind)).expect("in range"))
    })
}

#[test]
fn floors_are_unchanged() {
    let mut generator = Generator::new();
    let mut table = String::new();
    for spec in specs() {
        let print = Fingerprint::of(&generator.generate(&spec));
        writeln!(table, "{:8} {:3}x{:<3} {print:016x}", spec.kind().name(), spec.width(), spec.height()).unwrap();
    }
    insta::assert_snapshot!(table);
}

/// Floors of each kind in the wide fingerprints.
const WIDE: u32 = 220;
/// Sizes of most of them: small, so that a debug build takes seconds.
const SMALL_SIZES: [(u32, u32); 8] = [(16, 16), (48, 48), (33, 47), (64, 64), (80, 30), (24, 72), (56, 56), (100, 100)];
/// Sizes at the ends of the range, a floor or two of each kind.
const LARGE_SIZES: [(u32, u32); 5] = [(512, 512), (16, 512), (512, 16), (220, 300), (17, 16)];

/// The `i`-th floor of a kind. The numbers cover every theme, mostly low ones, and the sizes all sizes.
fn wide_spec(kind: Kind, i: u32) -> FloorSpec {
    let number = if i.is_multiple_of(5) { 1 + i * 7_919 % 1_000_000 } else { 1 + i * 37 % 140 };
    let (width, height) = match LARGE_SIZES.get(i as usize / 2) {
        Some(&size) => size,
        None => SMALL_SIZES[i as usize % SMALL_SIZES.len()],
    };
    FloorSpec::resolve(u64::from(i) * 0x9e37_79b9, number, width, height, Some(kind)).expect("in range")
}

/// Towers and floor numbers of 17x16 on which no layout fits, so that they use the fallback.
const FALLBACKS: [(Kind, u64, u32); 2] = [(Kind::Maze, 1, 4), (Kind::Boss, 7, 4)];

/// Records the last vault that is placed.
#[derive(Default)]
struct VaultRecorder(Cell<Option<usize>>);

impl Observer for VaultRecorder {
    fn vault_placed(&self, vault: usize, _: Point, _: Point) {
        self.0.set(Some(vault));
    }
}

/// Covers every part of the generator: every theme, terrain and vault, sides up to 512, and the fallback. One
/// fingerprint for each kind, over all of its floors.
#[test]
fn floors_of_every_part_of_the_generator_are_unchanged() {
    let mut generator = Generator::new();
    let mut table = String::new();
    let (mut themes, mut terrains, mut vaults) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for kind in Kind::ALL {
        let mut print = Fingerprint(0xcbf2_9ce4_8422_2325);
        for i in 0..WIDE {
            let recorder = VaultRecorder::default();
            let floor = generator.generate_observed(&wide_spec(kind, i), &recorder);
            print.numbers([Fingerprint::of(&floor)]);
            themes.insert(floor.theme);
            terrains.extend(floor.terrain.iter().copied());
            vaults.extend(recorder.0.get());
        }
        writeln!(table, "{:8} {WIDE} floors {:016x}", kind.name(), print.0).unwrap();
    }
    assert_eq!(themes.len(), Pack::tower().themes().len(), "{themes:?}");
    // Terrains are numbered from 1; the pillar is the last.
    assert_eq!(terrains.len(), Terrain::Pillar as usize, "{terrains:?}");
    let missing: Vec<_> = Pack::tower()
        .vaults()
        .iter()
        .enumerate()
        .filter(|(i, _)| !vaults.contains(i))
        .map(|(_, vault)| &vault.name)
        .collect();
    assert!(missing.is_empty(), "no floor with these vaults: {missing:?}");
    let before = generator.fallbacks();
    for (kind, seed, number) in FALLBACKS {
        let floor = generator.generate(&FloorSpec::resolve(seed, number, 17, 16, Some(kind)).unwrap());
        writeln!(table, "{:8} fallback   {:016x}", kind.name(), Fingerprint::of(&floor)).unwrap();
    }
    assert_eq!(generator.fallbacks() - before, FALLBACKS.len() as u64, "a layout now fits one of these floors");
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
