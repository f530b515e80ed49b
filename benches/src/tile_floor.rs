//! A floor as an earlier tower game sent it: one protobuf message per tile. The protobuf bench and `guard` use it for
//! comparison.
//!
//! The messages are written by hand, so that they stay out of the .proto.

use floor_gen::Floor;

/// A floor as a list of tiles, row by row.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TileFloor {
    /// The tower's seed.
    #[prost(uint64, tag = "1")]
    pub seed: u64,
    /// The floor's number in the tower.
    #[prost(uint32, tag = "2")]
    pub number: u32,
    /// One message per cell.
    #[prost(message, repeated, tag = "3")]
    pub tiles: Vec<Tile>,
}

/// One cell.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Tile {
    /// Column.
    #[prost(uint32, tag = "1")]
    pub x: u32,
    /// Row.
    #[prost(uint32, tag = "2")]
    pub y: u32,
    /// The number of its terrain.
    #[prost(uint32, tag = "3")]
    pub terrain: u32,
    /// Whether a walker may stand there.
    #[prost(bool, tag = "4")]
    pub walkable: bool,
    /// Room id + 1; 0 is no room.
    #[prost(uint32, tag = "5")]
    pub region: u32,
}

/// `floor` with one message per tile.
pub fn message(floor: &Floor<'_>) -> TileFloor {
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
