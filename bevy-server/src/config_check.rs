//! Finds what is wrong with a configuration beyond its text: ports, files, stores, packs, memory. `--check-config` and a
//! start call the same function, so that both name the same faults. It creates nothing and opens no store.

use std::{io, net::SocketAddr, path::Path};

use floor_cache::{LmdbConfig, TierKind, tiers::disk_size};

use crate::{
    auth::TokensFile,
    config::{Config, ConfigError, Problem},
    connections::bound_socket,
    memory,
    packs::Packs,
    tenants::TenantNames,
};

/// What a start uses of what was checked.
#[derive(Debug)]
pub struct Checked {
    /// The tokens of callers.
    pub tokens: Option<TokensFile>,
    /// The packs.
    pub packs: Packs,
    /// What may not be as it was meant.
    pub warnings: Vec<String>,
}

/// Reads the configuration of `file` and the environment. If it is wrong, the error also has what is wrong with the tokens.
///
/// # Errors
/// All problems at once, each with what would be right.
pub fn resolve(file: Option<&Path>) -> Result<Config, ConfigError> {
    Config::resolve(file).map_err(|error| {
        let mut found = Findings::default();
        if let Some((tokens, tenants)) = Config::tokens_file_of(file) {
            let _ = found.check_tokens(Some(&tokens), &tenants);
        }
        error.with(found.problems)
    })
}

/// Checks what `config` names.
///
/// # Errors
/// Everything that stops a start, at once, each with what would be right.
pub fn check(config: &Config) -> Result<Checked, ConfigError> {
    let mut found = Findings { warnings: config.warnings().to_vec(), ..Findings::default() };
    found.check_addresses([("grpc.listen", config.grpc_listen), ("ops.listen", config.ops_listen)]);
    let tokens = found.check_tokens(config.tokens_file.as_deref(), &config.tenant_names());
    if config.cache.chain.contains(&TierKind::Lru) {
        let shares = config.tenants.iter().map(|tenant| tenant.cache.lru.capacity);
        found.check_memory(config.cache.lru.capacity + shares.sum::<u64>(), memory::limit_bytes());
    }
    for chain in [&config.cache].into_iter().chain(config.tenants.iter().map(|tenant| &tenant.cache)) {
        for problem in floor_cache::check(chain) {
            let problem = Problem::without_key(problem.to_string());
            // All chains have the same Redis.
            if !found.problems.contains(&problem) {
                found.problems.push(problem);
            }
        }
    }
    if config.cache.chain.contains(&TierKind::Lmdb) {
        let LmdbConfig { path, map_size } = &config.cache.lmdb;
        let shares = config.tenants.iter().map(|tenant| tenant.cache.lmdb.map_size);
        found.check_disk(path, map_size + shares.sum::<u64>(), disk_size(path));
    }
    let packs = found.check_packs(config);
    ConfigError::from_problems(found.problems)?;
    Ok(Checked { tokens, packs, warnings: found.warnings })
}

/// What a check has found.
#[derive(Debug, Default)]
struct Findings {
    problems: Vec<Problem>,
    warnings: Vec<String>,
}

impl Findings {
    fn add(&mut self, key: &str, message: String) {
        self.problems.push(Problem { key: key.to_owned(), message });
    }

    /// Checks that the server may listen on both addresses. A port in use may be that of the running server.
    fn check_addresses(&mut self, listeners: [(&str, SocketAddr); 2]) {
        let [(grpc_key, grpc), (ops_key, ops)] = listeners;
        if conflict(grpc, ops) {
            let message = format!("is {ops}, and {grpc_key} is {grpc}, which is the same port; choose another port");
            return self.add(ops_key, message);
        }
        for (key, address) in listeners {
            match bound_socket(address) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => self.warnings.push(format!(
                    "{key} is {address}, which is in use now, as by a running server; a start needs it"
                )),
                Err(error) => self.add(
                    key,
                    format!("is {address}, on which this user cannot listen: {error}; write an address of this machine and a free port, as in 127.0.0.1:50051"),
                ),
            }
        }
    }

    fn check_tokens(&mut self, file: Option<&Path>, tenants: &TenantNames) -> Option<TokensFile> {
        match TokensFile::read(file?, tenants) {
            Err(error) => {
                self.problems.push(Problem::without_key(error.to_string()));
                None
            }
            Ok(tokens) => {
                if tokens.is_empty() {
                    self.warnings.push("auth.tokens_file has no token, so every call is refused".to_owned());
                }
                Some(tokens)
            }
        }
    }

    /// The packs; the built-in one alone if the server cannot start with those of `config`.
    fn check_packs(&mut self, config: &Config) -> Packs {
        match Packs::read(config.packs.clone()) {
            Ok(packs) => {
                let problem = packs.problem();
                let lines = problem.iter().flat_map(|problem| problem.lines());
                self.warnings.extend(lines.map(|line| format!("a pack is not served: {line}")));
                packs
            }
            Err(error) => {
                self.problems.extend(error.lines().iter().cloned().map(Problem::without_key));
                Packs::built_in()
            }
        }
    }

    /// Compares the capacity of the memory tier with the memory that the process may have. A larger one stops no start: it
    /// may never be used.
    fn check_memory(&mut self, capacity: u64, limit: Option<u64>) {
        let Some(limit) = limit.filter(|limit| capacity > *limit) else { return };
        let (capacity, limit) = (mebibytes(capacity), mebibytes(limit));
        self.warnings.push(format!(
            "cache.lru.capacity is {capacity}, more than the {limit} of memory that this process may have: the system will \
             end the process before floors are evicted; write a smaller size"
        ));
    }

    /// Compares the map of LMDB in `path` with its disk. A larger map stops no start.
    fn check_disk(&mut self, path: &Path, map_size: u64, disk: Option<u64>) {
        let Some(disk) = disk.filter(|disk| map_size > *disk) else { return };
        let (path, map_size, disk) = (path.display(), mebibytes(map_size), mebibytes(disk));
        self.warnings.push(format!(
            "cache.lmdb.map_size is {map_size}, and the disk of {path} has {disk}: it will be full before old floors are evicted; write a smaller size"
        ));
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{}MiB", bytes >> 20)
}

/// Whether one process cannot listen on both addresses. On most systems `[::]` is every address, those of IPv4 too.
fn conflict(one: SocketAddr, other: SocketAddr) -> bool {
    let covers = |all: SocketAddr, one: SocketAddr| all.ip().is_unspecified() && (all.is_ipv6() || one.is_ipv4());
    let is_same = one.ip().to_canonical() == other.ip().to_canonical();
    one.port() != 0 && one.port() == other.port() && (is_same || covers(one, other) || covers(other, one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_conflict_if_one_contains_the_other() {
        let conflict = |one: &str, other: &str| {
            let (one, other) = (one.parse().unwrap(), other.parse().unwrap());
            assert_eq!(conflict(one, other), conflict(other, one));
            conflict(one, other)
        };
        for other in ["127.0.0.1:1", "0.0.0.0:1", "[::]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(conflict("127.0.0.1:1", other), "{other}");
        }
        for other in ["127.0.0.1:2", "127.0.0.2:1", "[::1]:1"] {
            assert!(!conflict("127.0.0.1:1", other), "{other}");
        }
        assert!(!conflict("0.0.0.0:1", "[::1]:1") && conflict("[::]:1", "[::1]:1"));
        assert!(!conflict("127.0.0.1:0", "127.0.0.1:0"), "the system chooses two ports");
    }

    #[test]
    fn a_map_beyond_the_disk_is_warned_of() {
        let warnings = |map_size, disk| {
            let mut found = Findings::default();
            found.check_disk(Path::new("data/lmdb"), map_size, disk);
            assert!(found.problems.is_empty(), "the server starts");
            found.warnings
        };
        assert_eq!(warnings(1 << 30, Some(1 << 30)), [""; 0]);
        assert_eq!(warnings(1 << 40, None), [""; 0]);
        let [warning] = &warnings(2 << 30, Some(1 << 30))[..] else { panic!("one warning") };
        let expected = "cache.lmdb.map_size is 2048MiB, and the disk of data/lmdb has 1024MiB: it will be full";
        assert!(warning.starts_with(expected), "{warning}");
    }

    #[test]
    fn a_capacity_beyond_the_memory_is_warned_of() {
        let warnings = |capacity, limit| {
            let mut found = Findings::default();
            found.check_memory(capacity, limit);
            assert!(found.problems.is_empty(), "the server starts");
            found.warnings
        };
        assert_eq!(warnings(1 << 30, Some(1 << 30)), [""; 0]);
        assert_eq!(warnings(1 << 40, None), [""; 0]);
        let [problem] = &warnings(2 << 30, Some(1 << 30))[..] else { panic!("one warning") };
        assert!(problem.starts_with("cache.lru.capacity is 2048MiB, more than the 1024MiB of memory"), "{problem}");
    }
}
