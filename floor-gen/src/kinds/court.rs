//! The court around an event's vault: a plaza, a moat, hedge or colonnade, a ring avenue, and straight avenues towards
//! the floor's four sides.

use crate::arena::{Arena, MAX_ROOMS, RoomDraft, Side};
use crate::floor::{Point, RoomRole, Terrain};
use crate::pack::content::Ground;
use crate::rng::Rng;
use crate::stages::accrete::join;

/// Cells beyond the court that stay free for rooms on each side: a share of the side, and a minimum.
const SHARE_FOR_ROOMS: usize = 6;
const MIN_FOR_ROOMS: usize = 5;
/// Cells between the ring and the border that an avenue needs.
const MIN_FOR_AVENUE: usize = 9;
/// The largest scale of rings and avenues.
const MAX_SCALE: usize = 4;
/// The scale is 1 for each so many cells of the shorter side.
const PLAIN_SIDE: usize = 100;
/// The length of an avenue, in hundredths of the cells between the ring and the border.
const REACH: usize = 60;
/// Cells from one pillar of the colonnade to the next.
const SPACING: usize = 3;

/// A rectangle of cells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rect {
    pub(crate) left: usize,
    pub(crate) top: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// The widths of the court's rings, from the vault outwards, in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rings {
    /// Open ground before the vault's doorways.
    plaza: usize,
    /// The ring that is crossed at four axes only.
    moat: usize,
    /// The ring avenue.
    avenue: usize,
    /// Half the width of the straight avenues, and of the moat's bridges.
    scale: usize,
}

/// The ring between the plaza and the ring avenue.
#[derive(Debug, Clone, Copy)]
enum Band {
    /// The theme's water, lava or chasm.
    Moat(Terrain),
    /// The theme's passable ground cover.
    Hedge(Terrain),
    Colonnade,
}

impl Rings {
    const fn breadth(self) -> usize {
        self.plaza + self.moat + self.avenue
    }

    /// The widest rings that leave space for rooms around a vault of that size in the middle; `None` where the vault
    /// nearly fills the floor.
    pub(crate) fn around(arena: &Arena, (width, height): (usize, usize)) -> Option<Self> {
        let event = arena.params.event;
        let spare = |side: usize, taken: usize| {
            ((side - 2).saturating_sub(taken) / 2).saturating_sub((side / SHARE_FOR_ROOMS).max(MIN_FOR_ROOMS))
        };
        let most = spare(arena.width, width).min(spare(arena.height, height));
        let scale = (arena.width.min(arena.height) / PLAIN_SIDE).clamp(1, MAX_SCALE);
        let [plaza, ring, avenue] = [event.plaza, event.ring, event.avenue].map(|width| width as usize);
        let full = |scale: usize| Self { plaza: plaza + scale, moat: ring + 2 * scale, avenue: avenue + scale, scale };
        let narrow = Self { plaza: 1, moat: 2, avenue: 2, scale: 1 };
        let least = Self { plaza: 0, moat: 0, avenue: 2, scale: 1 };
        let all = (1..=scale).rev().map(full).chain([narrow, least]);
        all.into_iter().find(|rings| rings.breadth() <= most)
    }
}

/// Builds the court around the vault and the avenues that lead to it. The court is the next room; the avenues follow.
pub(crate) fn build(arena: &mut Arena, vault: Rect, rings: Rings, ground: &Ground, rng: &mut Rng) {
    let event = arena.params.event;
    let band = match rng.weighted(&[event.hedge, event.colonnade, event.moat]) {
        0 => Band::Hedge(ground.cover[rng.index(2)]),
        1 => Band::Colonnade,
        _ => Band::Moat(ground.deep),
    };
    let breadth = rings.breadth();
    let court = Rect {
        left: vault.left - breadth,
        top: vault.top - breadth,
        width: vault.width + 2 * breadth,
        height: vault.height + 2 * breadth,
    };
    carve_rings(arena, vault, court, rings, band);
    let room = arena.rooms.len() - 1;
    for side in Side::ALL {
        lay_avenue(arena, room, court, rings, side);
    }
}

/// Carves the rings.
fn carve_rings(arena: &mut Arena, vault: Rect, court: Rect, rings: Rings, band: Band) {
    let mark = arena.rooms.len() as u8 + 1;
    let (breadth, inner) = (rings.breadth(), rings.plaza + rings.moat);
    let axes = (vault.left + vault.width / 2, vault.top + vault.height / 2);
    let mut area = 0;
    for y in court.top..court.top + court.height {
        let dy = beyond(y, vault.top, vault.height);
        for x in court.left..court.left + court.width {
            let dx = beyond(x, vault.left, vault.width);
            // The outermost corners are cut.
            if (dx, dy) == (0, 0) || dx + dy > breadth + inner {
                continue;
            }
            let at = arena.at(x, y);
            let on_axis = x.abs_diff(axes.0) < rings.scale || y.abs_diff(axes.1) < rings.scale;
            let out = dx.max(dy);
            let in_band = out > rings.plaza && out <= inner;
            arena.terrain[at] = match band {
                Band::Moat(_) if in_band && on_axis => Terrain::Bridge,
                Band::Moat(deep) if in_band => deep,
                Band::Hedge(cover) if in_band && !on_axis => cover,
                Band::Colonnade if in_band && !on_axis && is_pillar(x, y, court, out, rings) => Terrain::Pillar,
                _ => Terrain::Floor,
            };
            arena.region[at] = mark;
            area += u32::from(arena.terrain[at].passable());
        }
    }
    // In the middle of the ring avenue, which holds nothing else.
    let center = arena.at(axes.0, court.top + court.height - 1 - rings.avenue / 2);
    add_room(arena, court, center, area);
}

/// Adds the carved rectangle as a room, and claims it and the cells around it.
fn add_room(arena: &mut Arena, rect: Rect, center: usize, area: u32) {
    let (right, bottom) = (rect.left + rect.width, rect.top + rect.height);
    for y in rect.top - 1..=bottom {
        arena.claimed.insert_run(y, rect.left - 1, right + 1);
    }
    let min = Point { x: rect.left as u16, y: rect.top as u16 };
    let max = Point { x: (right - 1) as u16, y: (bottom - 1) as u16 };
    arena.rooms.push(RoomDraft { role: RoomRole::Passage, ..RoomDraft::new(min, max, center, area) });
}

/// How many cells a coordinate lies outside an interval.
fn beyond(at: usize, first: usize, length: usize) -> usize {
    first.saturating_sub(at).max((at + 1).saturating_sub(first + length))
}

/// Every few cells along the middle of the band.
const fn is_pillar(x: usize, y: usize, court: Rect, out: usize, rings: Rings) -> bool {
    let middle = rings.plaza + rings.moat.div_ceil(2);
    out == middle && (x - court.left).is_multiple_of(SPACING) | (y - court.top).is_multiple_of(SPACING)
}

/// Builds a straight avenue from the middle of the court's side outwards, if there is enough space.
fn lay_avenue(arena: &mut Arena, court_room: usize, court: Rect, rings: Rings, side: Side) {
    let (right, bottom) = (court.left + court.width, court.top + court.height);
    let (column, row) = (court.left + court.width / 2, court.top + court.height / 2);
    let (gate, free) = match side {
        Side::North => (arena.at(column, court.top - 1), court.top - 1),
        Side::South => (arena.at(column, bottom), arena.height - 1 - bottom),
        Side::West => (arena.at(court.left - 1, row), court.left - 1),
        Side::East => (arena.at(right, row), arena.width - 1 - right),
    };
    if free < MIN_FOR_AVENUE || arena.rooms.len() >= MAX_ROOMS {
        return;
    }
    let (length, breadth) = (free * REACH / 100, 2 * rings.scale + 1);
    let (width, height) = if side.is_level() { (length, breadth) } else { (breadth, length) };
    let (left, top) = match side {
        Side::North => (column - rings.scale, court.top - 1 - length),
        Side::South => (column - rings.scale, bottom + 1),
        Side::West => (court.left - 1 - length, row - rings.scale),
        Side::East => (right + 1, row - rings.scale),
    };
    let room = arena.rooms.len();
    for y in top..top + height {
        let first = arena.at(left, y);
        arena.terrain[first..first + width].fill(Terrain::Floor);
        arena.region[first..first + width].fill(room as u8 + 1);
    }
    let center = arena.at(left + width / 2, top + height / 2);
    add_room(arena, Rect { left, top, width, height }, center, (width * height) as u32);
    join(arena, (court_room, room), gate, side, 0, Terrain::Floor);
}
