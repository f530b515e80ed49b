//! The simple door of the crate: a [`Cache`] of what functions compute. It builds a [`Chain`](crate::Chain) whose source is
//! the functions of its callers.

mod builder;
mod computations;
mod handle;
mod name;
mod workers;

pub use self::{
    builder::CacheBuilder,
    handle::{Cache, ComputeError},
};
