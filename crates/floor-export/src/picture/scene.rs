//! Decides what each cell of a floor shows.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use floor_gen::pack::Look;
use floor_proto::{
    floor::{Floor, Furniture},
    glyph,
    v1::{Point, Room, RoomRole, Spawn, Terrain},
};

use super::{
    overlay::{Overlay, Overlays},
    paths::{Cell, Goal, cell},
    symbol_table,
};

/// A floor with its overlays and the objects on its cells.
#[derive(Debug)]
pub struct Scene<'a> {
    /// The floor.
    pub floor: &'a Floor,
    pub(crate) overlay: Overlay,
    /// Whether secret doors look like walls and locked ones like doors, and roles have no colour.
    pub(crate) for_players: bool,
    pub(crate) look: Look,
    pub(crate) style: Style,
    objects: BTreeMap<Cell, Object>,
    locks: BTreeMap<Cell, u32>,
    pieces: BTreeMap<Cell, Piece>,
    letters: Letters<'a>,
}

/// The letters of monsters and of furniture, by archetype.
#[derive(Debug, Clone)]
struct Letters<'a> {
    monsters: BTreeMap<&'a str, char>,
    furniture: BTreeMap<&'a str, char>,
}

/// How an export for players looks.
#[derive(Debug, Clone, Copy)]
pub struct Appearance {
    /// The look of the floor's theme.
    pub look: Look,
    /// How its picture shows the floor.
    pub style: Style,
    /// Pixels of a cell; `None`: as many as the format is used to, or fewer if the floor is large.
    pub scale: Option<u32>,
    /// Whether there is light where no lamp is.
    pub is_day: bool,
}

impl Appearance {
    pub(crate) fn scene<'a>(&self, floor: &'a Floor) -> Scene<'a> {
        Scene::new(floor).with_look(self.look).with_style(self.style)
    }
}

/// How a PNG shows a floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Every cell and object in colour, with the roles of rooms.
    Data,
    /// Ink on paper: outlines, hatched rock, a grid.
    Map,
}

/// An object on a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Object {
    Monster(Monster),
    /// The key of a lock.
    Key(u32),
    Loot,
    Trap,
}

/// A monster on a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Monster {
    /// The letter of its archetype.
    pub(crate) letter: char,
    /// The name of the symbol of its form, if its name has one.
    pub(crate) symbol: Option<&'static str>,
    /// Whether no other in its boss room has so high a level.
    pub(crate) is_boss: bool,
}

/// Furniture on a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Piece {
    /// The letter of its archetype.
    pub(crate) letter: char,
    /// The name of its symbol.
    pub(crate) symbol: &'static str,
    /// Whether it is in the way.
    pub(crate) blocks: bool,
}

/// What a cell shows: the object on it, otherwise its furniture, otherwise its terrain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// Wall with only walls around it, diagonals included.
    Rock,
    Terrain(Terrain),
    /// The door of a lock.
    Locked(u32),
    Object(Object),
    Furniture(Piece),
    /// Bare ground on the critical path.
    Step(Goal),
    /// Ground behind a lock. Only in legends, since such a cell shows its own mark.
    Behind(u32),
    /// A room's number and outline. Only in legends.
    Outline,
}

impl<'a> Scene<'a> {
    /// The floor without overlays, in grey stone.
    #[must_use]
    pub fn new(floor: &'a Floor) -> Self {
        Self::with_letters(floor, Letters::of(&[floor]))
    }

    /// The scenes of two floors, in which the same archetype has the same letter.
    #[must_use]
    pub fn pair(one: &'a Floor, other: &'a Floor) -> (Self, Self) {
        let letters = Letters::of(&[one, other]);
        (Self::with_letters(one, letters.clone()), Self::with_letters(other, letters))
    }

    fn with_letters(floor: &'a Floor, letters: Letters<'a>) -> Self {
        let wire = floor.wire();
        let bosses = bosses(floor);
        let monster =
            |spawn: &Spawn| Monster { is_boss: bosses.contains(&spawn.at), ..letters.monster(&spawn.archetype) };
        let spawns = wire.spawns.iter().map(|spawn| (spawn.at, Object::Monster(monster(spawn))));
        let piece = |piece: Furniture<'_>| {
            let blocks = floor.terrain_at(piece.at.x, piece.at.y) == Some(Terrain::Pillar);
            let symbol = symbol_table::of_furniture(piece.archetype, blocks);
            ((piece.at.x, piece.at.y), Piece { letter: letters.furniture[piece.archetype], symbol, blocks })
        };
        let pieces = floor.furniture().map(piece).collect();
        let items = wire.items.iter().map(|item| match item.opens_lock {
            0 => (item.at, Object::Loot),
            lock => (item.at, Object::Key(lock)),
        });
        let traps = wire.traps.iter().map(|trap| (trap.at, Object::Trap));
        let objects = traps.chain(spawns).chain(items).map(|(at, object)| (cell(at), object)).collect();
        let locks = wire.locks.iter().map(|lock| (cell(lock.at), lock.id)).collect();
        Self {
            floor,
            overlay: Overlay::default(),
            for_players: false,
            look: Look::default(),
            style: Style::Data,
            objects,
            locks,
            pieces,
            letters,
        }
    }

    /// The scene with overlays.
    #[must_use]
    pub fn overlaid(mut self, overlays: Overlays) -> Self {
        let stairs = [cell(Some(self.floor.entry())), cell(Some(self.floor.exit()))];
        let taken = self.objects.keys().chain(self.locks.keys()).copied().chain(stairs).collect::<BTreeSet<_>>();
        self.overlay = overlays.of(self.floor, &taken);
        self
    }

    /// The scene in the look of its theme.
    #[must_use]
    pub const fn with_look(mut self, look: Look) -> Self {
        self.look = look;
        self
    }

    /// The scene in that style, if it becomes a PNG.
    #[must_use]
    pub const fn with_style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    /// The scene as players may see it: without monsters, loot, keys and traps, with secret doors as walls and locked ones
    /// as doors, and without the roles of rooms.
    #[must_use]
    pub fn for_players(mut self) -> Self {
        self.objects.clear();
        self.for_players = true;
        self
    }

    pub(crate) fn mark(&self, x: u32, y: u32) -> Mark {
        match (self.object(x, y), self.floor.terrain_at(x, y)) {
            (Some(object), _) => Mark::Object(object),
            (None, Some(Terrain::LockedDoor)) => Mark::Locked(self.lock(x, y)),
            (None, Some(Terrain::Wall) | None) if self.is_rock(x, y) => Mark::Rock,
            (None, terrain) => {
                let terrain = terrain.unwrap_or(Terrain::Wall);
                let step = self.overlay.step((x, y)).filter(|_| is_ground(terrain)).map(Mark::Step);
                step.or_else(|| self.piece(x, y).map(Mark::Furniture)).unwrap_or(Mark::Terrain(terrain))
            }
        }
    }

    /// The digit that an overlay writes on the cell.
    pub(crate) fn label(&self, x: u32, y: u32) -> Option<char> {
        self.overlay.label((x, y))
    }

    /// The colour index of the cell's room, if the overlay of rooms is on.
    pub(crate) fn outlined(&self, x: u32, y: u32) -> Option<usize> {
        Some(self.overlay.rooms.get(&self.floor.room_at(x, y)?.id)?.colour)
    }

    /// The role that tints the ground of a cell. `Unspecified` if the overlay of locks colours the ground.
    pub(crate) fn tinted_for(&self, x: u32, y: u32) -> RoomRole {
        if self.overlay.locks.is_empty() && !self.for_players {
            self.floor.role_at(x, y)
        } else {
            RoomRole::Unspecified
        }
    }

    /// The lock in front of a cell, if the overlay of locks is on.
    pub(crate) fn behind(&self, x: u32, y: u32) -> Option<u32> {
        self.overlay.behind((y * self.floor.width() + x) as usize)
    }

    /// The rows from the first to the last that show anything but rock. Leaves out the rest to save terminal lines.
    pub(crate) fn rows(&self) -> Range<u32> {
        shown(self.floor.height(), |y| (0..self.floor.width()).any(|x| self.mark(x, *y) != Mark::Rock))
    }

    /// The columns from the first to the last that show anything but rock.
    pub(crate) fn columns(&self) -> Range<u32> {
        shown(self.floor.width(), |x| (0..self.floor.height()).any(|y| self.mark(*x, y) != Mark::Rock))
    }

    pub(crate) fn object(&self, x: u32, y: u32) -> Option<Object> {
        self.objects.get(&(x, y)).copied()
    }

    pub(crate) fn piece(&self, x: u32, y: u32) -> Option<Piece> {
        self.pieces.get(&(x, y)).copied()
    }

    /// The terrain that a picture shows in detail: furniture that blocks the way stands in the place of a pillar.
    pub(crate) fn detail_at(&self, x: u32, y: u32) -> Terrain {
        match self.floor.terrain_at(x, y).unwrap_or(Terrain::Wall) {
            Terrain::Pillar if self.piece(x, y).is_some() => Terrain::Floor,
            terrain => terrain,
        }
    }

    /// The lock of a locked door, 0 if the floor names none.
    pub(crate) fn lock(&self, x: u32, y: u32) -> u32 {
        self.locks.get(&(x, y)).copied().unwrap_or(0)
    }

    /// The lock of a door, if the picture shows it.
    pub(crate) fn shown_lock(&self, x: u32, y: u32) -> Option<u32> {
        let is_locked = self.floor.terrain_at(x, y) == Some(Terrain::LockedDoor);
        (is_locked && !self.for_players).then(|| self.lock(x, y))
    }

    /// Whether a cell within `reach` is anything but wall.
    pub(crate) fn lies_near_ground(&self, x: u32, y: u32, reach: u32) -> bool {
        let near = |at: u32| at.saturating_sub(reach)..=at + reach;
        let is_ground = |x, y| !matches!(self.floor.terrain_at(x, y), Some(Terrain::Wall) | None);
        near(y).any(|y| near(x).any(|x| is_ground(x, y)))
    }

    pub(crate) fn monster(&self, archetype: &str) -> Monster {
        self.letters.monster(archetype)
    }

    /// The furniture of the floor: its archetype, and what a cell with it shows.
    pub(crate) fn furniture(&self) -> impl Iterator<Item = (&str, Piece)> {
        let piece = move |it: Furniture<'a>| Some((it.archetype, self.piece(it.at.x, it.at.y)?));
        self.floor.furniture().filter_map(piece)
    }

    pub(crate) fn is_rock(&self, x: u32, y: u32) -> bool {
        !self.lies_near_ground(x, y, 1)
    }
}

impl<'a> Letters<'a> {
    /// Small letters for monsters. Furniture has the capitals that stand for no terrain.
    fn of(floors: &[&'a Floor]) -> Self {
        let spawns = floors.iter().flat_map(|floor| &floor.wire().spawns).map(|spawn| spawn.archetype.as_str());
        let furniture = floors.iter().flat_map(|floor| &floor.wire().furniture).map(|kind| kind.archetype.as_str());
        let capitals = ('A'..='Z').filter(|letter| glyph::terrain(*letter).is_none());
        Self {
            monsters: letters(spawns, ('a'..='z').collect(), ANY_MONSTER),
            furniture: letters(furniture, capitals.collect(), ANY_FURNITURE),
        }
    }

    /// A monster of a type, not as a boss.
    fn monster(&self, archetype: &str) -> Monster {
        let letter = self.monsters.get(archetype).copied().unwrap_or(ANY_MONSTER);
        Monster { letter, symbol: symbol_table::of_monster(archetype), is_boss: false }
    }
}

/// Where bosses are: of each boss room the monster with the highest level, if no other has it.
fn bosses(floor: &Floor) -> Vec<Option<Point>> {
    let rooms = floor.rooms().iter().filter(|room| room.role() == RoomRole::Boss);
    let boss = |room: &Room| {
        let is_here =
            |spawn: &&Spawn| spawn.at.is_some_and(|at| floor.room_at(at.x, at.y).is_some_and(|at| at.id == room.id));
        let mut here = floor.wire().spawns.iter().filter(is_here).collect::<Vec<_>>();
        here.sort_by_key(|spawn| Reverse(spawn.level));
        let (boss, rest) = here.split_first()?;
        rest.first().is_none_or(|next| next.level < boss.level).then_some(boss.at)
    };
    rooms.filter_map(boss).collect()
}

/// From the first to the last of `0..side` that `shows` anything.
fn shown(side: u32, shows: impl Fn(&u32) -> bool) -> Range<u32> {
    let mut all = 0..side;
    let first = all.by_ref().find(&shows).unwrap_or(0);
    let last = all.rev().find(&shows).unwrap_or(first);
    first..last + 1
}

/// Whether the terrain is plain ground.
pub(crate) const fn is_ground(terrain: Terrain) -> bool {
    matches!(terrain, Terrain::Floor | Terrain::Grass | Terrain::Rubble | Terrain::ShallowWater | Terrain::Bridge)
}

/// The letters of all monsters and furniture for whose archetype none is left.
const ANY_MONSTER: char = '@';
const ANY_FURNITURE: char = '&';

/// Gives each archetype the first free letter of its name, in alphabetical order of the names. So floors with the same
/// archetypes use the same letters.
fn letters<'a>(archetypes: impl Iterator<Item = &'a str>, free: Vec<char>, any: char) -> BTreeMap<&'a str, char> {
    let mut letters = archetypes.map(|name| (name, any)).collect::<BTreeMap<_, _>>();
    let mut free = free;
    for (name, letter) in &mut letters {
        let own = name.chars().filter_map(|c| free.iter().position(|letter| letter.eq_ignore_ascii_case(&c))).next();
        if let Some(index) = own.or_else(|| (!free.is_empty()).then_some(0)) {
            *letter = free.remove(index);
        }
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_archetype_has_its_own_letter() {
        let letters = letters(["rat", "goblin", "ghoul", "rat", "gg"].into_iter(), ('a'..='z').collect(), '@');
        assert_eq!(letters["gg"], 'g');
        assert_eq!(letters["ghoul"], 'h');
        assert_eq!(letters["goblin"], 'o');
        assert_eq!(letters["rat"], 'r');
    }
}
