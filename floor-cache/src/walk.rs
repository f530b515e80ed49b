//! The way of a miss: down the lower tiers, then to the source, for one key or for many at once.

use std::{
    collections::HashMap,
    mem,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};

use crate::{
    audit,
    flight::{Found, Lead},
    hash::{Hashed, Ready},
    hedge::Beside,
    key::Key,
    link::{Link, Values},
    links::Links,
    policy::{Asked, Decision},
    purge::Moment,
    sampler::Draw,
    served::{GENERATED, Outcome, Step},
    source::{Made, Priority, SourceError},
    tier::TierError,
};

/// Keys on their way down. Each is a flight that this walk leads, and lands it as soon as its value is there.
pub(crate) struct Walk {
    wanted: Vec<Lead>,
    /// The lower tier to ask next.
    next: usize,
    steps: Vec<Step>,
    priority: Priority,
    /// What the tier that other servers share was asked for and has not.
    unshared: Vec<Key>,
    /// Before anything was asked.
    began: Moment,
    /// What is being made beside questions that are or were slow.
    pub(crate) beside: FuturesUnordered<Beside>,
}

impl Walk {
    pub(crate) fn new(wanted: Vec<Lead>, priority: Priority, began: Moment) -> Self {
        let (steps, unshared, beside) = (Vec::new(), Vec::new(), FuturesUnordered::new());
        Self { wanted, next: 0, steps, priority, unshared, began, beside }
    }

    /// Whether every key has landed.
    pub(crate) fn is_over(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Goes as far as it can without waiting.
    pub(crate) fn start(&mut self, links: &Arc<Links>) {
        while let Some(link) = links.lower.get(self.next).filter(|link| !link.tier.waits()) {
            if self.is_over() {
                return;
            }
            let asked = self.asked(links, link);
            if !asked.is_empty() {
                let started = Instant::now();
                let Some(answer) = link.ask(&asked).now_or_never() else { return };
                self.take(links, link, &asked, answer, started.elapsed());
            }
            self.next += 1;
        }
    }

    /// Goes the rest of the way.
    pub(crate) async fn finish(mut self, links: &Arc<Links>) {
        // What no caller waits for yet delays none.
        let _in_flight = (self.priority == Priority::Foreground).then(|| links.load.call());
        while let Some(link) = links.lower.get(self.next) {
            if self.is_over() {
                return;
            }
            let asked = self.asked(links, link);
            if !asked.is_empty() {
                self.probe(links, link, &asked).await;
            }
            self.next += 1;
        }
        self.generate(links).await;
    }

    /// The keys that `link` is asked for; the others are counted as bypassed.
    fn asked(&mut self, links: &Arc<Links>, link: &Link) -> Vec<Key> {
        let wanted = self.wanted.iter().map(|lead| *lead.key());
        let mut asked: Vec<Key> = wanted.filter(|key| link.admit.admits(key.class())).collect();
        if !asked.is_empty() {
            if link.policy.is_expensive() {
                asked.iter().for_each(|key| learn_cost(links, *key));
            }
            let now = Instant::now();
            let decision = link.policy.decide(now, asked.len(), links.forecast(asked.iter()), links.cpu_cost(now));
            match decision {
                Decision::Ask => {}
                Decision::Bypass => asked.clear(),
                Decision::BypassAndSample => sample(links, self.next, mem::take(&mut asked)),
            }
        }
        link.meter.bypassed(self.wanted.len() - asked.len());
        if asked.is_empty() {
            self.steps.push(Step { tier: link.name(), outcome: Outcome::Bypass, took: Duration::ZERO });
        }
        asked
    }

    /// Lands the keys that were found, after the tiers above have them; they are not given them when there was a purge
    /// meanwhile.
    pub(crate) fn take(
        &mut self,
        links: &Arc<Links>,
        link: &Link,
        asked: &[Key],
        answer: Result<Values, TierError>,
        took: Duration,
    ) {
        let step = |outcome| Step { tier: link.name(), outcome, took };
        link.learn(Asked::ForCaller, asked.len(), &answer, took);
        let values = match answer {
            Ok(values) => values,
            Err(error) => {
                tracing::debug!(tier = link.name(), %error, "a tier failed; going on without it");
                self.steps.push(step(Outcome::from_error(error.kind())));
                return;
            }
        };
        let mut found: HashMap<Hashed, Bytes, Ready> =
            asked.iter().zip(values).filter_map(|(key, value)| Some((Hashed::new(key), value?))).collect();
        let steps: Arc<[Step]> = self.steps.iter().copied().chain([step(Outcome::Hit)]).collect();
        let leave = links.purges.none_since(self.began);
        self.wanted.retain_mut(|lead| {
            let Some(value) = found.remove(lead.hashed()) else { return true };
            if links.audits.sampler.picks(Draw::next()) {
                audit::start(links, *lead.key(), &value, link.name());
            }
            lead.deliver(Found { value, by: link.name(), steps: steps.clone() }, |key, value| {
                if leave.is_some() {
                    links.promote(key, value, self.next);
                }
            });
            false
        });
        self.steps.push(step(Outcome::Miss));
        if links.leases.as_ref().is_some_and(|leases| leases.tier == self.next) {
            self.unshared.extend(asked);
        }
    }

    /// Lands `key` with a value that was made, if it is still wanted.
    pub(crate) fn land(&mut self, links: &Links, key: &Key, found: Found) {
        let Some(place) = self.wanted.iter().position(|lead| lead.key() == key) else { return };
        let mut lead = self.wanted.swap_remove(place);
        lead.deliver(found, |key, value| links.promote(key, value, links.lower.len()));
    }

    /// How many of `keys` are still wanted.
    pub(crate) fn among_wanted(&self, keys: &[Key]) -> usize {
        self.wanted.iter().filter(|lead| keys.contains(lead.key())).count()
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    pub(crate) const fn priority(&self) -> Priority {
        self.priority
    }

    /// Makes what no tier had, all at once, and lands each value as it comes.
    async fn generate(self, links: &Links) {
        let Self { wanted, steps, priority, unshared, began, beside, .. } = self;
        let mut beside: HashMap<Key, Beside> = beside.into_iter().map(|beside| (beside.key, beside)).collect();
        // Nobody elsewhere is to wait for what nobody waits for here.
        let leases = links.leases.as_ref().filter(|_| priority == Priority::Foreground);
        let (steps, unshared) = (steps.as_slice(), unshared.as_slice());
        let making: FuturesUnordered<_> = wanted
            .into_iter()
            .map(|lead| {
                let beside = beside.remove(lead.key());
                (lead, beside)
            })
            .map(|(mut lead, beside)| async move {
                let key = *lead.key();
                if let Some(beside) = beside
                    && let (_, Ok(made)) = beside.await
                {
                    return land_made(links, &mut lead, Ok(made), steps);
                }
                match leases.filter(|leases| unshared.contains(&key) && leases.pays(links, &key)) {
                    Some(leases) => leases.make_once(links, lead, steps, priority, began).await,
                    None => {
                        let made = make(links, key, priority).await;
                        land_made(links, &mut lead, made, steps);
                    }
                }
            })
            .collect();
        making.collect::<()>().await;
    }
}

pub(crate) type Making = Result<Made, SourceError>;

/// Asks the lower tier at `depth` for `keys` beside the call that it was passed by in.
fn sample(links: &Arc<Links>, depth: usize, keys: Vec<Key>) {
    let links = links.clone();
    links.runtime.clone().spawn(async move { links.lower[depth].sample(&keys).await });
}

/// Makes the value of `key` beside the call, if that is not done for another of its class already, to learn what that costs.
/// A tier that has everything could not be judged else, however slow it is.
fn learn_cost(links: &Arc<Links>, key: Key) {
    if links.made.is_to_be_learnt(key.class()) {
        let links = links.clone();
        links.runtime.clone().spawn(async move {
            if let Err(error) = make(&links, key, Priority::Background).await {
                tracing::debug!(%error, "what making costs is still to be learnt");
            }
            links.made.learnt(key.class());
        });
    }
}

/// Has the source generate the value of `key`, and learns what that costs. A source that panics has failed on this key alone.
pub(crate) async fn generate(links: &Links, key: Key, priority: Priority) -> Making {
    let started = Instant::now();
    let in_progress = links.made.cost.begin(links.work(&key), priority == Priority::Background);
    let work = AssertUnwindSafe(async { links.source.generate(key, priority).await });
    let panicked = |_| Err(SourceError::Failed { key, reason: "the generator panicked".to_owned() });
    let made = work.catch_unwind().await.unwrap_or_else(panicked)?;
    in_progress.made(started.elapsed(), made.took, made.cpu);
    links.made.count_cpu(made.cpu);
    Ok(made)
}

/// Generates the value of `key` for a call, and counts it. Stores nothing.
pub(crate) async fn make(links: &Links, key: Key, priority: Priority) -> Making {
    let made = generate(links, key, priority).await?;
    links.made.count(links.source.class_name(key.class()), &made);
    Ok(made)
}

/// Lands `lead` with what was made, after every tier was given it.
pub(crate) fn land_made(links: &Links, lead: &mut Lead, made: Making, steps: &[Step]) {
    match made {
        Ok(made) => lead.deliver(found(made, steps), |key, value| links.promote(key, value, links.lower.len())),
        Err(error) => lead.land(Err(error)),
    }
}

/// `made` as it is served, after `steps`.
pub(crate) fn found(made: Made, steps: &[Step]) -> Found {
    let step = Step { tier: GENERATED, outcome: Outcome::Hit, took: made.took };
    Found { value: made.value, by: GENERATED, steps: steps.iter().copied().chain([step]).collect() }
}
