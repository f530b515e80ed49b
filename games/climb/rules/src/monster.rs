//! What a monster is: its class by its archetype, and its strength by its level.

use floor_client::{Behaviour, v1::Spawn};
use glam::UVec2;

use crate::ways::cell;

/// How a monster fights. In this order they stand among the sprites.
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

/// A class. Its health and its damage, each at level 0 and what four levels add. How far it hits, in steps. The turns from
/// one hit to the next. Its archetypes, one for each theme.
type Strength = (Class, [u32; 2], [u32; 2], u32, u32, &'static str);

const CLASSES: [Strength; 6] = [
    (Class::Skirmisher, [4, 4], [1, 2], 1, 1, "skeleton goblin lizardman salamander wolf duelist shade"),
    (Class::Brute, [7, 8], [3, 2], 1, 2, "ghoul ogre troll golem yeti gargoyle demon"),
    (Class::Archer, [3, 4], [1, 2], 5, 2, "bone_archer slinger spitter fire_imp ice_archer quill gazer"),
    (Class::Caster, [3, 4], [2, 2], 5, 3, "acolyte shaman bog_witch pyromancer frost_seer scribe warlock"),
    (Class::Swarm, [2, 2], [1, 1], 1, 1, "rat jackal leech ember bat bookworm imp"),
    (Class::Boss, [25, 16], [3, 2], 3, 2, "lich goblin_king hydra magma_lord frost_wyrm archivist fallen_one"),
];

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
    pub name: String,
    pub class: Class,
    pub behaviour: Behaviour,
    /// Monsters of one group wake and flee together; 0: alone.
    pub group: u32,
    pub at: UVec2,
    pub home: UVec2,
    /// Where a patrol goes.
    pub goal: UVec2,
    pub health: u32,
    pub most_health: u32,
    pub damage: u32,
    pub reach: u32,
    pub pace: u32,
    pub mood: Mood,
    /// Turns until it can hit again.
    pub rest: u32,
}

impl Monster {
    /// An archetype that this game does not know is a skirmisher, an unknown behaviour that of a guard.
    pub fn new(spawn: &Spawn) -> Self {
        let known = CLASSES.iter().find(|(.., names)| names.split(' ').any(|name| name == spawn.archetype));
        let (class, health, damage, reach, pace, _) = *known.unwrap_or(&CLASSES[0]);
        let at_level = |[base, of_four]: [u32; 2]| base + of_four * spawn.level / 4;
        let (at, health) = (cell(spawn.at), at_level(health));
        Self {
            name: spawn.archetype.replace('_', " "),
            class,
            behaviour: spawn.behaviour(),
            group: spawn.group,
            at,
            home: at,
            goal: at,
            health,
            most_health: health,
            damage: at_level(damage),
            reach,
            pace,
            mood: if spawn.behaviour() == Behaviour::Sleeps { Mood::Asleep } else { Mood::Calm },
            rest: 0,
        }
    }

    pub fn is_alive(&self) -> bool {
        self.health > 0
    }

    pub fn is_hunting(&self) -> bool {
        self.is_alive() && matches!(self.mood, Mood::Hunting(_))
    }
}
