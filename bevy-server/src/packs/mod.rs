//! The packs that the server serves: the built-in one, and those in the directory that `packs.dir` names.
//!
//! `folder` reads that directory within limits. `registry` has what was read; calls, workers and prefetches look packs up
//! in it, and it is read again when files change or on a reload. `access` says which of them a caller may use.

mod access;
mod folder;
mod registry;

use bevy::prelude::*;

pub use access::TenantPacks;
pub use folder::PackLoadError;
pub use registry::{FoundPack, PackSettings, Packs, VisiblePacks};
pub(crate) use registry::{HeldPack, UnknownPack};

use crate::runtime::TokioHandle;

/// Follows the files of the packs in the resource [`Packs`].
#[derive(Debug)]
pub struct PackPlugin;

impl Plugin for PackPlugin {
    fn build(&self, app: &mut App) {
        let packs = app.world().resource::<Packs>().clone();
        if packs.has_directory() {
            app.world().resource::<TokioHandle>().spawn(packs.follow_files());
        }
    }
}
