//! The floor server.
fn main() {}
