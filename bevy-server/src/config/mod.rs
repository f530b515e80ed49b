//! The configuration: defaults, then a file, then the environment. Later ones override earlier ones.
//!
//! `layers` merges, `reader` reads every key in its format and collects all errors. Nothing is opened before
//! [`Config::resolve`] succeeds.

mod chain;
mod edge;
mod error;
mod files;
mod formats;
mod layers;
mod log_filter;
mod reader;
mod reporting;
mod tenants;
mod tls;
mod token;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use floor_cache::{ChainConfig, Tuning, envelope::MasterKeys};

pub use edge::{CallerIdentity, ConnectionLimits, CorsOrigins, NoCache};
use edge::{Networks, Origins};
pub use error::{ConfigError, Problem};
use formats::{Address, FilePath, Flag, Format as _, PackName, Span, whole};
use layers::Layers;
pub(crate) use layers::toml_reason;
pub use log_filter::{FilterError, LogFilter};
use reader::{Reader, Resolved};
pub use reporting::{LogFormat, LogSettings, TraceSettings};
pub use tenants::TenantConfig;
pub(crate) use tls::{ALPN, TlsContents};
pub use tls::{ServerTls, TlsError, TlsFiles};
pub use token::Token;

use crate::{packs::PackSettings, tenants::TenantNames};

/// The defaults: every key, with a comment.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// The greatest quota in cells, so that arithmetic with cells and nanoseconds cannot overflow 128 bits.
pub(crate) const MAX_CELLS: u64 = 1_000_000_000_000;

/// The key of the tokens of callers.
const TOKENS_KEY: &str = "auth.tokens_file";
/// Its format. The module `auth` reads the file.
const TOKENS_FILE: FilePath =
    FilePath { expected: "write the path of a TOML file with [[token]] tables as text, or \"\" for none" };

/// A resolved configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// The address for gRPC and gRPC-Web.
    pub grpc_listen: SocketAddr,
    /// The time limit for calls in flight after the drain starts.
    pub drain: Duration,
    /// How long calls are still accepted after a signal, while health already reports the drain.
    pub drain_delay: Duration,
    /// Limits of connections to the gRPC port.
    pub connections: ConnectionLimits,
    /// How the address of a client is found.
    pub client_identity: CallerIdentity,
    /// The origins of web pages whose scripts may call the server.
    pub cors_origins: CorsOrigins,
    /// Who may send `cache-control: no-cache`.
    pub no_cache: NoCache,
    /// TLS on the gRPC port; `None` for plaintext.
    pub tls: Option<ServerTls>,
    /// The file with the tokens of callers, which is read at the start and when it changes; `None`: no tokens.
    pub tokens_file: Option<PathBuf>,
    /// The address of the operations pages.
    pub ops_listen: SocketAddr,
    /// The bearer token of the operations port, from its file.
    pub ops_token: Option<Token>,
    /// Cells per second that one client may have generated; `None` for no limit.
    pub cells_per_second: Option<u64>,
    /// The cache tiers of callers without a tenant: what the tenants leave of the capacities.
    pub cache: ChainConfig,
    /// Settings that apply to all tiers.
    pub tuning: Tuning,
    /// The tenants, by name.
    pub tenants: Vec<TenantConfig>,
    /// Threads that generate. Never 0.
    pub generation_threads: usize,
    /// Whether the floors above a climber are prefetched.
    pub prefetch: bool,
    /// Where packs come from.
    pub packs: PackSettings,
    /// The keys of sealed towers; `None` for no such towers.
    pub tower_keys: Option<TowerKeyFile>,
    /// How the server logs.
    pub log: LogSettings,
    /// Where traces go; `None` if there are none.
    pub trace: Option<TraceSettings>,
    source: Source,
    resolved: String,
    warnings: Vec<String>,
}

/// The file of the keys of sealed towers.
#[derive(Debug, Clone)]
pub struct TowerKeyFile {
    /// Its path.
    pub path: PathBuf,
    /// What it has; `None` if there is no such file yet.
    pub keys: Option<MasterKeys>,
}

/// What a configuration was read from, besides the defaults.
#[derive(Debug, Clone)]
enum Source {
    /// A file, if one was named, and the environment.
    File(Option<PathBuf>),
    /// A given text, which cannot change.
    Text,
}

/// The directory of packs. The module `packs` reads it.
const PACKS_DIR: FilePath =
    FilePath { expected: "write the path of a directory of packs as text, or \"\" for the built-in pack alone" };

impl Config {
    /// Reads the defaults, then `file`, then the environment.
    ///
    /// # Errors
    /// All problems at once: unknown keys with the nearest valid one, invalid values with their source and
    /// what would be valid.
    pub fn resolve(file: Option<&Path>) -> Result<Self, ConfigError> {
        Self::read(&Layers::load(file)?, Source::File(file.map(Path::to_owned)))
    }

    /// Reads the defaults and then `text`, without the environment.
    ///
    /// # Errors
    /// As [`Config::resolve`].
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        Self::read(&Layers::from_toml(text)?, Source::Text)
    }

    /// Reads the same file and the environment again.
    ///
    /// # Errors
    /// As [`Config::resolve`].
    pub fn read_again(&self) -> Result<Self, ConfigError> {
        match &self.source {
            Source::File(file) => Self::resolve(file.as_deref()),
            Source::Text => Ok(self.clone()),
        }
    }

    /// Reads the keys in the order in which [`resolved`](Self::resolved) prints them.
    fn read(layers: &Layers, source: Source) -> Result<Self, ConfigError> {
        let mut reader = Reader::new(layers);
        let grpc_listen = reader.key("grpc.listen", Address);
        let drain = reader.key("grpc.drain", Span::Any);
        let drain_delay = reader.key("grpc.drain_delay", Span::Any);
        let connections = edge::connection_limits(&mut reader);
        let client_identity = CallerIdentity { trusted_proxies: reader.key("grpc.trusted_proxies", Networks) };
        let cors_origins = reader.key("grpc.cors_origins", Origins);
        let no_cache = reader.key("grpc.no_cache", edge::no_cache());
        let tls = tls::tls(&mut reader);
        let tokens_file = reader.key(TOKENS_KEY, TOKENS_FILE);
        let ops_listen = reader.key("ops.listen", Address);
        let ops_token = reader.key("ops.token_file", files::TOKEN).map(|file| file.contents);
        let rate = whole(0..=MAX_CELLS).note("; 0 for no limit");
        let cells_per_second = nonzero(reader.key("limits.cells_per_second", rate));
        let (cache, tuning) = chain::chain(&mut reader);
        let generation_threads = match reader.key("generation.threads", whole(0..=1024)) {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            threads => threads,
        };
        let prefetch = reader.key("generation.prefetch", Flag);
        let (packs_dir, default_pack) = (reader.key("packs.dir", PACKS_DIR), reader.key("packs.default", PackName));
        let tower_keys = reader.key("towers.key_file", files::TOWER_KEYS);
        let tower_keys = tower_keys.map(|file| TowerKeyFile { path: file.path, keys: file.contents });
        let (log, trace) = (reporting::log(&mut reader), reporting::trace(&mut reader));
        let (cache, tenants) = tenants::tenants(&mut reader, cache, &default_pack);
        let of_tenants = tenants.iter().map(|tenant| tenant.packs.clone()).collect();
        let packs = PackSettings { dir: packs_dir, default: default_pack, tenants: of_tenants };
        if tokens_file.is_none() && !tenants.is_empty() {
            reader.refuse(TOKENS_KEY, "is none", "name a file: a call belongs to a tenant by its token");
        }
        let Resolved { text: resolved, warnings } = reader.finish()?;
        Ok(Self {
            grpc_listen,
            drain,
            drain_delay,
            connections,
            client_identity,
            cors_origins,
            no_cache,
            tls,
            tokens_file,
            ops_listen,
            ops_token,
            cells_per_second,
            cache,
            tuning,
            tenants,
            generation_threads,
            prefetch,
            packs,
            tower_keys,
            log,
            trace,
            source,
            resolved,
            warnings,
        })
    }

    /// The tokens file that `file` and the environment name, and the names of tenants that it may use, also if they are
    /// wrong otherwise.
    pub(crate) fn tokens_file_of(file: Option<&Path>) -> Option<(PathBuf, TenantNames)> {
        let layers = Layers::load(file).ok()?;
        let names = tenants::names(layers.value(tenants::TABLE).as_ref());
        let path = TOKENS_FILE.parse(&layers.value(TOKENS_KEY)?)??;
        Some((path, TenantNames::new(names.iter().map(String::as_str))))
    }

    /// The names of the tenants, in the order of [`tenants`](Self::tenants).
    #[must_use]
    pub fn tenant_names(&self) -> TenantNames {
        tenants::names_of(&self.tenants)
    }

    /// The resolved configuration as TOML, each key with its source, secrets redacted.
    #[must_use]
    pub fn resolved(&self) -> &str {
        &self.resolved
    }

    /// The keys that this version does not know and ignores, each with its source. Empty unless they are tolerated.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub(crate) fn log_warnings(&self) {
        self.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    }
}

/// `None` if `value` is 0.
fn nonzero<T: Default + PartialEq>(value: T) -> Option<T> {
    Some(value).filter(|value| *value != T::default())
}

#[cfg(test)]
mod tests {
    use floor_cache::TierKind;

    use super::*;

    #[test]
    fn the_defaults_are_those_of_floor_cache_but_for_tiers_and_namespace() {
        let defaults = Config::from_toml("").expect("the defaults are valid");
        let cache = ChainConfig {
            chain: vec![TierKind::Lru, TierKind::Lmdb],
            namespace: "floors".to_owned(),
            value_version: floor_gen::GENERATOR_VERSION,
            ..ChainConfig::default()
        };
        assert_eq!(defaults.cache, cache);
        assert_eq!(Tuning { value_check: None, ..defaults.tuning }, Tuning::default());
    }

    /// A text that looks like a value of another type is the same in a file, between quotes, and in the environment.
    #[test]
    fn a_text_is_the_same_in_a_file_and_in_the_environment_for_every_key() {
        let values = |config: Result<Config, ConfigError>| {
            config.map(|config| config.resolved().parse::<toml::Table>().expect("it is TOML")).ok()
        };
        let defaults = values(Config::from_toml("")).expect("the defaults are valid");
        let mut keys = Vec::new();
        let mut tables = vec![(String::new(), &defaults)];
        while let Some((prefix, table)) = tables.pop() {
            for (name, value) in table {
                match value.as_table() {
                    Some(inner) => tables.push((format!("{prefix}{name}."), inner)),
                    None => keys.push(format!("{prefix}{name}")),
                }
            }
        }
        assert!(keys.len() > 40, "{keys:?}");
        let texts =
            ["7", "007", "1.50", "1e3", "0x10", "-0", "+1", "inf", "nan", "true", "false", "True", "1_000", "1GiB"];
        for (key, text) in keys.iter().flat_map(|key| texts.map(|text| (key, text))) {
            let (table, name) = key.rsplit_once('.').expect("every key is in a table");
            let file = values(Config::from_toml(&format!("[{table}]\n{name} = {text:?}\n")));
            let read = |text: &str| values(Config::read(&Layers::from_variable(key, text), Source::Text));
            assert_eq!(read(text), file, "{key} = {text}");
            assert_eq!(read(&format!("{text:?}")), file, "{key} = {text}, quoted");
        }
        let namespace = |text| Config::read(&Layers::from_variable("cache.namespace", text), Source::Text);
        for text in ["7", "007", "1.50", "1e3", "true"] {
            assert_eq!(namespace(text).expect("it is a name").cache.namespace, text);
        }
    }

    #[test]
    fn every_tier_has_keys() {
        let (above_chain, _) = DEFAULTS.split_once("\nchain = ").expect("the key of the chain");
        for tier in TierKind::ALL {
            assert!(above_chain.contains(&format!("`{tier}`")), "the comment of the chain does not name {tier}");
            assert!(DEFAULTS.contains(&format!("[cache.{tier}]")), "defaults.toml has no table for {tier}");
        }
    }

    #[test]
    fn zero_switches_a_limit_off() {
        let limits = Config::from_toml("").expect("the defaults are valid").connections;
        let expected =
            ConnectionLimits { max_connections: None, max_connections_per_ip: Some(256), max_connection_age: None };
        assert_eq!(limits, expected);
        let text = "[grpc]\nmax_connections = 5\nmax_connections_per_ip = 0\nmax_connection_age = \"5m\"\n";
        let limits = Config::from_toml(text).expect("the text is valid").connections;
        let expected = ConnectionLimits {
            max_connections: Some(5),
            max_connections_per_ip: None,
            max_connection_age: Some(Duration::from_secs(300)),
        };
        assert_eq!(limits, expected);
    }
}
