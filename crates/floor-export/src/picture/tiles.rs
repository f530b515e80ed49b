//! Draws the tilesets of exported maps: one tile for each terrain and kind of object, and one for each room id.

use floor_gen::pack::Look;
use floor_proto::{
    floor::Floor,
    v1::{Point, Terrain},
};

use super::{
    canvas::{Canvas, LETTER, Square},
    colour::{self, INK},
    png as file,
    scene::{Mark, Monster, Object},
    sprites,
};
use crate::{ExportError, walls::is_open};

/// Width and height of a tile, in pixels.
pub(crate) const SIDE: u32 = 32;
/// Tiles in a row of both images.
pub(crate) const COLUMNS: u32 = 16;
/// The rows of [`cells_png`] and of [`rooms_png`].
pub(crate) const CELL_ROWS: u32 = 7;
pub(crate) const ROOM_ROWS: u32 = 16;
/// The rows in which locked doors, keys and walls begin.
const DOOR_ROW: u32 = 2;
const KEY_ROW: u32 = 3;
const WALL_ROW: u32 = 4;
/// Locks with a door and a key of their own: those of a row, less the first tile.
const NUMBERED: u32 = COLUMNS - 1;

/// Space around an object in its tile, in pixels.
const MARGIN: f32 = 2.0;

/// What a tile shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tile {
    Terrain(Terrain),
    Monster,
    /// The key of a lock.
    Key(u32),
    Loot,
    Trap,
    /// The door of a lock.
    Locked(u32),
    /// A wall, by the sides and corners where it meets ground: [`Around`].
    Wall(u8),
}

/// The eight neighbours of a cell, clockwise from the north, as bits from the lowest: the order of Tiled's terrain sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Around(pub(crate) u8);

impl Around {
    const STEPS: [(i32, i32); 8] = [(0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1)];

    /// Where the cell meets ground. A corner beside a side with ground belongs to that ground.
    pub(crate) fn of(x: u32, y: u32, is_ground: impl Fn(u32, u32) -> bool) -> Self {
        let near = |(dx, dy)| is_ground(x.wrapping_add_signed(dx), y.wrapping_add_signed(dy));
        let found = (0..).zip(Self::STEPS).filter(|(_, step)| near(*step)).fold(0u8, |bits, (bit, _)| bits | 1 << bit);
        Self::with_corners(found)
    }

    const fn with_corners(found: u8) -> Self {
        let sides = found & 0b0101_0101;
        Self(found | sides.rotate_left(1) | sides.rotate_right(1))
    }

    pub(crate) const fn has(self, neighbour: u8) -> bool {
        self.0 >> neighbour & 1 == 1
    }
}

/// The walls that have a tile: all that meet ground.
pub(crate) fn walls() -> impl Iterator<Item = u8> {
    (1..=u8::MAX).filter(|bits| Around::with_corners(*bits) == Around(*bits))
}

/// The tile of each index.
#[cfg(any(test, feature = "import"))]
pub(crate) fn by_index() -> Vec<Option<Tile>> {
    let mut all = vec![None; (COLUMNS * CELL_ROWS) as usize];
    for tile in terrains().map(Tile::Terrain).chain(others()) {
        all[tile.index() as usize] = Some(tile);
    }
    all
}

/// All tiles of objects, locked doors and walls.
pub(crate) fn others() -> impl Iterator<Item = Tile> {
    let objects = [Tile::Monster, Tile::Key(0), Tile::Loot, Tile::Trap];
    let locks = (1..=NUMBERED).flat_map(|lock| [Tile::Locked(lock), Tile::Key(lock)]);
    objects.into_iter().chain(locks).chain(walls().map(Tile::Wall))
}

impl Tile {
    /// What shows a cell of a floor. `None` for rock.
    pub(crate) fn of(floor: &Floor, x: u32, y: u32) -> Option<Self> {
        let is_ground = |x, y| floor.terrain_at(x, y).is_some_and(is_open);
        match floor.terrain_at(x, y)? {
            Terrain::Wall => Some(Around::of(x, y, is_ground).0).filter(|bits| *bits != 0).map(Self::Wall),
            Terrain::LockedDoor => {
                let lock = floor.wire().locks.iter().find(|lock| lock.at == Some(Point { x, y }));
                Some(Self::Locked(lock.map_or(0, |lock| lock.id)))
            }
            terrain => Some(Self::Terrain(terrain)),
        }
    }

    /// Its index in the tileset: a terrain has its number in the protocol, so index 0 is empty; objects begin the second
    /// row. A lock beyond the numbered ones has the tile of its terrain, or of any key.
    pub(crate) fn index(self) -> u32 {
        match self {
            Self::Terrain(terrain) => terrain as u32,
            Self::Monster => COLUMNS,
            Self::Key(lock @ 1..=NUMBERED) => KEY_ROW * COLUMNS + lock,
            Self::Key(_) => COLUMNS + 1,
            Self::Loot => COLUMNS + 2,
            Self::Trap => COLUMNS + 3,
            Self::Locked(lock @ 1..=NUMBERED) => DOOR_ROW * COLUMNS + lock,
            Self::Locked(_) => Terrain::LockedDoor as u32,
            Self::Wall(bits) => WALL_ROW * COLUMNS + walls().position(|wall| wall == bits).unwrap_or(0) as u32,
        }
    }

    /// The terrain that it stands for. `None` for an object.
    pub(crate) const fn terrain(self) -> Option<Terrain> {
        match self {
            Self::Terrain(terrain) => Some(terrain),
            Self::Locked(_) => Some(Terrain::LockedDoor),
            Self::Wall(_) => Some(Terrain::Wall),
            Self::Monster | Self::Key(_) | Self::Loot | Self::Trap => None,
        }
    }

    /// The upper left corner of its picture, in pixels.
    pub(crate) fn corner(self) -> (u32, u32) {
        corner(self.index())
    }
}

/// Every terrain of the protocol.
pub(crate) fn terrains() -> impl Iterator<Item = Terrain> {
    (1..).map_while(|number| Terrain::try_from(number).ok())
}

const fn corner(index: u32) -> (u32, u32) {
    (index % COLUMNS * SIDE, index / COLUMNS * SIDE)
}

/// The PNG with the tiles of terrain and objects. Objects have no ground under them.
pub(crate) fn cells_png(look: &Look) -> Result<Vec<u8>, ExportError> {
    png_of(CELL_ROWS, |canvas| {
        for tile in terrains().map(Tile::Terrain).chain(others()) {
            paint(canvas, square(tile.index()), look, tile);
        }
    })
}

fn paint(canvas: &mut Canvas, square: Square, look: &Look, tile: Tile) {
    let mut object = |object| sprites::object(canvas, inset(square), object);
    match tile {
        Tile::Monster => object(Object::Monster(Monster { letter: 'm', symbol: None, is_boss: false })),
        Tile::Key(lock) => object(Object::Key(lock)),
        Tile::Loot => object(Object::Loot),
        Tile::Trap => object(Object::Trap),
        Tile::Terrain(Terrain::LockedDoor) => sprites::sample(canvas, square, look, Mark::Locked(0)),
        Tile::Terrain(terrain) => sprites::sample(canvas, square, look, Mark::Terrain(terrain)),
        Tile::Locked(lock) => sprites::sample(canvas, square, look, Mark::Locked(lock)),
        Tile::Wall(bits) => wall(canvas, square, look, Around(bits)),
    }
}

/// A wall with a dark edge where it meets ground, and its face if that is to the south.
fn wall(canvas: &mut Canvas, square: Square, look: &Look, around: Around) {
    sprites::wall(canvas, square, look, around.has(4));
    let (thin, far) = (0.1, 0.9);
    // A corner has a dot of its own where no side beside it has an edge.
    let is_edge =
        |at: u8| around.has(at) && (at.is_multiple_of(2) || !around.has((at + 7) % 8) && !around.has((at + 1) % 8));
    let parts = [
        (0.0, 0.0, 1.0, thin),
        (far, 0.0, thin, thin),
        (far, 0.0, thin, 1.0),
        (far, far, thin, thin),
        (0.0, far, 1.0, thin),
        (0.0, far, thin, thin),
        (0.0, 0.0, thin, 1.0),
        (0.0, 0.0, thin, thin),
    ];
    for (_, (x, y, width, height)) in (0..).zip(parts).filter(|(neighbour, _)| is_edge(*neighbour)) {
        canvas.rectangle(square.part(x, y, width, height), INK, 0.7);
    }
}

/// The PNG with a coloured tile for each room: tile `id + 1` has the id on it, tile 0 is empty.
pub(crate) fn rooms_png() -> Result<Vec<u8>, ExportError> {
    png_of(ROOM_ROWS, |canvas| {
        for id in 0..COLUMNS * ROOM_ROWS - 1 {
            let square = square(id + 1);
            canvas.rectangle(square.part(0.0, 0.0, 1.0, 1.0), colour::room(id as usize), 0.5);
            let text = id.to_string();
            let (x, y) = square.at(0.5, 0.5);
            let width = LETTER * text.len() as f32;
            canvas.text((x - width / 2.0).round(), y - LETTER / 2.0, 1.0, &text, INK);
        }
    })
}

fn png_of(rows: u32, paint: impl FnOnce(&mut Canvas)) -> Result<Vec<u8>, ExportError> {
    let (width, height) = (COLUMNS * SIDE, rows * SIDE);
    let mut canvas = Canvas::transparent(width, height).expect("a tileset has pixels, and not too many");
    paint(&mut canvas);
    let mut bytes = Vec::new();
    file::encode(&mut bytes, (width, height), png::ColorType::Rgba, &canvas.rgba())?;
    Ok(bytes)
}

fn square(index: u32) -> Square {
    let (left, top) = corner(index);
    Square { left: left as f32, top: top as f32, side: SIDE as f32 }
}

/// The square without its border of [`MARGIN`], since some objects are slightly larger than their cell.
const fn inset(square: Square) -> Square {
    Square { left: square.left + MARGIN, top: square.top + MARGIN, side: square.side - 2.0 * MARGIN }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The image, and its pixels as red, green, blue and alpha.
    fn decoded(file: Vec<u8>) -> (png::OutputInfo, Vec<u8>) {
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        (reader.next_frame(&mut pixels).unwrap(), pixels)
    }

    /// The pixels of a tile.
    fn tile(info: &png::OutputInfo, pixels: &[u8], index: u32) -> Vec<[u8; 4]> {
        let (left, top) = corner(index);
        let cells = (top..top + SIDE).flat_map(|y| (left..left + SIDE).map(move |x| (x, y)));
        cells
            .map(|(x, y)| {
                let at = ((y * info.width + x) * 4) as usize;
                [pixels[at], pixels[at + 1], pixels[at + 2], pixels[at + 3]]
            })
            .collect()
    }

    #[test]
    fn every_tile_differs_and_objects_have_no_ground() {
        let (info, pixels) = decoded(cells_png(&Look::default()).unwrap());
        assert_eq!((info.width, info.height), (COLUMNS * SIDE, CELL_ROWS * SIDE));
        let tiles = terrains().map(Tile::Terrain).chain(others()).collect::<Vec<_>>();
        assert_eq!(tiles.len(), 15 + 4 + 2 * 15 + 46);
        for (i, one) in tiles.iter().enumerate() {
            let pixels_of = |tile_shown: &Tile| tile(&info, &pixels, tile_shown.index());
            assert!(tiles[..i].iter().all(|other| pixels_of(other) != pixels_of(one)), "{one:?}");
            let is_opaque = pixels_of(one).iter().all(|pixel| pixel[3] == 255);
            assert_eq!(is_opaque, one.terrain().is_some(), "{one:?}");
            assert_eq!(by_index()[one.index() as usize], Some(*one));
        }
        assert!(tile(&info, &pixels, 0).iter().all(|pixel| pixel[3] == 0), "tile 0 is empty");
    }

    #[test]
    fn every_room_id_has_a_tile() {
        let (info, pixels) = decoded(rooms_png().unwrap());
        assert!(tile(&info, &pixels, 0).iter().all(|pixel| pixel[3] == 0), "no room");
        for id in 0..255 {
            assert!(tile(&info, &pixels, id + 1).iter().all(|pixel| pixel[3] > 0), "room {id}");
        }
        assert_ne!(tile(&info, &pixels, 1), tile(&info, &pixels, 7), "the same colour, another id");
    }
}
