//! A floor of a climb in play.

use floor_proto::v1;
use floor_rules::{Act, Door, Hero, Level, Monster, Mood, Point, Ware};
use prost::Message as _;

use crate::news::{self, Sight};

/// The bits of a cell in [`Climb::view`]: the hero has seen it, sees it, could enter it but for monsters and a boss; its
/// door is open.
const KNOWN: u8 = 1;
const SEEN: u8 = 2;
const PASSABLE: u8 = 4;
const OPEN: u8 = 8;

/// A floor in play, with the names of what is on it.
pub(crate) struct Climb {
    floor: v1::Floor,
    level: Level,
}

impl Climb {
    /// The floor that `revealed` has, as the hero of its receipt arrives. The error says what it lacks.
    pub(crate) fn new(revealed: v1::ClimbFloor) -> Result<Self, String> {
        let v1::ClimbFloor { receipt, floor, rolls } = revealed;
        let climb = v1::Climb::decode(&*receipt.unwrap_or_default().climb).map_err(|error| error.to_string())?;
        let hero = climb.hero.ok_or("the receipt has no hero")?;
        let floor = floor.ok_or("the answer reveals no floor")?;
        let rolls = floor_climb::rolls(&rolls).ok_or("the seed of the rolls does not have 16 bytes")?;
        let of_rules = floor_climb::rules_floor(&floor).map_err(|error| error.to_string())?;
        let level = Level::new(&of_rules, floor_climb::hero(&hero), rolls).map_err(|error| error.to_string())?;
        Ok(Self { floor, level })
    }

    /// Plays a turn. What came of it in words, or as the error why it is impossible.
    pub(crate) fn act(&mut self, act: Act) -> Result<String, String> {
        let before = self.in_sight();
        if let Err(refusal) = self.level.act(act) {
            return Err(news::why_not(refusal, &self.floor));
        }
        let events = self.level.events().iter().map(|event| news::of(*event, &self.floor));
        let after = self.in_sight();
        let seen = news::in_sight(after.into_iter().filter(|sight| !before.contains(sight)), &self.floor);
        let end = match () {
            () if self.level.is_lost() => Some("You die.".to_owned()),
            () if self.level.is_left() => Some("You take the stairs down.".to_owned()),
            () => seen,
        };
        Ok(events.chain(end).collect::<Vec<_>>().join(" "))
    }

    fn in_sight(&self) -> Vec<Sight> {
        let level = &self.level;
        let is_seen = |at: Point| level.visible().contains(at);
        let monsters = self.monsters().map(|(number, _)| Sight::Monster(number));
        let items = level.items().filter(|(_, at)| is_seen(*at)).map(|(number, _)| Sight::Item(number));
        let traps = level.traps().filter(|(_, at)| is_seen(*at)).map(|(number, _)| Sight::Trap(number));
        let merchant = level.merchant().map(|_| Sight::Merchant);
        let stairs = is_seen(level.exit()).then_some(Sight::Stairs);
        monsters.chain(items).chain(traps).chain(merchant).chain(stairs).collect()
    }

    /// The living monsters that the hero sees.
    fn monsters(&self) -> impl Iterator<Item = (usize, &Monster)> {
        let monsters = self.level.monsters().iter().enumerate();
        monsters.filter(|(_, monster)| monster.is_alive() && self.level.visible().contains(monster.at))
    }

    /// What a page shows: numbers of 32 bits, the lowest byte first, then a byte for each cell, row by row.
    ///
    /// The numbers are those of the hero, in the order of `Hero`; turns of poison and in a net; the hero's cell, as
    /// `y * width + x`; how the floor has ended: 0 not yet, 1 on the stairs, 2 in death; and what a merchant beside the
    /// hero asks for a potion, a blade and mail, 0 without one. Lists follow, each behind its length: the monsters in
    /// sight, with number, cell and mood (0 asleep, 1 calm, 2 after the hero, 3 fleeing); the numbers of the items that
    /// lie there and of the traps that are seen; and the locks whose keys the hero has.
    pub(crate) fn view(&self) -> Vec<u8> {
        let level = &self.level;
        let Hero { health, most_health, attack, armour, gold, potions, slain, turns } = *level.hero();
        let end = if level.is_lost() { 2 } else { u32::from(level.is_left()) };
        let price = |ware| level.merchant().map_or(0, |_| level.hero().price(ware));
        let mut numbers = vec![health, most_health, attack, armour, gold, potions, slain, turns];
        numbers.extend([level.poison(), level.held(), self.cell(level.at()), end]);
        numbers.extend([Ware::Potion, Ware::Blade, Ware::Mail].map(price));
        let monsters = self.monsters().map(|(number, monster)| [number as u32, self.cell(monster.at), mood(monster)]);
        put_list(&mut numbers, monsters.collect());
        put_list(&mut numbers, level.items().map(|(number, _)| [number as u32]).collect());
        put_list(&mut numbers, level.traps().map(|(number, _)| [number as u32]).collect());
        put_list(&mut numbers, level.keys().map(|lock| [lock]).collect());
        numbers.into_iter().flat_map(u32::to_le_bytes).chain(self.cells()).collect()
    }

    fn cells(&self) -> impl Iterator<Item = u8> {
        let (level, width) = (&self.level, self.width());
        level.known().iter().zip(level.visible().iter()).zip(0..).map(move |((is_known, is_seen), cell)| {
            // A floor of the rules has at most 512 columns and rows.
            let at = Point::new((cell % width) as u16, (cell / width) as u16);
            let bit = |bit, is_set| if is_set { bit } else { 0 };
            let is_open = level.door(at) == Some(Door::Open);
            bit(KNOWN, is_known) | bit(SEEN, is_seen) | bit(PASSABLE, level.can_pass(at)) | bit(OPEN, is_open)
        })
    }

    fn cell(&self, at: Point) -> u32 {
        u32::from(at.y) * self.width() + u32::from(at.x)
    }

    /// In cells.
    fn width(&self) -> u32 {
        self.floor.terrain.as_ref().map_or(1, |grid| grid.width)
    }
}

fn mood(monster: &Monster) -> u32 {
    match monster.mood {
        Mood::Asleep => 0,
        Mood::Calm => 1,
        Mood::Hunting(_) => 2,
        Mood::Fleeing => 3,
    }
}

fn put_list<const PARTS: usize>(numbers: &mut Vec<u32>, list: Vec<[u32; PARTS]>) {
    numbers.push(list.len() as u32);
    numbers.extend(list.as_flattened());
}
