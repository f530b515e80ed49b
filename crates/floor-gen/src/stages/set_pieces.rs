//! Set pieces: hand-made vaults carved into a floor.

use crate::arena::{Arena, ConnectionDraft, RoomDraft, Side};
use crate::floor::{Behaviour, Item, Point, RoomRole, Spawn, Terrain, Trap};
use crate::pack::content::Part;
use crate::pack::vault::{DOORWAY, Vault};
use crate::plan::Plan;
use crate::rng::Rng;
use crate::stages::{gates, monsters, spots, territory};

/// How a vault is placed: transposed or not, then mirrored across and down.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Orientation {
    pub(crate) transposed: bool,
    pub(crate) across: bool,
    pub(crate) down: bool,
}

impl Orientation {
    /// A random one.
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        Self { transposed: rng.chance(500), across: rng.chance(500), down: rng.chance(500) }
    }

    /// Columns and rows of the placed map.
    pub(crate) fn size(self, vault: &Vault) -> (usize, usize) {
        if self.transposed { (vault.height, vault.width) } else { (vault.width, vault.height) }
    }

    /// A doorway of the placed map: the side that it lies on, and its column or row.
    pub(crate) fn draw_doorway(self, vault: &Vault, rng: &mut Rng) -> (Side, i32) {
        let doorways = || (0..vault.map.len()).filter(|&i| vault.map[i] == DOORWAY);
        let (width, _) = self.size(vault);
        let drawn = doorways().nth(rng.index(doorways().count())).unwrap_or(0);
        match self.apply(vault, drawn % vault.width, drawn / vault.width) {
            (0, y) => (Side::West, y as i32),
            (x, 0) => (Side::North, x as i32),
            (x, y) if x == width - 1 => (Side::East, y as i32),
            (x, _) => (Side::South, x as i32),
        }
    }

    /// The place of a cell of the map.
    pub(crate) fn apply(self, vault: &Vault, x: usize, y: usize) -> (usize, usize) {
        let (width, height) = self.size(vault);
        let (x, y) = if self.transposed { (y, x) } else { (x, y) };
        (if self.across { width - 1 - x } else { x }, if self.down { height - 1 - y } else { y })
    }

    /// What the placed map has at a cell, if the cell lies on it.
    pub(crate) fn drawn_at(self, vault: &Vault, (x, y): (usize, usize)) -> Option<u8> {
        let (width, height) = self.size(vault);
        if x >= width || y >= height {
            return None;
        }
        let (x, y) = (if self.across { width - 1 - x } else { x }, if self.down { height - 1 - y } else { y });
        let (x, y) = if self.transposed { (y, x) } else { (x, y) };
        Some(vault.map[y * vault.width + x])
    }
}

/// Carves a vault with its north-west corner at that cell, and lists its doors and doorways behind those that are listed.
/// Its outermost cells are wall or doorways; rooms may touch them. Returns its north-west and south-east cells.
pub(crate) fn carve(
    arena: &mut Arena,
    plan: &Plan<'_>,
    vault: &Vault,
    orientation: Orientation,
    (left, top): (usize, usize),
    rng: &mut Rng,
) -> (Point, Point) {
    let (width, height) = orientation.size(vault);
    for y in top..top + height {
        arena.claimed.insert_row(left, y, (1 << width) - 1);
    }
    let first = arena.vault_doors.len();
    for (y, row) in vault.rows().enumerate() {
        for (x, drawn) in row.enumerate() {
            let (x, y) = orientation.apply(vault, x, y);
            let at = arena.at(left + x, top + y);
            match drawn {
                b'#' | b' ' => {}
                b'@' | b'+' | b'X' | b'S' => arena.vault_doors.push((at as u32, drawn)),
                _ => arena.terrain[at] = ground(drawn),
            }
        }
    }
    let (first_room, first_spawn) = (arena.rooms.len(), arena.spawns.len());
    add_rooms(arena, vault.role, (left, top), (width, height));
    place_contents(arena, plan, vault, orientation, (left, top), rng);
    for room in first_room..arena.rooms.len() {
        monsters::group_of_room(arena, first_spawn, room);
    }
    place_doors(arena, first);
    [(left, top), (left + width - 1, top + height - 1)].map(|(x, y)| Point { x: x as u16, y: y as u16 }).into()
}

/// The terrain of a character of the map.
const fn ground(drawn: u8) -> Terrain {
    match drawn {
        b'~' => Terrain::ShallowWater,
        b'w' => Terrain::DeepWater,
        b'l' => Terrain::Lava,
        b'c' => Terrain::Chasm,
        b'=' => Terrain::Bridge,
        b'"' => Terrain::Grass,
        b',' => Terrain::Rubble,
        b'O' => Terrain::Pillar,
        _ => Terrain::Floor,
    }
}

/// Adds each part of the vault between doors as a room.
fn add_rooms(arena: &mut Arena, role: RoomRole, (left, top): (usize, usize), (width, height): (usize, usize)) {
    for y in top..top + height {
        for x in left..left + width {
            let at = arena.at(x, y);
            if arena.terrain[at] == Terrain::Wall || arena.region[at] != 0 {
                continue;
            }
            let mark = arena.rooms.len() as u8 + 1;
            let Arena { region, cell_list, terrain, width, .. } = arena;
            region[at] = mark;
            cell_list.clear();
            cell_list.push(at as u32);
            territory::spread(region, cell_list, *width, |at| terrain[at] != Terrain::Wall);
            let area = room_of_cells(arena, role);
            arena.rooms.push(area);
        }
    }
}

/// The room of the listed cells. Its center is the passable cell nearest the middle of its bounding box.
fn room_of_cells(arena: &Arena, role: RoomRole) -> RoomDraft {
    let places = || arena.cell_list.iter().map(|&at| arena.point(at as usize));
    let first = arena.point(arena.cell_list[0] as usize);
    let (min, max) = places().fold((first, first), |(min, max), at| {
        (Point { x: min.x.min(at.x), y: min.y.min(at.y) }, Point { x: max.x.max(at.x), y: max.y.max(at.y) })
    });
    let middle = arena.at(usize::from(min.x + max.x) / 2, usize::from(min.y + max.y) / 2);
    let passable = arena.cell_list.iter().map(|&at| at as usize).filter(|&at| arena.terrain[at].passable());
    let center = passable.min_by_key(|&at| spots::distance(arena, at, middle)).unwrap_or(middle);
    let area = arena.cell_list.len() as u32;
    RoomDraft { role, set_piece: true, ..RoomDraft::new(min, max, center, area) }
}

/// Places the monsters, items and traps of the map.
fn place_contents(
    arena: &mut Arena,
    plan: &Plan<'_>,
    vault: &Vault,
    orientation: Orientation,
    (left, top): (usize, usize),
    rng: &mut Rng,
) {
    let (level, content, theme) = (plan.level(), plan.content, plan.theme());
    let (base, worths) = (arena.params.items.base, arena.params.vaults);
    for (y, row) in vault.rows().enumerate() {
        for (x, drawn) in row.enumerate() {
            let (x, y) = orientation.apply(vault, x, y);
            let at = arena.at(left + x, top + y);
            let place = arena.point(at);
            let find = |archetype, worth: u32| Item {
                at: place,
                archetype,
                value: (base + level) * worth / 10,
                opens_lock: 0,
            };
            let enemy = |part: Part, above: u32, rng: &mut Rng| {
                let archetype = plan.choose(theme.monsters(part), rng);
                Spawn {
                    at: place,
                    archetype,
                    level: (level + above).max(1) as u16,
                    behaviour: Behaviour::Guards,
                    group: 0,
                }
            };
            match drawn {
                b'$' => arena.items.push(find(plan.choose(&content.fine, rng), worths.fine_worth)),
                b'*' => arena.items.push(find(plan.choose(&content.plain, rng), worths.plain_worth)),
                b'M' => arena.spawns.push(enemy(Part::Skirmisher, 1, rng)),
                b'C' => arena.spawns.push(enemy(Part::Caster, 2, rng)),
                b'B' => arena.spawns.push(enemy(Part::Brute, 3, rng)),
                b'^' => {
                    let archetype = plan.choose(&content.traps, rng);
                    arena.traps.push(Trap { at: place, archetype, level: level as u16 });
                }
                b'A' => {
                    arena.items.push(find(content.blessing, worths.blessing_worth));
                    if let Some(room) = arena.room_at(at) {
                        arena.rooms[room].role = RoomRole::Shrine;
                    }
                }
                _ => continue,
            }
            arena.reserve(at);
        }
    }
}

/// Builds the doors between the vault's parts. They are locked and hidden once the floor around them is known.
fn place_doors(arena: &mut Arena, first: usize) {
    for i in first..arena.vault_doors.len() {
        let (at, drawn) = arena.vault_doors[i];
        let at = at as usize;
        if drawn == b'@' {
            continue;
        }
        arena.terrain[at] = Terrain::Door;
        let [north, east, south, west] = arena.neighbours(at).map(|there| arena.room_at(there));
        if let (Some(a), Some(b)) = (north.or(east), south.or(west)) {
            arena.connections.push(ConnectionDraft::open(a as u8, b as u8, Some(at as u32)));
        }
    }
}

/// The `i`-th door of the vault if it is a doorway: its cell, the vault's room behind it, and the side that it opens
/// to.
pub(crate) fn doorway(arena: &Arena, i: usize, inside: impl Fn(usize) -> bool) -> Option<(usize, usize, Side)> {
    let (gate, drawn) = arena.vault_doors[i];
    let gate = gate as usize;
    Side::ALL.into_iter().filter(|_| drawn == b'@').find_map(|side| {
        let room = arena.room_at(gate.wrapping_add_signed(arena.step(side.opposite())))?;
        inside(room).then_some((gate, room, side))
    })
}

/// Locks and hides the doors that the map marks, from the `first` of the list on. What lies behind them has no other door.
pub(crate) fn close_rooms(arena: &mut Arena, first: usize) {
    for i in first..arena.vault_doors.len() {
        let (gate, drawn) = arena.vault_doors[i];
        let Some(connection) = arena.connections.iter().position(|connection| connection.gate == Some(gate)) else {
            continue;
        };
        if arena.connections[connection].lock != 0 || !matches!(drawn, b'X' | b'S') {
            continue;
        }
        // The room that no other connection leads to.
        let ends = [arena.connections[connection].from, arena.connections[connection].to];
        let degree = |room: u8| arena.connections.iter().filter(|connection| connection.touches(room)).count();
        let Some(room) = ends.into_iter().find(|&room| degree(room) == 1).map(usize::from) else { continue };
        arena.rooms[room].role = if drawn == b'S' { RoomRole::Secret } else { RoomRole::Vault };
        gates::close(arena, room, connection);
    }
}
