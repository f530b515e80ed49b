//! Checks that the limits of memory in the manifests leave room for what the page says that a server takes.

use bevy_server::config::Config;

use crate::{PAGE, SYSTEMD, config_map, deployed};

const COMPOSE: &str = include_str!("../../../docker-compose.yml");
const SERVERS: &str = include_str!("../../../deploy/kubernetes/servers.yaml");
const CHART: &str = include_str!("../../../deploy/helm/floor-server/values.yaml");
const UNIT: &str = include_str!("../../../deploy/systemd/floor-server.service");

const MIB: u64 = 1 << 20;
/// For answers that wait, for requests being received, and for the queued writes of one lower tier.
const UNSENT: u64 = 64 * MIB;
const REQUESTS: u64 = 64 * MIB;
const WRITES: u64 = 64 * MIB;
/// For floors of sealed towers.
const SEALED: u64 = 5 * MIB;
const REST: u64 = 40 * MIB;

/// The most that a server takes, by the formula of the page, in MiB.
fn most_memory(config: &Config) -> u64 {
    let lower_tiers = config.cache.chain.len() as u64 - 1;
    (config.cache.lru.capacity * 5 / 4 + UNSENT + REQUESTS + lower_tiers * WRITES + SEALED + REST) / MIB
}

#[test]
fn the_page_has_the_sum_of_the_defaults() {
    let sum = format!("{} MiB with the defaults", most_memory(&Config::from_toml("").unwrap()));
    assert!(PAGE.contains(&sum), "{sum}");
}

#[test]
fn the_limits_of_the_manifests_have_room_for_a_server() {
    let (kubernetes, systemd) = (config_map(), SYSTEMD);
    // The defaults of the chart, as .ci/helm renders them.
    let chart = "[cache]\nchain = [\"lru\", \"lmdb\"]\n[cache.lru]\ncapacity = \"512MiB\"";
    for value in ["\n    chain: [lru, lmdb]\n", "\n      capacity: 512MiB\n"] {
        assert!(CHART.contains(value), "values.yaml has another value than {value}: change it here too");
    }
    for (name, manifest, limit, mebibytes, configuration) in [
        ("docker-compose.yml", COMPOSE, "\n  mem_limit: 1g # docs/operating.md", 1024, ""),
        ("servers.yaml", SERVERS, "\n            limits:\n              memory: 1Gi\n", 1024, &kubernetes),
        ("values.yaml", CHART, "\n  limits: { memory: 1Gi }\n", 1024, chart),
        ("floor-server.service", UNIT, "\nMemoryHigh=896M\n", 896, systemd),
    ] {
        assert!(manifest.contains(limit), "{name} has another limit: change it here too");
        let most = most_memory(&deployed(&configuration.lines().collect::<Vec<_>>()));
        assert!(most <= mebibytes, "{name}: {most} of {mebibytes} MiB");
    }
}
