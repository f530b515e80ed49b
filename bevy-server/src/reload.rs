//! Reads the configuration again on [`ServerEvent::Reload`](crate::lifecycle::ServerEvent) and triggers [`Reload`], of which
//! each plugin applies what it owns. Logs what was applied and what needs a restart.

use std::collections::{BTreeMap, BTreeSet};

use bevy::prelude::*;
use toml::{Table, Value};

use crate::{
    config::Config,
    lifecycle::reload_requested,
    metrics::{Reloaded, Reloads},
};

/// Reloads the configuration.
#[derive(Debug)]
pub struct ReloadPlugin {
    /// The configuration that the server runs with. It knows where it was read from.
    pub config: Config,
}

impl Plugin for ReloadPlugin {
    fn build(&self, app: &mut App) {
        let in_use = values(self.config.resolved());
        app.insert_resource(Running { config: self.config.clone(), in_use })
            .add_systems(Update, reload.run_if(reload_requested));
    }

    fn finish(&self, app: &mut App) {
        app.world().resource::<Reloads>().record(Reloaded::Configuration, true);
    }
}

/// The configuration was read again. The observers apply what can change while the server runs, and say what they have
/// applied. A changed key that none applies needs a restart.
#[derive(Event, Debug)]
pub struct Reload {
    /// The new configuration.
    pub config: Config,
    /// The changed keys that the server already had: a new tenant needs a restart with all of its keys.
    changed: Vec<String>,
    applied: BTreeSet<String>,
}

impl Reload {
    /// The new values of the keys that `owns` selects are in use. Returns whether there is a changed one.
    pub(crate) fn apply(&mut self, owns: impl Fn(&str) -> bool) -> bool {
        let count = self.applied.len();
        self.applied.extend(self.changed.iter().filter(|key| owns(key)).cloned());
        self.applied.len() > count
    }

    /// The new content of `files` is in use, also if the key that names them has not changed.
    pub(crate) fn apply_files(&mut self, files: &str) {
        self.applied.insert(files.to_owned());
    }
}

/// The configuration that the server runs with.
#[derive(Resource)]
struct Running {
    /// As it was at the start. Read again, it is the new configuration.
    config: Config,
    /// The value in use of every key.
    in_use: Values,
}

/// Values as they are printed, secrets redacted, by their dotted keys.
type Values = BTreeMap<String, Value>;

fn reload(world: &mut World) {
    let read = world.resource::<Running>().config.read_again();
    world.resource::<Reloads>().record(Reloaded::Configuration, read.is_ok());
    let config = match read {
        Ok(config) => config,
        Err(error) => {
            tracing::error!(%error, "the configuration was not reloaded; the old one stays in use");
            return;
        }
    };
    config.log_warnings();
    let new = values(config.resolved());
    let (applied, restart) = apply(world, config, &new);
    let applied_now = new.into_iter().filter(|(key, _)| applied.contains(key));
    world.resource_mut::<Running>().in_use.extend(applied_now);
    if applied.is_empty() && restart.is_empty() {
        tracing::info!("the configuration was reloaded; nothing has changed");
        return;
    }
    let applied = Vec::from_iter(applied).join(", ");
    tracing::info!(%applied, "the configuration was reloaded");
    if !restart.is_empty() {
        tracing::warn!(keys = %restart.join(", "), "changed keys need a restart; their old values stay in use");
    }
}

/// Lets the observers apply `config`, whose values are `new`. Returns what they have applied, and the changed keys that need
/// a restart.
fn apply(world: &mut World, config: Config, new: &Values) -> (BTreeSet<String>, Vec<String>) {
    let in_use = &world.resource::<Running>().in_use;
    let differs = |key: &&String| in_use.get(*key) != new.get(*key);
    let gone = in_use.keys().filter(|key| !new.contains_key(*key));
    let mut restart: Vec<_> = new.keys().filter(differs).chain(gone).cloned().collect();
    let is_known = |key: &&String| in_use.contains_key(*key) && new.contains_key(*key);
    let changed = restart.iter().filter(is_known).cloned().collect();
    let mut reload = Reload { config, changed, applied: BTreeSet::new() };
    world.trigger_ref(&mut reload);
    restart.retain(|key| !reload.applied.contains(key));
    (reload.applied, restart)
}

/// The values of a configuration as [`Config::resolved`] prints it.
fn values(resolved: &str) -> Values {
    let table: Table = resolved.parse().expect("a resolved configuration is TOML");
    let mut values = Values::new();
    flatten("", table, &mut values);
    values
}

fn flatten(prefix: &str, table: Table, values: &mut Values) {
    for (name, value) in table {
        match value {
            Value::Table(table) => flatten(&format!("{prefix}{name}."), table, values),
            value => _ = values.insert(format!("{prefix}{name}"), value),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, net::Ipv4Addr};

    use floor_cache::TierKind;
    use tempfile::TempDir;

    use super::*;

    /// The keys that need a restart. A new key is in this list, or a plugin applies it.
    const AFTER_RESTART: &str = "auth.tokens_file cache.bypass cache.chain cache.compress cache.keys_file \
        cache.lmdb.map_size cache.lmdb.path cache.lru.capacity cache.lru.ttl cache.namespace cache.redis.admit \
        cache.redis.ca cache.redis.cert cache.redis.key cache.redis.password_file cache.redis.timeout \
        cache.redis.url cache.sled.capacity cache.sled.path generation.prefetch generation.threads grpc.cors_origins \
        grpc.drain grpc.drain_delay grpc.listen grpc.max_connection_age grpc.max_connections \
        grpc.max_connections_per_ip grpc.no_cache grpc.trusted_proxies log.format ops.listen packs.default packs.dir \
        towers.key_file trace.ca trace.endpoint trace.sample";

    /// A server with this configuration, on free ports and without stores.
    fn app(text: &str) -> App {
        let mut config = Config::from_toml(text).unwrap();
        for address in [&mut config.grpc_listen, &mut config.ops_listen] {
            *address = (Ipv4Addr::LOCALHOST, 0).into();
        }
        for cache in config.tenants.iter_mut().map(|tenant| &mut tenant.cache).chain([&mut config.cache]) {
            cache.chain = vec![TierKind::Lru];
        }
        // No test makes a key in the checkout.
        config.tower_keys = None;
        crate::app(&config).unwrap()
    }

    /// What a server that runs with `old` applies of `new`, and what needs a restart.
    fn changes(old: &str, new: &str) -> (Vec<String>, Vec<String>) {
        let new = Config::from_toml(new).unwrap();
        let values = values(new.resolved());
        let (applied, restart) = apply(app(old).world_mut(), new, &values);
        (applied.into_iter().collect(), restart)
    }

    #[test]
    fn every_key_applies_at_once_or_needs_a_restart() {
        let (mut app, config) = (app(""), Config::from_toml("").unwrap());
        let new = values(config.resolved());
        // As if every value had changed.
        app.world_mut().resource_mut::<Running>().in_use.values_mut().for_each(|value| *value = "another".into());
        let (_, restart) = apply(app.world_mut(), config, &new);
        assert_eq!(restart, AFTER_RESTART.split(' ').collect::<Vec<_>>());
    }

    #[test]
    fn changed_keys_are_told_apart_by_whether_they_apply_at_once() {
        assert_eq!(changes("", "[limits]\ncells_per_second = 0\n"), (vec![], vec![]), "a default, written");
        let new = "[limits]\ncells_per_second = 7\n[grpc]\ndrain = \"1s\"\n[cache.lru]\ncapacity = \"1MiB\"\n";
        let (applied, restart) = changes("", new);
        assert_eq!(applied, ["limits.cells_per_second"]);
        assert_eq!(restart, ["cache.lru.capacity", "grpc.drain"]);
    }

    #[test]
    fn the_quota_of_a_tenant_applies_at_once_and_a_new_tenant_needs_a_restart() {
        let data = TempDir::new().unwrap();
        let tokens = data.path().join("tokens.toml");
        fs::write(&tokens, "").unwrap();
        let of = |tenants: &str| format!("[auth]\ntokens_file = {tokens:?}\n{tenants}");
        let old = of("[tenants.acme]\nshare = 0.25\n[tenants.globex]\nshare = 0.25\n");
        let new = of("[tenants.acme]\nshare = 0.25\ncells_per_second = 7\n[tenants.initech]\nshare = 0.25\n");
        let (applied, restart) = changes(&old, &new);
        assert_eq!(applied, ["tenants.acme.cells_per_second"]);
        let keys = ["cells_per_second", "pack", "packs", "share"];
        let of_others = ["initech", "globex"].iter().flat_map(|name| keys.map(|key| format!("tenants.{name}.{key}")));
        assert_eq!(restart, of_others.collect::<Vec<_>>());
        let new = of("[tenants.acme]\nshare = 0.25\npacks = [\"mine\"]\n[tenants.globex]\nshare = 0.25\n");
        assert_eq!(changes(&old, &new), (vec![], vec!["tenants.acme.packs".to_owned()]));
    }
}
