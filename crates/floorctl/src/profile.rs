//! Records how the generator made a floor: attempts, their stages, the time of each stage and its choices. `floorctl
//! explain` prints it.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fmt, iter,
    time::{Duration, Instant},
};

use floor_gen::{Floor, FloorSpec, Generator, Pack, Point, explain::Observer};
use serde::{Serialize, Serializer};

use crate::progress;

/// A floor and how it was generated.
#[derive(Debug)]
pub(crate) struct GenerationProfile<'p> {
    pub(crate) floor: Floor<'p>,
    /// Time from the spec to the finished floor.
    pub(crate) took: Duration,
    /// The last attempt produced the floor; those before it were rejected.
    pub(crate) attempts: Vec<Attempt>,
    /// The pack's furniture sets that the floor has, with the ids of their rooms.
    pub(crate) furniture: BTreeMap<String, Vec<u8>>,
}

/// One layout that the generator tried. Serialized as in `floorctl explain --json`.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Attempt {
    /// Whether this is the fallback layout, which never fails.
    pub(crate) fallback: bool,
    /// Why the layout was rejected, `None` for the one that became the floor.
    pub(crate) rejected: Option<&'static str>,
    pub(crate) stages: Vec<Stage>,
    /// The vaults that were drawn for it.
    pub(crate) vaults: Vec<DrawnVault>,
}

/// A vault of the pack that was drawn for a layout.
#[derive(Debug, Serialize)]
pub(crate) struct DrawnVault {
    /// Its name.
    pub(crate) vault: String,
    /// Where its map lies.
    pub(crate) cells: Option<Cells>,
    /// Why the layout does not hold it.
    pub(crate) rejected: Option<&'static str>,
}

/// The north-west and the south-east cell of a rectangle.
#[derive(Debug, Serialize)]
pub(crate) struct Cells {
    #[serde(serialize_with = "serialize_point")]
    pub(crate) min: Point,
    #[serde(serialize_with = "serialize_point")]
    pub(crate) max: Point,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    /// Time until the next stage began or the floor was finished.
    #[serde(rename = "tookUs", serialize_with = "serialize_micros")]
    pub(crate) took: Duration,
    #[serde(serialize_with = "serialize_choices")]
    pub(crate) choices: Vec<(&'static str, Choice)>,
}

/// What a stage chose: how many, or one of several things, by its key in the pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Choice {
    Number(usize),
    Key(&'static str),
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Key(key) => f.write_str(key),
        }
    }
}

pub(crate) fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}

fn serialize_micros<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(micros(*time))
}

/// Writes each choice as an object: `{"what": "rooms", "value": 9}`.
fn serialize_choices<S: Serializer>(choices: &[(&str, Choice)], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Entry<'a> {
        what: &'a str,
        value: Choice,
    }
    serializer.collect_seq(choices.iter().map(|(what, value)| Entry { what, value: *value }))
}

fn serialize_point<S: Serializer>(point: &Point, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map([("x", point.x), ("y", point.y)])
}

impl<'p> GenerationProfile<'p> {
    /// Generates the floor `runs` times, at least once, and takes the median of each time, since a single run is too
    /// noisy. One more run before them, not counted, warms up memory and caches.
    pub(crate) fn of(pack: &'p Pack, spec: &FloorSpec, runs: usize) -> Self {
        let mut generator = Generator::new();
        let _ = generator.generate_of(pack, spec);
        let bar = progress::bar("generating", runs as u64);
        let mut run = || {
            bar.inc(1);
            Self::run(&mut generator, pack, spec)
        };
        let mut profile = run();
        // The generator is a pure function: every run has the same stages. Of the others only the times are kept.
        let mut times = vec![profile.times()];
        times.extend((1..runs).map(|_| run().times()));
        profile.took = median(times.iter().map(|run| run[0]));
        for (index, stage) in profile.attempts.iter_mut().flat_map(|attempt| &mut attempt.stages).enumerate() {
            stage.took = median(times.iter().map(|run| run[index + 1]));
        }
        profile
    }

    /// That of the whole run, then those of its stages.
    fn times(&self) -> Vec<Duration> {
        iter::once(self.took).chain(self.stages().map(|stage| stage.took)).collect()
    }

    fn run(generator: &mut Generator, pack: &'p Pack, spec: &FloorSpec) -> Self {
        let recorder = Recorder::of(pack);
        let started = Instant::now();
        let floor = generator.generate_observed_of(pack, spec, &recorder);
        let took = started.elapsed();
        recorder.end_stage();
        let Recording { attempts, furniture, .. } = recorder.recording.into_inner();
        Self { floor, took, attempts, furniture }
    }

    /// The stages of all attempts, in the order in which they ran.
    pub(crate) fn stages(&self) -> impl Iterator<Item = &Stage> {
        self.attempts.iter().flat_map(|attempt| &attempt.stages)
    }
}

/// Records the calls of a generator.
struct Recorder<'p> {
    pack: &'p Pack,
    recording: RefCell<Recording>,
}

#[derive(Default)]
struct Recording {
    attempts: Vec<Attempt>,
    furniture: BTreeMap<String, Vec<u8>>,
    /// When the current stage began.
    began: Option<Instant>,
}

impl<'p> Recorder<'p> {
    fn of(pack: &'p Pack) -> Self {
        Self { pack, recording: RefCell::default() }
    }

    fn add_choice(&self, what: &'static str, choice: Choice) {
        let recording = &mut *self.recording.borrow_mut();
        if let Some(stage) = recording.attempts.last_mut().and_then(|attempt| attempt.stages.last_mut()) {
            stage.choices.push((what, choice));
        }
    }

    fn add_vault(&self, vault: usize, cells: Option<Cells>, rejected: Option<&'static str>) {
        let vault = self.pack.vaults()[vault].name.clone();
        if let Some(attempt) = self.recording.borrow_mut().attempts.last_mut() {
            attempt.vaults.push(DrawnVault { vault, cells, rejected });
        }
    }

    /// Ends the current stage, if there is one.
    fn end_stage(&self) {
        let now = Instant::now();
        let recording = &mut *self.recording.borrow_mut();
        if let (Some(began), Some(stage)) =
            (recording.began.take(), recording.attempts.last_mut().and_then(|attempt| attempt.stages.last_mut()))
        {
            stage.took = now - began;
        }
    }
}

impl Observer for Recorder<'_> {
    fn attempt(&self, _: u32) {
        self.recording.borrow_mut().attempts.push(Attempt::default());
    }

    fn stage(&self, name: &'static str) {
        self.end_stage();
        let recording = &mut *self.recording.borrow_mut();
        // Stages after a rejection without a new attempt belong to the fallback layout.
        if recording.attempts.last().is_none_or(|attempt| attempt.rejected.is_some()) {
            recording.attempts.push(Attempt { fallback: true, ..Attempt::default() });
        }
        if let Some(attempt) = recording.attempts.last_mut() {
            attempt.stages.push(Stage { name, took: Duration::ZERO, choices: Vec::new() });
        }
        recording.began = Some(Instant::now());
    }

    fn note(&self, what: &'static str, value: usize) {
        self.add_choice(what, Choice::Number(value));
    }

    fn chose(&self, what: &'static str, key: &'static str) {
        self.add_choice(what, Choice::Key(key));
    }

    fn vault_placed(&self, vault: usize, min: Point, max: Point) {
        self.add_vault(vault, Some(Cells { min, max }), None);
    }

    fn vault_rejected(&self, vault: usize, why: &'static str) {
        self.add_vault(vault, None, Some(why));
    }

    fn furnished(&self, room: u8, set: &str) {
        self.recording.borrow_mut().furniture.entry(set.to_owned()).or_default().push(room);
    }

    fn rejected(&self, why: &'static str) {
        self.end_stage();
        if let Some(attempt) = self.recording.borrow_mut().attempts.last_mut() {
            attempt.rejected = Some(why);
        }
    }
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times = times.collect::<Vec<_>>();
    times.sort_unstable();
    times[times.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_is_of_the_floor_itself() {
        let spec = FloorSpec::resolve(42, 7, 48, 48, None).unwrap();
        let profile = GenerationProfile::of(Pack::tower(), &spec, 3);
        assert_eq!(profile.floor, floor_gen::generate(&spec));
        let names = profile.stages().map(|stage| stage.name).collect::<Vec<_>>();
        assert!(["loot", "monsters", "traps"].iter().all(|name| names.contains(name)), "{names:?}");
        assert!(profile.stages().any(|stage| !stage.choices.is_empty()));
        assert!(profile.took > Duration::ZERO);
    }

    #[test]
    fn vaults_families_and_furniture_have_the_names_of_the_pack() {
        let pack = Pack::tower();
        for seed in 0..20 {
            let spec = FloorSpec::resolve(seed, 7, 64, 64, Some(floor_gen::Kind::Event)).unwrap();
            let profile = GenerationProfile::run(&mut Generator::new(), pack, &spec);
            let attempt = profile.attempts.last().unwrap();
            let DrawnVault { vault, cells, rejected: None } = &attempt.vaults[0] else { panic!("{attempt:?}") };
            let Some(Cells { min, max }) = cells else { panic!("{attempt:?}") };
            let vault = pack.vaults().iter().find(|other| other.name == *vault).unwrap();
            let size = (usize::from(max.x - min.x) + 1, usize::from(max.y - min.y) + 1);
            assert!([(vault.width, vault.height), (vault.height, vault.width)].contains(&size), "{attempt:?}");
            let is_inside = |at: Point| (min.x..=max.x).contains(&at.x) && (min.y..=max.y).contains(&at.y);
            assert!(profile.floor.rooms.iter().any(|room| is_inside(room.min) && is_inside(room.max)), "{attempt:?}");
            let mut choices = attempt.stages.iter().flat_map(|stage| &stage.choices);
            let Some((_, Choice::Key(family))) = choices.find(|(what, _)| *what == "family") else {
                panic!("{attempt:?}")
            };
            assert!(["closed", "half", "island", "garden", "way"].contains(family), "{family}");
            assert!(profile.furniture.values().flatten().all(|room| usize::from(*room) < profile.floor.rooms.len()));
            assert!(!profile.furniture.is_empty());
        }
    }

    #[test]
    fn rejected_attempts_are_recorded_separately() {
        let recorder = Recorder::of(Pack::tower());
        recorder.attempt(0);
        recorder.stage("layout");
        recorder.note("rooms", 3);
        recorder.rejected("a room out of reach");
        recorder.attempt(1);
        recorder.stage("layout");
        recorder.rejected("a key out of reach");
        recorder.stage("refuge");
        recorder.end_stage();
        let recording = recorder.recording.into_inner();
        let attempts =
            recording.attempts.iter().map(|attempt| (attempt.stages.len(), attempt.rejected, attempt.fallback));
        assert_eq!(
            attempts.collect::<Vec<_>>(),
            [(1, Some("a room out of reach"), false), (1, Some("a key out of reach"), false), (1, None, true)]
        );
        assert_eq!(recording.attempts[0].stages[0].choices, [("rooms", Choice::Number(3))]);
    }
}
