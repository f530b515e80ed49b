//! The benchmark of `cache.bypass = "auto"` against the better of the fixed choices: its cells, the servers of a cell,
//! and the statistics. The command `regret` uses it.
//!
//! *Regret* is what a policy loses against the best fixed choice in hindsight (Bubeck and Cesa-Bianchi, "Regret
//! Analysis of Stochastic and Nonstochastic Multi-armed Bandit Problems", 2012).

mod cell;
mod delay_proxy;
mod fleet;
pub mod grid;
mod verdict;

pub use cell::{Cell, Keys, StoreKind};
pub use fleet::{Plan, measure};
pub use verdict::Verdict;
