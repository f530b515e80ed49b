//! Vaults on floors of other kinds than EVENT: attached to a room like one more room, or walled off within a large one. Either
//! way they hang on one room, so no lock and no secret is bypassed. Runs when the layout is complete.

use crate::arena::{Arena, MAX_ROOMS, SEALED, Side};
use crate::floor::{Point, RoomRole, Terrain};
use crate::pack::Vault;
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::spec::Kind;
use crate::stages::accrete::{doorway, is_flanked, join};
use crate::stages::set_pieces::{self, Orientation};

/// Places vaults that the pack has for this kind, number and theme.
pub(crate) fn place(arena: &mut Arena, plan: &Plan<'_>, streams: &Streams<'_>) {
    let (spec, content) = (plan.spec, plan.content);
    let suits = |vault: &Vault| vault.suits(spec.number(), spec.kind(), plan.theme);
    if spec.kind() == Kind::Event || !content.vaults.iter().any(suits) {
        return;
    }
    let rng = &mut streams.open("side vaults");
    arena.vault_doors.clear();
    let mut placed = [0; crate::pack::MAX_VAULTS];
    for _ in 0..arena.params.vaults.most {
        if !rng.chance(arena.params.vaults.chance) {
            continue;
        }
        let vaults = content.vaults.iter().enumerate();
        let fitting = vaults.filter(|&(index, vault)| suits(vault) && placed[index] < vault.count);
        let Some((index, vault)) = rng.choose(fitting, |(_, vault)| vault.weight) else { break };
        let outcome = if arena.rooms.len() + vault.doors() + 1 > MAX_ROOMS {
            Err("the floor has too many rooms")
        } else {
            put(arena, plan, vault, rng)
        };
        placed[index] += u32::from(outcome.is_ok());
        streams.vault(index, outcome);
    }
    arena.graph.rebuild(arena.rooms.len(), &arena.connections);
}

/// Tries places for the vault. Returns its north-west and south-east cells.
fn put(arena: &mut Arena, plan: &Plan<'_>, vault: &Vault, rng: &mut Rng) -> Result<(Point, Point), &'static str> {
    for tried in 0..arena.params.vaults.tries {
        let host = rng.index(arena.rooms.len());
        let orientation = Orientation::draw(rng);
        let draft = &arena.rooms[host];
        let is_busy = matches!(draft.role, RoomRole::Boss | RoomRole::Vault | RoomRole::Secret);
        if draft.zone == SEALED || draft.set_piece || is_busy {
            continue;
        }
        let first = arena.vault_doors.len();
        let rooms = arena.rooms.len();
        let cells = if tried.is_multiple_of(2) {
            let Some((corner, gate, side)) = beside(arena, vault, orientation, host, rng) else { continue };
            let cells = set_pieces::carve(arena, plan, vault, orientation, corner, rng);
            let inside = arena.room_at(gate.wrapping_add_signed(arena.step(side)));
            if let Some(inside) = inside {
                join(arena, (host, inside), gate, side, 0, Terrain::Door);
            }
            cells
        } else {
            let Some(corner) = within(arena, vault, orientation, host, rng) else { continue };
            clear(arena, host, corner, orientation.size(vault));
            let cells = set_pieces::carve(arena, plan, vault, orientation, corner, rng);
            for i in first..arena.vault_doors.len() {
                let Some((gate, inside, side)) = set_pieces::doorway(arena, i, |room| room != host) else { continue };
                if is_flanked(arena, gate, side) {
                    join(arena, (inside, host), gate, side, 0, Terrain::Door);
                }
            }
            cells
        };
        for room in rooms..arena.rooms.len() {
            (arena.rooms[room].zone, arena.rooms[room].depth) = (arena.rooms[host].zone, arena.rooms[host].depth);
        }
        set_pieces::close_rooms(arena, first);
        return Ok(cells);
    }
    Err("no place for it")
}

/// The corner of a vault whose doorway opens a wall of the room, with that doorway and the side of the room.
fn beside(
    arena: &Arena,
    vault: &Vault,
    orientation: Orientation,
    host: usize,
    rng: &mut Rng,
) -> Option<((usize, usize), usize, Side)> {
    let side = rng.pick(&Side::ALL);
    let gate = doorway(arena, host, side, rng)?;
    let (width, height) = orientation.size(vault);
    let cells = || {
        let cells = vault.rows().enumerate().flat_map(|(y, row)| row.enumerate().map(move |(x, drawn)| (x, y, drawn)));
        cells.map(|(x, y, drawn)| (orientation.apply(vault, x, y), drawn))
    };
    // The vault's doorways that lead against the side, with ground behind them.
    let leads = |&((x, y), drawn): &((usize, usize), u8)| {
        let inward = match side {
            Side::North => (x, y.wrapping_sub(1)),
            Side::South => (x, y + 1),
            Side::West => (x.wrapping_sub(1), y),
            Side::East => (x + 1, y),
        };
        drawn == b'@' && orientation.drawn_at(vault, inward).is_some_and(|behind| !b"# @".contains(&behind))
    };
    let count = cells().filter(leads).count();
    let ((dx, dy), _) = cells().filter(leads).nth(rng.index(count))?;
    let left = arena.column(gate).checked_sub(dx)?;
    let top = arena.row(gate).checked_sub(dy)?;
    let inside = left >= 1 && top >= 1 && left + width < arena.width && top + height < arena.height;
    let free = inside
        && cells().all(|((x, y), drawn)| {
            let at = arena.at(left + x, top + y);
            // A claimed cell lies beside an open one. Passages of a maze claim nothing, but have no room.
            let is_rock = b"# @".contains(&drawn) || !arena.claimed.contains(left + x, top + y);
            is_rock && (arena.terrain[at] == Terrain::Wall || arena.region[at] > 0)
        });
    free.then_some(((left, top), gate, side))
}

/// The corner of a vault within the room, with a walk of the room around it.
fn within(
    arena: &Arena,
    vault: &Vault,
    orientation: Orientation,
    host: usize,
    rng: &mut Rng,
) -> Option<(usize, usize)> {
    let draft = &arena.rooms[host];
    let (width, height) = orientation.size(vault);
    let free = (draft.width().checked_sub(width + 2)?, draft.height().checked_sub(height + 2)?);
    let left = usize::from(draft.min.x) + 1 + rng.index(free.0 + 1);
    let top = usize::from(draft.min.y) + 1 + rng.index(free.1 + 1);
    let mark = host as u8 + 1;
    let mut cells = (top - 1..=top + height).flat_map(|y| (left - 1..=left + width).map(move |x| arena.at(x, y)));
    cells
        .all(|at| arena.region[at] == mark && arena.terrain[at] == Terrain::Floor && !arena.is_reserved(at))
        .then_some((left, top))
}

/// Fills a part of the room with rock.
fn clear(arena: &mut Arena, host: usize, (left, top): (usize, usize), (width, height): (usize, usize)) {
    for y in top..top + height {
        let first = arena.at(left, y);
        arena.terrain[first..first + width].fill(Terrain::Wall);
        arena.region[first..first + width].fill(0);
    }
    let (x, y) = (arena.column(arena.rooms[host].center), arena.row(arena.rooms[host].center));
    let walk = arena.at(left - 1, top + height / 2);
    let draft = &mut arena.rooms[host];
    draft.area -= (width * height) as u32;
    if (left..left + width).contains(&x) && (top..top + height).contains(&y) {
        draft.center = walk;
    }
}
