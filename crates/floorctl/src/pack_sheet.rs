//! Floors of a pack to look at: `pack show` draws sheets of them, `pack watch` serves them one by one.

use std::io::Write;

use floor_client::limits::MAX_FLOOR;
use floor_export::picture;
use floor_gen::{FloorSpec, Generator, Kind};
use floor_pack::{LoadedPack, ResolveError};

use crate::{local, pack_source};

/// Floors on a sheet, in rows of [`COLUMNS`].
pub(crate) const FLOORS: u32 = 16;
const COLUMNS: u32 = 4;
/// How much higher the next floor of another tower is: 16 floors show several themes.
const STEP: u32 = 7;
/// Floors in which the schedule of a tower is searched for one of the kind.
const SEARCHED: u32 = 500;
/// The width of a sheet, in pixels, over which cells are drawn smaller, and their largest side.
const WIDTH: u32 = 3_000;
const LARGEST: u32 = 6;

/// Which floors are shown. They are the same every time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Selection {
    /// Their tower; `None`: each is of another one.
    pub(crate) seed: Option<u64>,
    /// The lowest number, from 1.
    pub(crate) number: u32,
    /// `None`: the kinds of the schedule.
    pub(crate) kind: Option<Kind>,
    /// Width and height; 0: that of the pack.
    pub(crate) size: (u32, u32),
}

impl Selection {
    /// The floors: 16, or those up to the last number. Players reach those of a kind, if the schedule has it.
    pub(crate) fn specs(&self, pack: &LoadedPack) -> Result<Vec<FloorSpec>, ResolveError> {
        let (width, height) = self.size;
        let mut specs = Vec::new();
        let mut next = self.number;
        for tower in 1..=u64::from(FLOORS) {
            if next > MAX_FLOOR {
                break;
            }
            let seed = self.seed.unwrap_or(tower);
            let number = self.kind.map_or(next, |kind| scheduled(pack, seed, next, kind));
            specs.push(pack.resolve(seed, number, width, height, self.kind)?);
            next = if self.seed.is_some() { number + 1 } else { next + STEP };
        }
        Ok(specs)
    }

    /// Draws the floors on one sheet, with `side` pixels per cell; `None`: as many as fit.
    pub(crate) fn draw(&self, out: impl Write, pack: &LoadedPack, side: Option<u32>) -> anyhow::Result<()> {
        let mut generator = Generator::new();
        let mut floors = Vec::new();
        for spec in self.specs(pack)? {
            let floor = local::floor(pack, &mut generator, &spec)?;
            let look = pack.pack().look(floor.theme());
            floors.push((floor, look));
        }
        let widest = floors.iter().map(|(floor, _)| floor.width()).max().unwrap_or(1);
        let side = side.unwrap_or_else(|| (WIDTH / (COLUMNS * widest)).clamp(1, LARGEST));
        let title = format!("{}: {}", pack_source::reference(pack.pack()), self.kind.map_or("floors", Kind::name));
        Ok(picture::draw_sheet(out, &title, &floors, COLUMNS, side)?)
    }
}

/// The number of the next floor of the kind that players of that tower reach, so that themes have the kinds that the
/// pack gives them. `first` if none comes.
fn scheduled(pack: &LoadedPack, seed: u64, first: u32, kind: Kind) -> u32 {
    let is_of_kind = |number: &u32| pack.resolve(seed, *number, 0, 0, None).is_ok_and(|spec| spec.kind() == kind);
    (first..first.saturating_add(SEARCHED)).find(is_of_kind).unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Selection = Selection { seed: None, number: 1, kind: None, size: (0, 0) };

    fn specs(selection: Selection) -> Vec<FloorSpec> {
        selection.specs(LoadedPack::built_in()).unwrap()
    }

    #[test]
    fn floors_of_a_kind_are_floors_that_players_reach() {
        for (kind, seed) in Kind::ALL.into_iter().flat_map(|kind| [(kind, None), (kind, Some(42))]) {
            let specs = specs(Selection { kind: Some(kind), seed, ..ANY });
            assert_eq!(specs.len(), 16);
            for spec in specs {
                let reached = LoadedPack::built_in().resolve(spec.seed(), spec.number(), 0, 0, None);
                assert_eq!(reached, Ok(spec));
            }
        }
    }

    #[test]
    fn a_tower_is_shown_from_a_floor_on() {
        let names = |selection| specs(selection).iter().map(|spec| local::name(spec).to_string()).collect::<Vec<_>>();
        let tower = Selection { seed: Some(42), number: 7, ..ANY };
        assert_eq!(names(tower)[..2], ["42/7:keep@100x100", "42/8:standard@100x100"]);
        assert_eq!(names(tower).len(), 16);
        assert_eq!(names(Selection { number: MAX_FLOOR, ..tower }), ["42/1000000:boss@100x100"]);
        assert_eq!(
            names(Selection { kind: Some(Kind::Boss), ..tower })[..2],
            ["42/10:boss@100x100", "42/20:boss@100x100"]
        );
        assert_eq!(names(Selection { size: (48, 32), ..ANY })[1], "2/8:standard@48x32");
    }
}
