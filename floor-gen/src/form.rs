//! The form of a room.

/// The form of a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A rectangle.
    Hall,
    /// Two rectangles across each other.
    Cross,
    /// A rectangle without one corner.
    Ell,
    /// A rectangle with its corners cut.
    Octagon,
    /// An ellipse.
    Rotunda,
    /// Overlapping ellipses.
    Grotto,
}

impl Form {
    pub(crate) const ALL: [Self; 6] = [Self::Hall, Self::Cross, Self::Ell, Self::Octagon, Self::Rotunda, Self::Grotto];

    /// Its name in a pack.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Hall => "hall",
            Self::Cross => "cross",
            Self::Ell => "ell",
            Self::Octagon => "octagon",
            Self::Rotunda => "rotunda",
            Self::Grotto => "grotto",
        }
    }
}
