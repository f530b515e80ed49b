//! The names of a pack are numbers while floors are made.

/// A name of a pack, as an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub(crate) struct NameId(pub(crate) u16);
