//! KEEP: a castle. Its family decides what lies within the curtain walls; wards outside of it make each site another.

use crate::arena::{Arena, Plot, Side};
use crate::floor::Terrain;
use crate::pack::content::Ground;
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::shape::{Form, Shape};
use crate::stages::accrete::{RoomParams, place};
use crate::stages::blob::Blob;
use crate::stages::gates::{self, LockCounts};
use crate::stages::kind_rules::KindRules;
use crate::stages::loops::{self, LoopGoal};
use crate::stages::masonry::{
    Masonry, build_block, build_curtain, build_tower, claim, dig_moat, is_free, is_yard, join_all, length, open_yards,
    release_rock, strip,
};
use crate::stages::stairs;
use crate::stages::survey::LayoutRejected;

/// Width of a moat, in cells.
const MOAT: i32 = 3;
/// Least side of a plot that holds a second curtain wall or a motte, in cells.
const LEAST_INNER: i32 = 34;
/// Least side of a castle, and least depth of a ward outside, in cells.
const LEAST_CASTLE: i32 = 22;
const LEAST_WARD: i32 = 7;
/// Least side of a donjon, in cells.
const LEAST_DONJON: i32 = 7;
/// Places tried for a donjon or a turret.
const TRIES: i32 = 12;

pub(crate) const RULES: KindRules = KindRules::BUILT;

/// The walls that rooms lie within: outside, in the outer and in the inner yard, in the donjon.
const OUTSIDE: u8 = 0;
const OUTER: u8 = 1;
const INNER: u8 = 2;
const DONJON: u8 = 3;

/// Where a castle lies.
#[derive(Debug, Clone, Copy)]
struct Site {
    /// The castle with its moat.
    castle: Plot,
    /// The sides with a ward outside.
    wards: [bool; 4],
    has_moat: bool,
}

pub(crate) fn lay_out(arena: &mut Arena, plan: &Plan<'_>, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    let rng = &mut streams.open("castle");
    let masonry = draw_masonry(arena, plan, rng);
    let whole = Plot { x: 1, y: 1, width: arena.width as i32 - 2, height: arena.height as i32 - 2 };
    let site = draw_site(arena, whole, rng);
    let motte = if is_small(arena) {
        build_block(arena, whole, &masonry, OUTER, rng);
        None
    } else {
        raise_crags(arena, rng);
        let motte = build_castle(arena, &site, &masonry, streams, rng);
        build_turrets(arena, plan, &masonry, rng);
        open_wards(arena, whole, &site, &masonry, rng);
        motte
    };
    release_rock(arena);
    join_all(arena, &mut streams.open("ways"))?;
    let ends = stairs::own(arena, plan, &mut streams.open("stairs"), |_| true)?;
    let ground = &plan.theme().ground;
    dig_moats(arena, &site, motte, ground.deep);
    cover_yards(arena, ground, &mut streams.open("yards"));
    gates::place_locks(arena, ends, LockCounts::for_rooms(arena, plan), &mut streams.open("locks"))?;
    let numbers = arena.params.keep;
    let params = RoomParams { corridor: 5, door_chance: 950, ..RoomParams::of(arena) };
    let goal = LoopGoal {
        loops: (arena.rooms.len() / numbers.rooms_per_loop as usize).max(1),
        detour: numbers.detour,
        tries: 3 * arena.rooms.len(),
    };
    let rng = &mut streams.open("loops");
    if loops::add_loops(arena, &params, goal, rng) == 0 {
        loops::add_loops(arena, &RoomParams { corridor: 14, ..params }, LoopGoal { loops: 1, ..goal }, rng);
    }
    Ok(())
}

/// Whether the floor has space for one block of rooms only.
fn is_small(arena: &Arena) -> bool {
    arena.width.min(arena.height) < arena.params.keep.least_side as usize
}

/// The measures of the castle. Its number of rooms differs from floor to floor, and their size with it.
fn draw_masonry(arena: &Arena, plan: &Plan<'_>, rng: &mut Rng) -> Masonry {
    let numbers = arena.params.keep;
    let cells = arena.width * arena.height;
    let spread = numbers.spread as i32;
    let of_a_room = numbers.cells as i32 * rng.range(100 - spread, 100 + spread) / 100;
    let of_a_room = (arena.scaled(of_a_room as usize) as i32).max(40);
    let pitch = of_a_room.isqrt();
    let tower = pitch * rng.range(numbers.tower_least as i32, numbers.tower_most as i32) / 100;
    Masonry {
        rooms: cells / of_a_room as usize,
        room: (of_a_room / 4).max(16),
        tower: tower.clamp(3, 13),
        stairs: [plan.arrival, plan.departure],
        form: rng.pick(&[Form::Rotunda, Form::Octagon, Form::Hall]),
        spacing: (pitch * rng.range(90, 170) / 100).max(9),
        passage: (pitch / 8).min(numbers.passage as i32),
        stone: if pitch < 14 { 1 } else { rng.range(1, numbers.stone as i32) },
    }
}

/// Where the castle lies. It leaves rock on some sides of the floor, and a ward outside on up to two.
fn draw_site(arena: &Arena, whole: Plot, rng: &mut Rng) -> Site {
    let numbers = arena.params.keep;
    let mut site = Site { castle: whole, wards: [false; 4], has_moat: rng.chance(numbers.moat) };
    let first = rng.index(4);
    for (i, side) in Side::ALL.into_iter().cycle().skip(first).take(if is_small(arena) { 0 } else { 4 }).enumerate() {
        // Two wards lie across from each other: on two sides of a corner they would be one in the form of an L.
        let is_ward = i % 2 == 0 && rng.chance(numbers.ward);
        let share = match is_ward {
            true => (numbers.ward_least, numbers.ward_most),
            false if rng.chance(numbers.rock) => (numbers.rock_least, numbers.rock_most),
            false => (0, 0),
        };
        let deep = length(whole, across(side));
        let free = length(site.castle, across(side)) - LEAST_CASTLE;
        let taken = (deep * rng.range(share.0 as i32, share.1 as i32) / 100).min(free).max(0);
        site.castle = without(site.castle, side, taken);
        site.wards[side as usize] = is_ward && taken >= LEAST_WARD;
    }
    site
}

/// Keeps parts of the rock free of everything.
fn raise_crags(arena: &mut Arena, rng: &mut Rng) {
    let numbers = arena.params.keep;
    for _ in 0..rng.range(0, numbers.crags as i32) {
        let side = |side: usize, rng: &mut Rng| {
            side as i32 * rng.range(numbers.crag_least as i32, numbers.crag_most as i32) / 100
        };
        let (width, height) = (side(arena.width, rng), side(arena.height, rng));
        let at = (rng.range(1, arena.width as i32 - 2), rng.range(1, arena.height as i32 - 2));
        Blob::around(at, width, height, rng).each(arena, |arena, at| {
            let (x, y) = (arena.column(at), arena.row(at));
            arena.claimed.insert(x, y);
        });
    }
}

/// A side across from that one.
const fn across(side: Side) -> Side {
    if side.is_level() { Side::North } else { Side::West }
}

/// The plot without so many cells on one side.
const fn without(plot: Plot, side: Side, by: i32) -> Plot {
    strip(plot, side, (0, length(plot, side)), (by, length(plot, across(side)) - by))
}

/// Builds what lies within the castle's plot. Returns the plot of the motte, if it has one.
fn build_castle(
    arena: &mut Arena,
    site: &Site,
    masonry: &Masonry,
    streams: &Streams<'_>,
    rng: &mut Rng,
) -> Option<Plot> {
    let numbers = arena.params.keep;
    let mut face = site.castle;
    for side in Side::ALL {
        let is_ward = site.wards[side as usize];
        let moat = if is_ward && site.has_moat { MOAT + 1 } else { 0 };
        face = without(face, side, moat.max((masonry.tower - masonry.thick()) / 2).max(0) + rng.range(0, 2));
    }
    let towards = |rng: &mut Rng| {
        Side::ALL.into_iter().find(|&side| site.wards[side as usize]).unwrap_or_else(|| rng.pick(&Side::ALL))
    };
    let gate = towards(rng);
    let is_roomy = face.width.min(face.height) >= LEAST_INNER;
    let wide = |weight: u32| if is_roomy { weight } else { 0 };
    let families = [
        ("spur", numbers.spur),
        ("concentric", wide(numbers.concentric)),
        ("motte", wide(numbers.motte)),
        ("palace", numbers.palace),
    ];
    match streams.draw(rng, "family", families) {
        1 => build_concentric(arena, face, masonry, gate, rng),
        2 => return Some(build_motte(arena, face, masonry, gate, rng)),
        3 => build_palace(arena, face, masonry, rng),
        _ => build_spur(arena, face, masonry, gate, rng),
    }
    None
}

/// A court within a curtain wall, with buildings along it.
fn build_court(
    arena: &mut Arena,
    face: Plot,
    masonry: &Masonry,
    (ward, gate): (u8, Side),
    has_donjon: bool,
    rng: &mut Rng,
) {
    let court = build_curtain(arena, face, masonry, ward, gate, rng);
    if has_donjon {
        build_donjon(arena, court, masonry, rng);
    }
    build_ranges(arena, court, masonry, ward, rng);
    open_yards(arena, court, ward, |_| (0, i32::MAX));
}

/// Up to three courts in a row, each within its own curtain wall and as wide as chance has it. The donjon stands in
/// the last.
fn build_spur(arena: &mut Arena, face: Plot, masonry: &Masonry, gate: Side, rng: &mut Rng) {
    let deep = length(face, across(gate));
    let courts = rng.range(1, (deep / LEAST_CASTLE).clamp(1, 3));
    let mut rest = face;
    for left in (1..=courts).rev() {
        let deep = length(rest, across(gate));
        let share = if left == 1 { 100 } else { rng.range(70, 130) / left };
        let mut court = strip(rest, gate, (0, length(rest, gate)), (0, deep * share / 100));
        for side in Side::ALL.into_iter().filter(|side| side.is_level() != gate.is_level()) {
            let free = length(court, gate) - LEAST_CASTLE;
            let narrow = if rng.chance(500) { length(face, gate) * rng.range(5, 40) / 100 } else { 0 };
            court = without(court, side, narrow.min(free).max(0));
        }
        build_court(arena, court, masonry, (if left == 1 { INNER } else { OUTER }, gate), left == 1, rng);
        // Neighbouring courts share a wall.
        rest = without(rest, gate, deep * share / 100 - masonry.thick());
    }
}

/// A second curtain wall within the first. The gates lie on different sides.
fn build_concentric(arena: &mut Arena, face: Plot, masonry: &Masonry, gate: Side, rng: &mut Rng) {
    let outer = build_curtain(arena, face, masonry, OUTER, gate, rng);
    let share = |side: i32, rng: &mut Rng| side * rng.range(48, 70) / 100;
    let (width, height) = (share(outer.width, rng), share(outer.height, rng));
    let x = outer.x + rng.range(4, outer.width - width - 4);
    let y = outer.y + rng.range(4, outer.height - height - 4);
    let solid = Masonry { passage: 0, tower: (masonry.tower * 3 / 4).max(3), ..*masonry };
    let others = Side::ALL.map(|side| if side == gate { gate.opposite() } else { side });
    let second = rng.pick(&others);
    build_court(arena, Plot { x, y, width, height }, &solid, (INNER, second), true, rng);
    claim(arena, Plot { x, y, width, height });
    build_ranges(arena, outer, masonry, OUTER, rng);
    open_yards(arena, outer, OUTER, |_| (0, i32::MAX));
}

/// A round motte with a tower, in a moat, at one end; an oval or a walled bailey beside it. Returns the motte's plot.
fn build_motte(arena: &mut Arena, face: Plot, masonry: &Masonry, gate: Side, rng: &mut Rng) -> Plot {
    let side = match face.width.abs_diff(face.height) > face.width.min(face.height).unsigned_abs() / 3 {
        true if face.width > face.height => rng.pick(&[Side::East, Side::West]),
        true => rng.pick(&[Side::North, Side::South]),
        false => gate.opposite(),
    };
    let (wide_side, deep) = (length(face, side), length(face, across(side)));
    let wide = (wide_side.min(deep) * rng.range(34, 48) / 100).min(60);
    let motte = strip(face, side, (rng.range(0, wide_side - wide), wide), (0, wide));
    let tower = Masonry { tower: (wide * 2 / 5).max(4), form: Form::Rotunda, ..*masonry };
    let (x, y) = (motte.x + wide / 2, motte.y + wide / 2);
    build_tower(arena, (x, y), &tower, DONJON, rng);
    let top = motte.inset(MOAT + 2);
    open_yards(arena, top, INNER, |y| oval(top, y));
    for y in motte.y..motte.y + motte.height {
        let (from, to) = oval(motte, y);
        claim(arena, Plot { x: from, y, width: to - from, height: 1 });
    }
    let bailey = without(face, side, wide * rng.range(45, 85) / 100);
    let narrow = rng.pick(&if side.is_level() { [Side::North, Side::South] } else { [Side::East, Side::West] });
    let bailey = without(bailey, narrow, wide_side * rng.range(0, 18) / 100);
    if rng.chance(500) {
        build_court(arena, bailey, masonry, (OUTER, gate), true, rng);
    } else {
        build_oval(arena, bailey, masonry, rng);
    }
    motte
}

/// An oval yard with towers around it.
fn build_oval(arena: &mut Arena, plot: Plot, masonry: &Masonry, rng: &mut Rng) {
    let rows = (plot.height / masonry.spacing).max(2);
    for row in 0..=rows {
        let y = plot.y + plot.height * (2 * row + 1) / (2 * rows + 2);
        let (from, to) = oval(plot, y);
        for x in [from, to] {
            build_tower(arena, (x, y), masonry, OUTER, rng);
        }
    }
    let quarter = plot.inset(plot.width.min(plot.height) / 6);
    build_houses(arena, quarter, masonry, OUTER, rng);
    open_yards(arena, plot, OUTER, |y| oval(plot, y));
}

/// The columns of an ellipse in a row of its plot.
const fn oval(plot: Plot, y: i32) -> (i32, i32) {
    let (width, height) = (plot.width, plot.height);
    let dy = 2 * (y - plot.y) + 1 - height;
    if dy.abs() >= height {
        return (plot.x + width / 2, plot.x + width / 2);
    }
    let wide = (width * width / height * (height * height - dy * dy) / height).isqrt();
    (plot.x + (width - wide) / 2, plot.x + (width + wide) / 2)
}

/// Ranges of rooms around courts.
fn build_palace(arena: &mut Arena, face: Plot, masonry: &Masonry, rng: &mut Rng) {
    let deep = (masonry.room.isqrt() * rng.range(75, 130) / 100).min(face.width.min(face.height) / 3).max(4);
    for side in [Side::North, Side::South] {
        build_block(arena, strip(face, side, (0, face.width), (0, deep)), masonry, OUTER, rng);
    }
    for side in [Side::West, Side::East] {
        let along = (deep + 1, face.height - 2 * deep - 2);
        build_block(arena, strip(face, side, along, (0, deep)), masonry, OUTER, rng);
    }
    let courts = rng.range(3, 7);
    let least = (face.width * face.height / courts / 2).max(64);
    divide_court(arena, face.inset(deep + 1), deep, least, masonry, rng);
    open_yards(arena, face, OUTER, |_| (0, i32::MAX));
}

/// Divides a court by a range of rooms, until courts are small. Some are built over.
fn divide_court(arena: &mut Arena, court: Plot, deep: i32, least: i32, masonry: &Masonry, rng: &mut Rng) {
    let (side, far) = if court.width >= court.height { (Side::West, court.width) } else { (Side::North, court.height) };
    let free = far - deep - 2;
    if court.width * court.height < 2 * least || free < 2 * deep.max(6) {
        if rng.chance(180) && court.width * court.height < 2 * least {
            build_block(arena, court, masonry, INNER, rng);
        }
        return;
    }
    let first = free * rng.range(34, 66) / 100;
    let along = (0, length(court, side));
    build_block(arena, strip(court, side, along, (first + 1, deep)), masonry, OUTER, rng);
    divide_court(arena, strip(court, side, along, (0, first)), deep, least, masonry, rng);
    divide_court(arena, strip(court, side, along, (first + deep + 2, free - first)), deep, least, masonry, rng);
}

/// A block of rooms behind thick walls, in the court or against its wall.
fn build_donjon(arena: &mut Arena, court: Plot, masonry: &Masonry, rng: &mut Rng) {
    for tried in 0..TRIES {
        // Each try draws a smaller one.
        let side = |side: i32, rng: &mut Rng| (side * (rng.range(28, 50) - 2 * tried) / 100).max(LEAST_DONJON);
        let (width, height) = (side(court.width, rng), side(court.height, rng));
        let x = court.x + rng.range(0, court.width - width);
        let y = court.y + rng.range(0, court.height - height);
        let plot = Plot { x, y, width, height };
        let wall = if tried < TRIES / 2 { 2 } else { 0 };
        if is_free(arena, plot.inset(-wall)) {
            build_block(arena, plot, masonry, DONJON, rng);
            claim(arena, plot.inset(-wall));
            return;
        }
    }
}

/// Builds rooms along the inside of a court's walls, until there are enough.
fn build_ranges(arena: &mut Arena, court: Plot, masonry: &Masonry, ward: u8, rng: &mut Rng) {
    let share = arena.params.keep.court as i32;
    let mut left = court.width * court.height * rng.range(share / 3, share) / 100;
    let deep = masonry.room.isqrt();
    for _ in 0..2 * masonry.rooms {
        if left <= 0 {
            return;
        }
        let side = rng.pick(&Side::ALL);
        let far = length(court, side);
        let taken = (deep * rng.range(80, 320) / 100).min(far);
        let depth = (deep * rng.range(60, 130) / 100).max(3);
        let plot = strip(court, side, (rng.range(0, far - taken), taken), (0, depth));
        if is_free(arena, plot) {
            build_block(arena, plot, masonry, ward, rng);
            left -= taken * depth;
        }
    }
}

/// Builds houses that stand free.
fn build_houses(arena: &mut Arena, plot: Plot, masonry: &Masonry, ward: u8, rng: &mut Rng) {
    let deep = masonry.room.isqrt();
    for _ in 0..plot.width * plot.height / (masonry.room * 3) {
        let side = |rng: &mut Rng| (deep * rng.range(60, 190) / 100).max(3);
        let (width, height) = (side(rng), side(rng));
        let x = plot.x + rng.range(0, plot.width - width);
        let y = plot.y + rng.range(0, plot.height - height);
        let house = Plot { x, y, width, height };
        if arena.rooms.len() < masonry.rooms + masonry.rooms / 4 && is_free(arena, house.inset(-1)) {
            build_block(arena, house, masonry, ward, rng);
        }
    }
}

/// Builds a turret around the stairs down where they would lie in a yard, and around every other stairs up.
fn build_turrets(arena: &mut Arena, plan: &Plan<'_>, masonry: &Masonry, rng: &mut Rng) {
    for (cell, chance) in [(plan.departure, 1_000), (plan.arrival, 500)] {
        if arena.claimed.contains(cell.x.into(), cell.y.into()) || !rng.chance(chance) {
            continue;
        }
        for _ in 0..TRIES {
            let side = |rng: &mut Rng| rng.range(3, masonry.tower.max(5));
            let (width, height) = (side(rng), side(rng));
            let shape = Shape::draw(masonry.form, width, height, rng);
            if let Some((x, y)) = stairs::place_around(arena, &shape, cell, rng) {
                let _ = place(arena, &shape, x as usize, y as usize);
                break;
            }
        }
    }
}

/// Cells between the castle and that side of the floor.
const fn outside(whole: Plot, castle: Plot, side: Side) -> i32 {
    match side {
        Side::North => castle.y - whole.y,
        Side::West => castle.x - whole.x,
        Side::South => whole.y + whole.height - castle.y - castle.height,
        Side::East => whole.x + whole.width - castle.x - castle.width,
    }
}

/// Makes wards of what the castle leaves of the floor, with houses in them.
fn open_wards(arena: &mut Arena, whole: Plot, site: &Site, masonry: &Masonry, rng: &mut Rng) {
    if !site.wards.contains(&true) {
        return;
    }
    // Their outline is ragged.
    for side in Side::ALL {
        let mut deep = 1;
        for along in 0..length(whole, side) {
            deep = (deep + rng.range(-1, 1)).clamp(0, 5);
            claim(arena, strip(whole, side, (along, 1), (0, deep)));
        }
    }
    for side in Side::ALL.into_iter().filter(|&side| site.wards[side as usize]) {
        let ward = strip(whole, side, (0, length(whole, side)), (0, outside(whole, site.castle, side)));
        build_houses(arena, ward.inset(2), masonry, OUTSIDE, rng);
        open_yards(arena, ward, OUTSIDE, |_| (0, i32::MAX));
    }
}

/// Floods the moats of the castle and its motte.
fn dig_moats(arena: &mut Arena, site: &Site, motte: Option<Plot>, deep: Terrain) {
    for side in Side::ALL.into_iter().filter(|&side| site.has_moat && site.wards[side as usize]) {
        let moat = strip(site.castle, side, (0, length(site.castle, side)), (0, MOAT));
        let end = moat.x + moat.width;
        dig_moat(arena, moat, deep, |_| [(moat.x, end), (end, end)]);
    }
    if let Some(outer) = motte {
        let inner = outer.inset(MOAT);
        dig_moat(arena, outer, deep, |y| [oval(outer, y), oval(inner, y)]);
    }
}

/// Covers parts of the yards with the theme's ground.
fn cover_yards(arena: &mut Arena, ground: &Ground, rng: &mut Rng) {
    for room in 0..arena.rooms.len() {
        let draft = arena.rooms[room];
        let patches = if is_yard(&draft) { 1 + draft.area / 700 } else { 0 };
        for _ in 0..patches.min(12) {
            let x = rng.range(draft.min.x.into(), draft.max.x.into());
            let y = rng.range(draft.min.y.into(), draft.max.y.into());
            let cover = ground.cover[rng.index(2)];
            let blob = Blob::around((x, y), rng.range(5, 22), rng.range(4, 14), rng);
            blob.each(arena, |arena, at| {
                if arena.room_at(at) == Some(room) && arena.terrain[at] == Terrain::Floor {
                    arena.terrain[at] = cover;
                }
            });
        }
    }
}
