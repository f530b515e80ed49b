//! Climbers: who they are, which floors they will want next, and warming those.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use bevy::prelude::*;
use floor_cache::{Chain, Options, Priority};
use floor_gen::FloorSpec;
use prometheus::{IntCounterVec, Opts, Registry};
use tokio::runtime::Handle;

use super::{PrefetchPlugin, Tower, Trail, trail::LAPSE};
use crate::{generation::Generation, key};

/// Climbers followed at once, at the most.
const MAX_CLIMBERS: usize = 4096;

/// A tower that is being climbed: the scheduled floors of one seed in one size.
#[derive(Component, Debug)]
pub(super) struct Climber {
    tower: Tower,
    /// The floor asked for last.
    last: u32,
    /// When that was.
    seen: Instant,
    /// Floors warmed, and not yet asked for.
    ahead: VecDeque<u32>,
}

/// Which entity climbs which tower.
#[derive(Resource, Debug, Default, Deref, DerefMut)]
pub(super) struct Climbers(HashMap<Tower, Entity>);

/// How far and with what the server looks ahead.
#[derive(Resource, Debug)]
pub struct Lookahead {
    ahead: u32,
    budget: usize,
    in_making: Arc<AtomicUsize>,
    chain: Chain,
    generation: Generation,
    runtime: Handle,
    outcomes: IntCounterVec,
}

impl Lookahead {
    pub(super) fn new(plugin: &PrefetchPlugin) -> prometheus::Result<Self> {
        Ok(Self {
            ahead: plugin.ahead,
            budget: plugin.budget,
            in_making: Arc::default(),
            chain: plugin.chain.clone(),
            generation: plugin.generation.clone(),
            runtime: plugin.runtime.clone(),
            outcomes: outcomes(&plugin.registry)?,
        })
    }

    fn count(&self, outcome: &str, floors: usize) {
        self.outcomes.with_label_values(&[outcome]).inc_by(floors as u64);
    }

    /// Whether one more floor may be warmed: the budget is not used up and no caller waits for generation.
    fn may_warm(&self) -> bool {
        self.in_making.load(Ordering::Relaxed) < self.budget && !self.generation.is_wanted()
    }

    fn warm(&self, spec: &FloorSpec) {
        let (chain, outcomes, in_making) = (self.chain.clone(), self.outcomes.clone(), Arc::clone(&self.in_making));
        let key = key::of(spec);
        in_making.fetch_add(1, Ordering::Relaxed);
        self.runtime.spawn(async move {
            let options = Options { priority: Priority::Background, ..Options::default() };
            if chain.get(key, options).await.is_ok() {
                outcomes.with_label_values(&["prefetched"]).inc();
            }
            in_making.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// `floors_prefetches_total{outcome}`: prefetched, and of those used or wasted.
fn outcomes(registry: &Registry) -> prometheus::Result<IntCounterVec> {
    let opts = Opts::new("floors_prefetches_total", "Floors warmed ahead of climbers, and whether they were then used");
    let outcomes = IntCounterVec::new(opts, &["outcome"])?;
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
    for step in trails.read().flat_map(|trail| &trail.0) {
        let (tower, number) = (step.tower, step.number);
        if let Some(mut climber) = known.get(&tower).and_then(|entity| climbers.get_mut(*entity).ok()) {
            climber.seen = now;
            climber.last = number;
            let passed = climber.ahead.iter().take_while(|ahead| **ahead < number).count();
            lookahead.count("wasted", climber.ahead.drain(..passed).len());
            if climber.ahead.front() == Some(&number) {
                climber.ahead.pop_front();
                lookahead.count("used", 1);
            }
        } else if step.up && !known.contains_key(&tower) && known.len() < MAX_CLIMBERS {
            let climber = Climber { tower, last: number, seen: now, ahead: VecDeque::new() };
            known.insert(tower, commands.spawn(climber).id());
        }
    }
}

/// Warms what is missing of the floors above each climber who has just moved, as far as the budget goes.
pub(super) fn warm(mut climbers: Query<'_, '_, &mut Climber, Changed<Climber>>, lookahead: Res<'_, Lookahead>) {
    for mut climber in &mut climbers {
        // Bookkeeping, not a move: it must not wake this system again.
        let climber = climber.bypass_change_detection();
        // A climber who jumped down leaves floors warmed far above.
        if climber.ahead.front().is_some_and(|ahead| *ahead > climber.last + lookahead.ahead) {
            lookahead.count("wasted", climber.ahead.len());
            climber.ahead.clear();
        }
        for number in climber.last + 1..=climber.last.saturating_add(lookahead.ahead) {
            if climber.ahead.contains(&number) {
                continue;
            }
            let Some(spec) = climber.tower.floor(number) else { break };
            if !lookahead.may_warm() {
                return;
            }
            lookahead.warm(&spec);
            climber.ahead.push_back(number);
        }
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
            known.remove(&climber.tower);
            commands.entity(entity).despawn();
        }
    }
}
