//! What a monster is: its class by its archetype, and its strength by its level.

use floor_client::{Behaviour, v1::Spawn};
use glam::UVec2;

use crate::ways::cell;

/// How a monster fights. docs/protocol.md lists the archetypes of each class, a theme a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Strong, and slow to strike again.
    Brute,
    Skirmisher,
    /// Shoots from afar.
    Archer,
    /// Hits harder from afar, and less often.
    Caster,
    /// Weak, and many.
    Swarm,
    Boss,
}

const CLASSES: [(Class, &str); 5] = [
    (Class::Brute, "ghoul ogre troll golem yeti gargoyle demon"),
    (Class::Archer, "bone_archer slinger spitter fire_imp ice_archer quill gazer"),
    (Class::Caster, "acolyte shaman bog_witch pyromancer frost_seer scribe warlock"),
    (Class::Swarm, "rat jackal leech ember bat bookworm imp"),
    (Class::Boss, "lich goblin_king hydra magma_lord frost_wyrm archivist fallen_one"),
];

impl Class {
    /// An archetype that this game does not know is a skirmisher.
    pub fn of(archetype: &str) -> Self {
        let class = CLASSES.iter().find(|(_, names)| names.split(' ').any(|name| name == archetype));
        class.map_or(Self::Skirmisher, |(class, _)| *class)
    }

    fn health(self, level: u32) -> u32 {
        match self {
            Self::Brute => 7 + 2 * level,
            Self::Skirmisher => 4 + level,
            Self::Archer | Self::Caster => 3 + level,
            Self::Swarm => 2 + level / 2,
            Self::Boss => 25 + 4 * level,
        }
    }

    /// Of a hit, before armour.
    pub fn damage(self, level: u32) -> u32 {
        match self {
            Self::Brute | Self::Boss => 3 + level / 2,
            Self::Caster => 2 + level / 2,
            Self::Skirmisher | Self::Archer => 1 + level / 2,
            Self::Swarm => 1 + level / 4,
        }
    }

    /// How far it hits, in steps.
    pub fn reach(self) -> u32 {
        match self {
            Self::Archer | Self::Caster => 5,
            Self::Boss => 3,
            Self::Brute | Self::Skirmisher | Self::Swarm => 1,
        }
    }

    /// Turns from one hit to the next.
    pub fn pace(self) -> u32 {
        match self {
            Self::Skirmisher | Self::Swarm => 1,
            Self::Brute | Self::Archer | Self::Boss => 2,
            Self::Caster => 3,
        }
    }
}

/// What a monster is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Asleep,
    /// As its behaviour says.
    Calm,
    /// After the player, whom it forgets when it has not seen them for so many turns.
    Hunting(u32),
    Fleeing,
}

#[derive(Debug, Clone)]
pub struct Monster {
    pub archetype: String,
    pub class: Class,
    pub level: u32,
    pub behaviour: Behaviour,
    /// Monsters of one group wake and flee together; 0: alone.
    pub group: u32,
    pub at: UVec2,
    pub home: UVec2,
    /// Where a patrol goes.
    pub goal: UVec2,
    pub health: u32,
    pub most_health: u32,
    pub mood: Mood,
    /// Turns until it can hit again.
    pub rest: u32,
}

impl Monster {
    pub fn new(spawn: &Spawn) -> Self {
        let (class, at) = (Class::of(&spawn.archetype), cell(spawn.at));
        let health = class.health(spawn.level);
        let behaviour = Behaviour::try_from(spawn.behaviour).ok().filter(|known| *known != Behaviour::Unspecified);
        let behaviour = behaviour.unwrap_or(Behaviour::Guards);
        Self {
            archetype: spawn.archetype.clone(),
            class,
            level: spawn.level,
            behaviour,
            group: spawn.group,
            at,
            home: at,
            goal: at,
            health,
            most_health: health,
            mood: if behaviour == Behaviour::Sleeps { Mood::Asleep } else { Mood::Calm },
            rest: 0,
        }
    }

    pub fn is_alive(&self) -> bool {
        self.health > 0
    }

    /// How it sleeps, hunts or flees, for the player's eye.
    pub fn mark(&self) -> &'static str {
        match self.mood {
            Mood::Asleep => "z",
            Mood::Calm => "",
            Mood::Hunting(_) => "!",
            Mood::Fleeing => "?",
        }
    }
}
