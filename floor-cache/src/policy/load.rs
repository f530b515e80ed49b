//! How busy the CPU is, and what follows for the cost of CPU time.

use std::time::{Duration, Instant};

use super::price::PriceLevel;
use crate::ewma::Ewma;

/// Running totals, from which each measurement takes the difference to the one before.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Totals {
    /// Seconds that the machine's cores were busy, with whatever process, over all cores; and that there were.
    pub(crate) busy: f64,
    pub(crate) capacity: f64,
    /// CPU seconds of this process.
    pub(crate) own: f64,
    /// CPU seconds of this process that went into generation.
    pub(crate) generation: f64,
    /// Keys looked up in memory, asked of lower tiers and generated, all together.
    pub(crate) operations: u64,
}

/// The load of this process and its machine, measured every [`INTERVAL`] while lower tiers are asked.
#[derive(Debug)]
pub(crate) struct Load {
    /// Cores that this process may use.
    cores: f64,
    level: PriceLevel,
    utilisation: f64,
    /// The utilisation to go by instead of the measured one.
    assumed: Option<f64>,
    /// CPU seconds that this process gets per second while the cores are saturated.
    own_rate: Ewma,
    /// CPU seconds of this process for each operation, generation not included.
    overhead: Ewma,
    /// Calls that wait for a value, as calls find them in this interval, and while the cores are saturated.
    found: Ewma,
    in_flight: Ewma,
    measured: Option<(Instant, Totals)>,
}

/// How the load looks to a decision.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct CpuCost {
    /// Seconds of response time that a second of CPU costs the calls in flight.
    pub(crate) price: f64,
    /// CPU seconds of this process for handling one key in one place: a lookup, a question or a generated value.
    pub(crate) overhead: f64,
}

/// Time between two measurements. The kernel counts idle time in ticks of 1 to 10 ms, of which two cores have at least
/// twenty in it.
pub(crate) const INTERVAL: Duration = Duration::from_millis(100);

/// Weights of a new measurement.
const RATE_WEIGHT: f64 = 0.25;
const OVERHEAD_WEIGHT: f64 = 0.125;
const FOUND_WEIGHT: f64 = 1.0 / 64.0;

/// Operations in an interval from which the overhead is learnt: with fewer, what else the process does weighs too much.
const MIN_OPERATIONS: u64 = 50;

/// A process that gets less than this share of a core is taken to get this.
const MIN_CORES: f64 = 0.05;

impl Load {
    pub(crate) fn new(cores: f64, assumed: Option<f64>) -> Self {
        Self {
            cores,
            level: PriceLevel::new(),
            utilisation: assumed.unwrap_or_default(),
            assumed,
            own_rate: Ewma::new(),
            overhead: Ewma::new(),
            found: Ewma::new(),
            in_flight: Ewma::new(),
            measured: None,
        }
    }

    /// A call begins to wait for a value, with which `in_flight` calls wait.
    pub(crate) fn call(&mut self, in_flight: usize) {
        self.found.add(in_flight as f64, FOUND_WEIGHT);
    }

    /// Whether it is time to measure again.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.measured.is_none_or(|(at, _)| now.saturating_duration_since(at) >= INTERVAL)
    }

    /// Takes in the totals as they stand.
    pub(crate) fn measure(&mut self, now: Instant, totals: Totals) {
        let Some((at, before)) = self.measured.replace((now, totals)) else { return };
        let seconds = now.saturating_duration_since(at).as_secs_f64();
        let capacity = totals.capacity - before.capacity;
        let own = totals.own - before.own;
        let machine = if capacity > 0.0 { (totals.busy - before.busy) / capacity } else { 0.0 };
        // A container's limit may be reached while the machine has idle cores.
        let measured = machine.max(own / (seconds * self.cores)).clamp(0.0, 1.0);
        self.utilisation = self.assumed.unwrap_or(measured);
        self.level.update(self.utilisation);
        // Calls that wait for a tier leave the cores idle and are many; taken for the price, they would raise it further.
        if self.is_saturated() {
            self.own_rate.add(own / seconds, RATE_WEIGHT);
            self.in_flight.add(self.found.get().unwrap_or_default(), RATE_WEIGHT);
        }
        let operations = totals.operations.saturating_sub(before.operations);
        if operations >= MIN_OPERATIONS {
            let other = own - (totals.generation - before.generation);
            self.overhead.add(other.max(0.0) / operations as f64, OVERHEAD_WEIGHT);
        }
    }

    /// What CPU time costs now.
    pub(crate) fn cpu_cost(&self) -> CpuCost {
        let cores = self.own_rate.get().unwrap_or(self.cores).max(MIN_CORES);
        CpuCost {
            price: self.level.price(self.in_flight.get().or(self.found.get()).unwrap_or_default(), cores),
            overhead: self.overhead.get().unwrap_or_default(),
        }
    }

    /// The share of the CPU that is in use, 0 to 1.
    pub(crate) const fn utilisation(&self) -> f64 {
        self.utilisation
    }

    /// Whether the cores are so busy that extra work would delay calls.
    pub(crate) const fn is_saturated(&self) -> bool {
        self.utilisation >= super::price::SATURATED
    }
}
