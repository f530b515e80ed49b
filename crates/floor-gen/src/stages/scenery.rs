//! The inside of rooms: pillars, water, grass, rubble. Scenery never cuts a path: a cell becomes impassable only while
//! its passable neighbours stay connected around it.

use crate::arena::{Arena, RoomDraft, Side};
use crate::floor::{RoomRole, Terrain};
use crate::pack::content::Ground;
use crate::plan::Plan;
use crate::rng::Rng;
use crate::stages::blob::Blob;
use crate::stages::kind_rules::KindRules;

/// Rooms shorter than this hold no rift, in cells.
const MIN_LENGTH_OF_RIFT: usize = 10;

/// Arenas with a shorter side have no pools, in cells; and those for moats and colonnades,
/// and for canals and islands.
const MIN_SIDE_OF_POOLS: usize = 9;
const MIN_SIDE_OF_MOAT: usize = 15;
const MIN_SIDE_OF_CANALS: usize = 11;
/// And those for a pier in each corner beside another feature; how often, in 1,000.
const MIN_SIDE_OF_CORNERS: usize = 24;
const CORNERS: u32 = 500;
/// Twelve points of a circle, in hundredths of its radius.
const AROUND: [(i32, i32); 12] = [
    (100, 0),
    (87, 50),
    (50, 87),
    (0, 100),
    (-50, 87),
    (-87, 50),
    (-100, 0),
    (-87, -50),
    (-50, -87),
    (0, -100),
    (50, -87),
    (87, -50),
];
/// Cells from one pillar of a colonnade to the next.
const SPACING: usize = 7;
/// The least and greatest inner edge of a moat and its breadth, in hundredths of the distance from the middle to the
/// wall; and the edges of a pit and of the middle island, and the least and greatest of the others.
const MOAT: (i32, i32) = (34, 54);
const MOAT_BREADTH: (i32, i32) = (16, 26);
const PIT: i32 = 52;
const ISLAND: i32 = 34;
const ISLET: (i32, i32) = (14, 22);
/// Rock and rooms so near leave the shore of an arena's lake dry, in cells.
const SHORE: usize = 2;

/// Decorates every room by its theme and role.
pub(crate) fn decorate(arena: &mut Arena, plan: &Plan<'_>, rules: &KindRules, rng: &mut Rng) {
    let ground = plan.theme().ground;
    for room in 0..arena.rooms.len() {
        let draft = arena.rooms[room];
        if draft.set_piece || draft.is_decorated {
            continue;
        }
        // Room centers stay passable.
        let was_reserved = arena.is_reserved(draft.center);
        arena.reserve(draft.center);
        match draft.role {
            RoomRole::Boss => decorate_arena(arena, room, &ground, was_reserved, rng),
            RoomRole::Shop | RoomRole::Shrine if rules.is_built => pillars(arena, room),
            _ if draft.area >= arena.params.scenery.least_area => {
                decorate_room(arena, room, &ground, rules.is_built, rng);
            }
            _ => {}
        }
        if !was_reserved {
            // An arena with a pit has another one.
            arena.release(arena.rooms[room].center);
        }
    }
}

/// Gives the room one feature, or none.
fn decorate_room(arena: &mut Arena, room: usize, ground: &Ground, is_built: bool, rng: &mut Rng) {
    let numbers = arena.params.scenery;
    let roomy = arena.rooms[room].area >= numbers.pond_area;
    let mut left = rng.below(100);
    let chances = [numbers.pond, numbers.rift, numbers.pillars, numbers.cover, numbers.second_cover];
    let drawn = chances.iter().position(|&chance| {
        let is_drawn = left < chance;
        left = left.saturating_sub(chance);
        is_drawn
    });
    match drawn {
        Some(0) if roomy => lake(arena, room, ground.deep, rng),
        Some(1) if roomy && is_built => rift(arena, room, ground.deep, rng),
        Some(2) if roomy && is_built => pillars(arena, room),
        Some(3) => patch(arena, room, ground.cover[0], rng),
        Some(4) => patch(arena, room, ground.cover[1], rng),
        _ => {}
    }
}

/// A pond or a pit. Water is shallow at its shore.
fn lake(arena: &mut Arena, room: usize, deep: Terrain, rng: &mut Rng) {
    let blob = within(arena, room, rng);
    if deep == Terrain::DeepWater {
        blob.each(arena, |arena, at| lay(arena, room, at, Terrain::ShallowWater));
    }
    blob.eroded().each(arena, |arena, at| sink(arena, room, at, deep));
}

/// A random outline of about half the room.
fn within(arena: &Arena, room: usize, rng: &mut Rng) -> Blob {
    let draft = &arena.rooms[room];
    let (width, height) = (draft.width() as i32, draft.height() as i32);
    let scenery = arena.params.scenery;
    let reach = (
        rng.range(width / 5, width / 3).clamp(2, scenery.patch_width as i32),
        rng.range(height / 5, height / 3).clamp(1, scenery.patch_height as i32),
    );
    let x = i32::from(draft.min.x) + rng.range(width / 4, 3 * width / 4);
    let y = i32::from(draft.min.y) + rng.range(height / 4, 3 * height / 4);
    Blob::around((x, y), 2 * reach.0 + 1, 2 * reach.1 + 1, rng)
}

/// A rift across the room's short side, with a bridge over it.
fn rift(arena: &mut Arena, room: usize, deep: Terrain, rng: &mut Rng) {
    let draft = arena.rooms[room];
    let lies_broad = draft.width() >= draft.height();
    let (along, across) = if lies_broad { (draft.width(), draft.height()) } else { (draft.height(), draft.width()) };
    if along < MIN_LENGTH_OF_RIFT || across < 5 {
        return;
    }
    let breadth = 2 + rng.index(2);
    let start = along / 3 + rng.index(along / 3);
    let bridge = across / 4 + rng.index(across / 2);
    let row = arena.width;
    let cell = |along: usize, across: usize| {
        let (x, y) = if lies_broad { (along, across) } else { (across, along) };
        (usize::from(draft.min.y) + y) * row + usize::from(draft.min.x) + x
    };
    // The bridge comes first: it keeps the room connected.
    for i in start..start + breadth {
        lay(arena, room, cell(i, bridge), Terrain::Bridge);
    }
    for j in 0..across {
        for i in start..start + breadth {
            sink(arena, room, cell(i, j), deep);
        }
    }
    // Removes bridges that lead over nothing.
    for i in start..start + breadth {
        let at = cell(i, bridge);
        let over = arena.neighbours(at).into_iter().any(|there| arena.terrain[there] == deep);
        if arena.terrain[at] == Terrain::Bridge && !over {
            arena.terrain[at] = Terrain::Floor;
        }
    }
}

/// Two rows of pillars along the room, symmetric from both ends.
fn pillars(arena: &mut Arena, room: usize) {
    let draft = arena.rooms[room];
    let (width, height) = (draft.width(), draft.height());
    if width < 7 || height < 5 {
        return;
    }
    let gap = if (width - 5) % 4 == 0 { 4 } else { 3 };
    for offset in (2..width / 2).step_by(gap) {
        for x in [offset, width - 1 - offset] {
            for y in [1, height - 2] {
                place_pillar(arena, room, usize::from(draft.min.x) + x, usize::from(draft.min.y) + y);
            }
        }
    }
}

/// The arena's feature: one of those that its size allows.
fn decorate_arena(arena: &mut Arena, room: usize, ground: &Ground, has_key: bool, rng: &mut Rng) {
    let draft = arena.rooms[room];
    let least = draft.width().min(draft.height());
    let numbers = arena.params.scenery;
    let sized = |weight: u32, side: usize| if least >= side { weight } else { 0 };
    let weights = [
        sized(numbers.pools, MIN_SIDE_OF_POOLS),
        sized(numbers.moat, MIN_SIDE_OF_MOAT),
        sized(numbers.colonnade, MIN_SIDE_OF_MOAT),
        sized(numbers.chasm, MIN_SIDE_OF_POOLS),
        sized(numbers.canals, MIN_SIDE_OF_CANALS),
        sized(numbers.islands, MIN_SIDE_OF_CANALS),
        // A pit takes the middle, where the key lies.
        if has_key { 0 } else { sized(numbers.pit, MIN_SIDE_OF_CANALS) },
    ];
    let piers_only = weights.iter().all(|&weight| weight == 0);
    let drawn = rng
        .choose(weights.into_iter().chain([numbers.piers.max(piers_only.into())]).enumerate(), |&(_, weight)| weight);
    match drawn.map(|(feature, _)| feature) {
        Some(0) => pools(arena, room, ground.deep, rng),
        Some(1) => moat(arena, room, ground.deep, rng),
        Some(2) => colonnade(arena, room),
        Some(3) => chasm(arena, room, ground.deep, rng),
        Some(4) => canals(arena, room, ground.deep, rng),
        Some(5) => islands(arena, room, ground.deep, rng),
        Some(6) => pit(arena, room, ground.deep, rng),
        _ => return piers(arena, room, (least / 9).clamp(1, 4)),
    }
    if least >= MIN_SIDE_OF_CORNERS && rng.chance(CORNERS) {
        for at in quarters(&draft, 7) {
            pier(arena, room, at, 2);
        }
    }
}

/// Four cells at that part of a room's sides from its corners; the fourth part is in the middle of its quarters.
fn quarters(draft: &RoomDraft, part: usize) -> [(usize, usize); 4] {
    let (width, height) = (draft.width(), draft.height());
    let (left, top) = (usize::from(draft.min.x), usize::from(draft.min.y));
    let (near, far) = ((width / part, height / part), (width - 1 - width / part, height - 1 - height / part));
    [(near.0, near.1), (far.0, near.1), (near.0, far.1), (far.0, far.1)].map(|(x, y)| (left + x, top + y))
}

/// Four pools of impassable ground.
fn pools(arena: &mut Arena, room: usize, deep: Terrain, rng: &mut Rng) {
    let draft = arena.rooms[room];
    let side = |side: usize| (side / 4).max(3) as i32;
    for (x, y) in quarters(&draft, 4) {
        let pool = Blob::around((x as i32, y as i32), side(draft.width()) | 1, side(draft.height()) | 1, rng);
        pool.each(arena, |arena, at| sink(arena, room, at, deep));
    }
}

/// Square piers: twelve around the middle, or four in a small room.
fn piers(arena: &mut Arena, room: usize, side: usize) {
    let draft = arena.rooms[room];
    let (width, height) = (draft.width(), draft.height());
    if width.min(height) < MIN_SIDE_OF_MOAT {
        for at in quarters(&draft, 4) {
            pier(arena, room, at, side);
        }
        return;
    }
    for (x, y) in AROUND {
        let part = |length: usize, part: i32| ((length as i32 - 1) * (100 + part * 2 / 3) / 200) as usize;
        let at = (usize::from(draft.min.x) + part(width, x), usize::from(draft.min.y) + part(height, y));
        pier(arena, room, at, side.min(2));
    }
}

fn pier(arena: &mut Arena, room: usize, (x, y): (usize, usize), side: usize) {
    for i in 0..side * side {
        place_pillar(arena, room, x + i % side - side / 2, y + i / side - side / 2);
    }
}

/// Rows of pillars from wall to wall, except in the middle, where the boss stands.
fn colonnade(arena: &mut Arena, room: usize) {
    let draft = arena.rooms[room];
    let (width, height) = (draft.width(), draft.height());
    let clearing = (width / 5, height / 5);
    // As many as fit, evenly spaced.
    let places = |side: usize| {
        let count = side / SPACING;
        (0..count).map(move |i| (2 * i + 1) * side / (2 * count) - 1)
    };
    for y in places(height) {
        for x in places(width) {
            if x.abs_diff(width / 2) < clearing.0 && y.abs_diff(height / 2) < clearing.1 {
                continue;
            }
            for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                place_pillar(arena, room, usize::from(draft.min.x) + x + dx, usize::from(draft.min.y) + y + dy);
            }
        }
    }
}

/// What a cell of an arena is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Surface {
    Ground,
    Deep,
    Bridge,
}

impl Surface {
    /// Impassable ground, or the bridge over it.
    const fn crossed(bridged: bool) -> Self {
        if bridged { Self::Bridge } else { Self::Deep }
    }
}

/// A cell of an arena, by twice its distances from the middle, so that they are whole numbers.
#[derive(Debug, Clone, Copy)]
struct Place {
    dx: i32,
    dy: i32,
    width: i32,
    height: i32,
}

impl Place {
    /// Whether it lies in the ellipse around the middle whose axes are that part of the arena's sides, in hundredths.
    const fn within(self, part: i32) -> bool {
        self.within_around((0, 0), part)
    }

    /// The same of a rectangle.
    const fn within_box(self, part: i32) -> bool {
        self.dx.abs() * 100 <= self.width * part && self.dy.abs() * 100 <= self.height * part
    }

    /// The same of an ellipse around a cell at those hundredths of the sides from the middle.
    const fn within_around(self, (x, y): (i32, i32), part: i32) -> bool {
        let (a, b) = (self.width * part / 100, self.height * part / 100);
        let (dx, dy) = (self.dx - self.width * x / 100, self.dy - self.height * y / 100);
        (dx * b).pow(2) + (dy * a).pow(2) <= (a * b).pow(2)
    }
}

/// Floods the cells that `surface_of` calls deep, and bridges those that it calls bridges and those that paths need.
fn flood(arena: &mut Arena, room: usize, deep: Terrain, surface_of: impl Fn(&Arena, Place, usize) -> Surface) {
    let draft = arena.rooms[room];
    let (left, top) = (usize::from(draft.min.x), usize::from(draft.min.y));
    let (width, height, row) = (draft.width(), draft.height(), arena.width);
    arena.marks.clear();
    arena.marks.resize(arena.terrain.len(), 0);
    let cells = (0..height).flat_map(|y| (0..width).map(move |x| (x, y, (top + y) * row + left + x)));
    for (x, y, at) in cells.clone() {
        if arena.room_at(at) != Some(room) {
            continue;
        }
        let (width, height) = (width as i32, height as i32);
        let place = Place { dx: 2 * x as i32 - (width - 1), dy: 2 * y as i32 - (height - 1), width, height };
        match surface_of(arena, place, at) {
            Surface::Ground => {}
            Surface::Deep => arena.marks[at] = 1,
            Surface::Bridge => lay(arena, room, at, Terrain::Bridge),
        }
    }
    for (.., at) in cells.clone() {
        if arena.marks[at] == 1 && arena.terrain[at] != deep {
            spread(arena, room, at, deep);
        }
    }
    for (.., at) in cells {
        let is_deep = |near: usize| arena.terrain.get(near) == Some(&deep);
        let over = Side::ALL.into_iter().any(|side| arena.beyond(at, side, 2).any(is_deep));
        match arena.terrain[at] {
            Terrain::Floor if over && arena.marks[at] == 1 => lay(arena, room, at, Terrain::Bridge),
            // It leads over nothing.
            Terrain::Bridge if !over && arena.room_at(at) == Some(room) => arena.terrain[at] = Terrain::Floor,
            _ => {}
        }
    }
}

/// A round or square ring of impassable ground, with bridges from all four sides to its middle.
fn moat(arena: &mut Arena, room: usize, deep: Terrain, rng: &mut Rng) {
    let within = rng.pick(&[Place::within as fn(Place, i32) -> bool, Place::within_box]);
    let inner = rng.range(MOAT.0, MOAT.1);
    let outer = inner + rng.range(MOAT_BREADTH.0, MOAT_BREADTH.1);
    flood(arena, room, deep, |_, place, _| match () {
        () if within(place, inner) || !within(place, outer) => Surface::Ground,
        () => Surface::crossed(place.dx.abs() <= 2 || place.dy.abs() <= 2),
    });
}

/// Impassable ground from wall to wall across the longer side, with one bridge or two. It leaves the middle dry.
fn chasm(arena: &mut Arena, room: usize, deep: Terrain, rng: &mut Rng) {
    let draft = arena.rooms[room];
    let lies_broad = draft.width() >= draft.height();
    let (long, short) = if lies_broad { (draft.width(), draft.height()) } else { (draft.height(), draft.width()) };
    let (long, short) = (long as i32, short as i32);
    let side = if rng.chance(500) { 1 } else { -1 };
    let (line, breadth) = (long * rng.range(25, 40) / 100, (long / 6).max(3));
    let slope = rng.range(-30, 30);
    let bridges = if rng.chance(500) { [0, 0] } else { [short * 45 / 100, -(short * 45 / 100)] };
    flood(arena, room, deep, |_, place, _| {
        let (along, across) = if lies_broad { (place.dx, place.dy) } else { (place.dy, place.dx) };
        match () {
            () if (along * side - line + across * slope / 100).abs() > breadth => Surface::Ground,
            () => Surface::crossed(bridges.into_iter().any(|bridge| (across - bridge).abs() <= 2)),
        }
    });
}

/// Two channels across each other around a dry middle. Each is bridged on both sides of the other.
fn canals(arena: &mut Arena, room: usize, deep: Terrain, rng: &mut Rng) {
    let draft = arena.rooms[room];
    let breadth = (draft.width().min(draft.height()) / 6).clamp(1, 5) as i32;
    let middle = rng.range(28, 36);
    flood(arena, room, deep, |_, place, _| {
        let Place { dx, dy, width, height } = place;
        let bridged = |along: i32, side: i32| (along.abs() - side * 60 / 100).abs() <= 2;
        match (dx.abs() <= breadth, dy.abs() <= breadth) {
            _ if place.within(middle) => Surface::Ground,
            (false, false) => Surface::Ground,
            (true, _) => Surface::crossed(bridged(dy, height)),
            (_, true) => Surface::crossed(bridged(dx, width)),
        }
    });
}

/// A lake with a dry shore and islands: one in the middle, and others at the bridges to it or in the corners.
fn islands(arena: &mut Arena, room: usize, deep: Terrain, rng: &mut Rng) {
    let islet = rng.range(ISLET.0, ISLET.1);
    let others = if rng.chance(500) {
        [(58, 0), (-58, 0), (0, 58), (0, -58)]
    } else {
        [(50, 50), (-50, 50), (50, -50), (-50, -50)]
    };
    let (level, upright) = rng.pick(&[(true, false), (false, true), (true, true)]);
    flood(arena, room, deep, |arena, place, at| match () {
        () if is_shore(arena, room, at) || place.within(ISLAND) => Surface::Ground,
        () if others.into_iter().any(|other| place.within_around(other, islet)) => Surface::Ground,
        () => Surface::crossed(level && place.dy.abs() <= 2 || upright && place.dx.abs() <= 2),
    });
}

/// A round or square pit in the middle. The boss stands beside it.
fn pit(arena: &mut Arena, room: usize, deep: Terrain, rng: &mut Rng) {
    let draft = arena.rooms[room];
    let side = rng.pick(&Side::ALL);
    let length = if side.is_level() { draft.width() } else { draft.height() };
    let middle = arena.at(usize::from(draft.min.x) + draft.width() / 2, usize::from(draft.min.y) + draft.height() / 2);
    let beside = arena.beyond(middle, side, length * PIT as usize / 200 + 2).last();
    if let Some(beside) = beside.filter(|&at| arena.room_at(at) == Some(room)) {
        arena.release(draft.center);
        arena.rooms[room].center = beside;
        arena.reserve(beside);
    }
    let within = rng.pick(&[Place::within as fn(Place, i32) -> bool, Place::within_box]);
    flood(arena, room, deep, |arena, place, at| {
        if within(place, PIT) && !is_shore(arena, room, at) { Surface::Deep } else { Surface::Ground }
    });
}

/// Whether a cell lies near the walls of its room.
fn is_shore(arena: &Arena, room: usize, at: usize) -> bool {
    Side::ALL.into_iter().any(|side| arena.beyond(at, side, SHORE).any(|near| arena.room_at(near) != Some(room)))
}

/// Floods the marked cells that are connected to `start`, outwards from it. Growth from one cell leaves no ridge
/// between two parts.
fn spread(arena: &mut Arena, room: usize, start: usize, deep: Terrain) {
    sink(arena, room, start, deep);
    arena.cell_list.clear();
    arena.cell_list.push(start as u32);
    grow_over(arena, |arena, there| {
        let free = arena.terrain[there] != deep && arena.marks[there] == 1;
        if free {
            sink(arena, room, there, deep);
        }
        free && arena.terrain[there] == deep
    });
}

/// Lists each neighbour of a listed cell that `take` takes, and goes on from there.
pub(crate) fn grow_over(arena: &mut Arena, mut take: impl FnMut(&mut Arena, usize) -> bool) {
    let mut next = 0;
    while let Some(&at) = arena.cell_list.get(next) {
        next += 1;
        for there in arena.neighbours(at as usize) {
            if take(arena, there) {
                arena.cell_list.push(there as u32);
            }
        }
    }
}

/// A connected patch of ground cover; few runs on the wire.
fn patch(arena: &mut Arena, room: usize, cover: Terrain, rng: &mut Rng) {
    within(arena, room, rng).each(arena, |arena, at| {
        if arena.terrain[at] == Terrain::Floor {
            lay(arena, room, at, cover);
        }
    });
}

/// Places a pillar that touches no wall and cuts no path.
fn place_pillar(arena: &mut Arena, room: usize, x: usize, y: usize) {
    let at = arena.at(x, y);
    let free = arena.neighbours(at).into_iter().all(|there| arena.region[there] == arena.region[at]);
    if free && stays_joined(arena, at) {
        lay(arena, room, at, Terrain::Pillar);
    }
}

/// Makes a cell impassable if that cuts no path.
fn sink(arena: &mut Arena, room: usize, at: usize, deep: Terrain) {
    if stays_joined(arena, at) {
        lay(arena, room, at, deep);
    }
}

/// Changes bare ground of the room and nothing else.
fn lay(arena: &mut Arena, room: usize, at: usize, terrain: Terrain) {
    let ground = matches!(arena.terrain[at], Terrain::Floor | Terrain::ShallowWater);
    if ground && arena.room_at(at) == Some(room) && !arena.is_reserved(at) {
        arena.terrain[at] = terrain;
    }
}

/// Whether the passable neighbours of `at` stay connected through the eight cells around it when `at` becomes
/// impassable. Then no path is cut anywhere. This is the test for a simple point of digital topology: Kong and
/// Rosenfeld, "Digital topology: introduction and survey", 1989.
pub(crate) fn stays_joined(arena: &Arena, at: usize) -> bool {
    let mut open = 0u32;
    for (i, there) in arena.ring(at).into_iter().enumerate() {
        // Passable, at least with a key or a search.
        let cell = arena.terrain[there];
        open |= u32::from(cell.passable() || cell.is_door()) << i;
    }
    one_arc(open)
}

/// Whether all open neighbours (even bits) lie in one arc of open cells around the ring of eight.
const fn one_arc(open: u32) -> bool {
    // A corner alone is no arc: nothing walks diagonally. An arc is counted at the neighbour with which it begins,
    // possibly after the corner before it.
    let mut arcs = 0;
    let mut neighbours = 0;
    let mut i = 0;
    while i < 8 {
        if open >> i & 1 == 1 {
            neighbours += 1;
            let corner = open >> ((i + 7) % 8) & 1 == 1;
            let before = open >> ((i + 6) % 8) & 1 == 1;
            if !(corner && before) {
                arcs += 1;
            }
        }
        i += 2;
    }
    neighbours > 0 && arcs <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arc_is_one_when_its_neighbours_meet_around_the_ring() {
        for open in 0..256u32 {
            // Groups the neighbours that are connected through open cells of the ring.
            let mut group: [usize; 8] = core::array::from_fn(|i| i);
            for _ in 0..8 {
                for i in 0..8 {
                    let next = (i + 1) % 8;
                    if open >> i & 1 == 1 && open >> next & 1 == 1 {
                        let least = group[i].min(group[next]);
                        (group[i], group[next]) = (least, least);
                    }
                }
            }
            let mut groups: alloc::vec::Vec<usize> =
                (0..8).step_by(2).filter(|i| open >> i & 1 == 1).map(|i| group[i]).collect();
            groups.sort_unstable();
            groups.dedup();
            assert_eq!(one_arc(open), groups.len() == 1, "{open:08b}");
        }
    }
}
