//! The chain: lookups over the tier stack and the source, and everything that needs both.

mod assemble;
mod builder;
mod handle;
mod lookup;
mod miss_lookup;

pub use assemble::{assemble, assemble_beside, assemble_tuned, check};
pub use builder::ChainBuilder;
pub use handle::Chain;
