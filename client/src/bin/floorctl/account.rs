//! What the generator did to make a floor: attempts, their stages, how long each took and what it chose.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use floor_gen::{Floor, FloorSpec, Generator, explain::Observer};

/// A floor and how it came about.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) floor: Floor,
    /// From the spec to the finished floor.
    pub(crate) took: Duration,
    /// The last one made the floor; those before it were thrown away.
    pub(crate) attempts: Vec<Attempt>,
}

/// One layout.
#[derive(Debug, Default)]
pub(crate) struct Attempt {
    pub(crate) stages: Vec<Stage>,
    /// Why it was thrown away.
    pub(crate) refused: Option<&'static str>,
    /// Whether this is the plain construction that cannot fail.
    pub(crate) refuge: bool,
}

#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    /// Until the next stage begins, or the floor is finished.
    pub(crate) took: Duration,
    pub(crate) choices: Vec<(&'static str, usize)>,
}

impl Account {
    /// Makes the floor `runs` times, at least once, and takes the median of each time: one run alone tells more of the
    /// machine than of the generator. A run before them warms up memory and caches.
    pub(crate) fn of(spec: &FloorSpec, runs: usize) -> Self {
        let mut generator = Generator::new();
        let _ = generator.generate(spec);
        let mut all = (0..runs.max(1)).map(|_| Self::once(&mut generator, spec)).collect::<Vec<_>>();
        let took = median(all.iter().map(|run| run.took));
        // The generator is a pure function: every run has the same stages.
        let stages = |run: &Self| run.stages().map(|stage| stage.took).collect::<Vec<_>>();
        let times = all.iter().map(stages).collect::<Vec<_>>();
        let mut account = all.swap_remove(0);
        account.took = took;
        for (place, stage) in account.attempts.iter_mut().flat_map(|attempt| &mut attempt.stages).enumerate() {
            stage.took = median(times.iter().map(|run| run[place]));
        }
        account
    }

    fn once(generator: &mut Generator, spec: &FloorSpec) -> Self {
        let notes = Notes::default();
        let started = Instant::now();
        let floor = generator.generate_observed(spec, &notes);
        let took = started.elapsed();
        notes.end_stage();
        Self { floor, took, attempts: notes.0.into_inner().attempts }
    }

    /// The stages of all attempts, in the order in which they ran.
    pub(crate) fn stages(&self) -> impl Iterator<Item = &Stage> {
        self.attempts.iter().flat_map(|attempt| &attempt.stages)
    }
}

/// Writes down what a generator tells.
#[derive(Default)]
struct Notes(RefCell<Page>);

#[derive(Default)]
struct Page {
    attempts: Vec<Attempt>,
    /// When the stage that runs began.
    began: Option<Instant>,
}

impl Notes {
    /// Ends the stage that runs, if one does.
    fn end_stage(&self) {
        let now = Instant::now();
        let page = &mut *self.0.borrow_mut();
        if let (Some(began), Some(stage)) =
            (page.began.take(), page.attempts.last_mut().and_then(|attempt| attempt.stages.last_mut()))
        {
            stage.took = now - began;
        }
    }
}

impl Observer for Notes {
    fn attempt(&self, _: u32) {
        self.0.borrow_mut().attempts.push(Attempt::default());
    }

    fn stage(&self, name: &'static str) {
        self.end_stage();
        let page = &mut *self.0.borrow_mut();
        // Stages that follow a refusal without a new attempt are those of the plain construction.
        if page.attempts.last().is_none_or(|attempt| attempt.refused.is_some()) {
            page.attempts.push(Attempt { refuge: true, ..Attempt::default() });
        }
        if let Some(attempt) = page.attempts.last_mut() {
            attempt.stages.push(Stage { name, took: Duration::ZERO, choices: Vec::new() });
        }
        page.began = Some(Instant::now());
    }

    fn note(&self, what: &'static str, value: usize) {
        let page = &mut *self.0.borrow_mut();
        if let Some(stage) = page.attempts.last_mut().and_then(|attempt| attempt.stages.last_mut()) {
            stage.choices.push((what, value));
        }
    }

    fn rejected(&self, why: &'static str) {
        self.end_stage();
        if let Some(attempt) = self.0.borrow_mut().attempts.last_mut() {
            attempt.refused = Some(why);
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
    fn the_account_is_of_the_floor_itself() {
        let spec = FloorSpec::resolve(42, 7, 48, 48, None).unwrap();
        let account = Account::of(&spec, 3);
        assert_eq!(account.floor, floor_gen::generate(&spec));
        let names = account.stages().map(|stage| stage.name).collect::<Vec<_>>();
        assert!(["loot", "monsters", "traps"].iter().all(|name| names.contains(name)), "{names:?}");
        assert!(account.stages().any(|stage| !stage.choices.is_empty()));
        assert!(account.took > Duration::ZERO);
    }

    #[test]
    fn what_is_thrown_away_is_kept_apart() {
        let notes = Notes::default();
        notes.attempt(0);
        notes.stage("layout");
        notes.note("rooms", 3);
        notes.rejected("a room out of reach");
        notes.attempt(1);
        notes.stage("layout");
        notes.rejected("a key out of reach");
        notes.stage("refuge");
        notes.end_stage();
        let page = notes.0.into_inner();
        let told = page.attempts.iter().map(|attempt| (attempt.stages.len(), attempt.refused, attempt.refuge));
        assert_eq!(
            told.collect::<Vec<_>>(),
            [(1, Some("a room out of reach"), false), (1, Some("a key out of reach"), false), (1, None, true)]
        );
        assert_eq!(page.attempts[0].stages[0].choices, [("rooms", 3)]);
    }
}
