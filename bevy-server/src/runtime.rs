//! What the process has: tokio's runtime, the threads that serve connections, descriptors and memory.

use std::io;

use bevy::prelude::*;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::{cores::CoreThreads, descriptors, memory, metrics::MetricsRegistry};

/// The tokio runtime, for plugins and systems.
#[derive(Resource, Debug, Clone, Deref)]
pub struct TokioHandle(pub Handle);

/// Owns the threads of the server, which end when the app is dropped, after the app's resources. Adds [`TokioHandle`] and
/// the cores that serve connections.
#[derive(Debug)]
pub struct RuntimePlugin {
    cores: CoreThreads,
    runtime: Runtime,
}

impl RuntimePlugin {
    /// Starts the threads.
    ///
    /// # Errors
    /// When the system has no thread or no descriptor left.
    pub fn start() -> io::Result<Self> {
        descriptors::raise_limit();
        let runtime = Builder::new_multi_thread().enable_all().thread_name("tokio").build()?;
        Ok(Self { cores: CoreThreads::start()?, runtime })
    }

    /// For what a plugin opens.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        self.runtime.handle()
    }
}

impl Plugin for RuntimePlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(TokioHandle(self.handle().clone())).insert_resource(self.cores.cores());
    }

    fn finish(&self, app: &mut App) {
        let registry = app.world().resource::<MetricsRegistry>();
        #[cfg(target_os = "linux")]
        registry
            .register(Box::new(prometheus::process_collector::ProcessCollector::for_self()))
            .expect("registered once");
        memory::register(registry).expect("registered once");
    }
}
