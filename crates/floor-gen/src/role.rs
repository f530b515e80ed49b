//! The purpose of a room. The numbers are those of `floors.v1.RoomRole`.

/// The purpose of a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RoomRole {
    /// Holds the stairs up.
    Entry = 1,
    /// Holds the stairs down.
    Exit = 2,
    /// Holds monsters.
    Combat = 3,
    /// Holds loot.
    Treasure = 4,
    /// Holds a key.
    Key = 5,
    /// A place of rest, without monsters.
    Shrine = 6,
    /// Holds a trader.
    Shop = 7,
    /// Holds the floor's boss.
    Boss = 8,
    /// Holds loot behind a lock.
    Vault = 9,
    /// Reached only through a secret door.
    Secret = 10,
    /// A junction or corridor large enough to be a room.
    Passage = 11,
}

impl RoomRole {
    /// Their names in lower case, in the order of their numbers, which count from 1.
    pub(crate) const NAMES: [&'static str; 11] =
        ["entry", "exit", "combat", "treasure", "key", "shrine", "shop", "boss", "vault", "secret", "passage"];
}
