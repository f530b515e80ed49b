//! Sheets of floors of a pack, as PNG: `pack show` writes them, `pack watch` serves them.

use std::io::Write;

use floor_client::Floor;
use floor_export::picture;
use floor_gen::{Generator, Kind, pack::Look};
use floor_pack::{LoadedPack, ResolveError};

use crate::{local, pack_source};

/// Floors on a sheet, in rows of [`COLUMNS`].
pub(crate) const FLOORS: u64 = 16;
const COLUMNS: u32 = 4;
/// Numbers of the floors: from the first of a tower into its later themes.
const FIRST: u32 = 3;
const STEP: u32 = 7;
/// Floors in which the schedule of a tower is searched for one of the kind.
const SEARCHED: u32 = 500;

/// Draws 16 floors of a kind. Each is of another tower, and they are the same every time.
pub(crate) fn draw(out: impl Write, pack: &LoadedPack, kind: Kind, size: (u32, u32), scale: u32) -> anyhow::Result<()> {
    let floors = floors(pack, kind, size)?;
    let title = format!("{}: {} {}x{}", pack_source::reference(pack.pack()), kind.name(), size.0, size.1);
    Ok(picture::draw_sheet(out, &title, &floors, COLUMNS, scale)?)
}

fn floors(pack: &LoadedPack, kind: Kind, (width, height): (u32, u32)) -> Result<Vec<(Floor, Look)>, ResolveError> {
    let mut generator = Generator::new();
    let floor = |index: u64| {
        let seed = index + 1;
        let number = scheduled(pack, seed, FIRST + index as u32 * STEP, kind);
        let spec = pack.resolve(seed, number, width, height, Some(kind))?;
        let floor = local::floor(pack, &mut generator, &spec)?;
        let look = pack.pack().look(floor.theme());
        Ok((floor, look))
    };
    (0..FLOORS).map(floor).collect()
}

/// The number of the next floor of the kind that players of that tower reach, so that themes have the kinds that the pack
/// gives them. `first` if none comes.
fn scheduled(pack: &LoadedPack, seed: u64, first: u32, kind: Kind) -> u32 {
    let is_of_kind = |number: &u32| pack.resolve(seed, *number, 0, 0, None).is_ok_and(|spec| spec.kind() == kind);
    (first..first + SEARCHED).find(is_of_kind).unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floors_on_a_sheet_are_floors_that_players_reach() {
        let pack = LoadedPack::built_in();
        for kind in Kind::ALL {
            for seed in 1..=FLOORS {
                let number = scheduled(pack, seed, FIRST, kind);
                let spec = pack.resolve(seed, number, 0, 0, None).unwrap();
                assert_eq!(spec.kind(), kind, "{seed}/{number}");
            }
        }
    }
}
