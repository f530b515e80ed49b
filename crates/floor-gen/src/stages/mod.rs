//! The passes that kinds are made of. Each has one job and is named after what it places.

pub(crate) mod accrete;
pub(crate) mod blob;
pub(crate) mod corridors;
pub(crate) mod furnish;
pub(crate) mod gates;
pub(crate) mod kind_rules;
pub(crate) mod lakes;
pub(crate) mod landmark;
pub(crate) mod loops;
pub(crate) mod loot;
pub(crate) mod masonry;
pub(crate) mod monsters;
pub(crate) mod names;
pub(crate) mod niches;
pub(crate) mod patrols;
pub(crate) mod plots;
pub(crate) mod roles;
pub(crate) mod scenery;
pub(crate) mod set_pieces;
pub(crate) mod side_vaults;
pub(crate) mod spots;
pub(crate) mod stairs;
pub(crate) mod survey;
pub(crate) mod territory;
pub(crate) mod traps;
pub(crate) mod windows;
