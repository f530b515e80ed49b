//! Records how the generator made a floor: attempts, their stages, the time of each stage and its choices. `floorctl
//! explain` prints it.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use floor_gen::{Floor, FloorSpec, Generator, Pack, explain::Observer};
use serde::{Serialize, Serializer};

/// A floor and how it was generated.
#[derive(Debug)]
pub(crate) struct GenerationProfile<'p> {
    pub(crate) floor: Floor<'p>,
    /// Time from the spec to the finished floor.
    pub(crate) took: Duration,
    /// The last attempt produced the floor; those before it were rejected.
    pub(crate) attempts: Vec<Attempt>,
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
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    /// Time until the next stage began or the floor was finished.
    #[serde(rename = "tookUs", serialize_with = "serialize_micros")]
    pub(crate) took: Duration,
    #[serde(serialize_with = "serialize_choices")]
    pub(crate) choices: Vec<(&'static str, usize)>,
}

pub(crate) fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}

fn serialize_micros<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(micros(*time))
}

/// Writes each choice as an object: `{"what": "rooms", "value": 9}`.
fn serialize_choices<S: Serializer>(choices: &[(&str, usize)], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Choice<'a> {
        what: &'a str,
        value: usize,
    }
    serializer.collect_seq(choices.iter().map(|(what, value)| Choice { what, value: *value }))
}

impl<'p> GenerationProfile<'p> {
    /// Generates the floor `runs` times, at least once, and takes the median of each time, since a single run is too
    /// noisy. One more run before them, not counted, warms up memory and caches.
    pub(crate) fn of(pack: &'p Pack, spec: &FloorSpec, runs: usize) -> Self {
        let mut generator = Generator::new();
        let _ = generator.generate_of(pack, spec);
        let mut all = (0..runs.max(1)).map(|_| Self::run(&mut generator, pack, spec)).collect::<Vec<_>>();
        let took = median(all.iter().map(|run| run.took));
        // The generator is a pure function: every run has the same stages.
        let stages = |run: &Self| run.stages().map(|stage| stage.took).collect::<Vec<_>>();
        let times = all.iter().map(stages).collect::<Vec<_>>();
        let mut profile = all.swap_remove(0);
        profile.took = took;
        for (index, stage) in profile.attempts.iter_mut().flat_map(|attempt| &mut attempt.stages).enumerate() {
            stage.took = median(times.iter().map(|run| run[index]));
        }
        profile
    }

    fn run(generator: &mut Generator, pack: &'p Pack, spec: &FloorSpec) -> Self {
        let recorder = Recorder::default();
        let started = Instant::now();
        let floor = generator.generate_observed_of(pack, spec, &recorder);
        let took = started.elapsed();
        recorder.end_stage();
        Self { floor, took, attempts: recorder.0.into_inner().attempts }
    }

    /// The stages of all attempts, in the order in which they ran.
    pub(crate) fn stages(&self) -> impl Iterator<Item = &Stage> {
        self.attempts.iter().flat_map(|attempt| &attempt.stages)
    }
}

/// Records the calls of a generator.
#[derive(Default)]
struct Recorder(RefCell<Recording>);

#[derive(Default)]
struct Recording {
    attempts: Vec<Attempt>,
    /// When the current stage began.
    began: Option<Instant>,
}

impl Recorder {
    /// Ends the current stage, if there is one.
    fn end_stage(&self) {
        let now = Instant::now();
        let recording = &mut *self.0.borrow_mut();
        if let (Some(began), Some(stage)) =
            (recording.began.take(), recording.attempts.last_mut().and_then(|attempt| attempt.stages.last_mut()))
        {
            stage.took = now - began;
        }
    }
}

impl Observer for Recorder {
    fn attempt(&self, _: u32) {
        self.0.borrow_mut().attempts.push(Attempt::default());
    }

    fn stage(&self, name: &'static str) {
        self.end_stage();
        let recording = &mut *self.0.borrow_mut();
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
        let recording = &mut *self.0.borrow_mut();
        if let Some(stage) = recording.attempts.last_mut().and_then(|attempt| attempt.stages.last_mut()) {
            stage.choices.push((what, value));
        }
    }

    fn rejected(&self, why: &'static str) {
        self.end_stage();
        if let Some(attempt) = self.0.borrow_mut().attempts.last_mut() {
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
    fn rejected_attempts_are_recorded_separately() {
        let recorder = Recorder::default();
        recorder.attempt(0);
        recorder.stage("layout");
        recorder.note("rooms", 3);
        recorder.rejected("a room out of reach");
        recorder.attempt(1);
        recorder.stage("layout");
        recorder.rejected("a key out of reach");
        recorder.stage("refuge");
        recorder.end_stage();
        let recording = recorder.0.into_inner();
        let attempts =
            recording.attempts.iter().map(|attempt| (attempt.stages.len(), attempt.rejected, attempt.fallback));
        assert_eq!(
            attempts.collect::<Vec<_>>(),
            [(1, Some("a room out of reach"), false), (1, Some("a key out of reach"), false), (1, None, true)]
        );
        assert_eq!(recording.attempts[0].stages[0].choices, [("rooms", 3)]);
    }
}
