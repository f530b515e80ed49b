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
    clients::Clients,
    generation::GenerationQueue,
    metrics::{Refusals, Reloads},
    runtime::TokioHandle,
};

/// Adds the [`Authenticator`], which follows its file. Add it before the plugins that serve the ports, which look for that
/// resource.
#[derive(Debug)]
pub struct AuthPlugin {
    /// The tokens at the start.
    pub tokens: TokensFile,
}

impl Plugin for AuthPlugin {
    fn build(&self, app: &mut App) {
        let world = app.world();
        let clients = world.resource::<Clients>().clone();
        let generation = world.resource::<GenerationQueue>().clone();
        let refusals = world.resource::<Refusals>().clone();
        let reloads = world.resource::<Reloads>().clone();
        let authenticator = Authenticator::new(&self.tokens, clients, generation, refusals, reloads);
        world.resource::<TokioHandle>().spawn(authenticator.clone().follow_file());
        app.insert_resource(authenticator);
    }
}
