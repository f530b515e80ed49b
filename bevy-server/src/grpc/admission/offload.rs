//! Work that would keep a thread of connections from serving hits: it runs in threads of its own. Short work does not wait
//! for long work, and callers take turns.

use std::{
    panic::resume_unwind,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::task::spawn_blocking;
use tonic::Status;

use crate::callers::{Caller, Turns};

/// The longest that work may take in a thread that serves connections. A floor in memory takes a tenth of it.
pub(in crate::grpc) const INLINE: Duration = Duration::from_micros(100);
/// Work up to this length is short: the JSON of a floor of 100x100 takes a fifth of it.
const SHORT: Duration = Duration::from_millis(1);

/// The threads for such work.
#[derive(Debug)]
pub(in crate::grpc) struct Offload {
    turns: Turns,
}

impl Offload {
    pub(in crate::grpc) fn new() -> Self {
        Self { turns: Turns::new() }
    }

    /// The result of `work`, which takes about as long as `estimate`: here, or in another thread when it is the turn of
    /// `caller`, whose statistics get the time. A caller has few places in the line of all, and a line of its own before
    /// that.
    ///
    /// # Errors
    /// UNAVAILABLE if the server stops.
    pub(in crate::grpc) async fn run<T: Send + 'static>(
        &self,
        caller: &Caller,
        estimate: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Status> {
        if estimate <= INLINE {
            return Ok(work());
        }
        let line = |turns: &Turns| Arc::clone(if estimate <= SHORT { &turns.short } else { &turns.long });
        // The semaphores are never closed.
        let of_caller = line(caller.turns()).acquire_owned().await.ok();
        let place = line(&self.turns).acquire_owned().await.ok();
        let caller = caller.clone();
        // The places are the thread's: a call that ends earlier does not free them.
        let work = move || {
            let _places = (of_caller, place);
            let started = Instant::now();
            let result = work();
            caller.count_offloaded(started.elapsed());
            result
        };
        spawn_blocking(work).await.map_err(|error| match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => Status::unavailable("the server stops"),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{net::IpAddr, sync::mpsc, thread};

    use super::*;
    use crate::{callers::Callers, config::CallerIdentity};

    #[tokio::test]
    async fn short_work_does_not_wait_for_long_work_and_is_counted_to_its_client() {
        let callers = Callers::new(CallerIdentity::default());
        let caller = |last| callers.at(IpAddr::from([10, 0, 0, last]));
        let offload = Arc::new(Offload::new());
        let here = thread::current().id();
        let ran_in = offload.run(&caller(1), INLINE, || thread::current().id()).await.unwrap();
        assert_eq!(ran_in, here, "work of a few microseconds is done at once");
        let (release, released) = mpsc::channel::<()>();
        let mut released = Some(released);
        let long: Vec<_> = (2..40)
            .map(|last| {
                let (offload, caller, released) = (Arc::clone(&offload), caller(last), released.take());
                let work = move || released.map(|released| released.recv().is_err());
                tokio::spawn(async move { offload.run(&caller, 2 * SHORT, work).await })
            })
            .collect();
        let pause = Duration::from_millis(2);
        offload.run(&caller(1), SHORT, move || thread::sleep(pause)).await.unwrap();
        drop(release);
        for long in long {
            long.await.unwrap().unwrap();
        }
        let shown = callers.most_active();
        let counted = shown.iter().find(|row| &*row.name == "10.0.0.1").expect("it had work done");
        assert!(counted.offloaded >= pause, "{counted:?}");
    }
}
