//! Furniture: each room becomes a place, by its role, kind, theme and size. A set of the pack says what stands there
//! and how. Like scenery, furniture cuts no path; it also leaves the ways out of a room free.

use crate::arena::{Arena, MAX_ROOMS, RoomDraft, Side};
use crate::floor::{Furniture, Point, Terrain};
use crate::mask::Mask;
use crate::pack::MAX_SETS;
use crate::pack::content::{FurnitureSet, Ground, How, Layer, Motif, NameId, Put};
use crate::plan::Plan;
use crate::rng::Rng;
use crate::stages::kind_rules::KindRules;
use crate::stages::scenery::stays_joined;
use crate::stages::spots::distance;

/// A square of plain floor with this side may get something.
const SQUARE: usize = 9;
/// How often it does in rooms of more cells than that, in thousandths: some floor of great rooms stays free.
const FILLED: u32 = 750;
const GREAT: u32 = 300;
/// Cells tried for a motif of a square, and for one in the middle of a room.
const TRIES: usize = 4;
/// Cells of a plot along each side, and of the alley between two. Great rooms hold rows in plots: an even lattice over a
/// whole ward looks like noise.
const PLOT: i32 = 12;
const ALLEY: i32 = 6;
/// Steps that a corner's motif may move inwards.
const INWARD: i32 = 6;
/// What blocks takes at most one in so many cells of a room: a fight needs space.
const CELLS_PER_BLOCK: u32 = 7;
/// Cells of a room for each piece that it holds, besides some that every room may hold.
const CELLS_PER_PIECE: u32 = 28;
const LEAST_PIECES: u32 = 2;
/// The most patches of a layer.
const MOST_CLUSTERS: u32 = 4;
/// After so many rooms of one set, a further one does not make it less likely.
const REPEATED: u32 = 5;

/// Furnishes all rooms but those of vaults, then most squares that are still bare.
pub(crate) fn furnish(arena: &mut Arena, plan: &Plan<'_>, rules: &KindRules, rng: &mut Rng) {
    let sets = &plan.content.furniture;
    // The sets for floors of that kind and theme, a bit each.
    let fitting = (0..).zip(sets).fold(0, |bits, (i, set)| bits | u128::from(set.is_for(plan, rules)) << i);
    if fitting == 0 {
        return;
    }
    let (mut used, mut chosen) = ([0; MAX_SETS], [None; MAX_ROOMS]);
    // The weights of all sets, and those that suit a room with the sums of the weights before.
    let mut weights = [0; MAX_SETS];
    sets.iter().zip(&mut weights).for_each(|(set, weight)| *weight = 12 * set.weight);
    let mut drawn_from = [(0, 0); MAX_SETS];
    for (room, chosen) in chosen.iter_mut().enumerate().take(arena.rooms.len()) {
        let draft = arena.rooms[room];
        if draft.set_piece || !rng.chance(arena.params.scenery.furnished) {
            continue;
        }
        let is_landmark = arena.landmark == Some(room as u8);
        // The sets that suit the room, and their weights. Those for landmarks go before all others.
        let (mut count, mut sum, mut for_landmarks) = (0, 0, false);
        let mut those = fitting & plan.content.sets_of_role[draft.role as usize];
        while those != 0 {
            let i = those.trailing_zeros() as usize;
            those &= those - 1;
            let set = &sets[i];
            if set.landmark && !is_landmark || for_landmarks && !set.landmark || !set.suits(&draft) {
                continue;
            }
            if set.landmark && !for_landmarks {
                (for_landmarks, count, sum) = (true, 0, 0);
            }
            sum += weights[i];
            (drawn_from[count], count) = ((i, sum), count + 1);
        }
        let drawn = rng.below(sum);
        let Some(&(i, _)) = drawn_from[..count].iter().find(|(_, sum)| drawn < *sum) else { continue };
        used[i] = (used[i] + 1).min(REPEATED);
        weights[i] = 12 * sets[i].weight / (1 + 2 * used[i]);
        *chosen = Some(i as u8);
        arena.rooms[room].set = Some(sets[i].name);
        Place::new(arena, plan, room).furnish(&sets[i], rng);
    }
    fill(arena, plan, rules, |room| chosen[room].map(|i| &sets[usize::from(i)]), rng);
    sort(arena, plan);
}

/// Sorts the furniture by the name of its type, then by row and column. Numbers are sorted faster than pieces.
fn sort(arena: &mut Arena, plan: &Plan<'_>) {
    let Arena { furniture, keys, .. } = arena;
    keys.clear();
    keys.extend(furniture.iter().map(|&Furniture { at, archetype: NameId(id) }| {
        let rank = plan.content.ranks[usize::from(id)];
        [rank, at.y, at.x, id].into_iter().fold(0, |key, part| key << 16 | u64::from(part))
    }));
    keys.sort_unstable();
    for (piece, &key) in furniture.iter_mut().zip(&*keys) {
        let at = Point { x: (key >> 16) as u16, y: (key >> 32) as u16 };
        *piece = Furniture { archetype: NameId(key as u16), at };
    }
}

impl FurnitureSet {
    /// Whether it is for floors of that kind and theme.
    fn is_for(&self, plan: &Plan<'_>, rules: &KindRules) -> bool {
        self.kinds >> plan.spec.kind() as u16 & 1 == 1
            && self.theme_bits >> plan.theme & 1 == 1
            && self.built.is_none_or(|built| built == rules.is_built)
    }

    /// Whether it is for rooms of that size.
    fn suits(&self, room: &RoomDraft) -> bool {
        (self.area.0..=self.area.1).contains(&room.area) && room.width().min(room.height()) >= self.side as usize
    }
}

/// How a motif lies: transposed or not, then mirrored.
#[derive(Debug, Clone, Copy)]
struct Turn {
    transposed: bool,
    across: bool,
    down: bool,
}

impl Turn {
    const NONE: Self = Self { transposed: false, across: false, down: false };

    fn draw(rng: &mut Rng) -> Self {
        let bits = rng.below(8);
        Self { transposed: bits & 1 == 1, across: bits & 2 == 2, down: bits & 4 == 4 }
    }

    const fn size(self, motif: &Motif) -> (i32, i32) {
        if self.transposed { (motif.height, motif.width) } else { (motif.width, motif.height) }
    }
}

/// A room that is furnished.
struct Place<'a> {
    arena: &'a mut Arena,
    ground: Ground,
    room: usize,
    /// Cells that may still be blocked, and pieces that may still stand.
    blocks: u32,
    pieces: u32,
}

impl<'a> Place<'a> {
    fn new(arena: &'a mut Arena, plan: &Plan<'_>, room: usize) -> Self {
        let area = arena.rooms[room].area;
        let (blocks, pieces) = (area / CELLS_PER_BLOCK, LEAST_PIECES + area / CELLS_PER_PIECE);
        Self { arena, ground: plan.theme().ground, room, blocks, pieces }
    }

    fn draft(&self) -> RoomDraft {
        self.arena.rooms[self.room]
    }

    /// Places all layers of a set.
    fn furnish(&mut self, set: &FurnitureSet, rng: &mut Rng) {
        for layer in &set.layers {
            match layer.how {
                How::Rows => self.rows(layer, rng),
                How::Walls => self.walls(layer, &Side::ALL, rng),
                How::Sides | How::Ends => {
                    let draft = self.draft();
                    let is_level = (draft.width() >= draft.height()) == (layer.how == How::Sides);
                    let sides = if is_level { [Side::North, Side::South] } else { [Side::East, Side::West] };
                    self.walls(layer, &sides, rng);
                }
                How::Middle => self.middle(&layer.motif, rng),
                How::Corners => self.corners(layer, rng),
                How::Clusters => {
                    for _ in 0..(self.draft().area / layer.per).clamp(1, MOST_CLUSTERS) {
                        self.cluster(layer, rng);
                    }
                }
                How::Scatter => {
                    for _ in 0..(self.draft().area / layer.per).clamp(1, self.pieces.max(1)) {
                        let cell = self.random_cell(rng);
                        self.put_one(cell, &layer.motif, rng);
                    }
                }
            }
        }
    }

    /// Copies of a motif that the room still holds, a few at least.
    fn copies(&self, motif: &Motif, least: u32) -> i32 {
        (self.pieces / motif.pieces.max(1)).max(least) as i32
    }

    /// Copies side by side, around the middle of the room. Rows lie along its longer side. In great rooms they stand in
    /// plots, the same ones on both sides of the middle.
    fn rows(&mut self, layer: &Layer, rng: &mut Rng) {
        let (draft, motif) = (self.draft(), &layer.motif);
        let turn = Turn { transposed: draft.height() > draft.width(), ..Turn::NONE };
        let (width, height) = turn.size(motif);
        let spare = if turn.transposed { (motif.spare.1, motif.spare.0) } else { motif.spare };
        let copies = self.copies(motif, 2);
        let (mut columns, mut rows) =
            (Spread::in_plots(draft.width(), width, spare.0), Spread::in_plots(draft.height(), height, spare.1));
        if columns.plots() * rows.plots() == 1 {
            // A room of one plot has wider aisles instead of fewer plots.
            while columns.count * rows.count > copies {
                let wider = if rows.count == 1 || columns.count > 1 && columns.pitch <= rows.pitch {
                    &mut columns
                } else {
                    &mut rows
                };
                wider.widen();
            }
        }
        // By their distance from the nearest edges, a bit each.
        let share = (1_000 * copies / (columns.count * rows.count).max(1)) as u32;
        let mut standing = 0u64;
        let last_column = columns.last_orbit();
        for plot in (0..=rows.last_orbit()).flat_map(|y| (0..=last_column).map(move |x| 8 * y + x)) {
            standing |= u64::from(share >= 1_000 || rng.chance(share)) << plot;
        }
        if standing == 0 {
            standing = 1 << (8 * rows.last_orbit() + columns.last_orbit());
        }
        let (left, top) = (i32::from(draft.min.x), i32::from(draft.min.y));
        for (column, row) in (0..rows.count).flat_map(|row| (0..columns.count).map(move |column| (column, row))) {
            let is_standing = standing >> (8 * rows.orbit(row) + columns.orbit(column)) & 1 == 1;
            if is_standing && (layer.share == 100 || rng.chance(10 * layer.share)) {
                self.stamp(motif, turn, (left + columns.at(column), top + rows.at(row)));
            }
        }
    }

    /// Copies along the outermost walls, around the middle of each.
    fn walls(&mut self, layer: &Layer, sides: &[Side], rng: &mut Rng) {
        let (draft, motif) = (self.draft(), &layer.motif);
        let [left, right] = [draft.min.x, draft.max.x].map(i32::from);
        let [top, bottom] = [draft.min.y, draft.max.y].map(i32::from);
        let copies = self.copies(motif, 2 * sides.len() as u32) / sides.len() as i32;
        for &side in sides {
            let length = if side.is_level() { draft.height() } else { draft.width() };
            let spread = Spread::along(length, motif.width, motif.spare.0, copies);
            for copy in 0..spread.count {
                if layer.share < 100 && !rng.chance(10 * layer.share) {
                    continue;
                }
                let start = spread.at(copy);
                self.stamp_by(motif, |place, along, depth| {
                    let along = start + along;
                    let (x, y) = match side {
                        Side::North => (left + along, top + depth),
                        Side::South => (left + along, bottom - depth),
                        Side::West => (left + depth, top + along),
                        Side::East => (right - depth, top + along),
                    };
                    let at = place.free_at((x, y))?;
                    let behind = at.wrapping_add_signed(place.arena.step(side));
                    let is_backed = depth > 0 || place.arena.terrain[behind] == Terrain::Wall;
                    is_backed.then_some(at)
                });
            }
        }
    }

    /// One copy in the middle, or near it.
    fn middle(&mut self, motif: &Motif, rng: &mut Rng) {
        let (draft, turn) = (self.draft(), Turn::draw(rng));
        let (width, height) = turn.size(motif);
        let around = |x: i32, y: i32| (x - width / 2, y - height / 2);
        let corner = (i32::from(draft.min.x), i32::from(draft.min.y));
        let first = (corner.0 + (draft.width() as i32 - width) / 2, corner.1 + (draft.height() as i32 - height) / 2);
        let center = self.arena.point(draft.center);
        // The center may move, so it takes no space.
        self.arena.rooms[self.room].center = 0;
        let _ = self.stamp(motif, turn, first)
            || self.stamp(motif, turn, around(center.x.into(), center.y.into()))
            || (0..TRIES).any(|_| {
                let (x, y) = self.random_cell(rng);
                self.stamp(motif, turn, around(x, y))
            });
        self.arena.rooms[self.room].center = draft.center;
        if !self.arena.terrain[draft.center].passable() {
            self.move_center();
        }
    }

    /// Moves the room's center to the nearest passable cell.
    fn move_center(&mut self) {
        let draft = self.draft();
        let arena = &*self.arena;
        let columns = usize::from(draft.min.x)..=usize::from(draft.max.x);
        let rows = usize::from(draft.min.y)..=usize::from(draft.max.y);
        let cells = rows.flat_map(|y| columns.clone().map(move |x| arena.at(x, y)));
        let standing = cells.filter(|&at| arena.region[at] == self.mark() && arena.terrain[at].passable());
        if let Some(near) = standing.min_by_key(|&at| distance(arena, at, draft.center)) {
            self.arena.rooms[self.room].center = near;
        }
    }

    /// A copy in each corner, mirrored; where the corner is cut off, further in.
    fn corners(&mut self, layer: &Layer, rng: &mut Rng) {
        let (draft, motif) = (self.draft(), &layer.motif);
        if 2 * self.pieces < motif.pieces {
            return;
        }
        let transposed = rng.chance(500);
        for (across, down) in [(false, false), (true, false), (false, true), (true, true)] {
            if layer.share < 100 && !rng.chance(10 * layer.share) {
                continue;
            }
            let turn = Turn { transposed, across, down };
            let (width, height) = turn.size(motif);
            let place = |min: u16, max: u16, far: bool, side: i32, inward: i32| {
                let inset = i32::from(max - min + 1) * layer.inset as i32 / 100 + inward;
                if far { i32::from(max) - inset - side + 1 } else { i32::from(min) + inset }
            };
            let _ = (0..INWARD).any(|inward| {
                let x = place(draft.min.x, draft.max.x, across, width, inward);
                let y = place(draft.min.y, draft.max.y, down, height, inward);
                self.stamp(motif, turn, (x, y))
            });
        }
    }

    /// A patch whose cells are drawn from those of the map. Its edge is uneven.
    fn cluster(&mut self, layer: &Layer, rng: &mut Rng) {
        let (far, (x, y)) = (layer.size as i32 / 2, self.random_cell(rng));
        let edge = rng.below(1 << 16) as i32;
        for down in -far..=far {
            let half = far - down.abs() / 2 - (edge >> (down + far) & 1);
            for across in -half..=half - (edge >> (far - down) & 1) {
                self.put_one((x + across, y + down), &layer.motif, rng);
            }
        }
    }

    /// Gives a cell, if it is free, one of the things of the map.
    fn put_one(&mut self, cell: (i32, i32), motif: &Motif, rng: &mut Rng) {
        let put = rng.pick(&motif.marks).put;
        if self.pieces == 0 && matches!(put, Put::Over(_) | Put::Block(_)) {
            return;
        }
        if let Some(at) = self.free_at(cell) {
            self.put(at, put);
        }
    }

    /// Places a motif with its north-west corner at that cell, if all its cells are free.
    fn stamp(&mut self, motif: &Motif, turn: Turn, (left, top): (i32, i32)) -> bool {
        let (width, height) = turn.size(motif);
        self.stamp_by(motif, |place, x, y| {
            let (x, y) = if turn.transposed { (y, x) } else { (x, y) };
            let x = if turn.across { width - 1 - x } else { x };
            let y = if turn.down { height - 1 - y } else { y };
            place.free_at((left + x, top + y))
        })
    }

    /// The same, with the cells that `cell` gives, which are free.
    fn stamp_by(&mut self, motif: &Motif, cell: impl Fn(&Self, i32, i32) -> Option<usize>) -> bool {
        if motif.blocks > self.blocks {
            return false;
        }
        let marks = || motif.marks.iter().filter(|mark| mark.put != Put::Nothing);
        self.arena.cell_list.clear();
        for mark in marks() {
            let Some(at) = cell(self, mark.x, mark.y) else { return false };
            self.arena.cell_list.push(at as u32);
        }
        for (i, mark) in marks().enumerate() {
            self.put(self.arena.cell_list[i] as usize, mark.put);
        }
        true
    }

    /// The cell, if it is free: bare ground of the room on which nothing lies, and which leads to no other room.
    fn free_at(&self, (x, y): (i32, i32)) -> Option<usize> {
        let draft = &self.arena.rooms[self.room];
        let is_in = |at: i32, min: u16, max: u16| (i32::from(min)..=i32::from(max)).contains(&at);
        let is_inside = is_in(x, draft.min.x, draft.max.x) && is_in(y, draft.min.y, draft.max.y);
        if !is_inside {
            return None;
        }
        let Arena { terrain, region, reserved, .. } = &*self.arena;
        let (x, y) = (x as usize, y as usize);
        let (at, mark) = (self.arena.at(x, y), self.mark());
        let is_free = region[at] == mark
            && matches!(terrain[at], Terrain::Floor | Terrain::Grass | Terrain::Rubble | Terrain::ShallowWater)
            && at != draft.center
            && !reserved.contains(x, y)
            && self.arena.neighbours(at).iter().all(|&there| region[there] == mark || terrain[there] == Terrain::Wall);
        is_free.then_some(at)
    }

    /// Puts something on a free cell. What blocks needs a cell that cuts no path.
    fn put(&mut self, at: usize, put: Put) {
        if put.blocks() {
            if self.blocks == 0 || !stays_joined(self.arena, at) {
                return;
            }
            self.blocks -= 1;
        }
        match put {
            Put::Nothing => {}
            Put::Over(archetype) => self.add(at, archetype),
            Put::Block(archetype) => {
                self.arena.terrain[at] = Terrain::Pillar;
                self.add(at, archetype);
            }
            Put::Ground(terrain) => self.arena.terrain[at] = terrain,
            Put::Deep => self.arena.terrain[at] = self.ground.deep,
            Put::Cover => self.arena.terrain[at] = self.ground.cover[0],
        }
    }

    fn add(&mut self, at: usize, archetype: NameId) {
        self.pieces = self.pieces.saturating_sub(1);
        self.arena.reserve(at);
        self.arena.furniture.push(Furniture { archetype, at: self.arena.point(at) });
    }

    fn mark(&self) -> u8 {
        self.room as u8 + 1
    }

    /// A random cell of the room's box.
    fn random_cell(&self, rng: &mut Rng) -> (i32, i32) {
        let draft = self.draft();
        let (x, y) = (rng.index(draft.width()), rng.index(draft.height()));
        (i32::from(draft.min.x) + x as i32, i32::from(draft.min.y) + y as i32)
    }
}

/// Copies along a side of a room, around its middle.
#[derive(Debug, Clone, Copy)]
struct Spread {
    /// Cells that are to be used, and those of a copy.
    space: i32,
    length: i32,
    count: i32,
    /// Cells from one copy to the next.
    pitch: i32,
    /// Copies in a plot; an alley follows.
    group: i32,
}

impl Spread {
    /// Plots that are further from both ends count as one.
    const LAST: i32 = 7;

    /// As many copies as there is space for. Those of a long side stand in plots.
    fn in_plots(side: usize, length: i32, spare: i32) -> Self {
        let space = (side as i32 - 2 + spare).max(0);
        let (all, group) = (space / length, (PLOT / length).max(1));
        let plot = group * length + ALLEY;
        // A plot that has no space for all its copies is left out.
        let count = if all <= group + 1 { all } else { (space + ALLEY) / plot * group };
        let group = if count == all { all.max(1) } else { group };
        Self { space, length, count, pitch: length, group }
    }

    /// At most so many copies, far apart where the side is long.
    fn along(side: usize, length: i32, spare: i32, most: i32) -> Self {
        let space = (side as i32 - 2 + spare).max(0);
        let count = (space / length).min(most.max(1));
        let pitch = if count > 0 { (space / count).max(length) } else { length };
        Self { space, length, count, pitch, group: count.max(1) }
    }

    /// One copy less, and more space between two.
    fn widen(&mut self) {
        self.count -= 1;
        self.group = self.count.max(1);
        self.pitch = (self.space / self.count.max(1)).max(self.length);
    }

    fn plots(&self) -> i32 {
        (self.count + self.group - 1) / self.group
    }

    /// The number of the plots in the middle, as [`Self::orbit`] counts.
    fn last_orbit(&self) -> i32 {
        ((self.plots() - 1) / 2).min(Self::LAST)
    }

    /// How many plots are between the plot of a copy and the nearer end of the side.
    fn orbit(&self, copy: i32) -> i32 {
        let plot = copy / self.group;
        plot.min(self.plots() - 1 - plot).min(Self::LAST)
    }

    /// Where a copy begins.
    fn at(&self, copy: i32) -> i32 {
        let place = |copy: i32| copy * self.pitch + copy / self.group * ALLEY;
        let used = place(self.count - 1) + self.length;
        1 + (self.space - used) / 2 + place(copy)
    }
}

/// Gives most squares of plain floor without anything in them the motif of its room's set. In built rooms, these lie in a
/// lattice around the middle of the room.
fn fill<'s>(
    arena: &mut Arena,
    plan: &Plan<'_>,
    rules: &KindRules,
    set_of: impl Fn(usize) -> Option<&'s FurnitureSet>,
    rng: &mut Rng,
) {
    list_plain(arena);
    for y in 0..arena.height {
        list_squares(arena, y);
    }
    for bottom in SQUARE - 1..arena.height {
        while let Some(left) = first_square(&arena.squares, bottom) {
            let top = bottom + 1 - SQUARE;
            let middle = arena.at(left + SQUARE / 2, top + SQUARE / 2);
            let room = arena.room_at(middle).filter(|&room| !arena.rooms[room].set_piece);
            let placed = room.filter(|&room| arena.rooms[room].area <= GREAT || rng.chance(FILLED)).and_then(|room| {
                let motif = &set_of(room)?.fill;
                let place = &mut Place::new(arena, plan, room);
                (0..=TRIES).find_map(|tried| {
                    let draft = place.draft();
                    let (x, y) = if tried == 0 && rules.is_built && draft.area <= 4 * GREAT {
                        let nearest = |first: usize, min: u16, max: u16| {
                            let last = (first + SQUARE - 1) as i32;
                            (last - (last - i32::from(min.midpoint(max))).rem_euclid(SQUARE as i32)) as usize
                        };
                        (nearest(left, draft.min.x, draft.max.x), nearest(top, draft.min.y, draft.max.y))
                    } else {
                        (left + SQUARE / 3 + rng.index(SQUARE / 3 * 2), top + SQUARE / 3 + rng.index(SQUARE / 3 * 2))
                    };
                    let turn = if rules.is_built { Turn::NONE } else { Turn::draw(rng) };
                    let (width, height) = turn.size(motif);
                    let corner = (x as i32 - width / 2, y as i32 - height / 2);
                    place.stamp(motif, turn, corner).then_some((corner, (width, height)))
                })
            });
            // A square that gets nothing is looked at once.
            let corner = ((left + SQUARE / 2) as i32, (top + SQUARE / 2) as i32);
            let ((x, y), (width, height)) = placed.unwrap_or((corner, (1, 1)));
            for y in y.max(0)..(y + height).min(arena.height as i32) {
                for x in x.max(0)..(x + width).min(arena.width as i32) {
                    arena.scratch.remove(x as usize, y as usize);
                }
                list_squares(arena, y as usize);
            }
        }
    }
}

/// Lists the cells of plain floor without anything on them.
fn list_plain(arena: &mut Arena) {
    /// Eight cells of plain floor.
    const FLOORS: u64 = Terrain::Floor as u64 * 0x0101_0101_0101_0101;
    let Arena { terrain, scratch, squares, reserved, width, height, .. } = arena;
    scratch.reset(*width, *height);
    squares.reset(*width, *height);
    for (y, row) in terrain.chunks_exact(*width).enumerate() {
        let plain = scratch.row_mut(y);
        for ((plain, reserved), row) in plain.iter_mut().zip(reserved.row(y)).zip(row.chunks(64)) {
            let (eights, rest) = row.as_chunks::<8>();
            let mut bits = rest.iter().rev().fold(0, |bits, &cell| bits << 1 | u64::from(cell == Terrain::Floor));
            for cells in eights.iter().rev() {
                // Eight cells at once: each byte that is 0 gives a bit.
                let other = u64::from_le_bytes(cells.map(|cell| cell as u8)) ^ FLOORS;
                let is_plain = !(other + 0x7f7f_7f7f_7f7f_7f7f) >> 7 & 0x0101_0101_0101_0101;
                bits = bits << 8 | is_plain.wrapping_mul(0x0102_0408_1020_4080) >> 56;
            }
            *plain = bits & !reserved;
        }
    }
}

/// Lists the cells of a row that begin a run of plain cells as long as a square.
fn list_squares(arena: &mut Arena, y: usize) {
    let Arena { scratch, squares, .. } = arena;
    let plain = scratch.row(y);
    for (i, word) in squares.row_mut(y).iter_mut().enumerate() {
        let cells = u128::from(plain[i]) | u128::from(plain.get(i + 1).copied().unwrap_or(0)) << 64;
        let two = cells & cells >> 1;
        let four = two & two >> 2;
        *word = (four & four >> 4 & cells >> 8) as u64;
    }
}

/// The column in which the first square begins whose last row is that one.
fn first_square(squares: &Mask, bottom: usize) -> Option<usize> {
    let mut common = squares.common(bottom + 1 - SQUARE..bottom + 1).enumerate();
    common.find_map(|(i, cells)| (cells != 0).then(|| i * 64 + cells.trailing_zeros() as usize))
}
