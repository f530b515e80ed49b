//! EVENT: a hand-made vault in a court in the middle of the floor, with rooms grown along its avenues. On the smallest
//! floors there is no court, and rooms grow from the doorways of the vault.

use crate::arena::{Arena, ConnectionDraft, RoomDraft, Side};
use crate::curve;
use crate::floor::{Item, Point, RoomRole, Spawn, Terrain, Trap};
use crate::kinds::court::{self, Rect, Rings};
use crate::rng::{Rng, Streams};
use crate::spec::FloorSpec;
use crate::stages::accrete::{self, RoomParams, is_flanked};
use crate::stages::gates::{self, LockCounts};
use crate::stages::kind_rules::KindRules;
use crate::stages::loops::LoopGoal;
use crate::stages::survey::LayoutRejected;
use crate::stages::{loops, loot, spots, territory, traps};
use crate::theme::Theme;
use crate::vaults::{self, Vault};

/// The largest share of the floor's sides that a vault may take, in thousandths, without and with a court.
const MAX_SHARE: usize = 600;
const MAX_SHARE_IN_A_COURT: usize = 420;
/// A floor with a shorter side has no court, in cells.
const MIN_SIDE_OF_COURT: usize = 40;
/// Vaults drawn; the largest is taken, so that large floors rarely get a small one.
const VAULTS_COMPARED: usize = 2;
/// Tries to place a room before each of the vault's doorways.
const TRIES: usize = 30;
/// Rooms grown around the vault, in hundredths of those of a floor without one.
const ROOMS_AROUND: usize = 70;

pub(crate) const RULES: KindRules = KindRules::BUILT;

pub(crate) fn lay_out(arena: &mut Arena, spec: &FloorSpec, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    let rng = &mut streams.open("vault");
    let (index, orientation) = choose_vault(arena, spec, rng).ok_or(LayoutRejected("no vault is small enough"))?;
    let vault = &vaults::LIBRARY[index];
    streams.note("vault", index);
    let rings = Rings::around(arena, orientation.size(vault)).filter(|_| has_court(arena));
    let rect = carve_vault(arena, vault, orientation, rings.is_some(), spec, rng);
    let areas = arena.rooms.len();

    let mut params = RoomParams::of(arena);
    let around = (params.rooms * ROOMS_AROUND / 100).max(2);
    arena.room_list.clear();
    if let Some(rings) = rings {
        let ground = Theme::of_number(spec.number()).ground();
        court::build(arena, rect, rings, &ground, &mut streams.open("court"));
        open_on_court(arena, areas);
        arena.room_list.extend((areas..arena.rooms.len()).map(|room| room as u8));
    }
    params.rooms = arena.rooms.len() + around;
    let rng = &mut streams.open("rooms");
    if rings.is_none() {
        open_doorways(arena, &params, rng);
    }
    if arena.room_list.is_empty() {
        return Err(LayoutRejected("no room before the vault"));
    }
    accrete::grow(arena, &params, rng);

    // The entry and the exit lie outside the vault and the court.
    let plain = |room: &RoomDraft| room.role == RoomRole::Combat;
    let ends =
        gates::choose_ends_where(arena, rng, plain).ok_or(LayoutRejected("fewer than two rooms outside the vault"))?;
    gates::place_locks(arena, ends, LockCounts::for_rooms(arena, spec), &mut streams.open("locks"))?;
    close_vault_rooms(arena);
    let wanted = LoopGoal { loops: arena.rooms.len() / 10, detour: 6, tries: 4 * arena.rooms.len() };
    loops::add_loops(arena, &params, wanted, &mut streams.open("loops"));
    Ok(())
}

/// How a vault is placed: transposed or not, then mirrored across and down.
#[derive(Debug, Clone, Copy)]
struct Orientation {
    transposed: bool,
    across: bool,
    down: bool,
}

impl Orientation {
    /// Columns and rows of the placed map.
    fn size(self, vault: &Vault<'_>) -> (usize, usize) {
        if self.transposed { (vault.height, vault.width) } else { (vault.width, vault.height) }
    }

    /// The place of a cell of the map.
    fn apply(self, vault: &Vault<'_>, x: usize, y: usize) -> (usize, usize) {
        let (width, height) = self.size(vault);
        let (x, y) = if self.transposed { (y, x) } else { (x, y) };
        (if self.across { width - 1 - x } else { x }, if self.down { height - 1 - y } else { y })
    }
}

/// Whether the floor is large enough for a court.
fn has_court(arena: &Arena) -> bool {
    arena.width.min(arena.height) >= MIN_SIDE_OF_COURT
}

/// A vault that fits the floor and its number, and its orientation.
fn choose_vault(arena: &Arena, spec: &FloorSpec, rng: &mut Rng) -> Option<(usize, Orientation)> {
    let share = if has_court(arena) { MAX_SHARE_IN_A_COURT } else { MAX_SHARE };
    let most = ((arena.width - 2) * share / 1_000, (arena.height - 2) * share / 1_000);
    let fits = |vault: &Vault<'_>, orientation: Orientation| {
        let (width, height) = orientation.size(vault);
        width <= most.0 && height <= most.1 && spec.number() >= vault.min_number
    };
    let orientation = Orientation { transposed: rng.chance(500), across: rng.chance(500), down: rng.chance(500) };
    let other = Orientation { transposed: !orientation.transposed, ..orientation };
    let fitting = || {
        let turned = |vault: &Vault<'_>| [orientation, other].into_iter().find(|&orientation| fits(vault, orientation));
        vaults::LIBRARY
            .iter()
            .enumerate()
            .filter_map(move |(i, vault)| Some((i, turned(vault)?, vault.width * vault.height)))
    };
    let count = fitting().count();
    let samples = (0..VAULTS_COMPARED).filter_map(|_| fitting().nth(rng.index(count)));
    samples.max_by_key(|&(_, _, area)| area).map(|(index, orientation, _)| (index, orientation))
}

/// Carves the vault in the middle of the floor, or anywhere on a floor without a court. Lists its doors and doorways.
fn carve_vault(
    arena: &mut Arena,
    vault: &Vault<'_>,
    orientation: Orientation,
    centred: bool,
    spec: &FloorSpec,
    rng: &mut Rng,
) -> Rect {
    let (width, height) = orientation.size(vault);
    let place = |side: usize, taken: usize, rng: &mut Rng| {
        let free = side - 2 - taken;
        1 + if centred { free / 2 } else { rng.index(free + 1) }
    };
    let (left, top) = (place(arena.width, width, rng), place(arena.height, height, rng));
    // Its outermost cells are wall or doorways; rooms may touch them.
    for y in top..top + height {
        arena.claimed.insert_row(left, y, (1 << width) - 1);
    }
    arena.vault_doors.clear();
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
    add_rooms(arena, (left, top), (width, height));
    place_contents(arena, vault, orientation, (left, top), spec, rng);
    place_doors(arena);
    Rect { left, top, width, height }
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
fn add_rooms(arena: &mut Arena, (left, top): (usize, usize), (width, height): (usize, usize)) {
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
            let area = room_of_cells(arena);
            arena.rooms.push(area);
        }
    }
}

/// The room of the listed cells. Its center is the passable cell nearest the middle of its bounding box.
fn room_of_cells(arena: &Arena) -> RoomDraft {
    let places = || arena.cell_list.iter().map(|&at| arena.point(at as usize));
    let first = arena.point(arena.cell_list[0] as usize);
    let (min, max) = places().fold((first, first), |(min, max), at| {
        (Point { x: min.x.min(at.x), y: min.y.min(at.y) }, Point { x: max.x.max(at.x), y: max.y.max(at.y) })
    });
    let middle = arena.at(usize::from(min.x + max.x) / 2, usize::from(min.y + max.y) / 2);
    let passable = arena.cell_list.iter().map(|&at| at as usize).filter(|&at| arena.terrain[at].passable());
    let center = passable.min_by_key(|&at| spots::distance(arena, at, middle)).unwrap_or(middle);
    let area = arena.cell_list.len() as u32;
    RoomDraft { role: RoomRole::Treasure, set_piece: true, ..RoomDraft::new(min, max, center, area) }
}

/// Places the monsters, items and traps of the map.
fn place_contents(
    arena: &mut Arena,
    vault: &Vault<'_>,
    orientation: Orientation,
    (left, top): (usize, usize),
    spec: &FloorSpec,
    rng: &mut Rng,
) {
    let level = curve::level_of_floor(spec.number());
    let roster = Theme::of_number(spec.number()).roster();
    for (y, row) in vault.rows().enumerate() {
        for (x, drawn) in row.enumerate() {
            let (x, y) = orientation.apply(vault, x, y);
            let at = arena.at(left + x, top + y);
            let place = arena.point(at);
            let find =
                |archetype, worth: u32| Item { at: place, archetype, value: (5 + level) * worth / 10, opens_lock: 0 };
            let enemy = |archetype, above: u32| Spawn { at: place, archetype, level: (level + above).max(1) as u16 };
            match drawn {
                b'$' => arena.items.push(find(rng.pick(&loot::FINE), 40)),
                b'*' => arena.items.push(find(rng.pick(&loot::PLAIN), 12)),
                b'M' => arena.spawns.push(enemy(roster.skirmisher, 1)),
                b'C' => arena.spawns.push(enemy(roster.caster, 2)),
                b'B' => arena.spawns.push(enemy(roster.brute, 3)),
                b'^' => arena.traps.push(Trap { at: place, archetype: rng.pick(&traps::TRAPS), level: level as u16 }),
                b'A' => {
                    arena.items.push(find("blessing", 20));
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
fn place_doors(arena: &mut Arena) {
    for i in 0..arena.vault_doors.len() {
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

/// Connects every doorway to the court.
fn open_on_court(arena: &mut Arena, court: usize) {
    for i in 0..arena.vault_doors.len() {
        let Some((gate, room, side)) = doorway(arena, i, |room| room != court) else { continue };
        if is_flanked(arena, gate, side) {
            accrete::join(arena, (room, court), gate, side, 0, Terrain::Door);
        }
    }
}

/// The `i`-th door of the vault if it is a doorway: its cell, the vault's room behind it, and the side that it opens
/// to.
fn doorway(arena: &Arena, i: usize, inside: impl Fn(usize) -> bool) -> Option<(usize, usize, Side)> {
    let (gate, drawn) = arena.vault_doors[i];
    let gate = gate as usize;
    Side::ALL.into_iter().filter(|_| drawn == b'@').find_map(|side| {
        let room = arena.room_at(gate.wrapping_add_signed(arena.step(side.opposite())))?;
        inside(room).then_some((gate, room, side))
    })
}

/// Builds a room before each doorway that has space for one; the others stay wall.
fn open_doorways(arena: &mut Arena, params: &RoomParams, rng: &mut Rng) {
    for i in 0..arena.vault_doors.len() {
        let Some((gate, room, side)) = doorway(arena, i, |_| true) else { continue };
        let built = (0..TRIES).find_map(|tried| {
            let shape = if tried < TRIES / 2 { accrete::draw_room(params, rng) } else { accrete::draw_closet(rng) };
            accrete::attach_at(arena, params, (room, gate), side, &shape, rng)
        });
        if let Some(room) = built {
            arena.room_list.push(room as u8);
        }
    }
}

/// Locks and hides the doors that the map marks. What lies behind them has no other door.
fn close_vault_rooms(arena: &mut Arena) {
    for i in 0..arena.vault_doors.len() {
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
