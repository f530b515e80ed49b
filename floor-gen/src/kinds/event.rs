//! EVENT: a hand-made vault in a court in the middle of the floor, with rooms grown along its avenues. On the smallest
//! floors there is no court, and rooms grow from the doorways of the vault.

use crate::arena::{Arena, RoomDraft};
use crate::floor::{RoomRole, Terrain};
use crate::kinds::court::{self, Rect, Rings};
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::spec::Kind;
use crate::stages::accrete::{self, RoomParams, is_flanked};
use crate::stages::gates::{self, LockCounts};
use crate::stages::kind_rules::KindRules;
use crate::stages::loops;
use crate::stages::loops::LoopGoal;
use crate::stages::set_pieces::{self, Orientation};
use crate::stages::stairs;
use crate::stages::survey::LayoutRejected;
use crate::vault::Vault;

/// Tries to place a room before each of the vault's doorways.
const TRIES: usize = 30;

pub(crate) const RULES: KindRules = KindRules::BUILT;

pub(crate) fn lay_out(arena: &mut Arena, plan: &Plan<'_>, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    let rng = &mut streams.open("vault");
    let (index, orientation) = choose_vault(arena, plan, rng).ok_or(LayoutRejected("no vault is small enough"))?;
    let vault = &plan.content.vaults[index];
    streams.note("vault", index);
    streams.vault(index, Ok(()));
    let rings = Rings::around(arena, orientation.size(vault)).filter(|_| has_court(arena));
    let rect = carve_vault(arena, plan, vault, orientation, rings.is_some(), rng);
    let areas = arena.rooms.len();

    let mut params = RoomParams::of(arena);
    let around = (params.rooms * arena.params.event.rooms_around as usize / 100).max(2);
    arena.room_list.clear();
    if let Some(rings) = rings {
        let ground = plan.theme().ground;
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
    let ends = stairs::own(arena, plan, &mut streams.open("stairs"), plain)?;
    gates::place_locks(arena, ends, LockCounts::for_rooms(arena, plan), &mut streams.open("locks"))?;
    set_pieces::close_rooms(arena, 0);
    let event = arena.params.event;
    let wanted = LoopGoal {
        loops: arena.rooms.len() / event.rooms_per_loop as usize,
        detour: event.detour,
        tries: 4 * arena.rooms.len(),
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
    let samples = (0..event.compared).filter_map(|_| rng.choose(fitting.clone(), |(_, _, vault)| vault.weight));
    let largest = samples.max_by_key(|&(_, _, vault)| vault.width * vault.height);
    largest.map(|(index, orientation, _)| (index, orientation))
}

/// Carves the vault in the middle of the floor, or anywhere on a floor without a court. Lists its doors and doorways.
fn carve_vault(
    arena: &mut Arena,
    plan: &Plan<'_>,
    vault: &Vault,
    orientation: Orientation,
    centred: bool,
    rng: &mut Rng,
) -> Rect {
    let (width, height) = orientation.size(vault);
    let place = |side: usize, taken: usize, rng: &mut Rng| {
        let free = side - 2 - taken;
        1 + if centred { free / 2 } else { rng.index(free + 1) }
    };
    let (left, top) = (place(arena.width, width, rng), place(arena.height, height, rng));
    arena.vault_doors.clear();
    set_pieces::carve(arena, plan, vault, orientation, (left, top), rng);
    Rect { left, top, width, height }
}

/// Connects every doorway to the court.
fn open_on_court(arena: &mut Arena, court: usize) {
    for i in 0..arena.vault_doors.len() {
        let Some((gate, room, side)) = set_pieces::doorway(arena, i, |room| room != court) else { continue };
        if is_flanked(arena, gate, side) {
            accrete::join(arena, (room, court), gate, side, 0, Terrain::Door);
        }
    }
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
