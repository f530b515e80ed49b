//! The systems that detect climbers, prefetch the floors above them, and remove inactive ones.
//!
//! Climbers are values of a map by their last step, and no entities: each step looks one up, so entities would need the map
//! too, and a second one for those that are spawned while a batch of steps is read.

use std::{
    collections::{HashMap, VecDeque},
    sync::atomic::Ordering::Relaxed,
    time::Instant,
};

use bevy::prelude::*;
use floor_cache::CallerId;

use super::{
    Prefetcher, Step,
    recorder::{CLIMBER_TIMEOUT, StepBatches},
    tower::StepOf,
};

/// Maximum of climbers.
const MAX_CLIMBERS: usize = 4096;

/// The climbers by their last step. A request for the floor above is the next step of that climber.
#[derive(Resource, Debug, Default, Deref, DerefMut)]
pub(super) struct Climbers(HashMap<Step, Climber>);

/// A caller that climbs a tower.
#[derive(Debug)]
pub(super) struct Climber {
    last_step_at: Instant,
    /// The caller that took the last step, which pays for the floors above.
    caller: CallerId,
    /// How many floors above the last step to prefetch.
    window: u32,
    /// Floors whose prefetch has started and that were not requested yet.
    prefetched: VecDeque<u32>,
    /// Whether prefetches above the last step have yet to start.
    needs_prefetch: bool,
}

impl Climber {
    /// A climber after its first step. The window starts at one floor and doubles with every step, because one step may
    /// be chance (Linux's readahead also starts small).
    const fn new(caller: CallerId, now: Instant) -> Self {
        Self { last_step_at: now, caller, window: 1, prefetched: VecDeque::new(), needs_prefetch: true }
    }
}

/// Moves climbers by their steps and adds new climbers.
pub(super) fn update_climbers(
    batches: Res<'_, StepBatches>,
    mut climbers: ResMut<'_, Climbers>,
    prefetcher: Res<'_, Prefetcher>,
) {
    let now = Instant::now();
    for StepOf { step, caller } in batches.drain() {
        if let Some(climber) = climbers.get_mut(&step) {
            // A step of another climber to the same floor.
            climber.last_step_at = now;
        } else if let Some(mut climber) = steps_below(step, prefetcher.ahead).find_map(|below| climbers.remove(&below))
        {
            (climber.last_step_at, climber.caller, climber.needs_prefetch) = (now, caller, true);
            climber.window = (2 * climber.window).min(prefetcher.ahead);
            // The floors below were requested by calls that the recorder missed.
            let reached = climber.prefetched.partition_point(|number| *number <= step.number);
            let used = climber.prefetched.drain(..reached).len() as u64;
            prefetcher.counts.used.fetch_add(used, Relaxed);
            climbers.insert(step, climber);
        } else if climbers.len() < MAX_CLIMBERS {
            climbers.insert(step, Climber::new(caller, now));
        }
    }
}

/// The steps that a climber who takes `step` may have taken last, nearest first. The recorder can miss accesses, and a
/// missed one does not end a climb.
fn steps_below(step: Step, ahead: u32) -> impl Iterator<Item = Step> {
    (1..=ahead).filter_map(move |distance| Some(Step { number: step.number.checked_sub(distance)?, ..step }))
}

/// Starts prefetches for climbers who moved, the nearest floors of all climbers first. When the budget is used up, the
/// end of a prefetch wakes the app for the rest.
pub(super) fn prefetch(mut climbers: ResMut<'_, Climbers>, prefetcher: Res<'_, Prefetcher>) {
    for height in 1..=prefetcher.ahead {
        let moved = climbers.iter_mut().filter(|(_, climber)| climber.needs_prefetch && height <= climber.window);
        for (last_step, climber) in moved {
            let number = last_step.number + height;
            if climber.prefetched.contains(&number) {
                continue;
            }
            // The top floor of a tower has none above.
            let Some(spec) = last_step.tower.floor(&prefetcher.packs, number) else { continue };
            if !prefetcher.may_prefetch() && !prefetcher.may_prefetch_or_request_wake() {
                return;
            }
            prefetcher.start_prefetch(&spec, last_step.tower.tenant(), climber.caller);
            climber.prefetched.push_back(number);
        }
    }
    climbers.values_mut().for_each(|climber| climber.needs_prefetch = false);
}

/// Removes climbers without a step for [`CLIMBER_TIMEOUT`].
pub(super) fn remove_inactive(mut climbers: ResMut<'_, Climbers>, prefetcher: Res<'_, Prefetcher>) {
    let now = Instant::now();
    for (_, climber) in climbers.extract_if(|_, climber| now.duration_since(climber.last_step_at) >= CLIMBER_TIMEOUT) {
        prefetcher.counts.wasted.fetch_add(climber.prefetched.len() as u64, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use floor_gen::FloorSpec;
    use prometheus::Registry;
    use tokio::runtime::Handle;

    use super::*;
    use crate::{
        cache::Chains,
        callers::Callers,
        config::Config,
        generation::GenerationQueue,
        lifecycle::LifecyclePlugin,
        packs::Packs,
        prefetch::{PrefetchPlugin, Tower},
        runtime::TokioHandle,
    };

    /// An app that follows climbers and prefetches nothing.
    fn following_app(runtime: &Handle) -> App {
        prefetching_app(0, runtime)
    }

    /// An app that prefetches up to four floors ahead of a climber, `budget` at once. Generation never runs.
    fn prefetching_app(budget: usize, runtime: &Handle) -> App {
        let registry = Registry::new();
        let config = Config::from_toml("[cache]\nchain = [\"lru\"]\n").unwrap();
        let callers = Callers::new(config.client_identity.clone());
        let generation = GenerationQueue::new(1, 1, None, callers, Packs::built_in(), &registry).unwrap();
        let source = Arc::new(generation.clone());
        let chain = floor_cache::assemble_tuned(&config.cache, &config.tuning, source, runtime).unwrap();
        let mut app = App::new();
        app.insert_resource(TokioHandle(runtime.clone()))
            .insert_resource(generation)
            .insert_resource(Packs::built_in())
            .insert_resource(Chains::from(chain))
            .add_plugins((PrefetchPlugin { ahead: 4, budget }, LifecyclePlugin));
        app.finish();
        app
    }

    fn step(seed: u64, number: u32) -> Step {
        Step { tower: Tower::of(&FloorSpec::resolve(seed, number, 0, 0, None).unwrap(), None, (0, 0)), number }
    }

    /// Runs one update with these steps. Returns the last step of every climber.
    fn after(app: &mut App, steps: impl IntoIterator<Item = Step>) -> Vec<Step> {
        let caller = CallerId(1);
        let batch = steps.into_iter().map(|step| StepOf { step, caller }).collect();
        app.world().resource::<StepBatches>().send(batch);
        app.update();
        app.world().resource::<Climbers>().keys().copied().collect()
    }

    /// The floors that are prefetched for the only climber.
    fn prefetched(app: &App) -> Vec<u32> {
        let climbers = app.world().resource::<Climbers>();
        assert_eq!(climbers.len(), 1);
        climbers.values().flat_map(|climber| climber.prefetched.iter().copied()).collect()
    }

    #[tokio::test]
    async fn the_prefetch_window_doubles_with_every_step() {
        let mut app = prefetching_app(100, &Handle::current());
        for (number, ahead) in [(2, 3..=3), (3, 4..=5), (4, 5..=8), (5, 6..=9)] {
            after(&mut app, [step(7, number)]);
            assert_eq!(prefetched(&app), ahead.collect::<Vec<_>>(), "on floor {number}");
        }
    }

    #[tokio::test]
    async fn an_unrecorded_step_does_not_end_a_climb() {
        let mut app = prefetching_app(100, &Handle::current());
        for (number, ahead) in [(2, 3..=3), (3, 4..=5), (6, 7..=10)] {
            assert_eq!(after(&mut app, [step(7, number)]), [step(7, number)]);
            assert_eq!(prefetched(&app), ahead.collect::<Vec<_>>(), "on floor {number}");
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
        let batch = |seeds: std::ops::Range<u64>| seeds.flat_map(|seed| (2..=4).map(move |number| step(seed, number)));
        assert_eq!(after(&mut app, batch(0..most - 1)).len(), MAX_CLIMBERS - 1);
        assert_eq!(after(&mut app, batch(most..most + 2)).len(), MAX_CLIMBERS);
        assert_eq!(after(&mut app, batch(0..3)).len(), MAX_CLIMBERS);
    }

    #[tokio::test]
    async fn an_inactive_climber_is_removed_and_an_active_one_stays() {
        let mut app = following_app(&Handle::current());
        after(&mut app, [step(7, 2), step(8, 2)]);
        let inactive_since = Instant::now().checked_sub(CLIMBER_TIMEOUT).unwrap();
        app.world_mut()
            .resource_mut::<Climbers>()
            .values_mut()
            .for_each(|climber| climber.last_step_at = inactive_since);
        // Another climber's step to the same floor keeps the first active.
        assert_eq!(after(&mut app, [step(7, 2)]), [step(7, 2)]);
    }
}
