//! The messages of a floor, for the files of the server that name them: those of `floors/v1/floors.proto`, written here
//! because compiling the .proto takes longer than all else. A field that is missing here fails to compile in
//! `floor-wire`; a wrong one gives other bytes than the server, which the tests compare.

use prost::{Enumeration, Message};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct FloorSpec {
    #[prost(uint64, tag = "1")]
    pub seed: u64,
    #[prost(uint32, tag = "2")]
    pub number: u32,
    #[prost(uint32, tag = "3")]
    pub width: u32,
    #[prost(uint32, tag = "4")]
    pub height: u32,
    #[prost(enumeration = "FloorKind", tag = "5")]
    pub kind: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct Floor {
    #[prost(message, optional, tag = "1")]
    pub spec: Option<FloorSpec>,
    #[prost(uint32, tag = "2")]
    pub generator_version: u32,
    #[prost(fixed64, tag = "3")]
    pub content_hash: u64,
    #[prost(message, optional, tag = "4")]
    pub terrain: Option<Grid>,
    #[prost(message, optional, tag = "5")]
    pub region: Option<Grid>,
    #[prost(message, optional, tag = "6")]
    pub entry: Option<Point>,
    #[prost(message, optional, tag = "7")]
    pub exit: Option<Point>,
    #[prost(message, repeated, tag = "8")]
    pub rooms: Vec<Room>,
    #[prost(message, repeated, tag = "9")]
    pub connections: Vec<Connection>,
    #[prost(message, repeated, tag = "10")]
    pub spawns: Vec<Spawn>,
    #[prost(message, repeated, tag = "11")]
    pub items: Vec<Item>,
    #[prost(message, repeated, tag = "12")]
    pub locks: Vec<Lock>,
    #[prost(message, optional, tag = "13")]
    pub metrics: Option<FloorMetrics>,
    #[prost(message, repeated, tag = "14")]
    pub traps: Vec<Trap>,
}

#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Grid {
    #[prost(uint32, tag = "1")]
    pub width: u32,
    #[prost(uint32, tag = "2")]
    pub height: u32,
    #[prost(uint32, repeated, tag = "3")]
    pub palette: Vec<u32>,
    #[prost(enumeration = "GridEncoding", tag = "4")]
    pub encoding: i32,
    #[prost(uint32, tag = "5")]
    pub bits: u32,
    #[prost(bytes = "vec", tag = "6")]
    pub data: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct Point {
    #[prost(uint32, tag = "1")]
    pub x: u32,
    #[prost(uint32, tag = "2")]
    pub y: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct Room {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(message, optional, tag = "2")]
    pub min: Option<Point>,
    #[prost(message, optional, tag = "3")]
    pub max: Option<Point>,
    #[prost(int32, tag = "4")]
    pub role: i32,
    #[prost(message, optional, tag = "5")]
    pub center: Option<Point>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct Connection {
    #[prost(uint32, tag = "1")]
    pub from_room: u32,
    #[prost(uint32, tag = "2")]
    pub to_room: u32,
    #[prost(uint32, tag = "3")]
    pub lock_id: u32,
    #[prost(bool, tag = "4")]
    pub secret: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Spawn {
    #[prost(message, optional, tag = "1")]
    pub at: Option<Point>,
    #[prost(string, tag = "2")]
    pub archetype: String,
    #[prost(uint32, tag = "3")]
    pub level: u32,
}

#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Item {
    #[prost(message, optional, tag = "1")]
    pub at: Option<Point>,
    #[prost(string, tag = "2")]
    pub archetype: String,
    #[prost(uint32, tag = "3")]
    pub value: u32,
    #[prost(uint32, tag = "4")]
    pub opens_lock: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct Lock {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(message, optional, tag = "2")]
    pub at: Option<Point>,
}

#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Trap {
    #[prost(message, optional, tag = "1")]
    pub at: Option<Point>,
    #[prost(string, tag = "2")]
    pub archetype: String,
    #[prost(uint32, tag = "3")]
    pub level: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct FloorMetrics {
    #[prost(uint32, tag = "1")]
    pub critical_path: u32,
    #[prost(uint32, tag = "2")]
    pub passable_cells: u32,
    #[prost(uint32, tag = "3")]
    pub loops: u32,
    #[prost(uint32, tag = "4")]
    pub difficulty: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum FloorKind {
    Unspecified = 0,
    Standard = 1,
    Keep = 2,
    Halls = 3,
    Cavern = 4,
    Cyclic = 5,
    Maze = 6,
    Boss = 7,
    Event = 8,
    Story = 9,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum GridEncoding {
    Unspecified = 0,
    Uniform = 1,
    Raw8 = 2,
    Packed = 3,
    Rle = 4,
}
