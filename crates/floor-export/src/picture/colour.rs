//! The palette: stone, water and rock in the colours of the theme, one saturated colour for each kind of object. Terminals
//! show every theme in the same colours.

use anstyle::{Ansi256Color, Color, RgbColor};
use floor_gen::pack::{Look, Paint};
use floor_proto::v1::{RoomRole, Terrain};

use super::{
    glyph,
    paths::Goal,
    scene::{Mark, Object},
};

/// The background in a terminal.
pub(crate) const ROCK: RgbColor = RgbColor(0x17, 0x16, 0x1d);
/// Text on a saturated colour.
pub(crate) const LIGHT: RgbColor = RgbColor(0xff, 0xf6, 0xe0);
/// Text of the legend.
pub(crate) const TEXT: RgbColor = RgbColor(0xd8, 0xd2, 0xc4);
/// The segment of the critical path to the exit.
const EXIT_PATH: RgbColor = RgbColor(0xff, 0xff, 0xff);
/// Less important text.
pub(crate) const FAINT: RgbColor = RgbColor(0x8d, 0x88, 0x80);

/// Share of a room's tint in its ground, of 256. It is visible and does not hide objects.
pub(crate) const TINT: u16 = 58;

/// The colours of lock 1 and its key, of lock 2 and its key, and so on, repeated.
const LOCKS: [RgbColor; 6] = [
    RgbColor(0xe8, 0x4d, 0x8a),
    RgbColor(0x4d, 0xb8, 0xe8),
    RgbColor(0x8c, 0xd8, 0x4f),
    RgbColor(0xb0, 0x7c, 0xf0),
    RgbColor(0xf0, 0x96, 0x3c),
    RgbColor(0x45, 0xd6, 0xb5),
];

/// The colours of neighbouring rooms, paler than those of locks.
const ROOMS: [RgbColor; 6] = [
    RgbColor(0xe6, 0xc8, 0x8c),
    RgbColor(0x93, 0xc9, 0xd6),
    RgbColor(0xd9, 0xa0, 0xc4),
    RgbColor(0xb4, 0xd3, 0x94),
    RgbColor(0xe0, 0xa0, 0x86),
    RgbColor(0xb2, 0xaa, 0xe0),
];

pub(crate) const fn room(colour: usize) -> RgbColor {
    ROOMS[colour % ROOMS.len()]
}

/// The colour of a path segment: to a key the colour of its lock, to the exit white.
pub(crate) const fn goal(goal: Goal) -> RgbColor {
    match goal {
        Goal::Key(id) => lock(id),
        Goal::Exit => EXIT_PATH,
    }
}

/// The background of the area behind a lock.
pub(crate) fn behind(id: u32) -> RgbColor {
    mix(ROCK, lock(id), 76)
}

/// The colour of a paint of the theme.
pub(crate) const fn paint(look: &Look, paint: Paint) -> RgbColor {
    let [_, red, green, blue] = look.colour(paint).to_be_bytes();
    RgbColor(red, green, blue)
}

pub(crate) const fn of(terrain: Terrain) -> RgbColor {
    glyph::colour(terrain)
}

pub(crate) const fn lock(id: u32) -> RgbColor {
    LOCKS[(id.wrapping_sub(1) % LOCKS.len() as u32) as usize]
}

pub(crate) const fn object(object: Object) -> RgbColor {
    match object {
        Object::Monster(_) => RgbColor(0xe5, 0x4b, 0x3c),
        Object::Key(id) => lock(id),
        Object::Loot => RgbColor(0xff, 0xd2, 0x4a),
        Object::Trap => RgbColor(0xd0, 0x6b, 0xe8),
    }
}

pub(crate) const fn mark(mark: Mark) -> RgbColor {
    match mark {
        Mark::Rock => ROCK,
        Mark::Terrain(terrain) => of(terrain),
        Mark::Locked(id) => lock(id),
        Mark::Object(it) => object(it),
        Mark::Step(to) => goal(to),
        Mark::Behind(_) => of(Terrain::Floor),
        Mark::Outline => room(0),
    }
}

/// The tint of the ground in a room. `None` for ordinary roles.
pub(crate) const fn tint(role: RoomRole) -> Option<RgbColor> {
    match role {
        RoomRole::Entry => Some(of(Terrain::StairsUp)),
        RoomRole::Exit => Some(of(Terrain::StairsDown)),
        RoomRole::Treasure | RoomRole::Vault => Some(object(Object::Loot)),
        RoomRole::Key => Some(RgbColor(0xe8, 0x4d, 0x8a)),
        RoomRole::Shrine => Some(RgbColor(0x45, 0xd6, 0xd6)),
        RoomRole::Shop => Some(RgbColor(0xf0, 0x96, 0x3c)),
        RoomRole::Boss => Some(RgbColor(0xc8, 0x2a, 0x2a)),
        RoomRole::Secret => Some(of(Terrain::SecretDoor)),
        RoomRole::Unspecified | RoomRole::Combat | RoomRole::Passage => None,
    }
}

/// `#rrggbb`.
pub(crate) fn hex(RgbColor(red, green, blue): RgbColor) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Mixes `base` with `over`; `part` is the share of `over`, of 256.
pub(crate) fn mix(base: RgbColor, over: RgbColor, part: u16) -> RgbColor {
    let channel = |base: u8, over: u8| {
        let sum = u16::from(base) * (256 - part) + u16::from(over) * part;
        (sum >> 8) as u8
    };
    RgbColor(channel(base.0, over.0), channel(base.1, over.1), channel(base.2, over.2))
}

/// The number of colours that a terminal supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The 256 colours of xterm.
    Ansi256,
    /// 24 bits.
    TrueColour,
}

impl Depth {
    /// The nearest colour that the terminal supports.
    pub(crate) fn colour(self, colour: RgbColor) -> Color {
        match self {
            Self::TrueColour => colour.into(),
            Self::Ansi256 => Ansi256Color(anstyle_lossy::rgb_to_xterm(colour).0).into(),
        }
    }
}
