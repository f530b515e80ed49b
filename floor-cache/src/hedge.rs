//! A question that takes longer than the tier usually does: the values are made beside it, and the first answer wins.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::Arc,
    time::Instant,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use prometheus::{IntCounter, IntCounterVec};

use crate::{
    key::Key,
    link::{Link, Values},
    links::Links,
    served::{Outcome, Step},
    tier::TierError,
    walk::{Walk, found, make},
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

impl Walk {
    /// Asks `link` for `asked` and lands what is found, by it or beside it.
    pub(crate) async fn probe(&mut self, links: &Arc<Links>, link: &Link, asked: &[Key]) {
        let started = Instant::now();
        let mut question = pin!(link.ask(asked));
        if links.hedge
            && let Some(patience) = link.policy.patience()
        {
            match tokio::time::timeout(patience, &mut question).await {
                Ok(answer) => return self.take(links, link, asked, answer, started.elapsed()),
                Err(_slow) if link.policy.may_hedge(asked.len()) => {
                    return self.race(links, link, asked, question, started).await;
                }
                Err(_slow) => {}
            }
        }
        let answer = question.await;
        self.take(links, link, asked, answer, started.elapsed());
    }

    /// Makes the values of `asked` while `question` is still open. A value that cannot be made is left to the question
    /// and to the rest of the way.
    async fn race(
        &mut self,
        links: &Arc<Links>,
        link: &Link,
        asked: &[Key],
        mut question: Pin<&mut impl Future<Output = Result<Values, TierError>>>,
        started: Instant,
    ) {
        let slow = Step { tier: link.name(), outcome: Outcome::Slow, took: started.elapsed() };
        let steps: Vec<Step> = self.steps().iter().copied().chain([slow]).collect();
        let priority = self.priority();
        let mut making: FuturesUnordered<_> =
            asked.iter().map(async |key| (*key, make(links, *key, priority).await)).collect();
        let mut open = self.among_wanted(asked);
        while open > 0 {
            tokio::select! {
                answer = &mut question => {
                    self.take(links, link, asked, answer, started.elapsed());
                    link.hedges.tier.inc_by((open - self.among_wanted(asked)) as u64);
                    // What the tier had need not be made any more; what it had not is being made already.
                    while self.among_wanted(asked) > 0 {
                        let Some((key, Ok(made))) = making.next().await else { break };
                        self.land(links, &key, found(made, &steps));
                    }
                    return;
                }
                Some((key, made)) = making.next() => {
                    let Ok(made) = made else { break };
                    if self.land(links, &key, found(made, &steps)) {
                        link.hedges.source.inc();
                    }
                    open = self.among_wanted(asked);
                }
            }
        }
        // Nobody waits for it any more, but it tells what the tier costs. It ends with the tier's own deadline.
        let answer = question.await;
        self.take(links, link, asked, answer, started.elapsed());
    }
}
