//! What the benches share: real floors, real stores, and clocks that time one thing.
//!
//! - [`floors`]: floors and values to work on, made before any clock runs.
//! - [`stores`]: each tier as an operator has it, [`redis_server`] with a server of its own, [`redis_cluster`] with six; [`shelf`]: a source that
//!   makes nothing, so that a chain can be timed without generation.
//! - [`timing`]: a loop between two readings of the clock, and what the loop must have done; [`mixed`]: gets, puts and removals
//!   that all find what they are about.
//! - [`earlier_shape`]: a floor as one message a tile, the yardstick of the protobuf benches.
//! - [`peers`]: other caches and other servers on the same work; [`load`]: calls over real gRPC; [`h2load`]: the same by
//!   a program that costs less; [`paced`]: calls at a steady pace, to the microsecond.
//! - [`process`], [`server`]: a server in a process of its own, and what the kernel says that it used; [`machine`]: what
//!   all of it ran on; [`bars`]: plots.
//! - [`delay_proxy`]: a slow network in front of Redis; [`regret`]: what the automatic bypass loses against fixed choices.
#![forbid(unsafe_code)]

pub mod bars;
pub mod delay_proxy;
pub mod earlier_shape;
pub mod floors;
mod frames;
pub mod h2load;
pub mod load;
pub mod machine;
pub mod mixed;
pub mod paced;
pub mod peers;
pub mod process;
pub mod redis_cluster;
pub mod redis_server;
pub mod regret;
pub mod server;
pub mod shelf;
pub mod stores;
pub mod timing;
