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
    /// A walk around a round core.
    Ring,
    /// A walk around a rectangular core.
    Cloister,
    /// Four round lobes.
    Quatrefoil,
    /// A rectangle with one round end.
    Apse,
    /// A rhombus.
    Diamond,
}

impl Form {
    pub(crate) const ALL: [Self; 11] = [
        Self::Hall,
        Self::Cross,
        Self::Ell,
        Self::Octagon,
        Self::Rotunda,
        Self::Grotto,
        Self::Ring,
        Self::Cloister,
        Self::Quatrefoil,
        Self::Apse,
        Self::Diamond,
    ];
    /// Their names in a pack.
    pub(crate) const NAMES: [&'static str; Self::ALL.len()] =
        ["hall", "cross", "ell", "octagon", "rotunda", "grotto", "ring", "cloister", "quatrefoil", "apse", "diamond"];

    /// Whether it looks best as long as wide.
    pub(crate) const fn is_round(self) -> bool {
        matches!(self, Self::Octagon | Self::Rotunda | Self::Ring | Self::Quatrefoil | Self::Diamond)
    }

    /// Whether it lies around a core, which is rock at first.
    pub(crate) const fn has_core(self) -> bool {
        matches!(self, Self::Ring | Self::Cloister)
    }
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
