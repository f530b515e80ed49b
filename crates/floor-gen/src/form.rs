//! The form of a room, and forms with weights.

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
    /// A natural cave: overlapping ellipses with a ragged outline.
    Grotto,
}

impl Form {
    pub(crate) const ALL: [Self; 6] = [Self::Hall, Self::Cross, Self::Ell, Self::Octagon, Self::Rotunda, Self::Grotto];
    /// Their names in a pack.
    pub(crate) const NAMES: [&'static str; Self::ALL.len()] = ["hall", "cross", "ell", "octagon", "rotunda", "grotto"];
}

/// Up to one weight for each form, in the order in which the pack lists them: the draw depends on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Forms {
    pub(crate) forms: [Form; Form::ALL.len()],
    pub(crate) weights: [u32; Form::ALL.len()],
}

impl Forms {
    /// No form.
    pub(crate) const NONE: Self = Self { forms: Form::ALL, weights: [0; Form::ALL.len()] };
}
