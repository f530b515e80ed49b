//! Kinds can be told apart: a few simple measures identify the kind of a floor.

use floor_gen::{Floor, FloorSpec, Generator, Kind, Terrain};

/// Floors of each kind for the centroids, and floors to classify.
const KNOWN: u64 = 200;
const FRESH: u64 = 200;

/// Doors, dead ends, openness, rooms, loops, share of open cells in passages and in the largest room, share of walls that
/// touch open ground, connections without a door, crossings of passages.
type Measures = [f64; MEASURES];
const MEASURES: usize = 10;

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
    let passages =
        floor.terrain.iter().zip(&floor.region).filter(|&(&cell, &mark)| walkable(cell) && mark == 0).count();
    let mut areas = vec![0usize; floor.rooms.len() + 1];
    floor.region.iter().for_each(|&mark| areas[usize::from(mark)] += 1);
    let largest = areas[1..].iter().max().copied().unwrap_or_default();
    let beside = |at: usize| [at - width, at + 1, at + width, at - 1];
    // The border is wall, so an open cell has four neighbours.
    let edges = (0..floor.terrain.len())
        .filter(|&at| walkable(floor.terrain[at]))
        .filter(|&at| beside(at).into_iter().any(|there| floor.terrain[there] == Terrain::Wall))
        .count();
    let crossings = (0..floor.terrain.len())
        .filter(|&at| floor.region[at] == 0 && walkable(floor.terrain[at]))
        .filter(|&at| beside(at).into_iter().filter(|&there| walkable(floor.terrain[there])).count() > 2)
        .count();
    [
        doors as f64,
        dead_ends as f64 / floor.rooms.len() as f64,
        open as f64 / (rows * width) as f64,
        floor.rooms.len() as f64,
        f64::from(floor.metrics.loops),
        passages as f64 / open as f64,
        largest as f64 / open as f64,
        edges as f64 / open as f64,
        floor.connections.len().saturating_sub(doors) as f64 / floor.rooms.len() as f64,
        crossings as f64 / open as f64,
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
    let distance = |a: &Measures, b: &Measures| (0..MEASURES).map(|m| ((a[m] - b[m]) / spread[m]).powi(2)).sum::<f64>();

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
