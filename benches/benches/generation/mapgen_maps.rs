//! Adapter of mapgen: filters over a map of walkable cells. It places no content and does not validate.

use mapgen::{
    AreaStartingPosition, BspRooms, CellularAutomata, CullUnreachable, DistantExit, MapBuffer, MapBuilder,
    NearestCorridors, NoiseGenerator, XStart, YStart,
};

/// Rooms by binary space partition, joined by corridors, like our KEEP.
pub(crate) fn bsp(side: u16) -> MapBuffer {
    let mut builder = MapBuilder::new(side.into(), side.into());
    builder.with(BspRooms::new()).with(NearestCorridors::new());
    finished(&mut builder)
}

/// Caves by cellular automata, without unreachable parts, like our CAVERN.
pub(crate) fn cellular(side: u16) -> MapBuffer {
    let mut builder = MapBuilder::new(side.into(), side.into());
    builder.with(NoiseGenerator::uniform()).with(CellularAutomata::new());
    finished(&mut builder)
}

/// The filters of its README: a start, the cells that it reaches, and the farthest exit.
fn finished(builder: &mut MapBuilder) -> MapBuffer {
    let start = AreaStartingPosition::new(XStart::CENTER, YStart::CENTER);
    builder.with(start).with(CullUnreachable::new()).with(DistantExit::new()).build()
}

/// The number of walkable cells. Asserts that the map has a start and an exit.
pub(crate) fn open_cells(map: &MapBuffer) -> usize {
    assert!(map.starting_point.is_some() && map.exit_point.is_some(), "a map has a start and an exit");
    map.walkables.iter().filter(|walkable| **walkable).count()
}
