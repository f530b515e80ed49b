//! mapgen: filters over a map of walkable cells, a start and an exit. No content, no proof.

use mapgen::{
    AreaStartingPosition, BspRooms, CellularAutomata, CullUnreachable, DistantExit, MapBuffer, MapBuilder,
    NearestCorridors, NoiseGenerator, XStart, YStart,
};

/// Rooms by binary space partition, joined by corridors: what our KEEP is.
pub(crate) fn bsp(side: u16) -> MapBuffer {
    let mut builder = MapBuilder::new(side.into(), side.into());
    builder.with(BspRooms::new()).with(NearestCorridors::new());
    finished(&mut builder)
}

/// Caves by cellular automata, what cannot be reached filled in: what our CAVERN is.
pub(crate) fn cellular(side: u16) -> MapBuffer {
    let mut builder = MapBuilder::new(side.into(), side.into());
    builder.with(NoiseGenerator::uniform()).with(CellularAutomata::new());
    finished(&mut builder)
}

/// The chain of its README: a start, what it reaches, and the exit farthest from it.
fn finished(builder: &mut MapBuilder) -> MapBuffer {
    let start = AreaStartingPosition::new(XStart::CENTER, YStart::CENTER);
    builder.with(start).with(CullUnreachable::new()).with(DistantExit::new()).build()
}

/// Cells where a walker may stand, of a map that has a start and an exit.
pub(crate) fn open_cells(map: &MapBuffer) -> usize {
    assert!(map.starting_point.is_some() && map.exit_point.is_some(), "a map has a start and an exit");
    map.walkables.iter().filter(|walkable| **walkable).count()
}
