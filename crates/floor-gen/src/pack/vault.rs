//! Hand-made vaults and their text format. docs/packs.md explains how to write one.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::error::{PackError, PackErrors};
use crate::role::RoomRole;
use crate::spec::{FloorSpec, Kind};

/// A vault, as its file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vault {
    /// Its name.
    pub name: String,
    /// The lowest floor number that it appears on.
    pub min_number: u32,
    /// The highest.
    pub max_number: u32,
    /// The names of the themes that it appears in; empty: all.
    pub themes: Vec<String>,
    /// The kinds of floor that it appears on.
    pub kinds: Vec<Kind>,
    /// How often it is drawn, beside the others that fit.
    pub weight: u32,
    /// How many of it a floor may have, if its kind is not EVENT.
    pub count: u32,
    /// The role of its parts that hold no altar and lie behind no lock or secret door.
    pub role: RoomRole,
    /// Columns of the map.
    pub width: usize,
    /// Rows of the map.
    pub height: usize,
    /// The characters of the map, row by row, each row filled up with rock.
    pub map: Vec<u8>,
    /// The themes of a pack that it appears in, a bit each: the pack's reader sets them.
    pub(crate) theme_bits: u64,
    /// The kinds, a bit each by number.
    pub(crate) kind_bits: u16,
}

/// The keys before the map.
const KEYS: [&str; 9] = ["name", "least", "most", "themes", "kinds", "weight", "count", "role", "map"];
/// The roles that a vault's parts may have.
static ROLES: [(&str, RoomRole); 4] = [
    ("treasure", RoomRole::Treasure),
    ("shrine", RoomRole::Shrine),
    ("shop", RoomRole::Shop),
    ("passage", RoomRole::Passage),
];
/// The greatest weight, and the most of a vault on a floor.
const MAX_WEIGHT: u32 = 1_000;
const MAX_COUNT: u32 = 8;

/// The largest width and height of a map, in cells.
pub(crate) const MAX_VAULT: usize = 40;
/// The most doors and doorways of a map: each part becomes a room, and a floor has 255.
const MAX_DOORS: usize = 60;
/// Rock or wall.
pub(crate) const ROCK: &[u8] = b"# ";
/// Doors between two parts of a vault.
pub(crate) const DOORS: &[u8] = b"+XS";
/// A doorway, where the vault may open to the rest of the floor.
pub(crate) const DOORWAY: u8 = b'@';
/// Ground of all kinds, and things on it.
pub(crate) const GROUND: &[u8] = b".~wlc=\",O$*MCB^A";

/// All of these, as errors list them.
const CELLS: &str = "`# .~wlc=\",O$*MCB^A+XS@`";

impl Vault {
    /// Parses a vault file: `//` comments, lines with a key and a value, then `map:` and the rows of the map.
    ///
    /// # Errors
    /// Every place of `file` that breaks a rule.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<PackError>> {
        let mut vault = Self {
            name: String::new(),
            min_number: FloorSpec::MIN_NUMBER,
            max_number: FloorSpec::MAX_NUMBER,
            themes: Vec::new(),
            kinds: vec![Kind::Event],
            weight: 1,
            count: 1,
            role: RoomRole::Treasure,
            width: 0,
            height: 0,
            map: Vec::new(),
            theme_bits: u64::MAX,
            kind_bits: 0,
        };
        let mut errors = Errors { file, list: Vec::new() };
        let Some((first, map)) = vault.read_keys(text, &mut errors) else { return Err(errors.list) };
        if vault.min_number > vault.max_number {
            errors.add(first - 1, 1, "`least` is greater than `most`: the vault is on no floor");
        }
        vault.kind_bits = vault.kinds.iter().fold(0, |bits, kind| bits | 1 << *kind as u16);
        if vault.read_map(first, map, &mut errors) {
            vault.check(first, &mut errors);
        }
        if errors.list.is_empty() { Ok(vault) } else { Err(errors.list) }
    }

    /// Takes the keys before the map. Returns the number of the map's first line, and the map; `None` if the file has to be
    /// mended before the rest of it means anything.
    fn read_keys<'t>(&mut self, text: &'t str, errors: &mut Errors<'_>) -> Option<(usize, &'t str)> {
        let mut start = 0;
        for (i, line) in text.split_inclusive('\n').enumerate() {
            if errors.list.len() == PackErrors::MOST {
                return None;
            }
            start += line.len();
            let content = line.trim_end();
            if content.is_empty() || content.starts_with("//") {
                continue;
            }
            let Some((key, value)) = content.split_once(':') else {
                let what = "expected a key and a value, `map:` or a `//` comment";
                errors.add(i + 1, 1, what);
                continue;
            };
            if key == "map" && value.is_empty() {
                if self.name.is_empty() && !errors.list.iter().any(|error| error.what.contains("name")) {
                    errors.add(i + 1, 1, "`name:` comes before `map:`");
                }
                return Some((i + 2, &text[start..]));
            }
            self.set(i + 1, key, value.trim(), errors);
        }
        errors.add(text.lines().count().max(1), 1, "the file ends before its `map:`");
        None
    }

    /// Takes the map, which begins in line `first`. Whether it has characters of maps only, and not too many.
    fn read_map(&mut self, first: usize, map: &str, errors: &mut Errors<'_>) -> bool {
        let rows = || map.trim_end().lines().map(str::trim_end);
        let (width, height) = (rows().map(|row| row.chars().count()).max().unwrap_or(0), rows().count());
        if width.max(height) > MAX_VAULT {
            let what = format!("the map has {width} columns and {height} rows; 40 and 40 are the most");
            errors.add(first, 1, &what);
            return false;
        }
        let before = errors.list.len();
        // Editors and fonts show some of these as what they replaced, so the error has their number.
        for (y, row) in rows().enumerate() {
            let foreign = row.chars().enumerate().filter(|(_, c)| !c.is_ascii() || c.is_control());
            for (x, character) in foreign {
                let what = format!("unknown character U+{:04X}: expected one of {CELLS}", u32::from(character));
                errors.add(first + y, x + 1, &what);
            }
        }
        (self.width, self.height) = (width, height);
        self.map = rows().flat_map(|row| row.bytes().chain(core::iter::repeat(b' ')).take(width)).collect();
        errors.list.len() == before
    }

    /// Takes the value of a key.
    fn set(&mut self, line: usize, key: &str, value: &str, errors: &mut Errors<'_>) {
        let column = key.chars().count() + 2;
        let mut whole = |least: u32, greatest: u32, place: &mut u32| match value.parse() {
            Ok(count) if (least..=greatest).contains(&count) => *place = count,
            _ => {
                let error = PackError::new(errors.file, line, column, format!("`{key}` is `{value}`"));
                errors.list.push(error.expecting(&format!("a whole number from {least} to {greatest}")));
            }
        };
        match key {
            "name" if value.is_empty() => errors.add(line, column, "a vault needs a name"),
            "name" if value.chars().count() > 60 => {
                errors.add(line, column, "a name has at most 60 characters");
            }
            "name" => self.name = value.to_owned(),
            "least" => whole(FloorSpec::MIN_NUMBER, FloorSpec::MAX_NUMBER, &mut self.min_number),
            "most" => whole(FloorSpec::MIN_NUMBER, FloorSpec::MAX_NUMBER, &mut self.max_number),
            "weight" => whole(1, MAX_WEIGHT, &mut self.weight),
            "count" => whole(1, MAX_COUNT, &mut self.count),
            "themes" => self.themes = value.split(',').map(|name| name.trim().to_owned()).collect(),
            "kinds" => {
                self.kinds.clear();
                for name in value.split(',').map(str::trim) {
                    match Kind::from_name(name) {
                        Some(kind) => self.kinds.push(kind),
                        None => errors.unknown(line, column, "kind", name, &Kind::NAMES),
                    }
                }
            }
            "role" => match ROLES.iter().find(|(name, _)| *name == value) {
                Some((_, role)) => self.role = *role,
                None => errors.unknown(line, column, "role", value, &ROLES.map(|(name, _)| name)),
            },
            "map" => errors.add(line, column, "the map begins on the next line"),
            _ => errors.unknown(line, 1, "key", key, &KEYS),
        }
    }

    /// The characters of the map, row by row, each row filled up with rock.
    pub fn rows(&self) -> impl Iterator<Item = impl Iterator<Item = u8> + '_> + '_ {
        self.map.chunks(self.width.max(1)).map(|row| row.iter().copied())
    }

    /// How many doors divide it into parts. It has at most one part more.
    pub(crate) fn doors(&self) -> usize {
        self.map.iter().filter(|cell| DOORS.contains(cell)).count()
    }

    /// Whether it may be on a floor of that number, kind and theme.
    pub(crate) const fn suits(&self, number: u32, kind: Kind, theme: usize) -> bool {
        number >= self.min_number
            && number <= self.max_number
            && self.kind_bits >> kind as u16 & 1 == 1
            && self.theme_bits >> theme & 1 == 1
    }

    /// Checks the rules that the generator relies on. `first` is the line of the first row.
    fn check(&self, first: usize, errors: &mut Errors<'_>) {
        let before = errors.list.len();
        // A map without columns is reported at its first cell.
        let columns = self.width.max(1);
        let mut fail = |i: usize, what: &str| errors.add(first + i / columns, i % columns + 1, what);
        if self.width < 3 || self.height < 3 {
            return fail(0, "a map has at least three columns and three rows");
        }
        let cells = &self.map;
        let at = |x: usize, y: usize| cells[y * self.width + x];
        let mut doorways = 0;
        for (i, &cell) in cells.iter().enumerate() {
            let (x, y) = (i % self.width, i / self.width);
            let on_edge = x == 0 || y == 0 || x == self.width - 1 || y == self.height - 1;
            let ground = |x: usize, y: usize| x < self.width && y < self.height && GROUND.contains(&at(x, y));
            let beside =
                [ground(x, y.wrapping_sub(1)), ground(x + 1, y), ground(x, y + 1), ground(x.wrapping_sub(1), y)];
            let open = beside.iter().filter(|&&open| open).count();
            if cell == DOORWAY {
                doorways += 1;
                if !on_edge || open != 1 {
                    fail(i, "`@` stands on the map's edge, beside one cell of ground");
                }
            } else if DOORS.contains(&cell) {
                if open != 2 || beside[0] != beside[2] {
                    fail(i, "a door stands between two cells of ground, across from each other");
                }
            } else if GROUND.contains(&cell) {
                if on_edge {
                    fail(i, "the map's edge is rock, wall or `@`");
                }
            } else if !ROCK.contains(&cell) {
                fail(i, &format!("unknown character: expected one of {CELLS}"));
            }
        }
        if self.doors() + doorways > MAX_DOORS {
            fail(0, "a vault has at most 60 doors and doorways");
        }
        if doorways == 0 {
            fail(0, "a vault needs a doorway `@`");
        }
        // A walk over a map with other errors would report them again.
        if errors.list.len() == before
            && let Err((i, what)) = self.check_walk()
        {
            errors.add(first + i / columns, i % columns + 1, what);
        }
    }

    /// Everything can be reached from the first `@` with all keys and a search, and a part behind a lock or a secret
    /// door has no other door.
    fn check_walk(&self) -> Result<(), (usize, &'static str)> {
        let cells = &self.map;
        let fail = |i: usize, what| Err((i, what));
        let passable = |i: usize| !ROCK.contains(&cells[i]) && !b"wlcO".contains(&cells[i]);
        let ground = |i: usize| GROUND.contains(&cells[i]);
        // The cells that `may_enter` connects to `left`.
        let flood = |mut left: Vec<usize>, may_enter: &dyn Fn(usize) -> bool| {
            let mut seen = vec![false; cells.len()];
            left.iter().for_each(|&i| seen[i] = true);
            while let Some(i) = left.pop() {
                let x = i % self.width;
                let west = if x > 0 { Some(i - 1) } else { None };
                let east = if x + 1 < self.width { Some(i + 1) } else { None };
                let around = [i.checked_sub(self.width), west, east, Some(i + self.width)];
                for there in around.into_iter().flatten().filter(|&there| there < cells.len()) {
                    if !seen[there] && may_enter(there) {
                        seen[there] = true;
                        left.push(there);
                    }
                }
            }
            seen
        };
        let Some(start) = cells.iter().position(|&cell| cell == DOORWAY) else { return Ok(()) };
        // Other doorways may stay wall, so no way leads through them.
        let whole = flood(vec![start], &|i| passable(i) && cells[i] != DOORWAY);
        if let Some(i) = (0..cells.len()).find(|&i| passable(i) && cells[i] != DOORWAY && !whole[i]) {
            return fail(i, "not reachable from the first `@`");
        }
        // Every part becomes a room, and a room needs a passable cell. Impassable ground is part of the room if other
        // impassable ground joins it to such a cell.
        let grounded = flood((0..cells.len()).filter(|&i| ground(i) && passable(i)).collect(), &ground);
        if let Some(i) = (0..cells.len()).find(|&i| ground(i) && !grounded[i]) {
            return fail(i, "a part without a passable cell");
        }
        for (i, _) in cells.iter().enumerate().filter(|(_, cell)| b"XS".contains(cell)) {
            let without = flood(vec![start], &|there| there != i && passable(there));
            let hidden = |j: usize| passable(j) && !without[j] && j != i;
            if !(0..cells.len()).any(hidden) {
                return fail(i, "this door can be bypassed");
            }
            if let Some(j) = (0..cells.len()).find(|&j| hidden(j) && (DOORS.contains(&cells[j]) || cells[j] == DOORWAY))
            {
                return fail(j, "what lies behind a locked or secret door has no other door");
            }
        }
        Ok(())
    }
}

/// What is wrong with a file.
struct Errors<'f> {
    file: &'f str,
    list: Vec<PackError>,
}

impl Errors<'_> {
    fn add(&mut self, line: usize, column: usize, what: &str) {
        self.list.push(PackError::new(self.file, line, column, what.to_owned()));
    }

    fn unknown(&mut self, line: usize, column: usize, what: &str, found: &str, names: &[&str]) {
        self.list.push(PackError::unknown(self.file, line, column, what, found, names));
    }
}
