//! The tables `[tenants.NAME]`: each is a tenant with a share of the stores and a quota of generation.

use std::path::{Path, PathBuf};

use figment::value::Value;
use floor_cache::{ChainConfig, TierKind};

use super::{
    MAX_CELLS,
    formats::{Format, PackName, PackNames, number, whole},
    nonzero,
    reader::Reader,
};
use crate::{
    packs::TenantPacks,
    tenants::{MAX_TENANTS, TenantNames, is_name},
};

/// The table of all tenants.
pub(super) const TABLE: &str = "tenants";
/// The least size of a store.
const MIN_BYTES: u64 = 1 << 20;
/// The least bytes of a write queue.
const MIN_QUEUE: usize = 1 << 20;

/// A tenant.
#[derive(Debug, Clone)]
pub struct TenantConfig {
    /// Its name.
    pub name: String,
    /// Cells per second that all its tokens may have generated together; `None` for no limit.
    pub cells_per_second: Option<u64>,
    /// The tiers of its chain, with its share of their capacities.
    pub cache: ChainConfig,
    /// Its packs.
    pub packs: TenantPacks,
}

/// What the table of a tenant says.
struct Entry {
    share: f64,
    cells_per_second: Option<u64>,
    packs: TenantPacks,
}

/// The names of tenants in the value of the table.
pub(super) fn names(table: Option<&Value>) -> Vec<String> {
    table.and_then(Value::as_dict).map(|table| table.keys().cloned().collect()).unwrap_or_default()
}

/// The tenants, and what of `cache` they leave to callers without one. `default` is the pack of requests that name none.
pub(super) fn tenants(
    reader: &mut Reader<'_>,
    mut cache: ChainConfig,
    default: &str,
) -> (ChainConfig, Vec<TenantConfig>) {
    let names = names(reader.table(TABLE).as_ref());
    if names.len() > MAX_TENANTS {
        let is = format!("has {} tenants", names.len());
        reader.refuse(TABLE, &is, &format!("write at most {MAX_TENANTS}"));
    }
    let entries: Vec<_> = names.into_iter().filter_map(|name| entry(reader, name, default)).collect();
    refuse_packs_of_others(reader, &entries, default);
    let given: f64 = entries.iter().map(|entry| entry.share).sum();
    if entries.is_empty() {
        return (cache, Vec::new());
    }
    // A share that leaves nothing by rounding is no share.
    if given > 1.0 - MIN_SHARE / 2.0 {
        let is = format!("has shares of {given:.3} in all");
        reader.refuse(TABLE, &is, "write shares with a sum below 1: the rest belongs to callers without a tenant");
        return (cache, Vec::new());
    }
    if cache.chain.contains(&TierKind::Sled) && cache.sled.capacity == 0 {
        reader.refuse("cache.sled.capacity", "is no limit", "write a size, of which each tenant has its share");
    }
    let whole = cache.clone();
    let tenants = entries.into_iter().map(|Entry { share, cells_per_second, packs }| {
        let name = packs.name.clone();
        let own = share_of(reader, &whole, share, &name);
        cache.lru.capacity -= own.lru.capacity;
        cache.lmdb.map_size -= own.lmdb.map_size;
        cache.sled.capacity -= own.sled.capacity;
        cache.write_queue = cache.write_queue.saturating_sub(own.write_queue).max(MIN_QUEUE);
        refuse_small(reader, &own, &format!("{TABLE}.{name}.share"), "is too small");
        TenantConfig { name, cells_per_second, cache: own, packs }
    });
    let tenants = tenants.collect();
    refuse_small(reader, &cache, TABLE, "has shares that leave too little to callers without a tenant");
    (cache, tenants)
}

/// What the table of the tenant `name` says; `None` without a share.
fn entry(reader: &mut Reader<'_>, name: String, default: &str) -> Option<Entry> {
    let table = format!("{TABLE}.{name}");
    if !is_name(&name) {
        reader.refuse(
            &table,
            "is no name of a tenant",
            "write a small letter, followed by at most 31 small letters, digits and '-'",
        );
    }
    let share = reader.entry(format!("{table}.share"), Share, None);
    let cells = whole(0..=MAX_CELLS).note("; 0 for no limit");
    let cells_per_second = nonzero(reader.entry(format!("{table}.cells_per_second"), cells, Some(0)).unwrap_or(0));
    let own = reader.entry(format!("{table}.packs"), PackNames, Some(Vec::new())).unwrap_or_default();
    let of_tenant = reader.entry(format!("{table}.pack"), PackName, Some(default.to_owned()));
    let packs = TenantPacks { name, own, default: of_tenant.unwrap_or_else(|| default.to_owned()) };
    Some(Entry { share: share?, cells_per_second, packs })
}

/// The `share` of the tenant `name` of the tiers in `whole`.
fn share_of(reader: &mut Reader<'_>, whole: &ChainConfig, share: f64, name: &str) -> ChainConfig {
    let namespace = format!("{}/{name}", whole.namespace);
    if namespace.len() > floor_cache::envelope::Namespace::MAX {
        let is = format!("is too long to be followed by the tenant {name}");
        reader.refuse("cache.namespace", &is, "write a shorter one, with at most 64 characters in all");
    }
    let write_queue = ((whole.write_queue as f64 * share) as usize).max(MIN_QUEUE);
    let mut own = ChainConfig { namespace, write_queue, ..whole.clone() };
    own.lru.capacity = part(whole.lru.capacity, share);
    own.lmdb.map_size = part(whole.lmdb.map_size, share);
    own.sled.capacity = part(whole.sled.capacity, share);
    own.lmdb.path = directory(&whole.lmdb.path, name);
    own.sled.path = directory(&whole.sled.path, name);
    own
}

/// Refuses a default pack that its callers may not use.
fn refuse_packs_of_others(reader: &mut Reader<'_>, entries: &[Entry], default: &str) {
    let owner = |pack: &str| entries.iter().find(|entry| entry.packs.own.iter().any(|own| own == pack));
    if let Some(Entry { packs, .. }) = owner(default) {
        let is =
            format!("is {default}, which {TABLE}.{}.packs has, so callers without a tenant may not use it", packs.name);
        reader.refuse("packs.default", &is, "write another, and this one in the `pack` of tenants");
        return;
    }
    for Entry { packs: TenantPacks { name, own, default }, .. } in entries {
        if let Some(other) = owner(default).filter(|_| !own.contains(default)) {
            let is =
                format!("is {default}, which {TABLE}.{}.packs has and {TABLE}.{name}.packs has not", other.packs.name);
            reader.refuse(&format!("{TABLE}.{name}.pack"), &is, "add it to the packs of this tenant, or write another");
        }
    }
}

/// Refuses a share that leaves a store of `chain` less than a store needs.
fn refuse_small(reader: &mut Reader<'_>, chain: &ChainConfig, key: &str, is: &str) {
    for tier in &chain.chain {
        let (capacity, bytes) = match tier {
            TierKind::Lru => ("cache.lru.capacity", chain.lru.capacity),
            TierKind::Lmdb => ("cache.lmdb.map_size", chain.lmdb.map_size),
            TierKind::Sled => ("cache.sled.capacity", chain.sled.capacity),
            TierKind::Redis => continue,
        };
        if bytes < MIN_BYTES {
            let is = format!("{is}: it is {bytes} bytes of {capacity}, and a store needs {MIN_BYTES}");
            reader.refuse(key, &is, "write another share, or a greater capacity");
        }
    }
}

fn part(bytes: u64, share: f64) -> u64 {
    (bytes as f64 * share) as u64
}

/// The directory of a tenant's store: `NAME` in a directory beside `path`, because a damaged store is put aside with
/// everything that is in its directory.
fn directory(path: &Path, name: &str) -> PathBuf {
    let Some(last) = path.file_name() else { return path.join(TABLE).join(name) };
    let mut beside = last.to_owned();
    beside.push(".");
    beside.push(TABLE);
    path.with_file_name(beside).join(name)
}

/// The least share.
const MIN_SHARE: f64 = 0.001;

/// The part of each store that a tenant has.
struct Share;

impl Format for Share {
    type Output = f64;

    fn expected(&self) -> String {
        format!("write a number of {MIN_SHARE} ..= {}, as in 0.25", 1.0 - MIN_SHARE)
    }

    fn parse(&self, value: &Value) -> Option<f64> {
        number(value)?.parse().ok().filter(|share| (MIN_SHARE..=1.0 - MIN_SHARE).contains(share))
    }

    fn show(&self, share: &f64) -> String {
        share.to_string()
    }
}

/// The names of `tenants`.
pub(super) fn names_of(tenants: &[TenantConfig]) -> TenantNames {
    TenantNames::new(tenants.iter().map(|tenant| tenant.name.as_str()))
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    /// A configuration with these tables of tenants.
    fn read(tenants: &str) -> Result<Config, String> {
        let text = format!(
            "[auth]\ntokens_file = \"tokens.toml\"\n[cache]\nchain = [\"lru\", \"redis\", \"lmdb\", \"sled\"]\n\
             [cache.lru]\ncapacity = \"100MiB\"\n[cache.lmdb]\npath = \"./d/lmdb\"\n{tenants}"
        );
        Config::from_toml(&text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_tenant_has_its_share_and_the_others_the_rest() {
        let config =
            read("[tenants.acme]\nshare = 0.25\ncells_per_second = 7\n[tenants.globex]\nshare = 0.5\n").unwrap();
        let [acme, globex] = &config.tenants[..] else { panic!("two tenants") };
        assert_eq!((acme.name.as_str(), acme.cells_per_second, globex.cells_per_second), ("acme", Some(7), None));
        let chains = [&config.cache, &acme.cache, &globex.cache];
        assert_eq!(chains.map(|chain| chain.lru.capacity >> 20), [25, 25, 50]);
        assert_eq!(chains.map(|chain| chain.lmdb.map_size >> 20), [1024, 1024, 2048]);
        assert_eq!(chains.map(|chain| chain.sled.capacity >> 20), [1024, 1024, 2048]);
        assert_eq!(chains.map(|chain| chain.write_queue >> 20), [16, 16, 32]);
        assert_eq!(chains.map(|chain| chain.namespace.as_str()), ["floors", "floors/acme", "floors/globex"]);
        assert_eq!(
            chains.map(|chain| chain.lmdb.path.to_str().unwrap()),
            ["./d/lmdb", "./d/lmdb.tenants/acme", "./d/lmdb.tenants/globex"]
        );
        assert!(config.resolved().contains("[tenants.acme]\nshare = 0.25"), "{}", config.resolved());
        assert!(config.resolved().contains("cells_per_second = 0                          # default"));
        assert!(config.resolved().contains("packs = []"), "{}", config.resolved());
        let again = Config::from_toml(config.resolved()).unwrap();
        assert_eq!(again.tenants[0].cache, acme.cache, "what is printed can be read");
    }

    #[test]
    fn a_tenant_has_packs_of_its_own_and_a_default() {
        let tenants = "[packs]\ndefault = \"free\"\n[tenants.acme]\nshare = 0.25\npacks = [\"mine\", \"both\"]\n\
                       pack = \"mine\"\n[tenants.globex]\nshare = 0.25\npacks = [\"both\"]\n";
        let config = read(tenants).unwrap();
        let [acme, globex] = &config.packs.tenants[..] else { panic!("two tenants") };
        assert_eq!((acme.own.join(" "), acme.default.as_str()), ("mine both".to_owned(), "mine"));
        assert_eq!((globex.name.as_str(), globex.default.as_str()), ("globex", "free"));
        assert!(config.resolved().contains("packs = [\"mine\", \"both\"]"), "{}", config.resolved());
        let again = Config::from_toml(config.resolved()).unwrap();
        assert_eq!(again.packs, config.packs, "what is printed can be read");
    }

    #[test]
    fn wrong_tenants_are_refused_with_what_would_be_right() {
        let many: String = (0..17).map(|number| format!("[tenants.t{number}]\nshare = 0.01\n")).collect();
        for (tenants, expected) in [
            ("[tenants.Acme]\nshare = 0.1\n", "tenants.Acme is no name of a tenant"),
            ("[tenants.acme]\n", "tenants.acme.share is missing; write a number of 0.001 ..= 0.999"),
            ("[tenants]\nacme = 1\n", "tenants.acme is no key"),
            ("[tenants.acme]\nshare = 1.0\n", "tenants.acme.share is 1"),
            ("[tenants.acme]\nshare = 0.5\n[tenants.b]\nshare = 0.5\n", "tenants has shares of 1.000 in all"),
            (
                "[tenants.acme]\nshare = 0.005\n",
                "tenants.acme.share is too small: it is 524288 bytes of cache.lru.capacity",
            ),
            ("[tenants.acme]\nshare = 0.995\n", "tenants has shares that leave too little"),
            ("[tenants.acme]\nshare = 0.1\nquota = 1\n", "tenants.acme.quota is no key"),
            ("[tenants.acme]\nshare = 0.1\npacks = \"mine\"\n", "tenants.acme.packs is \"mine\""),
            ("[tenants.acme]\nshare = 0.1\npacks = [\"Mine\"]\n", "tenants.acme.packs is [\"Mine\"]"),
            ("[tenants.acme]\nshare = 0.1\npacks = [\"a\", \"a\"]\n", "write a list of names of packs, each once"),
            ("[tenants.acme]\nshare = 0.1\npacks = [\"tower\"]\n", "the built-in pack is for all"),
            ("[tenants.acme]\nshare = 0.1\npack = \"a@b\"\n", "tenants.acme.pack is \"a@b\""),
            (
                "[packs]\ndefault = \"a\"\n[tenants.acme]\nshare = 0.1\npacks = [\"a\"]\n",
                "packs.default is a, which tenants.acme.packs has, so callers without a tenant may not use it",
            ),
            (
                "[tenants.acme]\nshare = 0.1\npacks = [\"a\"]\n[tenants.b]\nshare = 0.1\npack = \"a\"\n",
                "tenants.b.pack is a, which tenants.acme.packs has and tenants.b.packs has not",
            ),
            ("[tenants.acme]\nshare = 0.1\n[cache.sled]\ncapacity = \"0\"\n", "cache.sled.capacity is no limit"),
            (&many, "tenants has 17 tenants"),
        ] {
            let error = read(tenants).expect_err(tenants);
            assert!(error.contains(expected), "{tenants}: {error}");
        }
        let error = Config::from_toml("[tenants.acme]\nshare = 0.1\n").unwrap_err().to_string();
        assert!(error.contains("auth.tokens_file is none"), "{error}");
    }
}
