//! Kinds can be told apart: five simple measures identify the kind of a floor.

use floor_gen::{Floor, FloorSpec, Generator, Kind, Terrain};

/// Floors of each kind for the centroids, and floors to classify.
const KNOWN: u64 = 200;
const FRESH: u64 = 200;

/// Doors, dead ends, openness, rooms, loops.
type Measures = [f64; 5];

fn measure(floor: &Floor<'_>) -> Measures {
    let width = usize::from(floor.spec.width());
    let walkable = |cell: Terrain| cell.passable() || matches!(cell, Terrain::LockedDoor | Terrain::SecretDoor);
    let is_door = |cell: &&Terrain| matches!(cell, Terrain::Door | Terrain::LockedDoor | Terrain::SecretDoor);
    let doors = floor.terrain.iter().filter(is_door).count();
    let open = floor.terrain.iter().filter(|&&cell| walkable(cell)).count();
    let connections = |room: u8| {
        floor.connections.iter().filter(move |connection| connection.from_room == room || connection.to_room == room)
    };
    let dead_ends = floor.rooms.iter().filter(|room| connections(room.id).count() == 1).count();
    let rows = floor.terrain.len() / width;
    [
        doors as f64,
        dead_ends as f64 / floor.rooms.len() as f64,
        open as f64 / (rows * width) as f64,
        floor.rooms.len() as f64,
        f64::from(floor.metrics.loops),
    ]
}

fn floors(kind: Kind, first: u64, count: u64) -> impl Iterator<Item = Measures> {
    let mut generator = Generator::new();
    (first..first + count).map(move |seed| {
        let spec = FloorSpec::resolve(seed, 1 + seed as u32 % 90, 0, 0, Some(kind)).expect("in range");
        measure(&generator.generate(&spec))
    })
}

#[test]
fn the_nearest_centroid_identifies_the_kind() {
    let known: Vec<Vec<Measures>> = Kind::ALL.iter().map(|&kind| floors(kind, 0, KNOWN).collect()).collect();
    let mean = |list: &mut dyn Iterator<Item = f64>| {
        let (sum, count) = list.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
        sum / count
    };
    // Each measure is scaled by its spread within a kind.
    let centroids: Vec<Measures> =
        known.iter().map(|kind| std::array::from_fn(|m| mean(&mut kind.iter().map(|floor| floor[m])))).collect();
    let spread: Measures = std::array::from_fn(|m| {
        let square = |(kind, centroid): (&Vec<Measures>, &Measures)| {
            mean(&mut kind.iter().map(|floor| (floor[m] - centroid[m]).powi(2)))
        };
        mean(&mut known.iter().zip(&centroids).map(square)).sqrt()
    });
    let distance = |a: &Measures, b: &Measures| (0..5).map(|m| ((a[m] - b[m]) / spread[m]).powi(2)).sum::<f64>();

    let mut right = 0;
    let mut table = String::new();
    for (truth, &kind) in Kind::ALL.iter().enumerate() {
        let mut answers = [0; Kind::ALL.len()];
        for floor in floors(kind, 1_000_000, FRESH) {
            let nearest = (0..centroids.len())
                .min_by(|&a, &b| distance(&floor, &centroids[a]).total_cmp(&distance(&floor, &centroids[b])))
                .unwrap();
            answers[nearest] += 1;
        }
        right += answers[truth];
        table += &format!("{:8} {answers:?} {:.2?}\n", kind.name(), centroids[truth]);
    }
    let share = f64::from(right) / (FRESH as f64 * Kind::ALL.len() as f64);
    println!("{table}{share}");
    assert!(share >= 0.9, "{:.1} % identified\n{table}", 100.0 * share);
}
