//! Reads the configuration again on [`ServerEvent::Reload`], applies what can change while the server runs, and logs
//! what was applied and what needs a restart.

use std::collections::BTreeMap;

use bevy::prelude::*;
use toml::{Table, Value};

use crate::{
    auth::Authenticator,
    config::Config,
    generation::GenerationQueue,
    grpc::Certificates,
    lifecycle::ServerEvent,
    logging::LogControl,
    metrics::{Reloaded, Reloads},
    observer::CallObserver,
    ops::OperatorAccess,
    packs::Packs,
    runtime::TokioHandle,
};

/// The key of the operators' token. Its file's content can change while its value, the path, stays.
const TOKEN_FILE: &str = "ops.token_file";
/// The key of the callers' tokens. Its file's content can change too. Another path needs a restart.
const TOKENS_FILE: &str = "auth.tokens_file";
/// The keys of what is logged.
const LOG: [&str; 3] = ["log.access", "log.level", "log.slow"];
/// The tables of tenants, and the key in each that applies at once: the quota.
const TENANTS: &str = "tenants.";
const TENANT_RATE: &str = ".cells_per_second";
/// The table of quotas.
const LIMITS: &str = "limits.";
/// The table of TLS. The contents of its files can change while their paths stay.
const TLS: &str = "grpc.tls.";

/// Reloads the configuration on [`ServerEvent::Reload`]. Add it after the [`OpsPlugin`](crate::ops::OpsPlugin) and the
/// [`GrpcPlugin`](crate::grpc::GrpcPlugin).
#[derive(Debug)]
pub struct ReloadPlugin {
    /// The configuration that the server runs with. It knows where it was read from.
    pub config: Config,
}

impl Plugin for ReloadPlugin {
    fn build(&self, app: &mut App) {
        let in_use = values(self.config.resolved());
        app.world().resource::<Reloads>().record(Reloaded::Configuration, true);
        app.insert_resource(Running { config: self.config.clone(), in_use }).add_systems(Update, reload);
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

fn reload(
    mut events: MessageReader<'_, '_, ServerEvent>,
    mut running: ResMut<'_, Running>,
    generation: Res<'_, GenerationQueue>,
    operators: Res<'_, OperatorAccess>,
    (certificates, authenticator): (Res<'_, Certificates>, Option<Res<'_, Authenticator>>),
    (log, observer): (Res<'_, LogControl>, Res<'_, CallObserver>),
    (reloads, packs, runtime): (Res<'_, Reloads>, Res<'_, Packs>, Res<'_, TokioHandle>),
) {
    let requested = events.read().filter(|event| matches!(event, ServerEvent::Reload)).count() > 0;
    if !requested {
        return;
    }
    let packs = packs.clone();
    // It may read many files.
    runtime.spawn_blocking(move || packs.reload());
    let read = running.config.read_again();
    reloads.record(Reloaded::Configuration, read.is_ok());
    let config = match read {
        Ok(config) => config,
        Err(error) => {
            tracing::error!(%error, "the configuration was not reloaded; the old one stays in use");
            return;
        }
    };
    config.log_warnings();
    let new = values(config.resolved());
    let (mut applied, restart) = changed_keys(&running.in_use, &new);
    generation.set_quota(config.quota);
    let rates = config.tenants.iter().map(|tenant| (tenant.name.as_str(), tenant.cells_per_second));
    generation.set_tenant_rates(rates);
    if let Err(error) = log.configure(&config.log.filter) {
        tracing::warn!(%error, "the log filter cannot be changed");
    }
    observer.configure(&config.log);
    if operators.set_token(config.ops_token) && !applied.iter().any(|key| key == TOKEN_FILE) {
        applied.push(TOKEN_FILE.to_owned());
    }
    if certificates.set(config.tls) && !applied.iter().any(|key| key.starts_with(TLS)) {
        applied.push("the files of grpc.tls".to_owned());
    }
    let known = authenticator.filter(|known| config.tokens_file.as_deref() == Some(known.path()));
    match known.map(|known| known.reload()) {
        Some(Ok(true)) => applied.push(TOKENS_FILE.to_owned()),
        Some(Err(error)) => tracing::error!(%error, "the tokens were not reloaded; the old ones stay in use"),
        Some(Ok(false)) | None => {}
    }
    let known = |key: &String| running.in_use.contains_key(key);
    let applied_now: Vec<_> = new.into_iter().filter(|(key, _)| applies_at_once(key) && known(key)).collect();
    running.in_use.extend(applied_now);
    if applied.is_empty() && restart.is_empty() {
        tracing::info!("the configuration was reloaded; nothing has changed");
        return;
    }
    tracing::info!(applied = %applied.join(", "), "the configuration was reloaded");
    if !restart.is_empty() {
        tracing::warn!(keys = %restart.join(", "), "changed keys need a restart; their old values stay in use");
    }
}

/// The keys whose values differ: those that apply at once, and those that need a restart.
fn changed_keys(in_use: &Values, new: &Values) -> (Vec<String>, Vec<String>) {
    let changed = new.iter().filter(|(key, value)| in_use.get(*key) != Some(*value)).map(|(key, _)| key);
    // A tenant that is gone, and a new one, need a restart with all of their keys.
    let gone = in_use.keys().filter(|key| !new.contains_key(*key));
    let at_once = |key: &String| applies_at_once(key) && in_use.contains_key(key) && new.contains_key(key);
    changed.chain(gone).cloned().partition(at_once)
}

fn applies_at_once(key: &str) -> bool {
    key == TOKEN_FILE || LOG.contains(&key) || key.starts_with(LIMITS) || key.starts_with(TLS) || is_tenant_rate(key)
}

fn is_tenant_rate(key: &str) -> bool {
    key.starts_with(TENANTS) && key.ends_with(TENANT_RATE)
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
    use super::*;

    /// The keys that need a restart. A new key is in this list, or `applies_at_once` has it.
    const AFTER_RESTART: &str = "auth.tokens_file cache.bypass cache.chain cache.compress cache.keys cache.keys_file \
        cache.lmdb.map_size cache.lmdb.path cache.lru.capacity cache.lru.ttl cache.namespace cache.redis.admit \
        cache.redis.ca cache.redis.cert cache.redis.key cache.redis.password_file cache.redis.timeout \
        cache.redis.url cache.sled.capacity cache.sled.path generation.queue generation.threads grpc.cors_origins \
        grpc.drain grpc.drain_delay grpc.idle_timeout grpc.listen grpc.max_connection_age grpc.max_connections \
        grpc.max_connections_per_ip grpc.max_streams grpc.no_cache grpc.reflection grpc.stall_timeout \
        grpc.trusted_proxies grpc.unsent log.format ops.listen packs.default packs.dir prefetch.ahead trace.ca trace.endpoint \
        trace.max_per_second trace.sample";

    #[test]
    fn every_key_applies_at_once_or_needs_a_restart() {
        let all = values(Config::from_toml("").unwrap().resolved());
        let after_restart: Vec<_> = all.keys().map(String::as_str).filter(|key| !applies_at_once(key)).collect();
        assert_eq!(after_restart, AFTER_RESTART.split(' ').collect::<Vec<_>>());
    }

    #[test]
    fn changed_keys_are_told_apart_by_whether_they_apply_at_once() {
        let of = |text: &str| values(Config::from_toml(text).unwrap().resolved());
        let old = of("");
        assert_eq!(changed_keys(&old, &of("[limits]\ncells_per_second = 0\n")), (vec![], vec![]), "a default, written");
        let new = of("[limits]\ncells_per_second = 7\n[grpc]\ndrain = \"1s\"\n[cache.lru]\ncapacity = \"1MiB\"\n");
        let (applied, restart) = changed_keys(&old, &new);
        assert_eq!(applied, ["limits.cells_per_second"]);
        assert_eq!(restart, ["cache.lru.capacity", "grpc.drain"]);
    }

    #[test]
    fn the_quota_of_a_tenant_applies_at_once_and_a_new_tenant_needs_a_restart() {
        let of = |tenants: &str| {
            let text = format!("[auth]\ntokens_file = \"tokens.toml\"\n{tenants}");
            values(Config::from_toml(&text).unwrap().resolved())
        };
        let old = of("[tenants.acme]\nshare = 0.25\n[tenants.globex]\nshare = 0.25\n");
        let new = of("[tenants.acme]\nshare = 0.25\ncells_per_second = 7\n[tenants.initech]\nshare = 0.25\n");
        let (applied, restart) = changed_keys(&old, &new);
        assert_eq!(applied, ["tenants.acme.cells_per_second"]);
        let keys = ["cells_per_second", "pack", "packs", "share"];
        let of_others = ["initech", "globex"].iter().flat_map(|name| keys.map(|key| format!("tenants.{name}.{key}")));
        assert_eq!(restart, of_others.collect::<Vec<_>>());
        let new = of("[tenants.acme]\nshare = 0.25\npacks = [\"mine\"]\n[tenants.globex]\nshare = 0.25\n");
        assert_eq!(changed_keys(&old, &new), (vec![], vec!["tenants.acme.packs".to_owned()]));
    }
}
