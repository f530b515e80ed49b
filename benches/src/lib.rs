//! What the benches and the commands share: floors, stores, servers, load generators and statistics.
//!
//! - [`floors`]: floors and values, generated before the clock runs. [`pregenerated`]: a source that returns them, so
//!   that a chain is timed without generation. [`tile_floor`]: a floor as one message per tile.
//! - [`stores`]: each tier on its own files or server. [`redis_server`]: a Redis or a Redis Cluster for one bench.
//!   [`delay_proxy`]: a slow network in front of a Redis.
//! - [`server`]: the floor server as a process. [`process`]: its CPU time, memory and processors.
//! - [`load`]: closed loops over gRPC. [`open_loop`]: calls at a fixed rate.
//! - [`peers`]: other caches and other servers for the same work.
//! - [`chains`]: the chains that commands compare, and stores for one. [`trace`]: request logs. [`exact_lru`]: the hit
//!   ratio of an exact LRU.
//! - [`counts`]: instruction and allocation counts. [`callgrind`]: the file with the instructions. [`mod@suite`]: the
//!   durations of criterion's suites.
//! - [`timing`]: timed loops and statistics. [`sample`]: the figures of a load, and tables of them. [`report`]: records.
//!   [`regret`]: the benchmark of `cache.bypass`.
//!
//! What goes wrong ends a measurement: a process that does not start, a call whose status is not OK, an answer that does
//! not come or has other bytes. Commands return it as an error, and set-ups of benches panic.
#![forbid(unsafe_code)]

pub mod callgrind;
pub mod chains;
pub mod counts;
pub mod delay_proxy;
pub mod exact_lru;
pub mod floors;
mod http2_client;
pub mod input;
pub mod load;
pub mod open_loop;
pub mod peers;
pub mod pregenerated;
pub mod process;
pub mod redis_server;
pub mod regret;
pub mod report;
pub mod sample;
pub mod server;
pub mod stores;
pub mod suite;
pub mod tile_floor;
pub mod timing;
pub mod trace;
