//! The load of this process, and the price of CPU time derived from it: by how much one second of CPU delays the other
//! calls in flight.
//!
//! On idle cores a call that uses more CPU delays no other, and the price is zero. The busier the cores, the likelier
//! others wait for them: [`queueing_price`] is what queueing theory says. When the cores are saturated, the calls in
//! flight share them: with `N` calls, `s` seconds of CPU for each and `c` cores the mean response time is
//! `N s / c` (the asymptotic bound of a closed queueing network: Denning and Buzen, "The Operational Analysis of
//! Queueing Network Models", 1978). One call's second of CPU then costs the `N - 1` others `(N - 1) / c` seconds in
//! all. That externality is the shadow price of the CPU (Gallager, "A Minimum Delay Routing Algorithm Using Distributed
//! Computation", 1977, shifts traffic by the same marginal delays). docs/chain.md works examples.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use super::cpu_clock::{CpuClock, Totals};
use crate::{ewma::Ewma, sync::Mutex};

/// The load of this process and its machine.
///
/// A lookup measures it if the last measurement is old enough, so an idle server measures nothing.
pub(crate) struct LoadMonitor {
    load: Mutex<Load>,
    in_flight: Arc<AtomicUsize>,
    clock: CpuClock,
    /// What each chain of this process has done.
    work: Mutex<Vec<WorkCounter>>,
}

/// Returns the keys that a chain has handled so far and the CPU seconds of their generation.
type WorkCounter = Box<dyn Fn() -> (u64, f64) + Send + Sync>;

/// A guard that counts a call as waiting for a value.
#[derive(Debug)]
pub(crate) struct CallInFlight(Arc<AtomicUsize>);

impl LoadMonitor {
    /// A monitor that measures the machine, or assumes `utilisation` if given.
    pub(crate) fn new(utilisation: Option<f64>) -> Self {
        let cores = thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
        Self {
            load: Mutex::new(Load::new(cores, utilisation)),
            in_flight: Arc::default(),
            clock: CpuClock::new(),
            work: Mutex::default(),
        }
    }

    /// Counts a call as in flight until the guard is dropped.
    pub(crate) fn call(&self) -> CallInFlight {
        let in_flight = self.in_flight.fetch_add(1, Relaxed) + 1;
        self.load.lock().call(in_flight);
        CallInFlight(self.in_flight.clone())
    }

    /// Adds a chain: `work` returns the keys that it has handled so far and the CPU seconds of their generation.
    pub(crate) fn add_chain(&self, work: impl Fn() -> (u64, f64) + Send + Sync + 'static) {
        self.work.lock().push(Box::new(work));
    }

    /// The current price of CPU time.
    pub(crate) fn cpu_cost(&self, now: Instant) -> CpuCost {
        let mut load = self.load.lock();
        if load.is_due(now) {
            let chains = self.work.lock();
            let (operations, generation) =
                chains.iter().map(|work| work()).fold((0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            load.measure(now, Totals { operations, generation, ..self.clock.totals() });
        }
        load.cpu_cost()
    }

    /// The last measured CPU utilisation, 0 to 1, and the price of CPU time then.
    pub(crate) fn last(&self) -> (f64, CpuCost) {
        let load = self.load.lock();
        (load.utilisation(), load.cpu_cost())
    }
}

impl fmt::Debug for LoadMonitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadMonitor").field("load", &self.load).field("clock", &self.clock).finish_non_exhaustive()
    }
}

impl Drop for CallInFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// The load of this process and its machine, measured every [`INTERVAL`] while lower tiers are used.
#[derive(Debug)]
pub(crate) struct Load {
    /// Cores that this process may use.
    cores: f64,
    level: PriceLevel,
    utilisation: f64,
    /// Of the last measurements.
    mean_utilisation: Ewma,
    /// A fixed utilisation instead of the measured one.
    assumed: Option<f64>,
    /// CPU seconds per second of this process while the cores are saturated.
    own_rate: Ewma,
    /// CPU seconds of this process per operation, without generation.
    overhead: Ewma,
    /// Operations a second.
    operations: Ewma,
    /// Calls in flight as new calls find them: in this interval, and while the cores are saturated.
    found: Ewma,
    in_flight: Ewma,
    measured: Option<(Instant, Totals)>,
}

/// The price of CPU time, as a decision uses it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct CpuCost {
    /// Seconds of response time that one second of CPU costs the other calls in flight, if it is used in short jobs.
    pub(crate) price: f64,
    /// By how much the price rises with each second that a job takes, and the most that it is.
    pub(crate) price_by_length: f64,
    pub(crate) highest_price: f64,
    /// CPU seconds of this process to handle one key at one step: a lookup, a query or a generated value.
    pub(crate) overhead: f64,
}

impl CpuCost {
    /// Seconds of response time that `seconds` of CPU, used in `jobs` jobs, cost the other calls.
    pub(crate) fn of(&self, seconds: f64, jobs: f64) -> f64 {
        seconds * (self.price + self.price_by_length * seconds / jobs).min(self.highest_price)
    }
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
            mean_utilisation: Ewma::new(),
            assumed,
            own_rate: Ewma::new(),
            overhead: Ewma::new(),
            operations: Ewma::new(),
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
        self.mean_utilisation.add(self.utilisation, RATE_WEIGHT);
        self.level.update(self.utilisation);
        // Calls that wait for a tier are many and leave the cores idle. They must not raise the price.
        if self.is_saturated() {
            self.own_rate.add(own / seconds, RATE_WEIGHT);
            self.in_flight.add(self.found.get().unwrap_or_default(), RATE_WEIGHT);
        }
        let operations = totals.operations.saturating_sub(before.operations);
        self.operations.add(operations as f64 / seconds, RATE_WEIGHT);
        if operations >= MIN_OPERATIONS {
            let other = own - (totals.generation - before.generation);
            self.overhead.add(other.max(0.0) / operations as f64, OVERHEAD_WEIGHT);
        }
    }

    /// The current price of CPU time.
    pub(crate) fn cpu_cost(&self) -> CpuCost {
        let cores = self.own_rate.get().unwrap_or(self.cores).max(MIN_CORES);
        let in_flight = self.in_flight.get().or(self.found.get()).unwrap_or_default();
        let full = DOMINANCE * (in_flight - 1.0).max(0.0) / cores;
        let (price, price_by_length) = queueing_price(
            self.mean_utilisation.get().unwrap_or_default(),
            self.cores,
            self.operations.get().unwrap_or_default(),
        );
        CpuCost {
            price: (self.level.get() * full).max(price).min(full),
            price_by_length,
            highest_price: full,
            overhead: self.overhead.get().unwrap_or_default(),
        }
    }

    /// The CPU utilisation, 0 to 1.
    pub(crate) const fn utilisation(&self) -> f64 {
        self.utilisation
    }

    /// Whether the cores are too busy for extra work.
    pub(crate) const fn is_saturated(&self) -> bool {
        self.utilisation >= SATURATED
    }
}

/// The share of the full price that applies, adjusted at each measurement of the CPU utilisation.
///
/// A price that switched between zero and full would make calls alternate between a tier that leaves the cores idle and
/// generation that saturates them. The level is therefore an integral controller: it rises while the cores are
/// saturated, falls while they are not, and settles where a mixture is best. Its step grows while the direction stays
/// and shrinks when it turns (Riedmiller and Braun, "RPROP", 1993), so it follows a change within a second and settles
/// under a steady load.
#[derive(Debug, Clone)]
struct PriceLevel {
    /// The natural logarithm of the level, because the scale of the costs is unknown.
    log_level: f64,
    step: f64,
    rising: bool,
}

/// At this CPU utilisation the price rises.
const SATURATED: f64 = 0.95;

/// Below this CPU utilisation the price falls.
const IDLE: f64 = 0.80;

/// The natural logarithm of the least level, which counts as zero: about a thousandth.
const MIN_LOG_LEVEL: f64 = -7.0;

/// Bounds of a step of the logarithm.
const MIN_STEP: f64 = 0.01;
const MAX_STEP: f64 = 1.0;

/// Factors of the step when the direction stays and when it turns.
const GROW: f64 = 1.4;
const SHRINK: f64 = 0.25;

/// The full price as a multiple of the shadow price.
///
/// At saturation, the measured response time of a tier includes the wait for our own cores, up to the whole `N s / c`.
/// The price must exceed that wait. Otherwise generating calls would slow the tier down and thereby justify themselves.
const DOMINANCE: f64 = 8.0;

impl PriceLevel {
    /// Starts at the full price, so that a server that starts under load does not generate what others stored. On idle
    /// cores the price falls to zero within a second.
    const fn new() -> Self {
        Self { log_level: 0.0, step: MAX_STEP, rising: false }
    }

    /// Updates the level with the CPU utilisation (0 to 1) since the last call.
    fn update(&mut self, utilisation: f64) {
        let rising = if utilisation >= SATURATED {
            true
        } else if utilisation < IDLE {
            false
        } else {
            return;
        };
        let factor = if rising == self.rising { GROW } else { SHRINK };
        self.step = (self.step * factor).clamp(MIN_STEP, MAX_STEP);
        self.rising = rising;
        let change = if rising { self.step } else { -self.step };
        self.log_level = (self.log_level + change).clamp(MIN_LOG_LEVEL, 0.0);
    }

    /// The level, 0 to 1.
    fn get(&self) -> f64 {
        if self.log_level > MIN_LOG_LEVEL { self.log_level.exp() } else { 0.0 }
    }
}

/// Seconds of response time that one second of CPU costs the other calls while `utilisation` (0 to 1) of `cores` is used:
/// in short jobs, and how much more with each second that a job takes, while `operations` a second need a core for a
/// short time.
///
/// The first is the derivative of the length of the queue for the cores by the load, without what the call itself waits.
/// The length is `B r^k / (1 - r)` with `k = sqrt(2 (c + 1))` (Sakasegawa, "An approximation formula", 1977), and `B`
/// for bursts (Allen and Cunneen).
///
/// The second: a job of `s` seconds that takes the last idle core delays each of the `a s` operations that come meanwhile
/// by half of it, and these others, as in the formula of Pollaczek and Khinchine. Its share of the time in which no core
/// is idle is that of the queue.
fn queueing_price(utilisation: f64, cores: f64, operations: f64) -> (f64, f64) {
    let idle = (1.0 - utilisation).max(MIN_IDLE);
    let k = (2.0 * (cores + 1.0)).sqrt();
    let busy = utilisation.powf(k - 1.0) / (cores * idle);
    (busy * BURSTS * (k - 1.0 + utilisation / idle), busy * operations / 2.0)
}

/// How much longer the queue is than with calls that arrive at random one by one: the values of a batch and the calls of
/// a connection come together. The mean of the squared coefficients of variation of arrivals and of service.
const BURSTS: f64 = 2.0;

/// The least share of idle cores, for a finite price.
const MIN_IDLE: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_in_flight_are_counted_until_they_end() {
        let monitor = LoadMonitor::new(None);
        let calls: Vec<CallInFlight> = (0..3).map(|_| monitor.call()).collect();
        assert_eq!(monitor.in_flight.load(Relaxed), 3);
        drop(calls);
        assert_eq!(monitor.in_flight.load(Relaxed), 0);
    }

    #[test]
    fn one_core_has_the_price_of_its_exact_queue() {
        let price = |utilisation, cores| queueing_price(utilisation, cores, 0.0).0;
        // The queue of one core is r^2 / (1 - r) long. Its derivative, less the own wait r / (1 - r), is r / (1 - r)^2.
        for r in [0.0, 0.3, 0.5, 0.9_f64] {
            let exact = r / (1.0 - r).powi(2);
            assert!((price(r, 1.0) - BURSTS * exact).abs() < 1e-9 * (1.0 + exact), "{r}");
        }
        assert!(price(0.7, 16.0) < price(0.7, 2.0), "more cores, fewer waits");
        assert!(price(1.0, 2.0).is_finite());
    }
}
