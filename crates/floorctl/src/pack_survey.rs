//! Generates sampled floors of a pack, proves each, and counts what the generator used. `pack check` prints it.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    time::{Duration, Instant},
};

use floor_gen::{
    Floor, Generator, Kind, Pack, Point,
    explain::{Observer, bare_cells},
    validate::validate,
};
use indicatif::ProgressBar;

use crate::{local, pack_sample, pack_text::Named, parallel_scan};

/// What the generator made of a pack.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// By the kind's number, from 1.
    pub(crate) kinds: BTreeMap<u8, KindSurvey>,
    /// How many floors a vault was placed on, by its index in the pack.
    pub(crate) vaults: BTreeMap<usize, u64>,
    /// Names that occur on a floor.
    pub(crate) used: Used,
    /// Floors that break a rule: their names and the first rule.
    pub(crate) broken: Vec<(String, String)>,
}

/// The names of each sort that occur.
#[derive(Debug, Default)]
pub(crate) struct Used(BTreeMap<Named, BTreeSet<String>>);

/// The floors of one kind.
#[derive(Debug, Default)]
pub(crate) struct KindSurvey {
    pub(crate) floors: u64,
    pub(crate) fallbacks: u64,
    times: Vec<Duration>,
    pub(crate) bare: Bareness,
    /// What was rejected and why, and how often.
    pub(crate) rejections: BTreeMap<Rejection, u64>,
}

/// How much of floors and rooms is bare: lies in squares of 9x9 cells of plain floor in which nothing stands.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bareness {
    /// Of passable cells, in hundredths: the sum over all floors, and the barest floor.
    pub(crate) sum: f64,
    pub(crate) worst: f64,
    /// Floors above [`Self::LIMIT`]; rooms; rooms above it.
    pub(crate) floors_above: u64,
    pub(crate) rooms: u64,
    pub(crate) rooms_above: u64,
}

impl Bareness {
    /// The share above which a floor or a room is bare, in hundredths.
    pub(crate) const LIMIT: f64 = 15.0;

    fn of(floor: &Floor<'_>) -> Self {
        let (mut bare, mut walkable) = (vec![0_u32; floor.rooms.len() + 1], vec![0_u32; floor.rooms.len() + 1]);
        for ((is_bare, mark), cell) in bare_cells(floor).into_iter().zip(&floor.region).zip(&floor.terrain) {
            bare[usize::from(*mark)] += u32::from(is_bare);
            walkable[usize::from(*mark)] += u32::from(cell.passable());
        }
        let share = |bare: u32, of: u32| 100.0 * f64::from(bare) / f64::from(of.max(1));
        let rooms = bare.iter().zip(&walkable).skip(1).map(|(&bare, &walkable)| share(bare, walkable));
        let whole = share(bare.iter().sum(), walkable.iter().sum());
        Self {
            sum: whole,
            worst: whole,
            floors_above: u64::from(whole > Self::LIMIT),
            rooms: floor.rooms.len() as u64,
            rooms_above: rooms.filter(|share| *share > Self::LIMIT).count() as u64,
        }
    }

    fn add(&mut self, other: Self) {
        self.sum += other.sum;
        self.worst = self.worst.max(other.worst);
        self.floors_above += other.floors_above;
        self.rooms += other.rooms;
        self.rooms_above += other.rooms_above;
    }
}

/// A layout, or a vault that was drawn for one, that does not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rejection {
    pub(crate) what: Rejected,
    pub(crate) why: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rejected {
    Layout,
    /// The vault with that index.
    Vault(usize),
}

/// Floors that break a rule and are listed. More are counted only.
const LISTED: usize = 20;

/// What a thread found on one floor.
struct Found {
    kind: Kind,
    took: Duration,
    is_fallback: bool,
    rejections: Vec<Rejection>,
    vaults: BTreeSet<usize>,
    used: BTreeSet<(Named, String)>,
    bare: Bareness,
    broken: Option<(String, String)>,
}

impl Survey {
    /// Generates `per_kind` floors of each kind on all cores.
    pub(crate) fn of(pack: &Pack, per_kind: u64, bar: &ProgressBar) -> Self {
        let mut survey = Self::default();
        // It never breaks.
        let _ = parallel_scan::in_order::<_, _, ()>(
            pack_sample::len(per_kind),
            RefCell::<Generator>::default,
            |generator, index| Some(look(pack, &mut generator.borrow_mut(), index)),
            |range, found| {
                bar.inc(range.end - range.start);
                found.into_iter().for_each(|found| survey.add(found));
                ControlFlow::Continue(())
            },
        );
        survey
    }

    fn add(&mut self, found: Found) {
        let kind = self.kinds.entry(found.kind as u8).or_default();
        kind.floors += 1;
        kind.fallbacks += u64::from(found.is_fallback);
        kind.times.push(found.took);
        kind.bare.add(found.bare);
        for rejection in found.rejections {
            *kind.rejections.entry(rejection).or_default() += 1;
        }
        for vault in found.vaults {
            *self.vaults.entry(vault).or_default() += 1;
        }
        for (sort, name) in found.used {
            self.used.0.entry(sort).or_default().insert(name);
        }
        if self.broken.len() < LISTED {
            self.broken.extend(found.broken);
        }
    }
}

impl Used {
    pub(crate) fn has(&self, sort: Named, name: &str) -> bool {
        self.0.get(&sort).is_some_and(|names| names.contains(name))
    }
}

impl KindSurvey {
    pub(crate) fn median(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    }
}

fn look(pack: &Pack, generator: &mut Generator, index: u64) -> Found {
    let spec = pack_sample::spec(pack, index);
    let recorder = Recorder::default();
    let started = Instant::now();
    let floor = generator.generate_observed_of(pack, &spec, &recorder);
    let took = started.elapsed();
    let monsters = floor.spawns.iter().map(|spawn| (Named::Monster, spawn.archetype));
    let items = floor.items.iter().map(|item| (Named::Item, item.archetype));
    let traps = floor.traps.iter().map(|trap| (Named::Trap, trap.archetype));
    let pieces = floor.furniture.iter().map(|piece| (Named::Furniture, piece.archetype));
    let theme = [(Named::Theme, floor.theme)];
    let used =
        monsters.chain(items).chain(traps).chain(pieces).chain(theme).map(|(sort, name)| (sort, name.to_owned()));
    let broken = validate(&floor).err().and_then(|violations| violations.first().map(ToString::to_string));
    let Recorder { rejections, placed, is_fallback } = recorder;
    Found {
        kind: spec.kind(),
        took,
        is_fallback: is_fallback.get(),
        rejections: rejections.into_inner(),
        vaults: placed.into_inner(),
        used: used.collect(),
        bare: Bareness::of(&floor),
        broken: broken.map(|rule| (local::name(&spec).to_string(), rule)),
    }
}

/// Records vaults and rejected layouts.
#[derive(Default)]
struct Recorder {
    rejections: RefCell<Vec<Rejection>>,
    /// The vaults of the current layout.
    placed: RefCell<BTreeSet<usize>>,
    is_fallback: Cell<bool>,
}

impl Observer for Recorder {
    fn attempt(&self, _: u32) {
        self.placed.borrow_mut().clear();
    }

    fn vault_placed(&self, vault: usize, _: Point, _: Point) {
        self.placed.borrow_mut().insert(vault);
    }

    fn vault_rejected(&self, vault: usize, why: &'static str) {
        self.rejections.borrow_mut().push(Rejection { why, what: Rejected::Vault(vault) });
    }

    fn rejected(&self, why: &'static str) {
        self.rejections.borrow_mut().push(Rejection { why, what: Rejected::Layout });
        // Layouts of EVENT floors are rejected because of the vault in their middle.
        let vaults = self
            .placed
            .borrow()
            .iter()
            .map(|&vault| Rejection { why, what: Rejected::Vault(vault) })
            .collect::<Vec<_>>();
        self.rejections.borrow_mut().extend(vaults);
    }

    fn finished(&self, is_fallback: bool) {
        self.is_fallback.set(is_fallback);
        if is_fallback {
            self.placed.borrow_mut().clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_pack_uses_what_it_has_and_breaks_no_rule() {
        let survey = Survey::of(Pack::tower(), 40, &ProgressBar::hidden());
        assert_eq!(survey.broken, []);
        assert_eq!(survey.kinds.len(), Kind::ALL.len());
        let event = &survey.kinds[&(Kind::Event as u8)];
        assert_eq!(event.floors, 40);
        assert!(survey.vaults.values().sum::<u64>() >= 40 - event.fallbacks, "an event floor has a vault");
        assert!(event.median() > Duration::ZERO);
        assert!(survey.used.has(Named::Monster, "rat") && survey.used.has(Named::Item, "key"));
        assert!(survey.used.has(Named::Theme, "crypt") && survey.used.has(Named::Trap, "spikes"));
        assert!(!survey.used.has(Named::Item, "rat"));
        assert!(survey.used.has(Named::Furniture, "bookcase"));
        for (kind, found) in &survey.kinds {
            let bare = found.bare;
            let is_furnished = bare.sum <= 12.0 * 40.0 && bare.worst <= 35.0 && bare.rooms_above * 15 <= bare.rooms;
            assert!(is_furnished, "kind {kind}: {bare:?}");
        }
    }
}
