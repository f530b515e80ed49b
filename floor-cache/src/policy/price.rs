//! The price of CPU time: by how much one second of CPU delays the other calls in flight.
//!
//! While cores are idle a call that uses more CPU delays nobody, and the price is zero. When the cores are saturated,
//! the calls in flight share them: with `N` calls, `s` seconds of CPU for each and `c` cores the mean response time is
//! `N s / c` (the asymptotic bound of a closed queueing network: Denning and Buzen, "The Operational Analysis of
//! Queueing Network Models", 1978). One call's second of CPU then costs the `N - 1` others `(N - 1) / c` seconds in
//! all. That externality is the shadow price of the CPU (Gallager, "A Minimum Delay Routing Algorithm Using Distributed
//! Computation", 1977, shifts traffic by the same marginal delays). docs/chain.md works examples.

/// How much of the full price applies, adjusted once per measurement of the CPU utilisation.
///
/// A price that jumped between nothing and everything would make calls jump between a tier that leaves the cores idle
/// and generation that saturates them. So the level is an integral controller: while the cores are saturated it rises, while
/// they have room it falls, and where a mixture of both is best it settles in between. Its step grows while the
/// direction stays and shrinks when it turns (Riedmiller and Braun, "RPROP", 1993), so a change is followed within a
/// second and a steady load leaves it at rest.
#[derive(Debug, Clone)]
pub(crate) struct PriceLevel {
    /// The natural logarithm of the level: what counts is its ratio to the costs, of which no scale is known.
    log_level: f64,
    step: f64,
    rising: bool,
}

/// At this CPU utilisation the price rises.
pub(super) const SATURATED: f64 = 0.95;

/// Below this CPU utilisation the price falls.
const IDLE: f64 = 0.80;

/// The least level, which counts as none, as a natural logarithm: a thousandth.
const MIN_LOG_LEVEL: f64 = -7.0;

/// Bounds of one step of the logarithm.
const MIN_STEP: f64 = 0.01;
const MAX_STEP: f64 = 1.0;

/// A step changes by these factors when the direction stays and when it turns.
const GROW: f64 = 1.4;
const SHRINK: f64 = 0.25;

/// The full price as a multiple of the shadow price.
///
/// At saturation the measured response time of a tier contains the wait for our own cores, up to the whole `N s / c`.
/// The price must outweigh that wait, or calls that generate would slow the tier down and thereby justify themselves.
const DOMINANCE: f64 = 8.0;

impl PriceLevel {
    /// The full price: a server that starts under load must not generate what others stored before it has measured anything.
    /// On idle cores the price is gone in a second.
    pub(crate) const fn new() -> Self {
        Self { log_level: 0.0, step: MAX_STEP, rising: false }
    }

    /// Takes in the CPU utilisation (0 to 1) since the last call.
    pub(crate) fn update(&mut self, utilisation: f64) {
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

    /// Seconds of response time that one second of CPU costs the other calls. `in_flight`: calls that wait for a value.
    /// `cores`: the CPU seconds that this process gets per second. Both while the cores are saturated.
    pub(crate) fn price(&self, in_flight: f64, cores: f64) -> f64 {
        let level = if self.log_level > MIN_LOG_LEVEL { self.log_level.exp() } else { 0.0 };
        level * DOMINANCE * (in_flight - 1.0).max(0.0) / cores
    }
}
