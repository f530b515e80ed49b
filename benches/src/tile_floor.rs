//! A floor as an earlier tower game sent it: one protobuf message a tile. The yardstick of the protobuf benches.
//!
//! The messages are written out by hand, so that the yardstick is no part of the wire.

use floor_gen::Floor;

/// A floor of tiles, row by row.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TileFloor {
    /// The tower.
    #[prost(uint64, tag = "1")]
    pub seed: u64,
    /// The floor of the tower.
    #[prost(uint32, tag = "2")]
    pub number: u32,
    /// One message a cell.
    #[prost(message, repeated, tag = "3")]
    pub tiles: Vec<Tile>,
}

/// A cell.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Tile {
    /// Column.
    #[prost(uint32, tag = "1")]
    pub x: u32,
    /// Row.
    #[prost(uint32, tag = "2")]
    pub y: u32,
    /// What it is made of.
    #[prost(uint32, tag = "3")]
    pub terrain: u32,
    /// Whether a walker may stand there.
    #[prost(bool, tag = "4")]
    pub walkable: bool,
    /// Room id + 1, 0 = none.
    #[prost(uint32, tag = "5")]
    pub region: u32,
}

/// The same floor, a message a tile.
#[must_use]
pub fn message(floor: &Floor) -> TileFloor {
    let width = usize::from(floor.spec.width());
    let cells = floor.terrain.iter().zip(&floor.region).enumerate();
    let tile = |(index, (terrain, region)): (usize, (&floor_gen::Terrain, &u8))| Tile {
        x: (index % width) as u32,
        y: (index / width) as u32,
        terrain: *terrain as u32,
        walkable: terrain.passable(),
        region: u32::from(*region),
    };
    TileFloor { seed: floor.spec.seed(), number: floor.spec.number(), tiles: cells.map(tile).collect() }
}
