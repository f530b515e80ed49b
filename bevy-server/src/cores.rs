//! The threads that serve connections: one for each core, each with a tokio runtime of its own, as nginx and Envoy have
//! them. A connection stays with the core that got it, so what its calls touch stays in the caches of that core, and no
//! thread looks for work of another. Everything else runs in the [common runtime](crate::runtime::TokioHandle).

use std::{
    io,
    num::NonZero,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
};

use bevy::prelude::Resource;
use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
};

/// The name of the threads, and of those beside them (`grpc/admission/offload.rs`).
const THREAD_NAME: &str = "connections";
const OFFLOAD_THREAD_NAME: &str = "offload";

/// The threads, which end when this is dropped.
#[derive(Debug)]
pub(crate) struct CoreThreads {
    cores: Cores,
    /// Dropped first, which ends the threads.
    stop: Vec<oneshot::Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

/// The cores that serve connections. Cheap to clone.
#[derive(Debug, Clone, Resource)]
pub(crate) struct Cores(Arc<[Core]>);

/// One core.
#[derive(Debug)]
pub(crate) struct Core {
    runtime: Handle,
    connections: AtomicUsize,
}

/// A connection that is counted to a core until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    cores: Cores,
    index: usize,
}

impl CoreThreads {
    /// Starts a thread for each core that this process may use.
    ///
    /// # Errors
    /// When the system has no thread or no descriptor left.
    pub(crate) fn start() -> io::Result<Self> {
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        let (mut cores, mut stop, mut threads) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..count {
            let runtime = Builder::new_current_thread().enable_all().thread_name(OFFLOAD_THREAD_NAME).build()?;
            let (sender, stopped) = oneshot::channel();
            cores.push(Core { runtime: runtime.handle().clone(), connections: AtomicUsize::new(0) });
            stop.push(sender);
            let run = move || {
                floor_cache::core_thread::enter(number);
                let _ = runtime.block_on(stopped);
            };
            threads.push(thread::Builder::new().name(THREAD_NAME.to_owned()).spawn(run)?);
        }
        Ok(Self { cores: Cores(cores.into()), stop, threads })
    }

    /// The cores.
    pub(crate) fn cores(&self) -> Cores {
        self.cores.clone()
    }
}

impl Drop for CoreThreads {
    fn drop(&mut self) {
        self.stop.clear();
        for thread in self.threads.drain(..) {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl Cores {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The runtimes of all.
    pub(crate) fn runtimes(&self) -> Vec<Handle> {
        self.0.iter().map(|core| core.runtime.clone()).collect()
    }

    /// The place of a new connection: at the core with the fewest. Chance, as the system has it with `SO_REUSEPORT`, would
    /// put three of eight connections on one of eight cores.
    pub(crate) fn place(&self) -> Place {
        let fewest = self.0.iter().enumerate().min_by_key(|(_, core)| core.connections.load(Relaxed));
        let index = fewest.map_or(0, |(index, _)| index);
        self.0[index].connections.fetch_add(1, Relaxed);
        Place { cores: self.clone(), index }
    }
}

impl Place {
    /// The number of the core, from 0.
    pub(crate) const fn core(&self) -> usize {
        self.index
    }

    /// The runtime of the core.
    pub(crate) fn runtime(&self) -> &Handle {
        &self.cores.0[self.index].runtime
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.cores.0[self.index].connections.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_spread_evenly_and_run_on_their_cores() {
        let threads = CoreThreads::start().unwrap();
        let cores = threads.cores();
        let places: Vec<_> = (0..3 * cores.0.len()).map(|_| cores.place()).collect();
        assert!(cores.0.iter().all(|core| core.connections.load(Relaxed) == 3));
        let left = places[0].index;
        drop(places);
        let _others: Vec<_> = (1..cores.0.len()).map(|_| cores.place()).collect();
        assert!(cores.0[left].connections.load(Relaxed) <= 1);
        let place = cores.place();
        let name = place.runtime().spawn(async { thread::current().name().map(str::to_owned) });
        let name = Builder::new_current_thread().build().unwrap().block_on(name).unwrap();
        assert_eq!(name.as_deref(), Some(THREAD_NAME));
    }
}
