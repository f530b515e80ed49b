//! The court of an event's vault, and the squares at the ends of its avenues: open ground around a core, with a moat, a
//! hedge, a colonnade or beds between the core and the outer walk.

use crate::arena::{Arena, RoomDraft, Side};
use crate::floor::{RoomRole, Terrain};
use crate::pack::content::Ground;
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::shape::MAX_SHAPE;

/// The largest share of the floor's sides that a vault and its court take, in hundredths.
const MOST_OF_FLOOR: i32 = 64;
/// The same along a processional way.
const MOST_OF_LENGTH: i32 = 86;
/// Cells from open ground to the stairs, so that the smallest room fits around them.
pub(crate) const CLEARANCE: i32 = 3;
/// Cells from one pillar of a colonnade to the next, and from one bed to the next.
const SPACING: i32 = 3;
const BED: i32 = 5;

/// A rectangle of cells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rect {
    pub(crate) x: i32,
    pub(crate) y: i32,
    pub(crate) width: i32,
    pub(crate) height: i32,
}

impl Rect {
    /// With so many cells more to the north, east, south and west.
    pub(crate) const fn grown(self, [north, east, south, west]: [i32; 4]) -> Self {
        let (width, height) = (self.width + east + west, self.height + north + south);
        Self { x: self.x - west, y: self.y - north, width, height }
    }

    pub(crate) const fn shifted(self, (x, y): (i32, i32)) -> Self {
        Self { x: self.x + x, y: self.y + y, ..self }
    }

    /// The rectangle of that breadth and length that begins beside it and has its middle on that column or row.
    pub(crate) const fn beside(self, (side, line): (Side, i32), breadth: i32, length: i32) -> Self {
        let first = line - (breadth - 1) / 2;
        match side {
            Side::North => Self { x: first, y: self.y - length, width: breadth, height: length },
            Side::South => Self { x: first, y: self.y + self.height, width: breadth, height: length },
            Side::West => Self { x: self.x - length, y: first, width: length, height: breadth },
            Side::East => Self { x: self.x + self.width, y: first, width: length, height: breadth },
        }
    }

    /// The smallest rectangle that holds both.
    pub(crate) fn with(self, other: Self) -> Self {
        let (x, y) = (self.x.min(other.x), self.y.min(other.y));
        let right = (self.x + self.width).max(other.x + other.width);
        let bottom = (self.y + self.height).max(other.y + other.height);
        Self { x, y, width: right - x, height: bottom - y }
    }

    /// Whether a cell of the other lies in it or beside it.
    pub(crate) const fn touches(self, other: Self) -> bool {
        let across = self.x <= other.x + other.width && other.x <= self.x + self.width;
        across && self.y <= other.y + other.height && other.y <= self.y + self.height
    }

    /// Whether it covers stairs or comes nearer to them than that.
    pub(crate) fn covers_stairs(self, plan: &Plan<'_>, clearance: i32) -> bool {
        [plan.arrival, plan.departure].into_iter().any(|cell| {
            let (dx, dy) = self.beyond(cell.x.into(), cell.y.into());
            dx < clearance && dy < clearance
        })
    }

    /// Whether it lies inside the border and on no claimed cell. It is at most 64 cells wide.
    pub(crate) fn is_free(self, arena: &Arena) -> bool {
        let (right, bottom) = (self.x + self.width, self.y + self.height);
        let inside = self.x >= 1 && self.y >= 1 && right < arena.width as i32 && bottom < arena.height as i32;
        let row = u64::MAX >> (64 - self.width);
        inside && (self.y..bottom).all(|y| arena.claimed.window(self.x as usize, y as usize) & row == 0)
    }

    /// The cells between it and a cell outside, across and down.
    fn beyond(self, x: i32, y: i32) -> (i32, i32) {
        let outside = |at: i32, first: i32, length: i32| (first - at).max(at + 1 - first - length).max(0);
        (outside(x, self.x, self.width), outside(y, self.y, self.height))
    }

    /// The cells between a cell inside and the nearest side.
    fn depth(self, x: i32, y: i32) -> i32 {
        let across = (x - self.x).min(self.x + self.width - 1 - x);
        across.min(y - self.y).min(self.y + self.height - 1 - y)
    }

    const fn middle(self) -> (i32, i32) {
        (self.x + self.width / 2, self.y + self.height / 2)
    }
}

/// The line that is everywhere as far from the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outline {
    Rectangle,
    Octagon,
    Round,
    Diamond,
}

impl Outline {
    fn draw(arena: &Arena, rng: &mut Rng) -> Self {
        let event = arena.params.event;
        let weights = [event.rectangle, event.octagon, event.round, event.diamond];
        [Self::Rectangle, Self::Octagon, Self::Round, Self::Diamond][rng.weighted(&weights)]
    }

    fn distance(self, (dx, dy): (i32, i32)) -> i32 {
        match self {
            Self::Rectangle => dx.max(dy),
            Self::Octagon => dx.max(dy).max((dx + dy) * 2 / 3),
            Self::Round => (dx * dx + dy * dy).isqrt(),
            Self::Diamond => dx + dy,
        }
    }
}

/// What lies between the core and the outer walk.
#[derive(Debug, Clone, Copy)]
enum Band {
    /// Water, lava or a chasm, with bridges on the axes.
    Moat(Terrain),
    /// Passable ground cover.
    Hedge(Terrain),
    /// Rows of pillars.
    Colonnade,
    /// Beds of ground cover, each around a tree, with paths between them.
    Beds(Terrain),
}

impl Band {
    fn draw(arena: &Arena, ground: &Ground, rng: &mut Rng) -> Self {
        let event = arena.params.event;
        let cover = ground.cover[rng.index(2)];
        match rng.weighted(&[event.hedge, event.colonnade, event.moat, event.beds]) {
            0 => Self::Hedge(cover),
            1 => Self::Colonnade,
            2 => Self::Moat(ground.deep),
            _ => Self::Beds(cover),
        }
    }
}

/// A court or a square.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Court {
    /// What it lies around: the vault, a monument, or the middle line of a processional way.
    core: Rect,
    pub(crate) bounds: Rect,
    outline: Outline,
    band: Band,
    /// The ground of the core; `None` where it holds the vault.
    monument: Option<Terrain>,
    /// Cells from the core to the outline.
    reach: i32,
    /// Cells of open ground beside the core.
    plaza: i32,
    /// Cells of open ground along the outline.
    walk: i32,
    /// The side where the vault has its back to the rock.
    pub(crate) back: Option<Side>,
}

/// How a court lies around its vault.
#[derive(Debug, Clone, Copy)]
enum Plot {
    /// On all four sides.
    Closed,
    /// On one to three sides.
    Half,
    /// A lake on all sides.
    Island,
    /// A garden that is wider on some sides.
    Garden,
    /// A processional way to a doorway.
    Way,
}

impl Plot {
    fn draw(arena: &Arena, streams: &Streams<'_>, rng: &mut Rng) -> Self {
        let event = arena.params.event;
        let weights = [
            ("closed", event.closed),
            ("half", event.half),
            ("island", event.island),
            ("garden", event.garden),
            ("way", event.way),
        ];
        let plots = [Self::Closed, Self::Half, Self::Island, Self::Garden, Self::Way];
        plots[streams.draw(rng, "family", weights)]
    }

    /// The cells of the court on that side of the vault, of `most` and about `reach` on others.
    fn margin(self, side: Side, front: Side, (reach, most): (i32, i32), rng: &mut Rng) -> i32 {
        match self {
            Self::Garden => rng.range(1, most.min(2 * reach)),
            Self::Half if side == front.opposite() || side != front && rng.chance(500) => 0,
            _ => reach,
        }
    }
}

impl Court {
    /// A court for a vault. `front` is one of the vault's doorways: its side, and its column or row.
    pub(crate) fn draw(
        arena: &Arena,
        ground: &Ground,
        vault: Rect,
        front: (Side, i32),
        streams: &Streams<'_>,
        rng: &mut Rng,
    ) -> Self {
        let event = arena.params.event;
        let plot = Plot::draw(arena, streams, rng);
        if matches!(plot, Plot::Way) {
            return Self::way(arena, ground, vault, front, rng);
        }
        let spare = |side: usize, taken: i32| ((side as i32 * MOST_OF_FLOOR / 100 - taken) / 2).max(2);
        let (across, down) = (spare(arena.width, vault.width), spare(arena.height, vault.height));
        let drawn = rng.range(event.court_least as i32, event.court_most as i32);
        let reach = (shorter_side(arena) * drawn / 1_000).clamp(2, across.min(down));
        let most = |side: Side| if side.is_level() { across } else { down };
        let bounds = vault.grown(Side::ALL.map(|side| plot.margin(side, front.0, (reach, most(side)), rng)));
        let (plaza, walk) = (rng.range(1, 1 + reach / 4), rng.range(2, 2 + reach / 4));
        let (outline, band, plaza, walk) = match plot {
            Plot::Island => (Outline::Round, Band::Moat(ground.deep), 1, 2),
            Plot::Garden => (Outline::Rectangle, Band::Beds(ground.cover[rng.index(2)]), plaza, walk),
            _ => (Outline::draw(arena, rng), Band::draw(arena, ground, rng), plaza, walk),
        };
        let back = matches!(plot, Plot::Half).then(|| front.0.opposite());
        Self { core: vault, bounds, outline, band, monument: None, reach, plaza, walk, back }
    }

    /// A processional way: a straight strip before a doorway.
    fn way(arena: &Arena, ground: &Ground, vault: Rect, front: (Side, i32), rng: &mut Rng) -> Self {
        let (event, is_level) = (arena.params.event, front.0.is_level());
        let (side, taken) = if is_level { (arena.width, vault.width) } else { (arena.height, vault.height) };
        let drawn = side as i32 * rng.range(event.way_least as i32, event.way_most as i32) / 100;
        let length = drawn.min(side as i32 * MOST_OF_LENGTH / 100 - taken).max(3);
        let reach = Self::draw_reach(arena, rng);
        let core = vault.beside(front, 1, length);
        let bounds = core.grown(Side::ALL.map(|side| if side.is_level() == is_level { 0 } else { reach }));
        let (outline, band, monument) = (Outline::Rectangle, Band::draw(arena, ground, rng), Some(Terrain::Floor));
        let (plaza, walk, back) = (reach / 4, 1 + reach / 5, Some(front.0.opposite()));
        Self { core, bounds, outline, band, monument, reach, plaza, walk, back }
    }

    /// A square that begins beside `tip`, the end of an avenue, and has its middle on that column or row.
    pub(crate) fn square(arena: &Arena, ground: &Ground, tip: Rect, heading: (Side, i32), rng: &mut Rng) -> Self {
        let reach = Self::draw_reach(arena, rng);
        let (breadth, length) = (rng.range(1, 1 + reach / 2), rng.range(1, 1 + reach / 2));
        let bounds = tip.beside(heading, breadth + 2 * reach, length + 2 * reach);
        let monument = Some(rng.pick(&[ground.deep, Terrain::Pillar, ground.cover[0]]));
        let (outline, band) = (Outline::draw(arena, rng), Band::draw(arena, ground, rng));
        let (core, plaza, walk, back) = (bounds.grown([-reach; 4]), 1, 2, None);
        Self { core, bounds, outline, band, monument, reach, plaza, walk, back }
    }

    /// Cells from the middle of a square or a processional way to its outline.
    fn draw_reach(arena: &Arena, rng: &mut Rng) -> i32 {
        let event = arena.params.event;
        let drawn = rng.range(event.square_least as i32, event.square_most as i32);
        (shorter_side(arena) * drawn / 1_000).clamp(2, MAX_SHAPE / 3)
    }

    pub(crate) const fn shifted(self, by: (i32, i32)) -> Self {
        Self { core: self.core.shifted(by), bounds: self.bounds.shifted(by), ..self }
    }

    /// Whether its sides are straight up to the corners.
    pub(crate) fn has_straight_sides(&self) -> bool {
        self.outline == Outline::Rectangle
    }

    /// The ground of a cell within its bounds; `None` outside the outline.
    fn ground(&self, x: i32, y: i32) -> Option<Terrain> {
        let out = self.outline.distance(self.core.beyond(x, y));
        let depth = self.bounds.depth(x, y);
        let inward = if self.has_straight_sides() { depth } else { depth.min(self.reach - out) };
        let in_band = out > self.plaza && inward >= self.walk;
        let from_corner = (x - self.bounds.x, y - self.bounds.y);
        Some(match self.band {
            _ if inward < 0 => return None,
            _ if out == 0 => return self.monument,
            _ if !in_band => Terrain::Floor,
            Band::Moat(_) if self.is_on_axis(x, y) => Terrain::Bridge,
            Band::Moat(deep) => deep,
            _ if self.is_on_axis(x, y) => Terrain::Floor,
            Band::Hedge(cover) => cover,
            Band::Colonnade if from_corner.0 % SPACING == 0 && from_corner.1 % SPACING == 0 => Terrain::Pillar,
            Band::Colonnade => Terrain::Floor,
            Band::Beds(cover) => match (from_corner.0 % BED, from_corner.1 % BED) {
                (0, _) | (_, 0) => Terrain::Floor,
                (2, 2) => Terrain::Pillar,
                _ => cover,
            },
        })
    }

    /// Whether a bridge or a path from the core to the outline leads over the cell.
    fn is_on_axis(&self, x: i32, y: i32) -> bool {
        let ((middle_x, middle_y), half) = (self.core.middle(), self.reach / 7);
        (x - middle_x).abs() <= half || (y - middle_y).abs() <= half
    }

    /// Carves it as the next room, and returns that.
    pub(crate) fn carve(&self, arena: &mut Arena, role: RoomRole) -> usize {
        let Rect { x: left, y: top, width, height } = self.bounds;
        let room = arena.rooms.len();
        let mut draft = RoomDraft { is_decorated: true, ..RoomDraft::without_cells(role) };
        for y in top..top + height {
            for x in left..left + width {
                let Some(ground) = self.ground(x, y) else { continue };
                let at = arena.at(x as usize, y as usize);
                (arena.terrain[at], arena.region[at]) = (ground, room as u8 + 1);
                draft.add_cell(x as u16, y as u16);
                if ground.passable() && self.is_on_axis(x, y) {
                    draft.center = at;
                }
            }
        }
        arena.rooms.push(draft);
        room
    }
}

/// Cells along the floor's shorter side.
pub(crate) fn shorter_side(arena: &Arena) -> i32 {
    arena.width.min(arena.height) as i32
}

/// Claims the cells of a room and those around it. In each row they are one run, but for cells that are claimed.
pub(crate) fn claim(arena: &mut Arena, room: usize) {
    let (RoomDraft { min, max, .. }, mark) = (arena.rooms[room], room as u8 + 1);
    let columns = usize::from(min.x)..usize::from(max.x) + 1;
    for y in usize::from(min.y)..=max.y.into() {
        let is_inside = |&x: &usize| arena.region[arena.at(x, y)] == mark;
        let Some(first) = columns.clone().find(is_inside) else { continue };
        let last = columns.clone().rfind(is_inside).unwrap_or(first);
        for around in y - 1..=y + 1 {
            arena.claimed.insert_run(around, first - 1, last + 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::Pack;
    use crate::spec::{FloorSpec, Kind};
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    #[test]
    fn the_ground_of_a_court_is_in_one_piece() {
        let mut arena = Arena::default();
        for seed in 0..2_000 {
            let side = 28 + seed as u32 % 150;
            let spec = FloorSpec::resolve(seed, 1 + seed as u32 % 70, side, side, Some(Kind::Event)).unwrap();
            let plan = Plan::new(&Pack::tower().content, &spec);
            arena.reset(&plan);
            let rng = &mut Rng::from_seed(seed);
            let vault = Rect { x: 0, y: 0, width: rng.range(3, 11), height: rng.range(3, 11) };
            let front = (rng.pick(&Side::ALL), 1);
            let ground = plan.theme().ground;
            let court = Court::draw(&arena, &ground, vault, front, &Streams::new(&spec, 0), rng);
            let square = Court::square(&arena, &ground, vault, front, rng);
            for court in [court, square] {
                let Rect { x, y, width, height } = court.bounds;
                let cells = (y..y + height).flat_map(|y| (x..x + width).map(move |x| (x, y)));
                let is_open = |&(x, y): &(i32, i32)| court.ground(x, y).is_some_and(Terrain::passable);
                let mut left: BTreeSet<(i32, i32)> = cells.filter(is_open).collect();
                let mut reached = Vec::from_iter(left.pop_first());
                while let Some((x, y)) = reached.pop() {
                    let around = [(x, y - 1), (x + 1, y), (x, y + 1), (x - 1, y)];
                    reached.extend(around.into_iter().filter(|cell| left.remove(cell)));
                }
                assert!(left.is_empty(), "{spec:?}: {court:?}");
            }
        }
    }
}
