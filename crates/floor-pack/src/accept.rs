//! Checks the floor that a pack's own generator made, and completes it.

use floor_gen::{FloorSpec, pack::Checks};
use floor_proto::v1::{self, Floor, Terrain};
use floor_wire::decode;
use prost::Message as _;

use crate::rules;

/// The most bytes of a floor.
const MAX_BYTES: usize = 4 << 20;

/// The floor of `spec` in the answer of a generator, with `resolved` as its spec, and metrics if it has none.
/// The error says which rule it breaks.
pub(crate) fn accept(bytes: &[u8], spec: &FloorSpec, resolved: v1::FloorSpec, checks: Checks) -> Result<Floor, String> {
    if bytes.len() > MAX_BYTES {
        return Err(format!("the floor has {} bytes; at most {MAX_BYTES} are allowed", bytes.len()));
    }
    let floor = Floor::decode(bytes).map_err(|error| format!("the answer is no floors.v1.Floor: {error}"))?;
    accept_message(floor, spec, resolved, checks)
}

/// The same of a floor that is a message already.
pub(crate) fn accept_message(
    floor: Floor,
    spec: &FloorSpec,
    resolved: v1::FloorSpec,
    checks: Checks,
) -> Result<Floor, String> {
    let mut floor = Floor { spec: Some(resolved), content_hash: 0, ..floor };
    let lacks_metrics = floor.metrics.is_none_or(|metrics| metrics == v1::FloorMetrics::default());
    match checks {
        Checks::Structure => check_structure(&floor, spec)?,
        Checks::Strict => decode::set_defaults(&mut floor),
    }
    if lacks_metrics || checks == Checks::Strict {
        floor.metrics.get_or_insert_default();
        let broken = rules::broken_by(&floor);
        if lacks_metrics {
            rules::correct_metrics(&mut floor, &broken);
        }
        let counts = |rule: &&rules::BrokenRule| checks == Checks::Strict && !(lacks_metrics && rule.is_metric());
        if let Some(rule) = broken.iter().find(counts) {
            return Err(format!("the floor breaks a rule: {rule}"));
        }
    }
    Ok(floor)
}

/// The rules that never change: both grids have the size of the floor, its border is wall, everything lies inside, there is
/// one of each stairs, and a way from one to the other, through doors of all kinds.
fn check_structure(floor: &Floor, spec: &FloorSpec) -> Result<(), String> {
    let (width, height) = (usize::from(spec.width()), usize::from(spec.height()));
    let cells = |name, grid| decode::cells(name, spec, grid).map_err(|error| error.to_string());
    let terrain = cells("terrain", floor.terrain.as_ref())?;
    let region = cells("region", floor.region.as_ref())?;
    let (rooms, most) = (floor.rooms.len(), region.iter().copied().max().unwrap_or(0));
    if rooms > 255 || usize::from(most) > rooms {
        return Err(format!("the floor has {rooms} rooms, at most 255, and its region grid names room {most}"));
    }
    // The palette has been decoded with the cells, so it has each of their values.
    let palette = floor.terrain.iter().flat_map(|grid| &grid.palette);
    let is_known = |cell: u32| cell > 0 && i32::try_from(cell).is_ok_and(|cell| Terrain::try_from(cell).is_ok());
    if let Some(unknown) = palette.copied().find(|cell| !is_known(*cell)) {
        return Err(format!("terrain {unknown} is unknown to this program"));
    }
    let furniture = floor.furniture.iter().map(|kind| kind.cells.len()).sum::<usize>();
    let others = floor.traps.len() + floor.locks.len() + floor.connections.len() + floor.furniture.len();
    let things = floor.spawns.len() + floor.items.len() + others + furniture;
    if things > 4 * terrain.len() {
        return Err(format!("the floor has {things} things and connections on {} cells", terrain.len()));
    }
    if let Some(at) = points(floor).find(|at| at.x as usize >= width || at.y as usize >= height) {
        return Err(format!("({}, {}) lies outside the {width}x{height} cells", at.x, at.y));
    }
    if let Some(kind) = floor.furniture.iter().find(|kind| last_cell(kind) >= terrain.len() as u64) {
        let (archetype, cells) = (&kind.archetype, terrain.len());
        return Err(format!("furniture {archetype:?} has cell {}; the floor has {cells}", last_cell(kind)));
    }
    if floor.landmark as usize > rooms {
        return Err(format!("the landmark is room {}, and the floor has {rooms} rooms", floor.landmark));
    }
    let is_wall = |cells: &[u8]| cells.iter().all(|cell| *cell == Terrain::Wall as u8);
    let mut rows = terrain.chunks_exact(width);
    let ends_in_wall = |row: &[u8]| is_wall(&[row[0], row[width - 1]]);
    if !is_wall(&terrain[..width]) || !is_wall(&terrain[width * (height - 1)..]) || !rows.all(ends_in_wall) {
        return Err("a cell of the border is not wall".to_owned());
    }
    let stairs = |name: &str, kind: Terrain, at: Option<v1::Point>| {
        let at =
            at.map(|at| at.y as usize * width + at.x as usize).ok_or_else(|| format!("the floor has no {name}"))?;
        let only = count(&terrain, kind as u8) == 1 && terrain[at] == kind as u8;
        if only { Ok(at) } else { Err(format!("the {name} is not the one cell {kind:?}")) }
    };
    let entry = stairs("entry", Terrain::StairsUp, floor.entry)?;
    let exit = stairs("exit", Terrain::StairsDown, floor.exit)?;
    if is_connected(terrain, width, entry, exit) {
        Ok(())
    } else {
        Err("no way leads from the entry to the exit".to_owned())
    }
}

/// The last cell of furniture, which is the sum of its differences.
fn last_cell(kind: &v1::Furniture) -> u64 {
    kind.cells.iter().map(|step| u64::from(*step)).sum()
}

/// Every position on the floor; outside, if one is missing where there has to be one.
fn points(floor: &Floor) -> impl Iterator<Item = v1::Point> {
    const NONE: v1::Point = v1::Point { x: u32::MAX, y: u32::MAX };
    let rooms = floor.rooms.iter().flat_map(|room| [room.min, room.max, room.center]);
    let things = floor.spawns.iter().map(|spawn| spawn.at).chain(floor.items.iter().map(|item| item.at));
    let others = floor.traps.iter().map(|trap| trap.at).chain(floor.locks.iter().map(|lock| lock.at));
    rooms
        .chain(things)
        .chain(others)
        .chain([floor.entry, floor.exit, floor.landing.or(floor.entry)])
        .map(|at| at.unwrap_or(NONE))
}

/// How many cells have the value. A sum of bytes takes a tenth of the time of one of larger numbers.
fn count(cells: &[u8], value: u8) -> usize {
    let of_part = |part: &[u8]| part.iter().map(|cell| u8::from(*cell == value)).sum::<u8>();
    cells.chunks(255).map(|part| usize::from(of_part(part))).sum()
}

/// Whether a walk through all that is no obstacle leads from one cell to another. The border of the grid is wall.
fn is_connected(mut terrain: Vec<u8>, width: usize, from: usize, to: usize) -> bool {
    const OBSTACLES: [Terrain; 5] = [Terrain::Wall, Terrain::DeepWater, Terrain::Lava, Terrain::Chasm, Terrain::Pillar];
    let blocks: [bool; 256] = std::array::from_fn(|cell| OBSTACLES.iter().any(|obstacle| *obstacle as usize == cell));
    let (east, south) = (from % width < to % width, from < to);
    // The last one is tried first: towards the goal.
    let mut steps = [1, width.wrapping_neg(), 1usize.wrapping_neg(), width];
    if east {
        steps.swap(0, 2);
    }
    if !south {
        steps.swap(1, 3);
    }
    let mut frontier = vec![from];
    while let Some(here) = frontier.pop() {
        if here == to {
            return true;
        }
        for there in steps.map(|step| here.wrapping_add(step)) {
            if !blocks[usize::from(terrain[there])] {
                terrain[there] = Terrain::Wall as u8;
                frontier.push(there);
            }
        }
    }
    false
}
