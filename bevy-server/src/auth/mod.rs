//! Tokens: which callers the server knows, and what each may do.
//!
//! `tokens_file` reads the file that `auth.tokens_file` names. `authenticator` checks the `authorization` header of a call
//! against it, and reads it again when it changes. Without that key the server asks for no token.

mod authenticator;
mod bearer;
mod tokens_file;

use bevy::prelude::*;

pub use authenticator::Authenticator;
pub(crate) use authenticator::{Denied, LastToken};
pub(crate) use bearer::bearer;
pub(crate) use tokens_file::Scope;
pub use tokens_file::{TokensError, TokensFile};

use crate::{
    callers::Callers, generation::GenerationQueue, metrics::MetricsPlugin, reload::Reload, runtime::TokioHandle,
};

/// Adds the [`Authenticator`], which follows its file.
#[derive(Debug)]
pub struct AuthPlugin(Authenticator);

impl AuthPlugin {
    /// Asks callers for `tokens`, each of which is a caller with a quota of generation.
    #[must_use]
    pub fn new(tokens: &TokensFile, callers: &Callers, queue: &GenerationQueue, metrics: &MetricsPlugin) -> Self {
        let (refusals, reloads) = (metrics.refusals.clone(), metrics.reloads.clone());
        Self(Authenticator::new(tokens, callers.clone(), queue.clone(), refusals, reloads))
    }
}

impl Plugin for AuthPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(self.0.clone()).add_observer(apply_tokens);
    }

    fn finish(&self, app: &mut App) {
        app.world().resource::<TokioHandle>().spawn(self.0.clone().follow_file());
    }
}

fn apply_tokens(mut reload: On<'_, '_, Reload>, authenticator: Res<'_, Authenticator>) {
    // Another path needs a restart.
    if reload.config.tokens_file.as_deref() != Some(authenticator.path()) {
        return;
    }
    match authenticator.reload() {
        Ok(true) => reload.apply_files("auth.tokens_file"),
        Ok(false) => {}
        Err(error) => tracing::error!(%error, "the tokens were not reloaded; the old ones stay in use"),
    }
}
