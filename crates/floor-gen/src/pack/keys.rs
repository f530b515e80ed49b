//! What pack.toml may say: the keys of each of its tables, and the shape of their values. The reader checks a file against
//! it, and the JSON Schema is written from it.

use alloc::vec::Vec;

use super::content::{Beat, DRAWN, FurnitureSet, Ground, How, Motif, Part, Shown, StoryPart};
use super::look::{Hatch, Paint};
use super::params::{PARAMS, Param};
use crate::form::Form;
use crate::spec::{FloorSpec, Kind};

/// The most themes, and the most names of a list.
pub(crate) const MAX_THEMES: usize = 64;
/// The most furniture sets.
pub(crate) const MAX_SETS: usize = 128;
const MAX_LIST: usize = 64;
/// The greatest weight.
const MAX_WEIGHT: u32 = 1_000;

/// What a value looks like.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// A whole number: its least and greatest value, and its unit.
    Number(u32, u32, &'static str),
    /// A letter, then letters, digits and this, in lower case.
    Name(char),
    /// So many characters on one line.
    Text(usize),
    Truth,
    /// `#`, then red, green and blue as two hexadecimal digits each.
    Colour,
    OneOf(&'static [&'static str]),
    /// One to so many values: what they are, and their shape.
    List(usize, &'static str, &'static Shape),
    /// A pair of one of these names and its weight.
    Weighted(&'static [&'static str]),
    /// A name, or the table `choice`.
    Choice,
    Table(Table),
    /// That table by names.
    Named(Table),
}

impl Shape {
    pub(crate) const WEIGHT: Self = Self::Number(1, MAX_WEIGHT, "weight");
}

/// A table of pack.toml: a group of numbers, a kind, or one of [`KEYS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// The kind whose floors it is about.
    pub(crate) kind: Option<Kind>,
}

/// A key of a table.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) need: Need,
    pub(crate) param: Option<&'static Param>,
}

/// Whether a table has to have a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    Always,
    /// If the built-in pack does not have the table.
    IfNew,
    Never,
}

const NAME: Shape = Shape::Name('_');
const NAMES: Shape = Shape::List(MAX_LIST, "names", &Shape::Choice);
const PART: Shape = Shape::OneOf(&Part::NAMES);
const MAP: Shape = Shape::List(Motif::MOST, "rows", &Shape::Text(Motif::MOST));
const AREA: Shape = Shape::Number(4, 4_000, "cells");
const FORMS: Shape = Shape::List(Form::ALL.len(), "forms", &Shape::Weighted(&Form::NAMES));

/// The names of the kinds, and the empty name.
const FIRST: [&str; Kind::NAMES.len() + 1] = {
    let mut names = [""; Kind::NAMES.len() + 1];
    names.split_at_mut(Kind::NAMES.len()).0.copy_from_slice(&Kind::NAMES);
    names
};

/// The keys that hold none of [`PARAMS`], by their table; `""` is the file.
static KEYS: [(&str, &str, Shape, Need); 56] = [
    ("", "name", Shape::Name('-'), Need::Always),
    ("", "description", Shape::Text(200), Need::Never),
    ("", "tower_vaults", Shape::Truth, Need::Never),
    ("", "tower_furniture", Shape::Truth, Need::Never),
    ("", "players_see", Shape::List(4, "things", &Shape::OneOf(&Shown::NAMES)), Need::Never),
    ("schedule", "first", Shape::OneOf(&FIRST), Need::IfNew),
    ("schedule", "themes", Shape::List(255, "themes", &NAME), Need::IfNew),
    ("rooms", "forms", FORMS, Need::IfNew),
    ("niches", "forms", FORMS, Need::IfNew),
    ("items", "plain", NAMES, Need::IfNew),
    ("items", "fine", NAMES, Need::IfNew),
    ("items", "key", NAME, Need::IfNew),
    ("items", "hint", NAME, Need::IfNew),
    ("items", "blessing", NAME, Need::IfNew),
    ("monsters", "packs", Shape::List(MAX_LIST, "packs", &Shape::Table(Table::PACK)), Need::IfNew),
    ("monsters", "guards", Shape::List(8, "parts", &PART), Need::IfNew),
    ("traps", "archetypes", NAMES, Need::IfNew),
    ("halls", "forms", FORMS, Need::IfNew),
    ("cyclic", "forms", FORMS, Need::IfNew),
    ("boss", "forms", FORMS, Need::IfNew),
    ("story", "beats", Shape::List(60, "beats", &Shape::Table(Table::BEAT)), Need::IfNew),
    ("beat", "part", Shape::OneOf(&StoryPart::NAMES), Need::Always),
    ("beat", "role", Shape::OneOf(&Beat::ROLE_NAMES), Need::Always),
    ("beat", "form", Shape::OneOf(&Form::NAMES), Need::Always),
    ("beat", "fill_least", Shape::Number(100, 1_000, "thousandths"), Need::Always),
    ("beat", "fill_most", Shape::Number(100, 1_000, "thousandths"), Need::Always),
    ("beat", "weight", Shape::WEIGHT, Need::Never),
    ("theme", "weights", Shape::Table(Table::WEIGHTS), Need::IfNew),
    ("theme", "deep", Shape::OneOf(&Ground::DEEP), Need::IfNew),
    ("theme", "cover", Shape::List(2, "kinds of ground", &Shape::OneOf(&Ground::COVER)), Need::IfNew),
    ("theme", "look", Shape::Table(Table::LOOK), Need::Never),
    ("look", "hatch", Shape::OneOf(&Hatch::NAMES), Need::Never),
    ("choice", "name", NAME, Need::Always),
    ("choice", "weight", Shape::WEIGHT, Need::Never),
    ("choice", "from", Shape::Number(1, FloorSpec::MAX_NUMBER, "floor number"), Need::Never),
    ("pack", "leader", PART, Need::Always),
    ("pack", "follower", PART, Need::Always),
    ("pack", "weight", Shape::WEIGHT, Need::Never),
    ("set", "pieces", Shape::List(8, "names", &NAME), Need::Always),
    ("set", "place", Shape::List(8, "layers", &Shape::Table(Table::LAYER)), Need::Always),
    ("set", "fill", MAP, Need::Always),
    ("set", "roles", Shape::List(11, "roles", &Shape::OneOf(&FurnitureSet::ROLES)), Need::Never),
    ("set", "kinds", Shape::List(Kind::NAMES.len(), "kinds", &Shape::OneOf(&Kind::NAMES)), Need::Never),
    ("set", "themes", Shape::List(MAX_THEMES, "themes", &NAME), Need::Never),
    ("set", "built", Shape::Truth, Need::Never),
    ("set", "landmark", Shape::Truth, Need::Never),
    ("set", "least", AREA, Need::Never),
    ("set", "most", AREA, Need::Never),
    ("set", "side", Shape::Number(1, 60, "cells"), Need::Never),
    ("set", "weight", Shape::WEIGHT, Need::Never),
    ("layer", "how", Shape::OneOf(&How::NAMES), Need::Always),
    ("layer", "map", MAP, Need::Always),
    ("layer", "share", Shape::Number(1, 100, "per cent"), Need::Never),
    ("layer", "per", Shape::Number(4, 4_000, "cells"), Need::Never),
    ("layer", "inset", Shape::Number(0, 45, "per cent"), Need::Never),
    ("layer", "size", Shape::Number(3, 20, "cells"), Need::Never),
];

impl Table {
    pub(crate) const FILE: Self = Self::new("", None);
    pub(crate) const KINDS: Self = Self::new("kinds", None);
    pub(crate) const THEME: Self = Self::new("theme", None);
    pub(crate) const WEIGHTS: Self = Self::new("weights", None);
    pub(crate) const LOOK: Self = Self::new("look", None);
    pub(crate) const CHOICE: Self = Self::new("choice", None);
    pub(crate) const BEAT: Self = Self::new("beat", None);
    pub(crate) const PACK: Self = Self::new("pack", None);
    pub(crate) const SET: Self = Self::new("set", None);
    pub(crate) const LAYER: Self = Self::new("layer", None);

    pub(crate) const fn new(name: &'static str, kind: Option<Kind>) -> Self {
        Self { name, kind }
    }

    /// Its keys, in the order in which they are read: what refers to other values follows them.
    pub(crate) fn keys(self) -> Vec<Key> {
        let is_own = self.kind.is_some_and(|kind| kind.name() == self.name);
        // A kind says only what differs from the group of all kinds.
        let differs = self.kind.is_some() && !is_own;
        let mut keys = Vec::new();
        for param in PARAMS.iter().filter(|param| param.group == self.name) {
            let shape = Shape::Number(param.least, param.greatest, param.unit);
            keys.push(Key { name: param.name, shape, need: Need::IfNew, param: Some(param) });
        }
        let mut add = |name, shape, need| keys.push(Key { name, shape, need, param: None });
        for &(_, name, shape, need) in KEYS.iter().filter(|(table, ..)| *table == self.name) {
            if !differs || name == "forms" {
                add(name, shape, need);
            }
        }
        let shared = groups().map(|params| params[0].group).filter(|group| Kind::from_name(group).is_none());
        match self.name {
            "" => {
                shared.for_each(|group| add(group, Shape::Table(Self::new(group, None)), Need::IfNew));
                add("kinds", Shape::Table(Self::KINDS), Need::IfNew);
                add("themes", Shape::Named(Self::THEME), Need::IfNew);
                add("furniture", Shape::Named(Self::SET), Need::IfNew);
            }
            "kinds" => Kind::ALL.into_iter().for_each(|kind| {
                add(kind.name(), Shape::Table(Self::new(kind.name(), Some(kind))), Need::IfNew);
            }),
            "look" => Paint::NAMES.into_iter().for_each(|paint| add(paint, Shape::Colour, Need::Never)),
            "theme" => Part::NAMES.into_iter().for_each(|part| add(part, NAMES, Need::IfNew)),
            "weights" => DRAWN.into_iter().for_each(|kind| {
                add(kind.name(), Shape::Number(0, MAX_WEIGHT, "weight"), Need::Never);
            }),
            // The schedule is used before the kind is known.
            _ if is_own => shared
                .filter(|group| *group != "schedule")
                .for_each(|group| add(group, Shape::Table(Self::new(group, self.kind)), Need::Never)),
            _ => {}
        }
        if differs {
            keys.iter_mut().for_each(|key| key.need = Need::Never);
        }
        keys
    }
}

/// [`PARAMS`] by group.
pub(crate) fn groups() -> impl Iterator<Item = &'static [Param]> {
    PARAMS.chunk_by(|one, next| one.group == next.group)
}
