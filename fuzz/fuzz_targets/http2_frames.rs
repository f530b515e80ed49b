//! Runs a program of a client and a caller on a connection. What must hold is in the tests of the crate.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, unreachable_pub, reason = "the tests use all of it")]
#[path = "../../crates/floor-http2/tests/simulation/mod.rs"]
mod simulation;

fuzz_target!(|data: &[u8]| simulation::run(data));
