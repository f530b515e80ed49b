//! EVENT: a hand-made vault in a court anywhere on the floor, with rooms grown along its avenues. On the smallest floors
//! there is no court, and rooms grow from the doorways of the vault.

use crate::arena::{Arena, RoomDraft, Side};
use crate::floor::{Point, RoomRole, Terrain};
use crate::kinds::avenues;
use crate::kinds::court::{CLEARANCE, Court, Rect};
use crate::pack::Vault;
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::spec::Kind;
use crate::stages::accrete::{self, RoomParams, is_flanked};
use crate::stages::gates::{self, LockCounts};
use crate::stages::kind_rules::KindRules;
use crate::stages::loops::{self, LoopGoal};
use crate::stages::set_pieces::{self, Orientation};
use crate::stages::stairs;
use crate::stages::survey::LayoutRejected;

/// Tries to place the vault, and a room before each of its doorways.
const TRIES: usize = 30;
/// Cells before a doorway for the smallest room.
const LEAST_BEFORE: i32 = 3;

pub(crate) const RULES: KindRules = KindRules::BUILT;

pub(crate) fn lay_out(arena: &mut Arena, plan: &Plan<'_>, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    let rng = &mut streams.open("vault");
    let (index, orientation) = choose_vault(arena, plan, rng).ok_or(LayoutRejected("no vault is small enough"))?;
    let vault = &plan.content.vaults[index];
    let placed = place_vault(arena, plan, vault, orientation, streams, rng);
    streams.vault(index, placed.as_ref().map(|(cells, _)| *cells).map_err(|LayoutRejected(why)| *why));
    let (_, court) = placed?;

    let params = RoomParams::draw(arena, &mut streams.open("size"));
    arena.room_list.clear();
    let rng = &mut streams.open("court");
    match court {
        Some(court) => build_court(arena, plan, &params, &court, rng),
        None => open_doorways(arena, &params, rng),
    }
    if arena.room_list.is_empty() {
        return Err(LayoutRejected("no room before the vault"));
    }
    let around = (params.rooms * arena.params.event.rooms_around as usize / 100).max(2);
    let params = RoomParams { rooms: arena.rooms.len() + around, ..params };
    accrete::grow(arena, &params, &mut streams.open("rooms"));

    // The entry and the exit lie outside the vault and the court.
    let plain = |room: &RoomDraft| room.role == RoomRole::Combat;
    let ends = stairs::own(arena, plan, &mut streams.open("stairs"), plain)?;
    gates::place_locks(arena, ends, LockCounts::for_rooms(arena, plan), &mut streams.open("locks"))?;
    set_pieces::close_rooms(arena, 0);
    let event = arena.params.event;
    let wanted = LoopGoal {
        loops: arena.rooms.len() / event.rooms_per_loop as usize + 1,
        detour: event.detour,
        tries: 3 * arena.rooms.len(),
    };
    loops::add_loops(arena, &params, wanted, &mut streams.open("loops"));
    Ok(())
}

/// Whether the floor is large enough for a court.
fn has_court(arena: &Arena) -> bool {
    arena.width.min(arena.height) >= arena.params.event.court_side as usize
}

/// A vault that fits the floor, and its orientation.
fn choose_vault(arena: &Arena, plan: &Plan<'_>, rng: &mut Rng) -> Option<(usize, Orientation)> {
    let event = arena.params.event;
    let share = if has_court(arena) { event.share_in_a_court } else { event.share } as usize;
    let most = ((arena.width - 2) * share / 1_000, (arena.height - 2) * share / 1_000);
    let fits = |vault: &Vault, orientation: Orientation| {
        let (width, height) = orientation.size(vault);
        width <= most.0 && height <= most.1 && vault.suits(plan.spec.number(), Kind::Event, plan.theme)
    };
    let orientation = Orientation::draw(rng);
    let other = Orientation { transposed: !orientation.transposed, ..orientation };
    let fitting = {
        let turned = |vault: &Vault| [orientation, other].into_iter().find(|&orientation| fits(vault, orientation));
        let vaults = plan.content.vaults.iter().enumerate();
        vaults.filter_map(move |(i, vault)| Some((i, turned(vault)?, vault)))
    };
    // On small floors few vaults fit, and the largest would be on many of them.
    let compared = if has_court(arena) { event.compared } else { 1 };
    let samples = (0..compared).filter_map(|_| rng.choose(fitting.clone(), |(_, _, vault)| vault.weight));
    let largest = samples.max_by_key(|&(_, _, vault)| vault.width * vault.height);
    largest.map(|(index, orientation, _)| (index, orientation))
}

/// Carves the vault and lists its doors and doorways. Returns its north-west and south-east cells, and the court that is to
/// lie around it, if it has one. Both lie anywhere, but not where the stairs are.
fn place_vault(
    arena: &mut Arena,
    plan: &Plan<'_>,
    vault: &Vault,
    orientation: Orientation,
    streams: &Streams<'_>,
    rng: &mut Rng,
) -> Result<((Point, Point), Option<Court>), LayoutRejected> {
    let (width, height) = orientation.size(vault);
    let taken = Rect { x: 0, y: 0, width: width as i32, height: height as i32 };
    let doorway = orientation.draw_doorway(vault, rng);
    let court = has_court(arena).then(|| Court::draw(arena, &plan.theme().ground, taken, doorway, streams, rng));
    // Without a court, a room before the doorway needs space.
    let before = Side::ALL.map(|side| if side == doorway.0 { LEAST_BEFORE } else { 0 });
    let whole = court.map_or(taken.grown(before), |court| court.bounds.with(taken));
    let back = court.and_then(|court| court.back);
    // The outermost cells of a vault are wall.
    let (built, clearance) = if court.is_some() { (whole, CLEARANCE) } else { (taken, CLEARANCE - 1) };
    let mut places = (0..TRIES).map(|_| draw_place(arena, whole, back, rng));
    let by = places.find(|&by| !built.shifted(by).covers_stairs(plan, clearance));
    let by = by.ok_or(LayoutRejected("no place for the vault"))?;
    arena.vault_doors.clear();
    let cells = set_pieces::carve(arena, plan, vault, orientation, (by.0 as usize, by.1 as usize), rng);
    Ok((cells, court.map(|court| court.shifted(by))))
}

/// Moves a rectangle to a random place on the floor; about every second time with its back to the border.
fn draw_place(arena: &Arena, whole: Rect, back: Option<Side>, rng: &mut Rng) -> (i32, i32) {
    let most = (arena.width as i32 - 1 - whole.width, arena.height as i32 - 1 - whole.height);
    let (x, y) = (rng.range(1, most.0), rng.range(1, most.1));
    let (x, y) = match back.filter(|_| rng.chance(500)) {
        Some(Side::North) => (x, 1),
        Some(Side::South) => (x, most.1),
        Some(Side::West) => (1, y),
        Some(Side::East) => (most.0, y),
        None => (x, y),
    };
    (x - whole.x, y - whole.y)
}

/// Builds the court with its avenues, and connects every doorway that opens on it. The others stay wall.
fn build_court(arena: &mut Arena, plan: &Plan<'_>, params: &RoomParams, court: &Court, rng: &mut Rng) {
    let room = court.carve(arena, RoomRole::Passage);
    for i in 0..arena.vault_doors.len() {
        let Some((gate, inside, side)) = set_pieces::doorway(arena, i, |inside| inside != room) else { continue };
        let before = gate.wrapping_add_signed(arena.step(side));
        if arena.room_at(before) == Some(room) && is_flanked(arena, gate, side) {
            accrete::join(arena, (inside, room), gate, side, 0, Terrain::Door);
        }
    }
    avenues::lay_out(arena, plan, params, (room, court), rng);
    arena.room_list.push(room as u8);
}

/// Builds a room before each doorway that has space for one; the others stay wall.
fn open_doorways(arena: &mut Arena, params: &RoomParams, rng: &mut Rng) {
    for i in 0..arena.vault_doors.len() {
        let Some((gate, room, side)) = set_pieces::doorway(arena, i, |_| true) else { continue };
        let built = (0..TRIES).find_map(|tried| {
            let shape =
                if tried < TRIES / 2 { accrete::draw_room(arena, params, rng) } else { accrete::draw_closet(rng) };
            accrete::attach_at(arena, params, (room, gate), side, &shape, rng)
        });
        if let Some(room) = built {
            arena.room_list.push(room as u8);
        }
    }
}
