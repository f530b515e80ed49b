//! Floors and values to work on, made before any clock runs.

use bevy_server::{key, wire};
use bytes::{Bytes, BytesMut};
use floor_cache::{Class, Key};
use floor_gen::{Floor, FloorSpec, Generator, Kind};

/// The tower that benches climb. Any would do; one makes runs comparable.
pub const TOWER: u64 = 42;

/// The floor that is asked for where one is enough: an ordinary one.
pub const NUMBER: u32 = 7;

/// The side of an ordinary floor, in cells.
pub const SIDE: u16 = FloorSpec::DEFAULT_SIDE;

/// The specs of floors 1 ..= `count` of [`TOWER`], square, all of `kind`.
#[must_use]
pub fn specs(kind: Kind, side: u16, count: u32) -> Vec<FloorSpec> {
    let spec = |number| FloorSpec::resolve(TOWER, number, side.into(), side.into(), Some(kind));
    (1..=count).map(|number| spec(number).expect("an offered kind, a side in range")).collect()
}

/// `count` different STANDARD floors of 100x100.
#[must_use]
pub fn standard(count: u32) -> Vec<Floor> {
    let mut generator = Generator::new();
    specs(Kind::Standard, SIDE, count).iter().map(|spec| generator.generate(spec)).collect()
}

/// Keys with what is stored under them, and an order to visit them in.
#[derive(Debug)]
pub struct Entries(Vec<(Key, Bytes)>);

/// From one entry to the next in visiting order: a prime, so that every entry is visited whatever their number, and far
/// enough that neighbours in a store are not neighbours in time.
const STRIDE: u64 = 7919;

impl Entries {
    /// `count` STANDARD floors of 100x100 as the server keeps them: encoded, framed, under their keys.
    #[must_use]
    pub fn floors(count: u32) -> Self {
        Self(standard(count).iter().map(|floor| (key::of(&floor.spec), wire::framed(floor))).collect())
    }

    /// `count` values of exactly `len` bytes, cut from encoded floors laid end to end, so that a compressor finds in
    /// them what it finds in floors.
    #[must_use]
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

    /// As many keys as there are here, none of which stands here.
    #[must_use]
    pub fn absent_keys(&self) -> Vec<Key> {
        (0..self.0.len() as u32).map(|number| numbered_key(u64::MAX, number)).collect()
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[(Key, Bytes)] {
        &self.0
    }

    /// The one visited at `step`.
    #[must_use]
    #[inline]
    pub fn at(&self, step: u64) -> &(Key, Bytes) {
        &self.0[index_at(step, self.0.len())]
    }

    /// The bytes of the values visited at `steps`.
    #[must_use]
    pub fn bytes(&self, steps: std::ops::Range<u64>) -> u64 {
        steps.map(|step| self.at(step).1.len() as u64).sum()
    }
}

/// Which of `count` things is visited at `step`.
#[must_use]
#[inline]
pub fn index_at(step: u64, count: usize) -> usize {
    (step.wrapping_mul(STRIDE) % count as u64) as usize
}

fn numbered_key(group: u64, number: u32) -> Key {
    let mut identity = [0; Key::LEN - 1];
    identity[..8].copy_from_slice(&group.to_be_bytes());
    identity[8..12].copy_from_slice(&number.to_be_bytes());
    Key::new(identity, Class::new(Kind::Standard as u8))
}
