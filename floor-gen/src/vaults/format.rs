// The text format of hand-made vaults. The build script compiles this file too, to check the library.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// A vault, as its file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vault<'a> {
    /// Its name.
    pub name: &'a str,
    /// The lowest floor number that it appears on.
    pub min_number: u32,
    /// Columns of the map.
    pub width: usize,
    /// Rows of the map.
    pub height: usize,
    /// The rows of the map from north to south; a short row is filled up with rock.
    pub map: &'a str,
}

/// Why a vault file cannot be used. Lines and columns count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VaultError {
    /// The line of the file.
    pub line: usize,
    /// The column of that line.
    pub column: usize,
    /// What is wrong.
    pub what: &'static str,
}

impl fmt::Display for VaultError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.what)
    }
}

impl core::error::Error for VaultError {}

/// The largest width and height of a map, in cells.
pub(crate) const MAX_VAULT: usize = 40;
/// Rock or wall.
pub(crate) const ROCK: &[u8] = b"# ";
/// Doors between two parts of a vault.
pub(crate) const DOORS: &[u8] = b"+XS";
/// A doorway, where the vault may open to the rest of the floor.
pub(crate) const DOORWAY: u8 = b'@';
/// Ground of all kinds, and things on it.
pub(crate) const GROUND: &[u8] = b".~wlc=\",O$*MCB^A";

impl<'a> Vault<'a> {
    /// Parses a vault file: `//` comments, `name:` and `least:` lines, then `map:` and the rows of the map.
    ///
    /// # Errors
    /// The first line and column that break a rule.
    pub fn parse(text: &'a str) -> Result<Self, VaultError> {
        let (mut name, mut min_number) = ("", 1);
        let mut start = 0;
        for (i, line) in text.split_inclusive('\n').enumerate() {
            let fail = |column, what| Err(VaultError { line: i + 1, column, what });
            start += line.len();
            let content = line.trim_end();
            if content.is_empty() || content.starts_with("//") {
                continue;
            }
            let Some((key, value)) = content.split_once(':') else {
                return fail(1, "expected `name:`, `least:`, `map:` or a `//` comment");
            };
            let column = key.len() + 2;
            match (key, value.trim()) {
                ("name", "") => return fail(column, "a vault needs a name"),
                ("name", value) => name = value,
                ("least", value) => match value.parse() {
                    Ok(number) => min_number = number,
                    Err(_) => return fail(column, "`least` is the least floor number, a whole number"),
                },
                ("map", "") => {
                    if name.is_empty() {
                        return fail(1, "`name:` comes before `map:`");
                    }
                    let map = text[start..].trim_end();
                    let vault = Self {
                        name,
                        min_number,
                        width: map.lines().map(|row| row.trim_end().len()).max().unwrap_or(0),
                        height: map.lines().count(),
                        map,
                    };
                    return vault.check(i + 2).map(|()| vault);
                }
                ("map", _) => return fail(column, "the map begins on the next line"),
                _ => return fail(1, "unknown key: expected `name`, `least` or `map`"),
            }
        }
        Err(VaultError { line: text.lines().count().max(1), column: 1, what: "the file ends before its `map:`" })
    }

    /// The characters of the map, row by row, each row filled up with rock.
    pub fn rows(&self) -> impl Iterator<Item = impl Iterator<Item = u8> + '_> + '_ {
        self.map.lines().map(|row| row.trim_end().bytes().chain(core::iter::repeat(b' ')).take(self.width))
    }

    /// Checks the rules that the generator relies on. `first` is the line of the first row.
    fn check(&self, first: usize) -> Result<(), VaultError> {
        let fail = |i: usize, what| Err(self.error_at(first, i, what));
        if self.width < 3 || self.height < 3 {
            return fail(0, "a map has three columns and three rows at the least");
        }
        if self.width > MAX_VAULT || self.height > MAX_VAULT {
            return fail(0, "a map has 40 columns and 40 rows at the most");
        }
        let cells: Vec<u8> = self.rows().flatten().collect();
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
                    return fail(i, "`@` stands on the map's edge, beside one cell of ground");
                }
            } else if DOORS.contains(&cell) {
                if open != 2 || beside[0] != beside[2] {
                    return fail(i, "a door stands between two cells of ground, across from each other");
                }
            } else if GROUND.contains(&cell) {
                if on_edge {
                    return fail(i, "the map's edge is rock, wall or `@`");
                }
            } else if !ROCK.contains(&cell) {
                return fail(i, "unknown character");
            }
        }
        if doorways == 0 {
            return fail(0, "a vault needs a doorway `@`");
        }
        self.check_walk(first, &cells)
    }

    /// The error of a cell of the map.
    fn error_at(&self, first: usize, i: usize, what: &'static str) -> VaultError {
        // A map without columns is reported at its first cell.
        let width = self.width.max(1);
        VaultError { line: first + i / width, column: i % width + 1, what }
    }

    /// Everything can be reached from the first `@` with all keys and a search, and a part behind a lock or a secret
    /// door has no other door.
    fn check_walk(&self, first: usize, cells: &[u8]) -> Result<(), VaultError> {
        let fail = |i: usize, what| Err(self.error_at(first, i, what));
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
        let whole = flood(vec![start], &passable);
        if let Some(i) = (0..cells.len()).find(|&i| passable(i) && !whole[i]) {
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
            let hidden = |j: usize| whole[j] && !without[j] && j != i;
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
