//! What a kind decides for the stages that all kinds share. Each module of `kinds/` names its own rules.

/// The rules of one kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KindRules {
    /// Whether the layout gives every room its role, so that no stage adds one.
    pub(crate) fixed_roles: bool,
    /// Whether rooms may hold pillars and rifts.
    pub(crate) is_built: bool,
    /// Whether the fallback has a boss room behind its lock.
    pub(crate) fallback_boss: bool,
}

impl KindRules {
    /// A built floor.
    pub(crate) const BUILT: Self = Self { fixed_roles: false, is_built: true, fallback_boss: false };
}
