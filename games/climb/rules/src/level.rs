//! A floor in play, with what the player reads.

use std::{ops::Deref, sync::Arc};

use floor_client::{Floor, Terrain};
use floor_rules::{Act, Door, Harm, Hero, Point};

use crate::{floor::of_rules, news::News};

/// The floor that the player is on. It also has all that [`floor_rules::Level`] has.
#[derive(Debug, Clone)]
pub struct Level {
    pub floor: Arc<Floor>,
    /// What came of the last act, or why it was impossible.
    pub news: Vec<News>,
    rules: floor_rules::Level,
}

impl Deref for Level {
    type Target = floor_rules::Level;

    fn deref(&self) -> &Self::Target {
        &self.rules
    }
}

impl Level {
    /// # Panics
    /// If the floor breaks the rules of docs/protocol.md, which every server keeps.
    pub fn new(floor: Arc<Floor>, hero: Hero) -> Self {
        // Nobody checks this climb, so nobody minds that its rolls can be foreseen.
        let seed = u128::from(floor.content_hash()) << 64 | u128::from(hero.turns);
        let rules = floor_rules::Level::new(&of_rules(&floor), hero, seed).expect("a server's floors are valid");
        let mut level = Self { floor, news: Vec::new(), rules };
        let (name, hook) = (level.floor.name(), level.floor.hook());
        if !name.is_empty() {
            let words = format!("{name}. {hook}");
            level.news.push(News::at_player(&level, words.trim(), 0));
        }
        level
    }

    /// A turn: the player's act and, if it is possible, what poison and monsters do.
    pub fn act(&mut self, act: Act) {
        self.news = match self.rules.act(act) {
            Ok(_) => self.events().iter().map(|event| News::of(self, *event)).collect(),
            Err(why) => News::why_not(self, why).into_iter().collect(),
        };
    }

    /// Who or what hurt the player last. Empty until then.
    pub fn foe_name(&self) -> String {
        self.foe().map_or_else(String::new, |foe| self.name(foe))
    }

    /// The words for what hurts.
    pub(crate) fn name(&self, harm: Harm) -> String {
        match harm {
            Harm::Gas => "gas".to_owned(),
            Harm::Monster(index) => self.floor.spawns()[index as usize].archetype.replace('_', " "),
            Harm::Trap(index) => self.floor.traps()[index as usize].archetype.replace('_', " "),
        }
    }

    /// The terrain as the player knows it.
    pub fn seen_terrain(&self, at: Point) -> Terrain {
        match self.door(at) {
            Some(Door::Secret) => Terrain::Wall,
            _ => self.floor.terrain_at(at.x.into(), at.y.into()).unwrap_or(Terrain::Wall),
        }
    }
}

/// All cells of a floor, row by row.
pub fn cells(floor: &Floor) -> impl Iterator<Item = Point> + use<> {
    let (width, height) = (floor.width() as u16, floor.height() as u16);
    (0..height).flat_map(move |y| (0..width).map(move |x| Point::new(x, y)))
}
