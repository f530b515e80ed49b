//! The floor server: procedural tower floors over gRPC from a headless Bevy app.
//!
//! ```text
//! client --gRPC--> grpc --> chain (LRU --> Redis | LMDB | sled) --> generation on Bevy's task pool
//! ```
//!
//! [`app()`] opens everything that can fail (files, ports) and returns a Bevy `App` that is ready to run. This crate is
//! the composition root: only it knows floors ([`floor_gen`]), bytes ([`floor_cache`]) and the protocol
//! ([`floor_proto`]).

pub mod app;
pub mod auth;
pub mod cache;
pub mod callers;
pub mod chain_metrics;
pub mod cli;
pub mod config;
pub mod config_check;
mod connections;
mod cores;
pub mod descriptors;
pub mod drain;
mod follow;
pub mod generation;
pub mod grpc;
mod headers;
pub mod healthcheck;
mod http1;
pub mod key;
pub mod lifecycle;
pub mod logging;
pub mod memory;
pub mod metrics;
pub mod observer;
pub mod ops;
pub mod packs;
pub mod prefetch;
mod rate_limit;
pub mod reload;
pub mod runtime;
mod start_error;
pub mod tenants;
mod tower_keys;
pub mod towers;
pub mod traces;

pub use app::app;
pub use start_error::StartError;
