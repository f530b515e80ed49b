//! Draws the tilesets of exported maps: one tile for each terrain and kind of object, and one for each room id.

use floor_proto::v1::Terrain;

use super::{
    canvas::{Canvas, LETTER},
    colour, png as file,
    scene::{Mark, Object},
    sprites::{self, Square},
};
use crate::ExportError;

/// Width and height of a tile, in pixels.
pub(crate) const SIDE: u32 = 32;
/// Tiles in a row of both images.
pub(crate) const COLUMNS: u32 = 16;
/// The rows of [`cells_png`] and of [`rooms_png`].
pub(crate) const CELL_ROWS: u32 = 2;
pub(crate) const ROOM_ROWS: u32 = 16;

/// Space around an object in its tile, in pixels.
const MARGIN: f32 = 2.0;

/// What a tile shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tile {
    Terrain(Terrain),
    Monster,
    Key,
    Loot,
    Trap,
}

/// The objects in the second row of tiles.
pub(crate) const OBJECTS: [Tile; 4] = [Tile::Monster, Tile::Key, Tile::Loot, Tile::Trap];

impl Tile {
    /// Its index in the tileset: a terrain has its number in the protocol, so index 0 is empty; objects begin the second
    /// row.
    pub(crate) const fn index(self) -> u32 {
        match self {
            Self::Terrain(terrain) => terrain as u32,
            Self::Monster => COLUMNS,
            Self::Key => COLUMNS + 1,
            Self::Loot => COLUMNS + 2,
            Self::Trap => COLUMNS + 3,
        }
    }

    /// The upper left corner of its picture, in pixels.
    pub(crate) const fn corner(self) -> (u32, u32) {
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
pub(crate) fn cells_png() -> Result<Vec<u8>, ExportError> {
    png_of(CELL_ROWS, |canvas| {
        for terrain in terrains() {
            let mark = match terrain {
                Terrain::LockedDoor => Mark::Locked(1),
                terrain => Mark::Terrain(terrain),
            };
            sprites::sample(canvas, square(Tile::Terrain(terrain).index()), mark);
        }
        for tile in OBJECTS {
            let object = match tile {
                Tile::Key => Object::Key(1),
                Tile::Loot => Object::Loot,
                Tile::Trap => Object::Trap,
                Tile::Monster | Tile::Terrain(_) => Object::Monster('m'),
            };
            sprites::object(canvas, inset(square(tile.index())), object);
        }
    })
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
            canvas.text((x - width / 2.0).round(), y - LETTER / 2.0, 1.0, &text, sprites::INK);
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
        let (info, pixels) = decoded(cells_png().unwrap());
        assert_eq!((info.width, info.height), (COLUMNS * SIDE, CELL_ROWS * SIDE));
        let tiles = terrains().map(Tile::Terrain).chain(OBJECTS).collect::<Vec<_>>();
        assert_eq!(tiles.len(), 15 + 4);
        for (i, one) in tiles.iter().enumerate() {
            let pixels_of = |tile_shown: &Tile| tile(&info, &pixels, tile_shown.index());
            assert!(tiles[..i].iter().all(|other| pixels_of(other) != pixels_of(one)), "{one:?}");
            let is_opaque = pixels_of(one).iter().all(|pixel| pixel[3] == 255);
            assert_eq!(is_opaque, matches!(one, Tile::Terrain(_)), "{one:?}");
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
