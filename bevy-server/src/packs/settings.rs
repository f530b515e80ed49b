//! What the configuration says of packs. Without other parts of the server, so that a fuzz target can include it.

use std::path::PathBuf;

use floor_proto::pack::BUILT_IN;

/// Where packs come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackSettings {
    /// The directory of packs; `None`: the built-in pack alone.
    pub dir: Option<PathBuf>,
    /// The name of the pack of a request that names none.
    pub default: String,
    /// What the tenants say of packs, in the order of the tenants.
    pub tenants: Vec<TenantPacks>,
}

impl Default for PackSettings {
    fn default() -> Self {
        Self { dir: None, default: BUILT_IN.to_owned(), tenants: Vec::new() }
    }
}

/// What a tenant says of packs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantPacks {
    /// The tenant.
    pub name: String,
    /// The names of its own packs, in all their versions: callers of tenants that do not list them may not use them.
    pub own: Vec<String>,
    /// The name of the pack of its requests that name none.
    pub default: String,
}
