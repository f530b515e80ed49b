//! Threads that serve calls, each with a tokio runtime of its own. A tier in another process has a connection for each of
//! them, so that its answer wakes the thread that waits for it, and no other.

use std::cell::Cell;

thread_local! {
    static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Makes the calling thread, which runs a runtime of one thread, number `number` of those that serve calls, from 0. Call it
/// before its first lookup.
pub fn enter(number: usize) {
    NUMBER.set(Some(number));
}

/// The number of the calling thread, if it serves calls.
pub(crate) fn number() -> Option<usize> {
    NUMBER.get()
}
