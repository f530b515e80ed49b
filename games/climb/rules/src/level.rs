//! A floor in play, with what the player reads.

use std::{ops::Deref, sync::Arc};

use floor_client::{Floor, Terrain};
use floor_rules::{Act, Door, Hero, Point};

use crate::news::{News, name};

/// The floor that the player is on. It also has all that [`floor_rules::Level`] has.
#[derive(Debug, Clone)]
pub struct Level {
    pub floor: Arc<Floor>,
    /// What came of the last act, or why it was impossible.
    pub news: Vec<News>,
    /// The acts so far, one byte each. A server plays them again.
    pub log: Vec<u8>,
    rules: floor_rules::Level,
}

impl Deref for Level {
    type Target = floor_rules::Level;

    fn deref(&self) -> &Self::Target {
        &self.rules
    }
}

impl Level {
    /// `rolls` is the seed that came with the floor of a verified climb.
    ///
    /// # Panics
    /// If the floor breaks the rules of docs/protocol.md, which every server keeps.
    pub fn new(floor: Arc<Floor>, hero: Hero, rolls: Option<u128>) -> Self {
        // The rolls of a climb that no server verifies may be predictable.
        let seed = rolls.unwrap_or_else(|| u128::from(floor.content_hash()) << 64 | u128::from(hero.turns));
        let of_rules = floor_climb::rules_floor(floor.wire()).expect("the client has decoded the grids");
        let rules = floor_rules::Level::new(&of_rules, hero, seed).expect("a server's floors are valid");
        let mut news = Vec::new();
        let (name, hook) = (floor.name(), floor.hook());
        if !name.is_empty() {
            let words = format!("{name}. {hook}").trim().to_owned();
            news.push(News { words, at: rules.at(), change: 0 });
        }
        Self { floor, news, log: Vec::new(), rules }
    }

    /// A turn: the player's act and, if it is possible, what poison and monsters do.
    pub fn act(&mut self, act: Act) {
        let result = self.rules.act(act).map(<[_]>::to_vec);
        if result.is_ok() {
            self.log.push(act.to_byte());
        }
        let (floor, player) = (&self.floor, self.at());
        self.news = match result {
            Ok(events) => events.into_iter().map(|event| News::of(event, floor, player)).collect(),
            Err(why) => News::why_not(why, floor, player).into_iter().collect(),
        };
    }

    /// Who or what hurt the player last. Empty until then.
    pub fn foe_name(&self) -> String {
        self.foe().map_or_else(String::new, |foe| name(&self.floor, foe))
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
