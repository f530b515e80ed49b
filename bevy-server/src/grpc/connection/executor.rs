//! The executor of a connection's calls.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll, Waker},
};

/// An executor that polls a call once on the connection's task and spawns it only if it is pending.
///
/// A hit in memory is ready at the first poll. It needs no task and no wake-up of another thread, and its response goes
/// out in one write with others.
#[derive(Debug, Clone, Copy)]
pub struct PollBeforeSpawn;

impl<F> hyper::rt::Executor<F> for PollBeforeSpawn
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, call: F) {
        let mut call: Pin<Box<F>> = Box::pin(call);
        // The waker does nothing: a pending call is polled again by its own task.
        let poll = || call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Pending) => _ = tokio::spawn(call),
            Ok(Poll::Ready(())) => {}
            // As in a task of its own, a panic ends only this call.
            Err(_) => tracing::error!("a call panicked"),
        }
    }
}
