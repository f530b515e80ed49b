//! What a monster is: its class by its archetype, and its strength by its level.

use crate::{floor::Spawn, point::Point, ways::Route};

/// How a monster fights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Strong, and slow to strike again.
    Brute,
    /// Neither strong nor weak.
    Skirmisher,
    /// Shoots from afar.
    Archer,
    /// Hits harder from afar, and less often.
    Caster,
    /// Weak, and many.
    Swarm,
    /// Bars the stairs of its floor.
    Boss,
}

/// A class. Its health and its damage, each at level 0 and what four levels add, in points. How far it hits, in steps.
/// The turns from one hit to the next. Its archetypes, one for each theme.
type Strength = (Class, [u32; 2], [u32; 2], u32, u8, &'static str);

const CLASSES: [Strength; 6] = [
    (Class::Skirmisher, [4, 4], [1, 2], 1, 1, "skeleton goblin lizardman salamander wolf duelist shade"),
    (Class::Brute, [7, 8], [3, 2], 1, 2, "ghoul ogre troll golem yeti gargoyle demon"),
    (Class::Archer, [3, 4], [1, 2], 5, 2, "bone_archer slinger spitter fire_imp ice_archer quill gazer"),
    (Class::Caster, [3, 4], [2, 2], 5, 3, "acolyte shaman bog_witch pyromancer frost_seer scribe warlock"),
    (Class::Swarm, [2, 2], [1, 1], 1, 1, "rat jackal leech ember bat bookworm imp"),
    (Class::Boss, [25, 16], [3, 2], 3, 2, "lich goblin_king hydra magma_lord frost_wyrm archivist fallen_one"),
];

/// What a monster does until it meets the hero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Behaviour {
    /// Sleeps where it stands.
    Sleeps,
    /// Stays at its post.
    Guards,
    /// Walks to and fro.
    Patrols,
    /// Walks about in its room.
    Wanders,
}

/// What a monster is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mood {
    /// Until it hears the hero.
    Asleep,
    /// As its behaviour says.
    Calm,
    /// After the hero: the turns until it gives up, unless it sees them again.
    Hunting(u8),
    /// Away from the hero.
    Fleeing,
}

/// A monster on a floor.
#[derive(Debug, Clone)]
pub struct Monster {
    /// How it fights.
    pub class: Class,
    /// What it does until it meets the hero.
    pub behaviour: Behaviour,
    /// Monsters of one group wake and flee together; 0: it is alone.
    pub group: u32,
    /// Its cell, or where it fell.
    pub at: Point,
    /// Where it was on arrival.
    pub home: Point,
    /// In points; 0: it has fallen.
    pub health: u32,
    /// In points.
    pub most_health: u32,
    /// The least of its hits, in points.
    pub damage: u32,
    /// How far it hits, in steps.
    pub reach: u32,
    /// Turns from one hit to the next.
    pub pace: u8,
    /// What it is about.
    pub mood: Mood,
    /// Turns until it can hit again.
    pub rest: u8,
    /// Where it goes while it is calm. Else empty.
    pub(crate) route: Route,
}

impl Monster {
    /// An archetype that these rules do not know is a skirmisher; an unknown behaviour is that of a guard.
    pub(crate) fn new(spawn: &Spawn<'_>) -> Self {
        let known = CLASSES.iter().find(|(.., names)| names.split(' ').any(|name| name == spawn.archetype));
        let (class, health, damage, reach, pace, _) = *known.unwrap_or(&CLASSES[0]);
        let at_level = |[base, of_four]: [u32; 2]| (spawn.level.saturating_mul(of_four) / 4).saturating_add(base);
        let health = at_level(health);
        let behaviour = match spawn.behaviour {
            1 => Behaviour::Sleeps,
            3 => Behaviour::Patrols,
            4 => Behaviour::Wanders,
            _ => Behaviour::Guards,
        };
        Self {
            class,
            behaviour,
            group: spawn.group,
            at: spawn.at,
            home: spawn.at,
            health,
            most_health: health,
            damage: at_level(damage),
            reach,
            pace,
            mood: if behaviour == Behaviour::Sleeps { Mood::Asleep } else { Mood::Calm },
            rest: 0,
            route: Route::default(),
        }
    }

    /// Whether it is alive.
    #[must_use]
    pub const fn is_alive(&self) -> bool {
        self.health > 0
    }

    /// Whether it is after the hero.
    #[must_use]
    pub const fn is_hunting(&self) -> bool {
        self.is_alive() && matches!(self.mood, Mood::Hunting(_))
    }
}
