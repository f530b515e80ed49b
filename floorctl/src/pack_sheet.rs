//! Sheets of floors of a pack, as PNG: `pack show` writes them, `pack watch` serves them.

use std::io::Write;

use floor_client::Floor;
use floor_export::{ExportError, picture};
use floor_gen::{Generator, Kind};
use floor_wire::LoadedPack;

use crate::{local, pack_source};

/// Floors on a sheet, in rows of [`COLUMNS`].
pub(crate) const FLOORS: u64 = 16;
const COLUMNS: u32 = 4;
/// Numbers of the floors: from the first of a tower into its later themes.
const FIRST: u32 = 3;
const STEP: u32 = 7;

/// Draws 16 floors of a kind. Each is another tower and another number, and they are the same every time.
pub(crate) fn draw(
    out: impl Write,
    pack: &LoadedPack,
    kind: Kind,
    size: (u32, u32),
    scale: u32,
) -> Result<(), ExportError> {
    let floors = floors(pack, kind, size);
    let title = format!("{}: {} {}x{}", pack_source::reference(pack.pack()), kind.name(), size.0, size.1);
    picture::draw_sheet(out, &title, &floors, COLUMNS, scale)
}

fn floors(pack: &LoadedPack, kind: Kind, (width, height): (u32, u32)) -> Vec<Floor> {
    let mut generator = Generator::new();
    let floor = |index: u64| {
        let number = FIRST + index as u32 * STEP;
        let spec = pack.resolve(index + 1, number, width, height, Some(kind)).expect("number and sides are in range");
        local::floor(pack, &mut generator, &spec)
    };
    (0..FLOORS).map(floor).collect()
}
