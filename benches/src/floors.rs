//! Floors and values for the benches, generated before the clock runs.

use bevy_server::key;
use bytes::{Bytes, BytesMut};
use floor_cache::{Class, Key};
use floor_gen::{Floor, FloorSpec, Generator, Kind};
use floor_proto::{grid, v1};
use prost::Message;

/// The seed of every floor. It is fixed so that runs are comparable.
pub const TOWER: u64 = 42;

/// The number of the floor for benches that need one floor: a STANDARD one of ordinary size.
pub const NUMBER: u32 = 7;

/// The side of an ordinary floor, in cells.
pub const SIDE: u16 = FloorSpec::DEFAULT_SIDE;

/// The specs of floors 1 ..= `count` of [`TOWER`], all of `kind`, with `side` x `side` cells.
pub fn specs(kind: Kind, side: u16, count: u32) -> Vec<FloorSpec> {
    let spec = |number| FloorSpec::resolve(TOWER, number, side.into(), side.into(), Some(kind));
    (1..=count).map(|number| spec(number).expect("an offered kind, a side in range")).collect()
}

/// `count` different STANDARD floors of 100x100.
pub fn standard(count: u32) -> Vec<Floor<'static>> {
    let mut generator = Generator::new();
    specs(Kind::Standard, SIDE, count).iter().map(|spec| generator.generate(spec)).collect()
}

/// `floors` as messages on the wire, without their frame prefixes.
pub fn encoded(floors: &[Floor<'_>]) -> Vec<Bytes> {
    floors.iter().map(|floor| floor_wire::unframed(&floor_wire::framed(floor))).collect()
}

/// The message in `bytes`, and the cells of its two grids, terrain and region.
pub fn decoded(bytes: &Bytes) -> (v1::Floor, Vec<u8>, Vec<u8>) {
    let floor = v1::Floor::decode(bytes.clone()).expect("our own bytes");
    let cells = |grid: &Option<v1::Grid>| grid::decode(grid.as_ref().expect("it has its grids")).expect("our own grid");
    let (terrain, region) = (cells(&floor.terrain), cells(&floor.region));
    (floor, terrain, region)
}

/// Keys with their values, and an order to visit them in.
#[derive(Debug)]
pub struct Entries(Vec<(Key, Bytes)>);

/// The distance between entries that are visited one after the other. It is a prime, so that every entry is visited
/// whatever their number, and large, so that neighbours in a store are not visited in a row.
const STRIDE: u64 = 7919;

impl Entries {
    /// `count` STANDARD floors of 100x100 as the server stores them: encoded and framed, under their keys.
    pub fn floors(count: u32) -> Self {
        Self(standard(count).iter().map(|floor| (key::of(&floor.spec), floor_wire::framed(floor))).collect())
    }

    /// `count` values of exactly `len` bytes, cut from concatenated encoded floors, so that they compress as floors do.
    pub fn of_length(len: usize, count: u32) -> Self {
        let floors = Self::floors(64);
        let mut source = floors.0.iter().map(|(_, value)| value).cycle();
        let mut value = |number| {
            let mut bytes = BytesMut::with_capacity(len);
            while bytes.len() < len {
                let floor = source.next().expect("a cycle of 64 floors has no end");
                bytes.extend_from_slice(&floor[..floor.len().min(len - bytes.len())]);
            }
            (numbered_key(len as u64, number), bytes.freeze())
        };
        Self((0..count).map(&mut value).collect())
    }

    /// Keys that are not in `self`, as many as there are entries, with empty values.
    pub fn absent(&self) -> Self {
        Self((0..self.0.len() as u32).map(|number| (numbered_key(u64::MAX, number), Bytes::new())).collect())
    }

    /// All entries.
    pub fn all(&self) -> &[(Key, Bytes)] {
        &self.0
    }

    /// The entry visited at `step`.
    #[inline]
    pub fn at(&self, step: u64) -> &(Key, Bytes) {
        &self.0[index_at(step, self.0.len())]
    }

    /// The keys of all entries in the order of visits, `each` together. What is left over is left out.
    pub fn batches(&self, each: usize) -> Vec<Vec<Key>> {
        let visited: Vec<Key> = (0..self.0.len() as u64).map(|step| self.at(step).0).collect();
        visited.chunks_exact(each).map(<[Key]>::to_vec).collect()
    }

    /// The bytes of the values visited at `steps`.
    pub fn bytes(&self, steps: std::ops::Range<u64>) -> u64 {
        steps.map(|step| self.at(step).1.len() as u64).sum()
    }
}

/// The index, below `count`, that is visited at `step`.
#[inline]
pub fn index_at(step: u64, count: usize) -> usize {
    (step.wrapping_mul(STRIDE) % count as u64) as usize
}

/// A key for value `number` of a group.
pub fn numbered_key(group: u64, number: u32) -> Key {
    let mut identity = [0; Key::LEN - 1];
    identity[..8].copy_from_slice(&group.to_be_bytes());
    identity[8..12].copy_from_slice(&number.to_be_bytes());
    Key::new(identity, Class::new(Kind::Standard as u8))
}
