//! Contact sheets: sixteen floors of a kind, with a legend.

use floor_gen::{FloorSpec, Generator, Kind, Point, Terrain};

use crate::Outcome;
use crate::picture::{Colour, LETTER, PAPER, Picture};

/// Pixels of a cell on floors of 100 x 100; more on smaller ones. Pixels between floors.
const SCALE: usize = 2;
const GAP: usize = 8;
/// Floors along a side of the sheet.
const ALONG: usize = 4;
/// Height of the title and of a line of the legend, in pixels.
const TITLE: usize = 16;
const LINE: usize = 16;
const LEGEND_LINES: usize = 2;

const ENTRY: Colour = [0xff, 0xff, 0xff];
const EXIT: Colour = [0xff, 0xe0, 0x30];
/// Keys and locks share a colour.
const LOCK: Colour = [0xff, 0x48, 0xd8];
const SECRET: Colour = [0x40, 0xff, 0xd0];
/// Furniture that blocks, and furniture that one walks over.
const BLOCKING: Colour = [0xe8, 0xb8, 0x70];
const FLAT: Colour = [0x9a, 0x84, 0x6c];

/// The terrain without a marker, in the order of the legend.
const TERRAIN: [(&str, Terrain, Colour); 11] = [
    ("rock", Terrain::Wall, [0x0c, 0x0c, 0x10]),
    ("floor", Terrain::Floor, [0x74, 0x70, 0x68]),
    ("door", Terrain::Door, [0xd0, 0x90, 0x38]),
    ("bridge", Terrain::Bridge, [0xa8, 0x70, 0x30]),
    ("rubble", Terrain::Rubble, [0xa4, 0x98, 0x80]),
    ("grass", Terrain::Grass, [0x48, 0x88, 0x38]),
    ("shallow water", Terrain::ShallowWater, [0x58, 0xa0, 0xc8]),
    ("deep water", Terrain::DeepWater, [0x20, 0x48, 0xa0]),
    ("lava", Terrain::Lava, [0xd0, 0x40, 0x08]),
    ("chasm", Terrain::Chasm, [0x48, 0x20, 0x58]),
    ("pillar", Terrain::Pillar, [0x28, 0x28, 0x2c]),
];

/// Draws the sheet of a kind; `spec` gives its floors. Monsters, loot and traps are too small to draw.
pub(crate) fn draw(kind: Kind, spec: impl Fn(u64) -> Outcome<FloorSpec>) -> Outcome<Picture> {
    let (cells, rows) = (usize::from(spec(0)?.width()), usize::from(spec(0)?.height()));
    let scale = (SCALE * 100 / cells.max(rows)).max(1);
    let step = (cells * scale + GAP, rows * scale + GAP);
    let (side, bottom) = (ALONG * step.0 + GAP, TITLE + ALONG * step.1 + GAP);
    let mut sheet = Picture::blank(side, bottom + LEGEND_LINES * LINE);
    let title = format!("{}: {} floors, each {cells}x{rows} cells", kind.name().to_uppercase(), ALONG * ALONG);
    sheet.text(GAP, GAP, &title);
    let mut generator = Generator::new();
    for i in 0..ALONG * ALONG {
        let floor = generator.generate(&spec(i as u64)?);
        let (left, top) = (GAP + i % ALONG * step.0, TITLE + GAP + i / ALONG * step.1);
        for (at, &cell) in floor.terrain.iter().enumerate() {
            sheet.fill(left + at % cells * scale, top + at / cells * scale, (scale, scale), colour(cell));
        }
        for piece in &floor.furniture {
            let (x, y) = (usize::from(piece.at.x), usize::from(piece.at.y));
            let is_flat = floor.terrain[y * cells + x] != Terrain::Pillar;
            let colour = if is_flat { FLAT } else { BLOCKING };
            sheet.fill(left + x * scale, top + y * scale, (scale, scale), colour);
        }
        let middle = |x: usize, y: usize| (left + x * scale + scale / 2, top + y * scale + scale / 2);
        let place = |at: Point| middle(at.x.into(), at.y.into());
        for (at, &cell) in floor.terrain.iter().enumerate() {
            let (x, y) = middle(at % cells, at / cells);
            match cell {
                Terrain::LockedDoor => sheet.stud(x, y, LOCK),
                Terrain::SecretDoor => sheet.stud(x, y, SECRET),
                _ => {}
            }
        }
        for key in floor.items.iter().filter(|item| item.opens_lock != 0) {
            let (x, y) = place(key.at);
            sheet.disc(x, y, LOCK);
        }
        let ((x, y), (to_x, to_y)) = (place(floor.entry), place(floor.exit));
        sheet.triangle(x, y, true, ENTRY);
        sheet.triangle(to_x, to_y, false, EXIT);
    }
    legend(&mut sheet, bottom);
    Ok(sheet)
}

/// Draws the marker or the terrain of a legend entry.
type Sample = fn(&mut Picture, usize, usize);

/// Markers, then terrain, in as many lines as needed.
fn legend(sheet: &mut Picture, top: usize) {
    let markers: [(&str, Sample); 5] = [
        ("entry", |sheet, x, y| sheet.triangle(x, y, true, ENTRY)),
        ("exit", |sheet, x, y| sheet.triangle(x, y, false, EXIT)),
        ("locked door", |sheet, x, y| sheet.stud(x, y, LOCK)),
        ("key", |sheet, x, y| sheet.disc(x, y, LOCK)),
        ("secret door", |sheet, x, y| sheet.stud(x, y, SECRET)),
    ];
    let (mut x, mut y) = (GAP, top);
    let mut entry = |sheet: &mut Picture, name: &str, sample: &dyn Fn(&mut Picture, usize, usize)| {
        let width = 16 + name.len() * LETTER + 12;
        if x + width > sheet.width {
            (x, y) = (GAP, y + LINE);
        }
        sample(sheet, x + 5, y + LINE / 2 - 2);
        sheet.text(x + 16, y + LINE / 2 - 5, name);
        x += width;
    };
    for (name, sample) in markers {
        entry(sheet, name, &sample);
    }
    let things = [("furniture", BLOCKING), ("flat furniture", FLAT)];
    for (name, colour) in TERRAIN.map(|(name, _, colour)| (name, colour)).into_iter().chain(things) {
        entry(sheet, name, &|sheet, x, y| {
            sheet.fill(x - 5, y - 5, (10, 10), [0x80, 0x80, 0x80]);
            sheet.fill(x - 4, y - 4, (8, 8), colour);
        });
    }
}

fn colour(cell: Terrain) -> Colour {
    match cell {
        Terrain::LockedDoor => LOCK,
        Terrain::SecretDoor => SECRET,
        Terrain::StairsUp => ENTRY,
        Terrain::StairsDown => EXIT,
        _ => TERRAIN.iter().find(|(_, terrain, _)| *terrain == cell).map_or(PAPER, |(_, _, colour)| *colour),
    }
}
