//! A question that takes longer than the tier usually does: the values are made beside it, and the first answer wins.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use futures_util::{FutureExt, StreamExt, future::BoxFuture};
use prometheus::{IntCounter, IntCounterVec};

use crate::{
    key::Key,
    link::Link,
    links::Links,
    served::{Outcome, Step},
    walk::{Making, Walk, found, make},
};

/// Who was first: `floors_hedges_total{tier,winner}`, a key each.
#[derive(Debug)]
pub(crate) struct Hedges {
    tier: IntCounter,
    source: IntCounter,
}

impl Hedges {
    pub(crate) fn new(tier: &str, totals: &IntCounterVec) -> Self {
        let count = |winner| totals.with_label_values(&[tier, winner]);
        Self { tier: count("tier"), source: count("source") }
    }
}

/// A value in the making beside a question. It goes on for the rest of the way, so that none is made twice.
pub(crate) struct Beside {
    pub(crate) key: Key,
    making: BoxFuture<'static, Making>,
}

impl Beside {
    fn start(links: &Arc<Links>, key: Key, walk: &Walk) -> Self {
        let (links, priority) = (links.clone(), walk.priority());
        Self { key, making: async move { make(&links, key, priority).await }.boxed() }
    }
}

impl Future for Beside {
    type Output = (Key, Making);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let key = self.key;
        self.making.as_mut().poll(cx).map(|made| (key, made))
    }
}

impl Walk {
    /// Asks `link` for `asked` and lands what is found, by it or beside it.
    pub(crate) async fn probe(&mut self, links: &Arc<Links>, link: &Link, asked: &[Key]) {
        let started = Instant::now();
        let mut question = pin!(link.ask(asked));
        let patience = link.policy.patience().filter(|_| links.hedge);
        let mut slow = pin!(async {
            match patience {
                Some(patience) => tokio::time::sleep(patience).await,
                None => std::future::pending().await,
            }
        });
        let mut patient = true;
        let mut hedged = Vec::new();
        let answer = loop {
            tokio::select! {
                // An answer that is there is taken, however late it was looked for.
                biased;
                answer = &mut question => break answer,
                Some((key, made)) = self.beside.next(), if !self.beside.is_empty() => {
                    // A value that cannot be made is left to the question, and to the rest of the way.
                    let Ok(made) = made else { continue };
                    let slow = Step { tier: link.name(), outcome: Outcome::Slow, took: started.elapsed() };
                    let steps: Vec<Step> = self.steps().iter().copied().chain([slow]).collect();
                    if hedged.contains(&key) && self.among_wanted(&[key]) > 0 {
                        link.hedges.source.inc();
                    }
                    self.land(links, &key, found(made, &steps));
                }
                () = &mut slow, if patient => {
                    patient = false;
                    hedged = self.not_begun(asked);
                    hedged.truncate(link.policy.may_hedge(hedged.len()));
                    let beside: Vec<Beside> = hedged.iter().map(|key| Beside::start(links, *key, self)).collect();
                    self.beside.extend(beside);
                }
            }
        };
        // By now perhaps nobody waits for it any more, but it tells what the tier costs. It ends with the tier's own deadline.
        let open = self.among_wanted(&hedged);
        self.take(links, link, asked, answer, started.elapsed());
        link.hedges.tier.inc_by((open - self.among_wanted(&hedged)) as u64);
    }

    /// Those of `asked` that are still wanted and not in the making.
    fn not_begun(&self, asked: &[Key]) -> Vec<Key> {
        let begun = |key: &Key| self.beside.iter().any(|beside| beside.key == *key);
        asked.iter().copied().filter(|key| self.among_wanted(&[*key]) > 0 && !begun(key)).collect()
    }
}
