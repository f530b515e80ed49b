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

use super::{PrefetchPlugin, Step, Trail, trail::LAPSE};
use crate::{
    generation::Generation,
    key,
    lifecycle::{Events, ServerEvent},
};

/// Climbers followed at once, at the most.
const MAX_CLIMBERS: usize = 4096;

/// Somebody who climbs a tower.
#[derive(Component, Debug)]
pub(super) struct Climber {
    /// The step taken last.
    last: Step,
    /// When that was.
    seen: Instant,
    /// How many floors above are to be warmed.
    window: u32,
    /// Floors warmed or being warmed, and not yet asked for.
    ahead: VecDeque<u32>,
    /// Whether floors above are still to be warmed.
    behind: bool,
}

impl Climber {
    /// Who has just taken the first step of a climb. One floor is warmed for it, two after the next step, and so on: one step
    /// may be chance (Linux's readahead starts small for the same reason).
    const fn at(step: Step, now: Instant) -> Self {
        Self { last: step, seen: now, window: 1, ahead: VecDeque::new(), behind: true }
    }
}

/// Which entity took which step last: whoever asks for the floor above is that climber.
#[derive(Resource, Debug, Default, Deref, DerefMut)]
pub(super) struct Climbers(HashMap<Step, Entity>);

/// How far and with what the server looks ahead.
#[derive(Resource, Debug)]
pub struct Lookahead {
    ahead: u32,
    budget: usize,
    warming: Warming,
    chain: Chain,
    generation: Generation,
    runtime: Handle,
    outcomes: IntCounterVec,
}

impl Lookahead {
    pub(super) fn new(plugin: &PrefetchPlugin, events: Events) -> prometheus::Result<Self> {
        let warming = Warming { in_making: Arc::default(), hungry: Arc::default(), events };
        let (generation, waiter) = (plugin.generation.clone(), warming.clone());
        plugin.runtime.spawn(async move {
            loop {
                generation.calmed().await;
                waiter.wake();
            }
        });
        Ok(Self {
            ahead: plugin.ahead,
            budget: plugin.budget,
            warming,
            chain: plugin.chain.clone(),
            generation: plugin.generation.clone(),
            runtime: plugin.runtime.clone(),
            outcomes: outcomes(&plugin.registry)?,
        })
    }

    /// Where a climber may stand who comes to `step`, nearest first: a call that left no footstep, since another did in the
    /// same instant, is no end of a climb.
    fn below(&self, step: &Step) -> impl Iterator<Item = Step> + use<> {
        let step = *step;
        (1..=self.ahead).filter_map(move |far| Some(Step { number: step.number.checked_sub(far)?, ..step }))
    }

    fn count(&self, outcome: &str, floors: usize) {
        self.outcomes.with_label_values(&[outcome]).inc_by(floors as u64);
    }

    /// Whether one more floor may be warmed: the budget is not used up and no caller waits for generation.
    fn may_warm(&self) -> bool {
        self.warming.in_making.load(Ordering::SeqCst) < self.budget && !self.generation.is_wanted()
    }

    /// Asks to be woken when there is room; whether there is room after all. A floor that was done, or a caller who got a
    /// worker, between the two looks has either left the asking to us, or has woken the app for it.
    fn got_room(&self) -> bool {
        self.warming.hungry.store(true, Ordering::SeqCst);
        self.generation.await_calm();
        self.may_warm() && self.warming.hungry.swap(false, Ordering::SeqCst)
    }

    fn warm(&self, spec: &FloorSpec) {
        let (chain, outcomes) = (self.chain.clone(), self.outcomes.clone());
        let key = key::of(spec);
        let in_making = self.warming.begin();
        self.runtime.spawn(async move {
            let options = Options { priority: Priority::Background, ..Options::default() };
            if chain.get(key, options).await.is_ok() {
                outcomes.with_label_values(&["prefetched"]).inc();
            }
            drop(in_making);
        });
    }
}

/// What is being made for climbers, and whether one waits.
#[derive(Debug, Clone)]
struct Warming {
    in_making: Arc<AtomicUsize>,
    /// Whether a climber waits: for the budget, or for callers to be served first.
    hungry: Arc<AtomicBool>,
    events: Events,
}

impl Warming {
    /// A floor is begun, until what is returned is dropped, however its making ends.
    fn begin(&self) -> InMaking {
        self.in_making.fetch_add(1, Ordering::SeqCst);
        InMaking(self.clone())
    }

    /// Wakes the app for those who wait, if any do.
    fn wake(&self) {
        if self.hungry.swap(false, Ordering::SeqCst) {
            self.events.send(ServerEvent::Footsteps(Trail::default()));
        }
    }
}

/// A floor in the making.
struct InMaking(Warming);

impl Drop for InMaking {
    fn drop(&mut self) {
        self.0.in_making.fetch_sub(1, Ordering::SeqCst);
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
pub(super) fn follow(
    mut trails: MessageReader<'_, '_, Trail>,
    mut known: ResMut<'_, Climbers>,
    mut climbers: Query<'_, '_, &mut Climber>,
    mut commands: Commands<'_, '_>,
    lookahead: Res<'_, Lookahead>,
) {
    let now = Instant::now();
    let followed = climbers.iter().len();
    // A command's entity is not there before this run is over, and a later step of the trail may be its climber's.
    let mut newcomers = HashMap::new();
    for step in trails.read().flat_map(|trail| &trail.0) {
        if let Some(climber) = known.get(step).and_then(|entity| find(*entity, &mut climbers, &mut newcomers)) {
            // Another climber's who came to the same place.
            climber.seen = now;
        } else if let Some(entity) = lookahead.below(step).find_map(|below| known.remove(&below))
            && let Some(climber) = find(entity, &mut climbers, &mut newcomers)
        {
            (climber.last, climber.seen, climber.behind) = (*step, now, true);
            climber.window = (2 * climber.window).min(lookahead.ahead);
            // Those below were asked for by calls that left no footstep.
            let reached = climber.ahead.partition_point(|number| *number <= step.number);
            lookahead.count("used", climber.ahead.drain(..reached).len());
            known.insert(*step, entity);
        } else if followed + newcomers.len() < MAX_CLIMBERS {
            let entity = commands.spawn_empty().id();
            newcomers.insert(entity, Climber::at(*step, now));
            known.insert(*step, entity);
        }
    }
    for (entity, climber) in newcomers {
        commands.entity(entity).insert(climber);
    }
}

fn find<'a>(
    entity: Entity,
    climbers: &'a mut Query<'_, '_, &mut Climber>,
    newcomers: &'a mut HashMap<Entity, Climber>,
) -> Option<&'a mut Climber> {
    match climbers.get_mut(entity) {
        Ok(climber) => Some(climber.into_inner()),
        Err(_) => newcomers.get_mut(&entity),
    }
}

/// Warms the floors above climbers who have moved, the next one of every climber before the second of any, as far as
/// the budget goes; the floor that is done next wakes the app for the rest.
pub(super) fn warm(mut climbers: Query<'_, '_, &mut Climber>, lookahead: Res<'_, Lookahead>) {
    for height in 1..=lookahead.ahead {
        for mut climber in climbers.iter_mut().filter(|climber| climber.behind && height <= climber.window) {
            let number = climber.last.number + height;
            if climber.ahead.contains(&number) {
                continue;
            }
            // The last floor of a tower has none above.
            let Some(spec) = climber.last.tower.floor(number) else { continue };
            if !lookahead.may_warm() && !lookahead.got_room() {
                return;
            }
            lookahead.warm(&spec);
            climber.ahead.push_back(number);
        }
    }
    for mut climber in &mut climbers {
        climber.behind = false;
    }
}

/// Forgets climbers who have stopped.
pub(super) fn lapse(
    climbers: Query<'_, '_, (Entity, &Climber)>,
    mut known: ResMut<'_, Climbers>,
    mut commands: Commands<'_, '_>,
    lookahead: Res<'_, Lookahead>,
) {
    let now = Instant::now();
    for (entity, climber) in &climbers {
        if now.duration_since(climber.seen) >= LAPSE {
            lookahead.count("wasted", climber.ahead.len());
            // Somebody else may have come to the same place.
            if known.get(&climber.last) == Some(&entity) {
                known.remove(&climber.last);
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
        prefetch::{Footsteps, Tower},
    };

    /// An app that follows climbers and warms nothing.
    fn followed(runtime: &Handle) -> App {
        warming(0, runtime)
    }

    /// An app that warms up to four floors ahead of a climber, and `budget` at once. None of them is ever made.
    fn warming(budget: usize, runtime: &Handle) -> App {
        let registry = Registry::new();
        let config = Config::from_toml("[cache]\nchain = [\"lru\"]\n").unwrap();
        let generation = Generation::new(1, 1, &registry).unwrap();
        let source = Arc::new(generation.clone());
        let chain = floor_cache::assemble_tuned(&config.cache, &config.tuning, source, &registry, runtime).unwrap();
        let (footsteps, runtime) = (Footsteps::default(), runtime.clone());
        let mut app = App::new();
        app.add_plugins((StatesPlugin, LifecyclePlugin { runtime: runtime.clone() }));
        app.add_plugins(PrefetchPlugin { ahead: 4, footsteps, chain, generation, budget, runtime, registry });
        app
    }

    fn step(seed: u64, number: u32) -> Step {
        Step { tower: Tower::of(&FloorSpec::resolve(seed, number, 0, 0, None).unwrap()), number }
    }

    /// The app after these steps of one moment: where its climbers are, each as the map of them has it.
    fn after(app: &mut App, steps: impl IntoIterator<Item = Step>) -> Vec<Step> {
        app.world_mut().write_message(Trail(steps.into_iter().collect()));
        app.update();
        let mut climbers = app.world_mut().query::<(Entity, &Climber)>();
        let (world, known) = (app.world(), app.world().resource::<Climbers>());
        assert_eq!(known.len(), climbers.iter(world).count());
        let found =
            climbers.iter(world).inspect(|(entity, climber)| assert_eq!(known.get(&climber.last), Some(entity)));
        found.map(|(_, climber)| climber.last).collect()
    }

    #[tokio::test]
    async fn the_more_steps_the_more_floors_are_warmed() {
        let mut app = warming(100, &Handle::current());
        for (number, ahead) in [(2, 3..=3), (3, 4..=5), (4, 5..=8), (5, 6..=9)] {
            after(&mut app, [step(7, number)]);
            let mut climbers = app.world_mut().query::<&Climber>();
            let climber = climbers.single(app.world()).unwrap();
            assert_eq!(climber.ahead, ahead.collect::<Vec<_>>(), "on floor {number}");
        }
    }

    #[tokio::test]
    async fn a_step_that_was_overlooked_ends_no_climb() {
        let mut app = warming(100, &Handle::current());
        for (number, ahead) in [(2, 3..=3), (3, 4..=5), (6, 7..=10)] {
            assert_eq!(after(&mut app, [step(7, number)]), [step(7, number)]);
            let mut climbers = app.world_mut().query::<&Climber>();
            assert_eq!(climbers.single(app.world()).unwrap().ahead, ahead.collect::<Vec<_>>(), "on floor {number}");
        }
    }

    #[tokio::test]
    async fn who_takes_several_steps_in_a_moment_is_one_climber() {
        let mut app = followed(&Handle::current());
        assert_eq!(after(&mut app, (2..=4).map(|number| step(7, number))), [step(7, 4)]);
        assert_eq!(after(&mut app, (5..=7).map(|number| step(7, number))), [step(7, 7)]);
    }

    #[tokio::test]
    async fn climbers_are_no_more_than_may_be_followed_however_they_come() {
        let mut app = followed(&Handle::current());
        let most = MAX_CLIMBERS as u64;
        let moment = |seeds: std::ops::Range<u64>| seeds.flat_map(|seed| (2..=4).map(move |number| step(seed, number)));
        assert_eq!(after(&mut app, moment(0..most - 1)).len(), MAX_CLIMBERS - 1);
        assert_eq!(after(&mut app, moment(most..most + 2)).len(), MAX_CLIMBERS);
        assert_eq!(after(&mut app, moment(0..3)).len(), MAX_CLIMBERS);
    }

    #[tokio::test]
    async fn who_lapses_takes_nobody_along_who_is_on_the_same_floor() {
        let mut app = followed(&Handle::current());
        let seen = Instant::now().checked_sub(LAPSE).unwrap();
        app.world_mut().spawn(Climber { behind: false, ..Climber::at(step(7, 2), seen) });
        assert_eq!(after(&mut app, [step(7, 2)]), [step(7, 2)]);
    }
}
