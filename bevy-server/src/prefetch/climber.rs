//! Climbers: who they are, which floors they will want next, and warming those.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Instant,
};

use bevy::prelude::*;
use floor_cache::{Chain, Options, Priority};
use floor_gen::FloorSpec;
use prometheus::{IntCounterVec, Opts, Registry};
use tokio::runtime::Handle;

use super::{PrefetchPlugin, Step, StepBatch, recorder::CLIMBER_TIMEOUT};
use crate::{
    generation::GenerationQueue,
    key,
    lifecycle::{EventSender, ServerEvent},
};

/// Climbers followed at once, at the most.
const MAX_CLIMBERS: usize = 4096;

/// Somebody who climbs a tower.
#[derive(Component, Debug)]
pub(super) struct Climber {
    /// The step taken last.
    last_step: Step,
    /// When that was.
    last_step_at: Instant,
    /// How many floors above are to be warmed.
    window: u32,
    /// Floors warmed or being warmed, and not yet asked for.
    prefetched: VecDeque<u32>,
    /// Whether floors above are still to be warmed.
    needs_prefetch: bool,
}

impl Climber {
    /// Who has just taken the first step of a climb. One floor is warmed for it, two after the next step, and so on: one step
    /// may be chance (Linux's readahead starts small for the same reason).
    const fn new(step: Step, now: Instant) -> Self {
        Self { last_step: step, last_step_at: now, window: 1, prefetched: VecDeque::new(), needs_prefetch: true }
    }
}

/// Which entity took which step last: whoever asks for the floor above is that climber.
#[derive(Resource, Debug, Default, Deref, DerefMut)]
pub(super) struct Climbers(HashMap<Step, Entity>);

/// How far and with what the server looks ahead.
#[derive(Resource, Debug)]
pub struct Prefetcher {
    ahead: u32,
    budget: usize,
    in_progress: InProgress,
    chain: Chain,
    generation: GenerationQueue,
    runtime: Handle,
    outcomes: IntCounterVec,
}

impl Prefetcher {
    pub(super) fn new(plugin: &PrefetchPlugin, events: EventSender) -> prometheus::Result<Self> {
        let in_progress = InProgress { count: Arc::default(), wake_requested: Arc::default(), events };
        let (generation, waker) = (plugin.generation.clone(), in_progress.clone());
        plugin.runtime.spawn(async move {
            loop {
                generation.idle().await;
                waker.wake();
            }
        });
        Ok(Self {
            ahead: plugin.ahead,
            budget: plugin.budget,
            in_progress,
            chain: plugin.chain.clone(),
            generation: plugin.generation.clone(),
            runtime: plugin.runtime.clone(),
            outcomes: outcomes(&plugin.registry)?,
        })
    }

    /// Where a climber may stand who comes to `step`, nearest first: a call that left no footstep, since another did in the
    /// same instant, is no end of a climb.
    fn steps_below(&self, step: &Step) -> impl Iterator<Item = Step> + use<> {
        let step = *step;
        (1..=self.ahead).filter_map(move |far| Some(Step { number: step.number.checked_sub(far)?, ..step }))
    }

    fn count(&self, outcome: &str, floors: usize) {
        self.outcomes.with_label_values(&[outcome]).inc_by(floors as u64);
    }

    /// Whether one more floor may be warmed: the budget is not used up and no caller waits for generation.
    fn may_prefetch(&self) -> bool {
        self.in_progress.count.load(Ordering::SeqCst) < self.budget && !self.generation.has_waiting_callers()
    }

    /// Asks to be woken when there is room; whether there is room after all. A floor that was done, or a caller who got a
    /// worker, between the two looks has either left the asking to us, or has woken the app for it.
    fn may_prefetch_or_request_wake(&self) -> bool {
        self.in_progress.wake_requested.store(true, Ordering::SeqCst);
        self.generation.request_idle_wake();
        self.may_prefetch() && self.in_progress.wake_requested.swap(false, Ordering::SeqCst)
    }

    fn start_prefetch(&self, spec: &FloorSpec) {
        let (chain, outcomes) = (self.chain.clone(), self.outcomes.clone());
        let key = key::of(spec);
        let guard = self.in_progress.begin();
        self.runtime.spawn(async move {
            let options = Options { priority: Priority::Background, ..Options::default() };
            if chain.get(key, options).await.is_ok() {
                outcomes.with_label_values(&["prefetched"]).inc();
            }
            drop(guard);
        });
    }
}

/// What is being made for climbers, and whether one waits.
#[derive(Debug, Clone)]
struct InProgress {
    count: Arc<AtomicUsize>,
    /// Whether a climber waits: for the budget, or for callers to be served first.
    wake_requested: Arc<AtomicBool>,
    events: EventSender,
}

impl InProgress {
    /// A floor is begun, until what is returned is dropped, however its making ends.
    fn begin(&self) -> PrefetchGuard {
        self.count.fetch_add(1, Ordering::SeqCst);
        PrefetchGuard(self.clone())
    }

    /// Wakes the app for those who wait, if any do.
    fn wake(&self) {
        if self.wake_requested.swap(false, Ordering::SeqCst) {
            self.events.send(ServerEvent::Steps(StepBatch::default()));
        }
    }
}

/// A floor in the making.
struct PrefetchGuard(InProgress);

impl Drop for PrefetchGuard {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::SeqCst);
        self.0.wake();
    }
}

/// `floors_prefetches_total{outcome}`: prefetched, and of those used or wasted.
fn outcomes(registry: &Registry) -> prometheus::Result<IntCounterVec> {
    let help =
        "Floors fetched ahead of climbers, from a tier or generation, and those of them that were used or wasted.";
    let outcomes = IntCounterVec::new(Opts::new("floors_prefetches_total", help), &["outcome"])?;
    registry.register(Box::new(outcomes.clone()))?;
    for outcome in ["prefetched", "used", "wasted"] {
        outcomes.with_label_values(&[outcome]).inc_by(0);
    }
    Ok(outcomes)
}

/// Moves climbers along their footsteps, and meets new ones.
pub(super) fn update_climbers(
    mut batches: MessageReader<'_, '_, StepBatch>,
    mut by_step: ResMut<'_, Climbers>,
    mut climbers: Query<'_, '_, &mut Climber>,
    mut commands: Commands<'_, '_>,
    prefetcher: Res<'_, Prefetcher>,
) {
    let now = Instant::now();
    let climber_count = climbers.iter().len();
    // A command's entity is not there before this run is over, and a later step of the trail may be its climber's.
    let mut new_climbers = HashMap::new();
    for step in batches.read().flat_map(|batch| &batch.0) {
        if let Some(climber) = by_step.get(step).and_then(|entity| find(*entity, &mut climbers, &mut new_climbers)) {
            // Another climber's who came to the same place.
            climber.last_step_at = now;
        } else if let Some(entity) = prefetcher.steps_below(step).find_map(|below| by_step.remove(&below))
            && let Some(climber) = find(entity, &mut climbers, &mut new_climbers)
        {
            (climber.last_step, climber.last_step_at, climber.needs_prefetch) = (*step, now, true);
            climber.window = (2 * climber.window).min(prefetcher.ahead);
            // Those below were asked for by calls that left no footstep.
            let reached = climber.prefetched.partition_point(|number| *number <= step.number);
            prefetcher.count("used", climber.prefetched.drain(..reached).len());
            by_step.insert(*step, entity);
        } else if climber_count + new_climbers.len() < MAX_CLIMBERS {
            let entity = commands.spawn_empty().id();
            new_climbers.insert(entity, Climber::new(*step, now));
            by_step.insert(*step, entity);
        }
    }
    for (entity, climber) in new_climbers {
        commands.entity(entity).insert(climber);
    }
}

fn find<'a>(
    entity: Entity,
    climbers: &'a mut Query<'_, '_, &mut Climber>,
    new_climbers: &'a mut HashMap<Entity, Climber>,
) -> Option<&'a mut Climber> {
    match climbers.get_mut(entity) {
        Ok(climber) => Some(climber.into_inner()),
        Err(_) => new_climbers.get_mut(&entity),
    }
}

/// Warms the floors above climbers who have moved, the next one of every climber before the second of any, as far as
/// the budget goes; the floor that is done next wakes the app for the rest.
pub(super) fn prefetch(mut climbers: Query<'_, '_, &mut Climber>, prefetcher: Res<'_, Prefetcher>) {
    for height in 1..=prefetcher.ahead {
        for mut climber in climbers.iter_mut().filter(|climber| climber.needs_prefetch && height <= climber.window) {
            let number = climber.last_step.number + height;
            if climber.prefetched.contains(&number) {
                continue;
            }
            // The last floor of a tower has none above.
            let Some(spec) = climber.last_step.tower.floor(number) else { continue };
            if !prefetcher.may_prefetch() && !prefetcher.may_prefetch_or_request_wake() {
                return;
            }
            prefetcher.start_prefetch(&spec);
            climber.prefetched.push_back(number);
        }
    }
    for mut climber in &mut climbers {
        climber.needs_prefetch = false;
    }
}

/// Forgets climbers who have stopped.
pub(super) fn remove_inactive(
    climbers: Query<'_, '_, (Entity, &Climber)>,
    mut by_step: ResMut<'_, Climbers>,
    mut commands: Commands<'_, '_>,
    prefetcher: Res<'_, Prefetcher>,
) {
    let now = Instant::now();
    for (entity, climber) in &climbers {
        if now.duration_since(climber.last_step_at) >= CLIMBER_TIMEOUT {
            prefetcher.count("wasted", climber.prefetched.len());
            // Somebody else may have come to the same place.
            if by_step.get(&climber.last_step) == Some(&entity) {
                by_step.remove(&climber.last_step);
            }
            commands.entity(entity).despawn();
        }
    }
}

#[cfg(test)]
mod tests {
    use bevy::state::app::StatesPlugin;

    use super::*;
    use crate::{
        config::Config,
        lifecycle::LifecyclePlugin,
        prefetch::{AccessRecorder, Tower},
    };

    /// An app that follows climbers and warms nothing.
    fn following_app(runtime: &Handle) -> App {
        prefetching_app(0, runtime)
    }

    /// An app that warms up to four floors ahead of a climber, and `budget` at once. None of them is ever made.
    fn prefetching_app(budget: usize, runtime: &Handle) -> App {
        let registry = Registry::new();
        let config = Config::from_toml("[cache]\nchain = [\"lru\"]\n").unwrap();
        let generation = GenerationQueue::new(1, 1, &registry).unwrap();
        let source = Arc::new(generation.clone());
        let chain = floor_cache::assemble_tuned(&config.cache, &config.tuning, source, &registry, runtime).unwrap();
        let (access_recorder, runtime) = (AccessRecorder::default(), runtime.clone());
        let mut app = App::new();
        app.add_plugins((StatesPlugin, LifecyclePlugin { runtime: runtime.clone() }));
        app.add_plugins(PrefetchPlugin { ahead: 4, access_recorder, chain, generation, budget, runtime, registry });
        app
    }

    fn step(seed: u64, number: u32) -> Step {
        Step { tower: Tower::of(&FloorSpec::resolve(seed, number, 0, 0, None).unwrap()), number }
    }

    /// The app after these steps of one moment: where its climbers are, each as the map of them has it.
    fn after(app: &mut App, steps: impl IntoIterator<Item = Step>) -> Vec<Step> {
        app.world_mut().write_message(StepBatch(steps.into_iter().collect()));
        app.update();
        let mut climbers = app.world_mut().query::<(Entity, &Climber)>();
        let (world, by_step) = (app.world(), app.world().resource::<Climbers>());
        assert_eq!(by_step.len(), climbers.iter(world).count());
        let found =
            climbers.iter(world).inspect(|(entity, climber)| assert_eq!(by_step.get(&climber.last_step), Some(entity)));
        found.map(|(_, climber)| climber.last_step).collect()
    }

    #[tokio::test]
    async fn the_prefetch_window_doubles_with_every_step() {
        let mut app = prefetching_app(100, &Handle::current());
        for (number, ahead) in [(2, 3..=3), (3, 4..=5), (4, 5..=8), (5, 6..=9)] {
            after(&mut app, [step(7, number)]);
            let mut climbers = app.world_mut().query::<&Climber>();
            let climber = climbers.single(app.world()).unwrap();
            assert_eq!(climber.prefetched, ahead.collect::<Vec<_>>(), "on floor {number}");
        }
    }

    #[tokio::test]
    async fn an_unrecorded_step_does_not_end_a_climb() {
        let mut app = prefetching_app(100, &Handle::current());
        for (number, ahead) in [(2, 3..=3), (3, 4..=5), (6, 7..=10)] {
            assert_eq!(after(&mut app, [step(7, number)]), [step(7, number)]);
            let mut climbers = app.world_mut().query::<&Climber>();
            assert_eq!(
                climbers.single(app.world()).unwrap().prefetched,
                ahead.collect::<Vec<_>>(),
                "on floor {number}"
            );
        }
    }

    #[tokio::test]
    async fn several_steps_in_one_batch_are_one_climber() {
        let mut app = following_app(&Handle::current());
        assert_eq!(after(&mut app, (2..=4).map(|number| step(7, number))), [step(7, 4)]);
        assert_eq!(after(&mut app, (5..=7).map(|number| step(7, number))), [step(7, 7)]);
    }

    #[tokio::test]
    async fn the_number_of_climbers_is_bounded() {
        let mut app = following_app(&Handle::current());
        let most = MAX_CLIMBERS as u64;
        let moment = |seeds: std::ops::Range<u64>| seeds.flat_map(|seed| (2..=4).map(move |number| step(seed, number)));
        assert_eq!(after(&mut app, moment(0..most - 1)).len(), MAX_CLIMBERS - 1);
        assert_eq!(after(&mut app, moment(most..most + 2)).len(), MAX_CLIMBERS);
        assert_eq!(after(&mut app, moment(0..3)).len(), MAX_CLIMBERS);
    }

    #[tokio::test]
    async fn an_inactive_climber_is_removed_without_the_active_one_on_the_same_floor() {
        let mut app = following_app(&Handle::current());
        let last_step_at = Instant::now().checked_sub(CLIMBER_TIMEOUT).unwrap();
        app.world_mut().spawn(Climber { needs_prefetch: false, ..Climber::new(step(7, 2), last_step_at) });
        assert_eq!(after(&mut app, [step(7, 2)]), [step(7, 2)]);
    }
}
