//! The packs that the server serves: the built-in one, and those in the directory that `packs.dir` names.
//!
//! `folder` reads that directory within limits. `registry` has what was read; calls, workers and prefetches look packs up
//! in it, and it is read again when files change or on a reload. `access` says which of them a caller may use.

mod access;
mod folder;
mod registry;
mod settings;

use bevy::prelude::*;

pub use folder::PackLoadError;
pub use registry::{FoundPack, Packs, VisiblePacks};
pub(crate) use registry::{HeldPack, UnknownPack};
pub use settings::{PackSettings, TenantPacks};

use crate::{
    lifecycle::reload_requested,
    metrics::{MetricsRegistry, Reloads},
    runtime::TokioHandle,
};

/// Adds [`Packs`] and follows their files.
#[derive(Debug)]
pub struct PackPlugin(pub Packs);

impl Plugin for PackPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(self.0.clone()).add_systems(Update, reload.run_if(reload_requested));
    }

    fn finish(&self, app: &mut App) {
        let (world, packs) = (app.world(), &self.0);
        let reloads = world.resource::<Reloads>().clone();
        packs.register(world.resource::<MetricsRegistry>(), reloads).expect("registered once");
        if packs.has_directory() {
            world.resource::<TokioHandle>().spawn(packs.clone().follow_files());
        }
    }
}

/// Also if the configuration is wrong, of which packs are no part.
fn reload(packs: Res<'_, Packs>, runtime: Res<'_, TokioHandle>) {
    let packs = packs.clone();
    // It may read many files.
    runtime.spawn_blocking(move || packs.reload());
}
