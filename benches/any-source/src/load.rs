//! Callers that ask for values at random, and how many answers they get.

use std::time::{Duration, Instant};

use anyhow::ensure;
use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};

use crate::{caches::Subject, sources::Values};

/// How long each cache of a cell is measured.
#[derive(Debug, Clone, Copy)]
pub struct Turns {
    count: usize,
    turn: Duration,
    warmup: Duration,
}

/// The answers a second of a cache, in each turn.
#[derive(Debug)]
pub struct Rates {
    pub name: &'static str,
    rates: Vec<f64>,
}

impl Turns {
    pub const QUICK: Self = Self { count: 2, turn: Duration::from_millis(200), warmup: Duration::from_millis(200) };

    pub const fn new(count: usize) -> Self {
        Self { count, turn: Duration::from_secs(1), warmup: Duration::from_secs(2) }
    }

    /// Measures `subjects` in rotating order.
    pub async fn measure(self, subjects: &[Subject], values: Values, callers: usize) -> anyhow::Result<Vec<Rates>> {
        let mut found: Vec<Rates> =
            subjects.iter().map(|subject| Rates { name: subject.name, rates: Vec::new() }).collect();
        for subject in subjects {
            rate(subject, values, callers, self.warmup, 0).await?;
        }
        for turn in 0..self.count {
            for place in 0..subjects.len() {
                let index = (turn + place) % subjects.len();
                let rate = rate(&subjects[index], values, callers, self.turn, 1 + turn as u64).await?;
                found[index].rates.push(rate);
            }
        }
        Ok(found)
    }
}

/// The answers a second that `callers` get in `time`.
async fn rate(subject: &Subject, values: Values, callers: usize, time: Duration, seed: u64) -> anyhow::Result<f64> {
    let started = Instant::now();
    let until = started + time;
    let tasks: Vec<_> = (0..callers as u64)
        .map(|caller| tokio::spawn(ask(subject.clone(), values, until, seed << 32 | caller)))
        .collect();
    let mut answers = 0;
    for task in tasks {
        answers += task.await??;
    }
    Ok(answers as f64 / started.elapsed().as_secs_f64())
}

/// Asks one value after the other. Compares the first with what the source computes.
async fn ask(subject: Subject, values: Values, until: Instant, seed: u64) -> anyhow::Result<u64> {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut answers = 0;
    while Instant::now() < until {
        let number = random.random_range(0..values.count);
        let value = subject.get(number).await?;
        if answers == 0 {
            ensure!(
                value == values.compute(number)?,
                "{} answers {number} of {:?} wrongly",
                subject.name,
                values.source
            );
        }
        answers += 1;
    }
    Ok(answers)
}

impl Rates {
    pub fn mean(&self) -> f64 {
        self.rates.iter().sum::<f64>() / self.rates.len() as f64
    }

    /// The 95 % interval of the ratio to `other`, whose turns were beside these.
    pub fn to(&self, other: &Self) -> (f64, f64) {
        let ratios: Vec<f64> = self.rates.iter().zip(&other.rates).map(|(one, other)| one / other).collect();
        let count = ratios.len() as f64;
        let mean = ratios.iter().sum::<f64>() / count;
        let variance = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        let half = 2.0 * (variance / count).sqrt();
        (mean - half, mean + half)
    }
}
