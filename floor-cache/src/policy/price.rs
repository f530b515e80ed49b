//! The price of CPU time: by how much one second of CPU delays the other calls in flight.
//!
//! While cores are idle a call that uses more CPU delays no other, and the price is zero. When the cores are saturated,
//! the calls in flight share them: with `N` calls, `s` seconds of CPU for each and `c` cores the mean response time is
//! `N s / c` (the asymptotic bound of a closed queueing network: Denning and Buzen, "The Operational Analysis of
//! Queueing Network Models", 1978). One call's second of CPU then costs the `N - 1` others `(N - 1) / c` seconds in
//! all. That externality is the shadow price of the CPU (Gallager, "A Minimum Delay Routing Algorithm Using Distributed
//! Computation", 1977, shifts traffic by the same marginal delays). docs/chain.md works examples.

/// The share of the full price that applies, adjusted at each measurement of the CPU utilisation.
///
/// A price that switched between zero and full would make calls alternate between a tier that leaves the cores idle and
/// generation that saturates them. The level is therefore an integral controller: it rises while the cores are
/// saturated, falls while they are not, and settles where a mixture is best. Its step grows while the direction stays
/// and shrinks when it turns (Riedmiller and Braun, "RPROP", 1993), so it follows a change within a second and settles
/// under a steady load.
#[derive(Debug, Clone)]
pub(crate) struct PriceLevel {
    /// The natural logarithm of the level, because the scale of the costs is unknown.
    log_level: f64,
    step: f64,
    rising: bool,
}

/// At this CPU utilisation the price rises.
pub(super) const SATURATED: f64 = 0.95;

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
    pub(crate) const fn new() -> Self {
        Self { log_level: 0.0, step: MAX_STEP, rising: false }
    }

    /// Updates the level with the CPU utilisation (0 to 1) since the last call.
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

    /// Seconds of response time that one second of CPU costs the other calls. `in_flight` is the number of calls in
    /// flight and `cores` the CPU seconds per second of this process, both while the cores are saturated.
    pub(crate) fn price(&self, in_flight: f64, cores: f64) -> f64 {
        let level = if self.log_level > MIN_LOG_LEVEL { self.log_level.exp() } else { 0.0 };
        level * DOMINANCE * (in_flight - 1.0).max(0.0) / cores
    }
}
