//! What a cell is made of. The numbers are those of `floors.v1.Terrain`.

/// What a cell is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Terrain {
    /// Rock or masonry. Impassable.
    Wall = 1,
    /// Bare floor. Passable.
    Floor = 2,
    /// An open door between rooms. Passable.
    Door = 3,
    /// Passable with the key of its lock.
    LockedDoor = 4,
    /// Passable for a player who searches.
    SecretDoor = 5,
    /// The stairs up; one on each floor. Passable.
    StairsUp = 6,
    /// The stairs down; one on each floor. Passable.
    StairsDown = 7,
    /// Passable.
    ShallowWater = 8,
    /// Impassable.
    DeepWater = 9,
    /// Impassable.
    Lava = 10,
    /// Impassable.
    Chasm = 11,
    /// Passable; leads over impassable ground.
    Bridge = 12,
    /// Passable.
    Grass = 13,
    /// Passable.
    Rubble = 14,
    /// Impassable, but part of a room.
    Pillar = 15,
}

impl Terrain {
    /// Whether it is a door of any sort.
    pub(crate) const fn is_door(self) -> bool {
        matches!(self, Self::Door | Self::LockedDoor | Self::SecretDoor)
    }

    /// Whether a player without keys who does not search can stand here.
    #[must_use]
    pub const fn passable(self) -> bool {
        matches!(
            self,
            Self::Floor
                | Self::Door
                | Self::StairsUp
                | Self::StairsDown
                | Self::ShallowWater
                | Self::Bridge
                | Self::Grass
                | Self::Rubble
        )
    }
}
