//! CPU utilisation, and the price of CPU time derived from it.

use std::time::{Duration, Instant};

use super::price::PriceLevel;
use crate::ewma::Ewma;

/// Running totals; a measurement is the difference of two.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Totals {
    /// Busy seconds of the machine's cores, all processes and cores together, and the seconds available.
    pub(crate) busy: f64,
    pub(crate) capacity: f64,
    /// CPU seconds of this process.
    pub(crate) own: f64,
    /// CPU seconds of this process in generation.
    pub(crate) generation: f64,
    /// Keys looked up in memory, in lower tiers, and generated.
    pub(crate) operations: u64,
}

/// The load of this process and its machine, measured every [`INTERVAL`] while lower tiers are used.
#[derive(Debug)]
pub(crate) struct Load {
    /// Cores that this process may use.
    cores: f64,
    level: PriceLevel,
    utilisation: f64,
    /// A fixed utilisation instead of the measured one.
    assumed: Option<f64>,
    /// CPU seconds per second of this process while the cores are saturated.
    own_rate: Ewma,
    /// CPU seconds of this process per operation, without generation.
    overhead: Ewma,
    /// Calls in flight as new calls find them: in this interval, and while the cores are saturated.
    found: Ewma,
    in_flight: Ewma,
    measured: Option<(Instant, Totals)>,
}

/// The price of CPU time, as a decision uses it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct CpuCost {
    /// Seconds of response time that one second of CPU costs the other calls in flight.
    pub(crate) price: f64,
    /// CPU seconds of this process to handle one key at one step: a lookup, a query or a generated value.
    pub(crate) overhead: f64,
}

/// Time between two measurements. The kernel counts idle time in ticks of 1 to 10 ms, so two cores have at least twenty
/// ticks in it.
pub(crate) const INTERVAL: Duration = Duration::from_millis(100);

/// Weights of a new measurement.
const RATE_WEIGHT: f64 = 0.25;
const OVERHEAD_WEIGHT: f64 = 0.125;
const IN_FLIGHT_WEIGHT: f64 = 1.0 / 64.0;

/// Least operations in an interval to measure the overhead: with fewer, other work of the process dominates.
const MIN_OPERATIONS: u64 = 50;

/// Lower bound of the CPU seconds per second of this process.
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

    /// Records a new call, which makes `in_flight` calls.
    pub(crate) fn call(&mut self, in_flight: usize) {
        self.found.add(in_flight as f64, IN_FLIGHT_WEIGHT);
    }

    /// Whether it is time to measure again.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.measured.is_none_or(|(at, _)| now.saturating_duration_since(at) >= INTERVAL)
    }

    /// Records the current totals.
    pub(crate) fn measure(&mut self, now: Instant, totals: Totals) {
        let Some((at, before)) = self.measured.replace((now, totals)) else { return };
        let seconds = now.saturating_duration_since(at).as_secs_f64();
        let capacity = totals.capacity - before.capacity;
        let own = totals.own - before.own;
        let machine = if capacity > 0.0 { (totals.busy - before.busy) / capacity } else { 0.0 };
        // A container may reach its limit while the machine has idle cores.
        let measured = machine.max(own / (seconds * self.cores)).clamp(0.0, 1.0);
        self.utilisation = self.assumed.unwrap_or(measured);
        self.level.update(self.utilisation);
        // Calls that wait for a tier are many and leave the cores idle. They must not raise the price.
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

    /// The current price of CPU time.
    pub(crate) fn cpu_cost(&self) -> CpuCost {
        let cores = self.own_rate.get().unwrap_or(self.cores).max(MIN_CORES);
        CpuCost {
            price: self.level.price(self.in_flight.get().or(self.found.get()).unwrap_or_default(), cores),
            overhead: self.overhead.get().unwrap_or_default(),
        }
    }

    /// The CPU utilisation, 0 to 1.
    pub(crate) const fn utilisation(&self) -> f64 {
        self.utilisation
    }

    /// Whether the cores are too busy for extra work.
    pub(crate) const fn is_saturated(&self) -> bool {
        self.utilisation >= super::price::SATURATED
    }
}
