//! Themes: the monsters, the ground and the dangers of ten floors.

use crate::terrain::Terrain;

/// The look of ten floors, from one boss to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Theme {
    /// Tombs: dry, cracked, full of undead.
    Crypt,
    /// Burrows of goblins, damp and overgrown.
    Warren,
    /// Flooded halls.
    Mire,
    /// Smithies over lava.
    Forge,
    /// Ice and meltwater.
    Glacier,
    /// Libraries over bottomless stacks.
    Archive,
    /// Demons and lava.
    Abyss,
}

/// Floors of one theme; the last is a boss floor.
const FLOORS_PER_THEME: u32 = 10;

impl Theme {
    /// Every theme, in the order of the floors. The first follows the last.
    pub const ALL: [Self; 7] =
        [Self::Crypt, Self::Warren, Self::Mire, Self::Forge, Self::Glacier, Self::Archive, Self::Abyss];

    /// The theme of floor `number`.
    #[must_use]
    pub const fn of_number(number: u32) -> Self {
        let band = number.saturating_sub(1) / FLOORS_PER_THEME;
        Self::ALL[band as usize % Self::ALL.len()]
    }

    /// Its name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Crypt => "crypt",
            Self::Warren => "warren",
            Self::Mire => "mire",
            Self::Forge => "forge",
            Self::Glacier => "glacier",
            Self::Archive => "archive",
            Self::Abyss => "abyss",
        }
    }

    pub(crate) const fn roster(self) -> Roster {
        let [brute, skirmisher, archer, caster, swarm, boss] = match self {
            Self::Crypt => ["ghoul", "skeleton", "bone_archer", "acolyte", "rat", "lich"],
            Self::Warren => ["ogre", "goblin", "slinger", "shaman", "jackal", "goblin_king"],
            Self::Mire => ["troll", "lizardman", "spitter", "bog_witch", "leech", "hydra"],
            Self::Forge => ["golem", "salamander", "fire_imp", "pyromancer", "ember", "magma_lord"],
            Self::Glacier => ["yeti", "wolf", "ice_archer", "frost_seer", "bat", "frost_wyrm"],
            Self::Archive => ["gargoyle", "duelist", "quill", "scribe", "bookworm", "archivist"],
            Self::Abyss => ["demon", "shade", "gazer", "warlock", "imp", "fallen_one"],
        };
        Roster { brute, skirmisher, archer, caster, swarm, boss }
    }

    pub(crate) const fn ground(self) -> Ground {
        let (deep, cover) = match self {
            Self::Crypt => (Terrain::Chasm, [Terrain::Rubble, Terrain::Rubble]),
            Self::Warren => (Terrain::DeepWater, [Terrain::Grass, Terrain::Rubble]),
            Self::Mire => (Terrain::DeepWater, [Terrain::ShallowWater, Terrain::Grass]),
            Self::Forge => (Terrain::Lava, [Terrain::Rubble, Terrain::Rubble]),
            Self::Glacier => (Terrain::DeepWater, [Terrain::ShallowWater, Terrain::Rubble]),
            Self::Archive => (Terrain::Chasm, [Terrain::Rubble, Terrain::Grass]),
            Self::Abyss => (Terrain::Lava, [Terrain::Rubble, Terrain::Grass]),
        };
        Ground { deep, cover }
    }
}

/// Archetypes of the monsters of a theme, by their part in a fight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Roster {
    pub(crate) brute: &'static str,
    pub(crate) skirmisher: &'static str,
    pub(crate) archer: &'static str,
    pub(crate) caster: &'static str,
    pub(crate) swarm: &'static str,
    pub(crate) boss: &'static str,
}

/// The terrain of a theme besides bare floor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ground {
    /// Impassable.
    pub(crate) deep: Terrain,
    /// Passable.
    pub(crate) cover: [Terrain; 2],
}
