//! What the benches and the commands share: floors, stores, servers, load generators and statistics.
//!
//! - [`floors`]: floors and values, generated before the clock runs. [`pregenerated`]: a source that returns them, so
//!   that a chain is timed without generation.
//! - [`stores`]: each tier on its own files or server. [`redis_server`]: a Redis for one bench.
//! - [`server`]: the floor server as a process. [`peer_servers`]: other servers for the same work. [`process`]: CPU
//!   time, memory and processors of a process.
//! - [`load`]: closed loops over gRPC. [`open_loop`]: calls at a fixed rate. Both call a [`Target`](load::Target).
//! - [`regret`]: the benchmark of `cache.bypass`.
//! - [`counts`]: instruction and allocation counts. [`callgrind`]: the file with the instructions.
//! - [`timing`]: timed loops and statistics. [`sample`]: the figures of a load. [`mod@table`]: tables. [`report`]:
//!   reports, and the name of criterion's. [`figure`]: pictures. [`record`]: a report that was kept. [`progress`]: the time left.
//!
//! What goes wrong ends a measurement: a process that does not start, a call whose status is not OK, an answer that does
//! not come or has other bytes. Commands return it as an error, and set-ups of benches panic.
#![forbid(unsafe_code)]

pub mod callgrind;
pub mod counts;
pub mod figure;
pub mod floors;
mod http2_client;
pub mod load;
pub mod open_loop;
pub mod peer_servers;
pub mod pregenerated;
pub mod process;
pub mod progress;
pub mod record;
pub mod redis_server;
pub mod regret;
pub mod report;
pub mod sample;
pub mod server;
pub mod stores;
pub mod table;
mod target;
pub mod timing;
