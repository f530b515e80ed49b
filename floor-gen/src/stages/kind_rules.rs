//! What a kind decides for the stages that all kinds share. Each module of `kinds/` names its own rules.

/// The rules of one kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KindRules {
    /// Whether the layout gives every room its role, so that no stage adds one.
    pub(crate) fixed_roles: bool,
    /// Lakes, in thousandths of those that the size of the floor allows.
    pub(crate) lakes: u32,
    /// Whether rooms may hold pillars and rifts.
    pub(crate) is_built: bool,
    /// Strength of the packs in the exit room, in thousandths of a full room's; `None`: no monsters.
    pub(crate) exit_pack: Option<u32>,
    /// Items in the exit room, and their worth in tenths of ordinary loot.
    pub(crate) exit_loot: Option<(u32, u32)>,
    /// Whether the fallback has a boss room behind its lock.
    pub(crate) fallback_boss: bool,
}

impl KindRules {
    /// A built floor without lakes, whose exit room holds a weaker pack and no loot.
    pub(crate) const BUILT: Self = Self {
        fixed_roles: false,
        lakes: 0,
        is_built: true,
        exit_pack: Some(700),
        exit_loot: None,
        fallback_boss: false,
    };
}
