//! The palette: stone, water and rock in the colours of the theme, one saturated colour for each kind of object. Terminals
//! show every theme in the same colours.

use anstyle::{Ansi256Color, Color, RgbColor};
use floor_gen::pack::{Look, Paint};
use floor_proto::v1::{RoomRole, Terrain};

use super::{
    paths::Goal,
    scene::{Mark, Object},
};

/// The background in a terminal.
pub(crate) const ROCK: RgbColor = RgbColor(0x17, 0x16, 0x1d);
/// Shadows, outlines and dark text.
pub(crate) const INK: RgbColor = RgbColor(0x10, 0x0e, 0x14);
/// Text on a saturated colour.
pub(crate) const LIGHT: RgbColor = RgbColor(0xff, 0xf6, 0xe0);
/// The token of a monster.
pub(crate) const MONSTER: RgbColor = RgbColor(0xe5, 0x4b, 0x3c);
/// Text of the legend.
pub(crate) const TEXT: RgbColor = RgbColor(0xd8, 0xd2, 0xc4);
/// The segment of the critical path to the exit.
const EXIT_PATH: RgbColor = RgbColor(0xff, 0xff, 0xff);
/// Furniture in a terminal.
const FURNITURE: RgbColor = RgbColor(0xd2, 0xa3, 0x6c);
/// Less important text.
pub(crate) const FAINT: RgbColor = RgbColor(0x8d, 0x88, 0x80);

/// Share of a room's tint in its ground, of 256. It is visible and does not hide objects.
pub(crate) const TINT: u16 = 58;

/// The colours of lock 1 and its key, of lock 2 and its key, and so on, repeated.
const LOCKS: [u32; 6] = [0xe8_4d8a, 0x4d_b8e8, 0x8c_d84f, 0xb0_7cf0, 0xf0_963c, 0x45_d6b5];
/// The colours of neighbouring rooms, paler than those of locks.
const ROOMS: [u32; 6] = [0xe6_c88c, 0x93_c9d6, 0xd9_a0c4, 0xb4_d394, 0xe0_a086, 0xb2_aae0];

/// A colour from `0xrrggbb`.
const fn rgb(colour: u32) -> RgbColor {
    let [_, red, green, blue] = colour.to_be_bytes();
    RgbColor(red, green, blue)
}

pub(crate) const fn room(colour: usize) -> RgbColor {
    rgb(ROOMS[colour % ROOMS.len()])
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
    rgb(look.colour(paint))
}

/// The colour of a terrain.
pub(crate) const fn of(terrain: Terrain) -> RgbColor {
    rgb(match terrain {
        Terrain::Unspecified => 0xff_00ff,
        Terrain::Wall => 0x5d_5868,
        Terrain::Floor => 0xa3_9782,
        Terrain::Door => 0xb9_7a3d,
        Terrain::LockedDoor => 0xff_00ff,
        Terrain::SecretDoor => 0x9a_7fc4,
        Terrain::StairsUp => 0x7b_e07b,
        Terrain::StairsDown => 0x6f_b4ff,
        Terrain::ShallowWater => 0x4f_9dbd,
        Terrain::DeepWater => 0x24_5a8c,
        Terrain::Lava => 0xf2_6a21,
        Terrain::Chasm => 0x86_6cb0,
        Terrain::Bridge => 0x9c_6b3a,
        Terrain::Grass => 0x6d_a34d,
        Terrain::Rubble => 0x8b_8378,
        Terrain::Pillar => 0xcd_c5b4,
    })
}

pub(crate) const fn lock(id: u32) -> RgbColor {
    rgb(LOCKS[(id.wrapping_sub(1) % LOCKS.len() as u32) as usize])
}

pub(crate) const fn object(object: Object) -> RgbColor {
    match object {
        Object::Monster(_) => MONSTER,
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
        Mark::Furniture(_) => FURNITURE,
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
