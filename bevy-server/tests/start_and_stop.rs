//! Start and stop: configuration, errors at the start, signals, health, idle load, store recovery.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{
    fs,
    net::{SocketAddr, TcpListener, TcpStream},
    time::Duration,
};

use bevy_server::{config::Config, grpc::GrpcServer};
use floor_proto::v1::{FloorSpec, GetFloorRequest, StreamFloorsRequest};
use tempfile::TempDir;
use test_support::{Server, Setup, spec, wait_until};
use tokio::net::TcpSocket;
use tonic::{Code, transport::Channel};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

/// A port without a listener. The socket reserves it.
fn reserved_port() -> (TcpSocket, SocketAddr) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

/// The output of a failed start, with exactly one error message and exit code 1.
fn start_error(setup: Setup) -> String {
    let (code, _, errors) = setup.run();
    assert_eq!(code, Some(1), "{errors}");
    let messages: Vec<_> = errors.lines().filter(|line| line.starts_with("bevy-server: ")).collect();
    assert_eq!(messages.len(), 1, "one error message: {errors}");
    assert!(!errors.contains("panicked"), "{errors}");
    errors
}

#[test]
fn the_configuration_is_layered_and_shown_without_secrets() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("floors.toml");
    fs::write(
        &file,
        "[cache]\nchain = [\"lru\", \"redis\"]\n[cache.redis]\nurl = \"redis://me:hush@cache.example:6379\"\n\
         timeout = \"20ms\"\n[cache.lru]\ncapacity = \"1GiB\"\n",
    )
    .unwrap();
    let (code, shown, errors) = Setup::new(&data)
        .with("CACHE__LRU__CAPACITY", "64MiB")
        .with("GENERATION__THREADS", "5")
        .arg("--config")
        .arg(&file)
        .arg("--check-config")
        .run();
    assert_eq!(code, Some(0), "{errors}");
    assert!(!shown.contains("hush"), "{shown}");
    let value = |key: &str| {
        let line = shown.lines().find(|line| line.starts_with(&format!("{key} = "))).unwrap();
        line.split('#').map(|part| part.trim().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(value("capacity"), ["capacity = \"64MiB\"", "FLOORS__CACHE__LRU__CAPACITY"]);
    assert_eq!(value("timeout"), ["timeout = \"20ms\"".to_owned(), file.display().to_string()]);
    assert_eq!(value("namespace"), ["namespace = \"floors\"", "default"]);
    assert_eq!(value("threads")[0], "threads = 5");
    shown.parse::<toml::Table>().expect("the output is TOML");
}

#[test]
fn keys_of_earlier_versions_are_refused_with_the_reason() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("floors.toml");
    fs::write(&file, "[cache]\naudit = 0\nkeys = \"1:hush\"\n[prefetch]\nahead = 0\n").unwrap();
    let errors =
        start_error(Setup::new(&data).with("CACHE__HEDGE", "false").with("LOG__SLOW", "0s").arg("--config").arg(&file));
    for expected in [
        "cache.audit is no key any more (",
        "`floorctl verify` compares them; remove the key",
        "cache.hedge is no key any more (FLOORS__CACHE__HEDGE): a slow tier ends by its timeout",
        "): write the keys into a file, one a line, and its path into cache.keys_file",
        "): write generation.prefetch = true, or false instead of 0",
        "log.slow is no key any more (FLOORS__LOG__SLOW): it is always 1s; remove the key",
    ] {
        assert!(errors.contains(expected), "{expected} is not in\n{errors}");
    }
    assert!(!errors.contains("hush"), "{errors}");
}

#[test]
fn keys_of_other_versions_are_warnings_if_the_environment_says_so() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("floors.toml");
    fs::write(&file, "[cache]\naudit = 0\n[grpc]\nfuture = true\n").unwrap();
    let setup = |unknown| Setup::new(&data).env("FLOORS_UNKNOWN_KEYS", unknown).arg("--config").arg(&file);
    let warnings = ["cache.audit is no key any more (", "grpc.future is no key (", "; the key is ignored"];
    let (code, shown, errors) = setup("warn").arg("--check-config").run();
    assert_eq!(code, Some(0), "{errors}");
    assert!(warnings.iter().all(|warning| errors.contains(warning)), "{errors}");
    assert!(!shown.contains("future"), "{shown}");
    let server = setup("warn").start();
    assert!(warnings.iter().all(|warning| server.log().contains(warning)), "{}", server.log());
    server.stop();
    assert!(start_error(setup("error")).contains("wrong in 2 places"));
    assert!(start_error(setup("maybe")).contains("FLOORS_UNKNOWN_KEYS must be \"error\" or \"warn\""));
    fs::write(&file, "[grpc]\ndrain = \"soon\"\n").unwrap();
    assert!(start_error(setup("warn")).contains("grpc.drain is \"soon\""), "a wrong value is an error");
    fs::write(&file, format!("[cache]\nkeys = \"1:{}\"\n", "5ec2e7".repeat(11))).unwrap();
    let error = start_error(setup("warn"));
    assert!(error.contains("cache.keys_file") && !error.contains("5ec2e7"), "values would be stored unsealed: {error}");
    fs::write(&file, "[cache]\nkeys = \"\"\n").unwrap();
    assert_eq!(setup("warn").arg("--check-config").run().0, Some(0), "the old default seals nothing");
}

#[test]
fn all_configuration_errors_are_reported_at_once() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("floors.toml");
    fs::write(
        &file,
        "[cache]\nchian = []\nchain = [\"lru\", \"memcached\"]\n[cache.lru]\ncapcity = \"1GiB\"\n\
         [cache.redis]\nurl = \"rdis://me:hush@cache\"\ntimeout = \"soon\"\n\
         ca = \"no.pem\"\n[cahce.lru]\n[generation]\nthreads = -1\n",
    )
    .unwrap();
    let errors = start_error(Setup::new(&data).with("OPS__LISTEN", "here").arg("--config").arg(&file));
    for expected in [
        "wrong in 9 places",
        "cache.chian is no key",
        "the nearest is cache.chain",
        "cache.lru.capcity is no key",
        "the nearest is cache.lru.capacity",
        "cache.chain is [\"lru\", \"memcached\"]",
        "cache.redis.timeout is \"soon\"",
        "cache.redis.ca is \"no.pem\", which cannot be read: ",
        "cache.redis.url is \"rdis://***\", which has an unknown scheme",
        "cahce.lru is no key",
        "generation.threads is -1",
        "ops.listen is \"here\" (FLOORS__OPS__LISTEN)",
    ] {
        assert!(errors.contains(expected), "{expected} is not in\n{errors}");
    }
    assert!(!errors.contains("hush"), "{errors}");
    let errors = start_error(Setup::new(&data).arg("--config").arg("nowhere.toml"));
    assert!(errors.contains("cannot read nowhere.toml"), "{errors}");
    fs::write(&file, "[cache\n").unwrap();
    let errors = start_error(Setup::new(&data).arg("--config").arg(&file));
    assert!(errors.contains("is not TOML") && errors.contains("line 1"), "{errors}");
}

#[test]
fn an_invalid_setting_of_the_edge_is_reported_with_what_is_valid() {
    let data = TempDir::new().unwrap();
    for (key, value, expected) in [
        ("GRPC__DRAIN_DELAY", "soon", "grpc.drain_delay is \"soon\""),
        ("GRPC__MAX_CONNECTIONS", "-1", "write a whole number, 0 ..= 1000000; 0 for a limit derived from"),
        ("GRPC__MAX_CONNECTIONS_PER_IP", "many", "write a whole number, 0 ..= 1000000; 0 for no limit"),
        ("GRPC__MAX_CONNECTION_AGE", "old", "write a duration of 0s ..= 3650days"),
        ("GRPC__TRUSTED_PROXIES", r#"["10.0.0.0/40"]"#, "grpc.trusted_proxies is [\"10.0.0.0/40\"]"),
        ("GRPC__CORS_ORIGINS", r#"["game.example"]"#, "write [\"*\"] for every origin, or a list of origins"),
        ("GRPC__NO_CACHE", "me", "write \"all\", \"authenticated\" "),
        ("GENERATION__PREFETCH", "perhaps", "write true or false"),
        ("LIMITS__CELLS_PER_SECOND", "-1", "limits.cells_per_second is \"-1\""),
        ("OPS__TOKEN_FILE", "nowhere", "write the path of a readable file whose first line is the token"),
        (
            "CACHE__REDIS__PASSWORD_FILE",
            "nowhere",
            "write the path of a readable file whose first line is the password",
        ),
    ] {
        let errors = start_error(Setup::new(&data).with(key, value));
        assert!(errors.contains(expected), "{expected} is not in\n{errors}");
        assert!(errors.contains(&format!("(FLOORS__{key})")), "{errors}");
    }
}

#[test]
fn the_settings_of_the_edge_are_shown_as_they_can_be_written() {
    let data = TempDir::new().unwrap();
    let token = data.path().join("token");
    fs::write(&token, "hush\n").unwrap();
    let (code, shown, errors) = Setup::new(&data)
        .with("GRPC__TRUSTED_PROXIES", r#"["10.0.0.7", "fd00::/8"]"#)
        .with("GRPC__CORS_ORIGINS", r#"["https://game.example"]"#)
        .with("GRPC__MAX_CONNECTION_AGE", "0s")
        .with("OPS__TOKEN_FILE", &token.display().to_string())
        .arg("--check-config")
        .run();
    assert_eq!(code, Some(0), "{errors}");
    for expected in [
        "max_connections_per_ip = 256 ",
        "max_connection_age = \"0s\" ",
        "trusted_proxies = [\"10.0.0.7/32\", \"fd00::/8\"]",
        "cors_origins = [\"https://game.example\"]",
        "no_cache = \"loopback\" ",
    ] {
        assert!(shown.contains(expected), "{expected} is not in\n{shown}");
    }
    assert!(!shown.contains("hush"), "{shown}");
    // What is shown is a configuration file with the same values.
    let file = data.path().join("shown.toml");
    fs::write(&file, &shown).unwrap();
    assert_eq!(Setup::new(&data).arg("--config").arg(&file).arg("--check-config").run().0, Some(0));
}

#[test]
fn checking_the_configuration_finds_what_would_stop_the_start() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("a-file");
    fs::write(&file, "no directory").unwrap();
    let inside = file.join("store").display().to_string();
    let other = data.path().join("other");
    fs::create_dir_all(other.join("data.mdb")).unwrap();
    let other = other.display().to_string();
    let (_socket, free) = reserved_port();
    let (free, every) = (free.to_string(), format!("[::]:{}", free.port()));
    for (settings, expected) in [
        (vec![("GRPC__LISTEN", free.as_str()), ("OPS__LISTEN", &free)], "which is the same port; choose another port"),
        (vec![("GRPC__LISTEN", &free), ("OPS__LISTEN", &every)], "which is the same port; choose another port"),
        (vec![("OPS__LISTEN", "192.0.2.1:0")], "ops.listen is 192.0.2.1:0, on which this user cannot listen: "),
        (
            vec![("CACHE__LMDB__MAP_SIZE", "900000GiB")],
            "map_size is 921600000MiB, more address space than this process",
        ),
        (vec![("CACHE__LMDB__PATH", &other)], "its file data.mdb: is a directory"),
        (vec![("CACHE__CHAIN", "[]"), ("AUTH__TOKENS_FILE", "nowhere")], "auth.tokens_file: nowhere cannot be used: "),
        (
            vec![("CACHE__REDIS__URL", "redis://bad:port")],
            "cache.redis.url is \"redis://***\", which has a host or port",
        ),
        // redis-rs/redis-rs#517.
        (
            vec![("CACHE__REDIS__URL", "redis://:57#Wc903z@127.0.0.1:6379")],
            "cache.redis.url is \"redis://***\", which has a # that is not percent-encoded (FLOORS__",
        ),
        (
            vec![("CACHE__REDIS__URL", "redis://few:p@ss/w#rd:%1@h:6379")],
            "name a file with the password in cache.redis.password_file",
        ),
        (vec![("CACHE__REDIS__URL", "redis+cluster://host/3")], "a cluster has no numbered databases"),
        (
            vec![("CACHE__REDIS__URL", "rediss+cluster://a:1,bad:port")],
            "cache.redis.url is \"rediss+cluster://***\", which has a host or port",
        ),
        (vec![("CACHE__LMDB__PATH", inside.as_str())], "or set cache.lmdb.path to one that is"),
        (
            vec![("CACHE__CHAIN", r#"["sled"]"#), ("CACHE__SLED__PATH", inside.as_str())],
            "or set cache.sled.path to one that is",
        ),
    ] {
        let setup = || settings.iter().fold(Setup::new(&data), |setup, (key, value)| setup.with(key, value));
        let errors = start_error(setup().arg("--check-config"));
        assert!(errors.contains(expected), "{expected} is not in\n{errors}");
        assert!(!data.path().join("lmdb").exists(), "a check creates nothing");
        let message = |errors: &str| errors[errors.find("bevy-server: ").unwrap()..].to_owned();
        assert_eq!(message(&start_error(setup())), message(&errors), "a start says the same");
    }
}

#[test]
fn a_start_warns_of_what_a_check_warns_of() {
    let data = TempDir::new().unwrap();
    let packs = data.path().join("packs");
    fs::create_dir_all(packs.join("bad")).unwrap();
    fs::write(packs.join("bad/pack.toml"), "name = \"bad\"\nwidth = 3\n").unwrap();
    let tokens = data.path().join("tokens.toml");
    fs::write(&tokens, "").unwrap();
    let setup = || {
        Setup::new(&data)
            .with("CACHE__LRU__CAPACITY", "900000GiB")
            .with("CACHE__LMDB__MAP_SIZE", "61440GiB")
            .with("AUTH__TOKENS_FILE", tokens.to_str().unwrap())
            .with("PACKS__DIR", packs.to_str().unwrap())
            .with("CACHE__HEDGE", "false")
            .env("FLOORS_UNKNOWN_KEYS", "warn")
    };
    let (code, _, errors) = setup().arg("--check-config").run();
    assert_eq!(code, Some(0), "{errors}");
    let warnings: Vec<_> = errors.lines().filter_map(|line| line.strip_prefix("warning: ")).collect();
    for expected in [
        "cache.hedge is no key any more",
        "auth.tokens_file has no token",
        "cache.lru.capacity is 921600000MiB, more than the ",
        "cache.lmdb.map_size is 62914560MiB, and the disk of ",
        "a pack is not served: ",
    ] {
        assert!(warnings.iter().any(|warning| warning.starts_with(expected)), "{expected} is not in {warnings:?}");
    }
    assert_eq!(warnings.len(), 5, "{warnings:?}");
    let server = setup().start();
    for warning in warnings {
        assert!(server.log().contains(&format!("WARN bevy_server::app: {warning}")), "{warning}\n{}", server.log());
    }
    server.stop();
}

#[test]
fn a_check_reports_everything_at_once() {
    let data = TempDir::new().unwrap();
    let broken = data.path().join("tokens.toml");
    fs::write(&broken, "[[token]]\nname = \"a game\"\n").unwrap();
    let setup = || Setup::new(&data).with("AUTH__TOKENS_FILE", &broken.display().to_string()).arg("--check-config");
    let setup_with_file = setup().with("OPS__LISTEN", "192.0.2.1:0").with("CACHE__LMDB__PATH", "/dev/null/lmdb");
    let errors = start_error(setup_with_file);
    for expected in ["wrong in 3 places", "ops.listen is 192.0.2.1:0", "tokens.toml", "/dev/null/lmdb"] {
        assert!(errors.contains(expected), "{expected} is not in\n{errors}");
    }
    let errors = start_error(setup().with("OPS__LISTEN", "here").with("CACHE__CHIAN", "[]"));
    for expected in ["wrong in 3 places", "ops.listen is \"here\"", "tokens.toml", "cache.chian is no key"] {
        assert!(errors.contains(expected), "{expected} is not in\n{errors}");
    }
}

#[test]
fn a_map_beyond_the_address_space_or_the_disk_is_named() {
    let data = TempDir::new().unwrap();
    let setup = |size: &str| Setup::new(&data).with("CACHE__LMDB__MAP_SIZE", size);
    let errors = start_error(setup("900000GiB"));
    assert!(errors.contains("cache.lmdb.map_size is 921600000MiB, more address space"), "{errors}");
    assert!(!data.path().join("lmdb/data.mdb").exists(), "a start that fails leaves no file");
    // More than the disk of this test, and less than the address space.
    let (code, _, errors) = setup("61440GiB").arg("--check-config").run();
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.contains("warning: cache.lmdb.map_size is 62914560MiB, and the disk of "), "{errors}");
}

#[test]
fn a_check_beside_a_running_server_only_warns_of_its_ports() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let setup = Setup::new(&data).with("GRPC__LISTEN", &server.grpc).with("OPS__LISTEN", &server.ops);
    let (code, _, errors) = setup.arg("--check-config").run();
    assert_eq!(code, Some(0), "{errors}");
    for key in ["grpc.listen", "ops.listen"] {
        assert!(errors.contains(&format!("warning: {key} is 127.0.0.1:")), "{errors}");
    }
    assert_eq!(server.page("/readyz").0, 200);
}

#[test]
fn the_password_of_redis_comes_from_a_file_and_is_not_shown() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("password");
    fs::write(&file, "hush\nnot read\n").unwrap();
    let setup = |url: &str| {
        Setup::new(&data)
            .with("CACHE__REDIS__URL", url)
            .with("CACHE__REDIS__PASSWORD_FILE", &file.display().to_string())
            .arg("--check-config")
    };
    let (code, shown, errors) = setup("redis://me@cache:6379").run();
    assert_eq!(code, Some(0), "{errors}");
    assert!(shown.contains("url = \"redis://***@cache:6379\"") && !shown.contains("hush"), "{shown}");
    let (code, shown, errors) = setup("rediss+cluster://me@a:6379,b:6379").run();
    assert_eq!(code, Some(0), "{errors}");
    assert!(shown.contains("url = \"rediss+cluster://***@a:6379,b:6379\"") && !shown.contains("hush"), "{shown}");
    let errors = start_error(setup("redis://me:quiet@cache:6379"));
    assert!(errors.contains("cache.redis.password_file names a password, and cache.redis.url has one too"), "{errors}");
    assert!(!errors.contains("hush") && !errors.contains("quiet"), "{errors}");
}

#[test]
fn a_syntax_error_reports_its_position_and_no_secret() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("floors.toml");
    for (text, place) in [
        ("[cache]\nkeys = \"1:hush", "line 2, column"),
        ("[cache]\nkeys = \"1:hush\n[cache.lru]\n", "line 2, column"),
        ("[cache]\nkeys = hush\n", "line 2, column 8"),
        ("[cache.redis]\nurl = \"redis://me:hush@a\"\nurl = \"redis://me:hush@b\"\n", "line 3, column 1"),
    ] {
        fs::write(&file, text).unwrap();
        let errors = start_error(Setup::new(&data).arg("--config").arg(&file));
        assert!(errors.contains("floors.toml is not TOML at ") && errors.contains(place), "{text:?}: {errors}");
        assert!(!errors.contains("hush"), "{text:?}: {errors}");
    }
}

#[test]
fn a_variable_with_a_missing_underscore_is_reported_and_unrelated_ones_are_ignored() {
    let data = TempDir::new().unwrap();
    let errors =
        start_error(Setup::new(&data).env("FLOORS_GRPC_LISTEN", "0.0.0.0:1").env("FLOORS_CACHE__LRU_CAPACITY", "1GiB"));
    assert!(errors.contains("FLOORS_GRPC_LISTEN is not read; did you mean FLOORS__GRPC__LISTEN?"), "{errors}");
    assert!(errors.contains("did you mean FLOORS__CACHE__LRU__CAPACITY?"), "{errors}");
    // Kubernetes sets these for a service named `floors`.
    let kubernetes =
        Setup::new(&data).env("FLOORS_PORT", "tcp://10.0.0.1:50051").env("FLOORS_SERVICE_HOST", "10.0.0.1");
    assert_eq!(kubernetes.arg("--check-config").run().0, Some(0));
}

#[tokio::test]
async fn values_sealed_with_an_older_key_open_with_it_and_not_without() {
    let data = TempDir::new().unwrap();
    let old = format!("1:{}", "ab".repeat(32));
    let rotated = format!("2:{}\n{old}", "cd".repeat(32));
    let get = |server: Server| async move {
        let wanted = GetFloorRequest { spec: Some(spec(1, 1)) };
        let answer = server.client().await.get_floor(wanted).await.unwrap();
        let by = answer.metadata().get("floor-served-by").unwrap().to_str().unwrap().to_owned();
        server.stop();
        by
    };
    let file = data.path().join("keys");
    let setup = |keys: &str| {
        fs::write(&file, keys).unwrap();
        Setup::new(&data).with("CACHE__KEYS_FILE", &file.display().to_string())
    };
    assert_eq!(get(setup(&old).start()).await, "generated");
    assert_eq!(get(setup(&rotated).start()).await, "lmdb");
    assert_eq!(get(Setup::new(&data).start()).await, "generated", "a sealed value does not open without its key");
    let errors = start_error(setup("1:hush"));
    assert!(errors.contains("cache.keys_file is ") && !errors.contains("hush"), "{errors}");
}

#[test]
fn a_port_in_use_is_reported_with_its_configuration_key() {
    let data = TempDir::new().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let errors = start_error(Setup::new(&data).with("GRPC__LISTEN", &address));
    assert!(errors.contains(&address) && errors.contains("grpc.listen"), "{errors}");
    assert_eq!(errors.matches("Address already in use").count(), 1, "{errors}");
}

#[test]
fn a_store_that_cannot_be_opened_is_reported() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("a-file");
    fs::write(&file, "no directory").unwrap();
    let path = file.join("lmdb").display().to_string();
    let errors = start_error(Setup::new(&data).with("CACHE__LMDB__PATH", &path));
    assert!(errors.contains(&path), "{errors}");

    let locked = Setup::new(&data).with("CACHE__CHAIN", r#"["sled"]"#).start();
    let errors = start_error(Setup::new(&data).with("CACHE__CHAIN", r#"["sled"]"#));
    assert!(errors.contains("sled"), "{errors}");
    drop(locked);
}

#[tokio::test]
async fn the_server_starts_and_serves_without_redis() {
    let data = TempDir::new().unwrap();
    let (_socket, free) = reserved_port();
    let server = Setup::new(&data)
        .with("CACHE__CHAIN", r#"["lru","redis"]"#)
        .with("CACHE__REDIS__URL", &format!("redis://{free}"))
        .start();
    let mut client = server.client().await;
    for number in 1..=20 {
        client.get_floor(GetFloorRequest { spec: Some(spec(1, number)) }).await.unwrap();
    }
    let failed = server.metric("floors_tier_requests_total{outcome=\"error\",tier=\"redis\"}")
        + server.metric("floors_tier_requests_total{outcome=\"timeout\",tier=\"redis\"}");
    assert!(failed > 0.0, "failures of the tier are counted");
    assert_eq!(server.page("/readyz").0, 200);
    server.stop();
}

#[cfg(target_os = "linux")]
#[test]
fn systemd_is_told_when_the_server_serves_and_when_it_drains() {
    use std::os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixDatagram},
    };
    let data = TempDir::new().unwrap();
    let file = data.path().join("notify").display().to_string();
    let name = format!("floor-server-test-{}", std::process::id());
    for (variable, address) in [
        (file.clone(), SocketAddr::from_pathname(&file).unwrap()),
        (format!("@{name}"), SocketAddr::from_abstract_name(&name).unwrap()),
    ] {
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        socket.set_read_timeout(Some(test_support::TIMEOUT)).unwrap();
        let told = || {
            let mut message = [0; 64];
            let length = socket.recv(&mut message).unwrap();
            String::from_utf8_lossy(&message[..length]).into_owned()
        };
        let server = Setup::new(&data).env("NOTIFY_SOCKET", &variable).start();
        assert_eq!(told(), "READY=1", "{variable}");
        server.stop();
        assert_eq!(told(), "STOPPING=1", "{variable}");
    }
}

#[tokio::test]
async fn sigterm_completes_calls_in_flight_and_flushes_queued_writes() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__DRAIN", "60s").start();
    let mut client = server.client().await;
    let first = Some(FloorSpec { width: 256, height: 256, ..spec(1, 1) });
    let mut stream = client.stream_floors(StreamFloorsRequest { first, count: 200 }).await.unwrap().into_inner();
    stream.message().await.unwrap().unwrap();
    server.signal("-TERM");
    wait_until("the server is no longer ready", || server.page("/readyz").0 == 503);
    wait_until("the port is closed", || TcpStream::connect(&server.grpc).is_err());
    let mut floors = 1;
    while stream.message().await.unwrap().is_some() {
        floors += 1;
    }
    assert_eq!(floors, 200, "the stream in flight is complete");
    drop((stream, client));
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("complete=true"), "{log}");

    let server = Server::start(&data);
    let info = server.client().await.get_server_info(floor_proto::v1::GetServerInfoRequest {}).await.unwrap();
    let lmdb = info.into_inner().tiers.into_iter().find(|tier| tier.name == "lmdb").unwrap();
    assert_eq!(lmdb.entries, 200, "every floor is stored before the exit");
}

#[test]
fn sigint_stops_the_server_like_sigterm() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    server.signal("-INT");
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{log}");
}

#[test]
fn a_second_signal_ends_the_drain() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__DRAIN_DELAY", "60s").start();
    server.signal("-TERM");
    wait_until("the drain begins", || server.log().contains("draining"));
    // Those within half a second are the first one, again.
    wait_until("the process ends", || {
        server.signal("-INT");
        server.log().contains("exiting before the end of the drain")
    });
    let (status, log) = server.wait();
    assert_eq!((status.code(), log.matches("draining").count()), (Some(130), 1), "{log}");
}

#[tokio::test]
async fn sighup_applies_limits_and_names_what_needs_a_restart() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("floors.toml");
    fs::write(&file, "[grpc]\ndrain = \"10s\"\n").unwrap();
    let server = Setup::new(&data).with("GENERATION__PREFETCH", "false").arg("--config").arg(&file).start();
    let reload = |text: &str, expected: &str| {
        fs::write(&file, text).unwrap();
        server.signal("-HUP");
        wait_until(expected, || server.log().contains(expected));
    };
    reload("", "the configuration was reloaded; nothing has changed");
    let mut client = server.client().await;
    let mut get = async |number, side| {
        let wanted = FloorSpec { width: side, height: side, ..spec(1, number) };
        client.get_floor(GetFloorRequest { spec: Some(wanted) }).await.map(|_| ()).map_err(|status| status.code())
    };
    assert_eq!(get(1, 512).await, Ok(()));
    let limits = "[limits]\ncells_per_second = 1\n[grpc]\ndrain = \"9s\"\n";
    reload(limits, "changed keys need a restart; their old values stay in use keys=grpc.drain");
    let applied = "the configuration was reloaded applied=limits.cells_per_second";
    assert!(server.log().contains(applied), "{}", server.log());
    for number in 2..=17 {
        assert_eq!(get(number, 512).await, Ok(()), "the burst is unused");
    }
    assert_eq!(get(18, 100).await, Err(Code::ResourceExhausted));
    assert_eq!(get(1, 512).await, Ok(()), "a cached floor is free");
    server.stop();
}

#[tokio::test]
async fn sighup_with_a_wrong_file_keeps_the_old_configuration() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("floors.toml");
    fs::write(&file, "[limits]\ncells_per_second = 1\n").unwrap();
    let server = Setup::new(&data).with("GENERATION__PREFETCH", "false").arg("--config").arg(&file).start();
    let wrong = "[limits]\ncells_per_second = \"many\"\n[cache]\nchian = []\n";
    for (text, expected) in [(wrong, "cache.chian is no key"), ("[limits", "is not TOML at line 1")] {
        fs::write(&file, text).unwrap();
        server.signal("-HUP");
        wait_until(expected, || server.log().contains(expected));
    }
    let log = server.log();
    assert!(log.contains("the old one stays in use"), "{log}");
    assert!(log.contains("limits.cells_per_second is \"many\""), "{log}");
    let mut client = server.client().await;
    let mut get = async |number, side| {
        let wanted = FloorSpec { width: side, height: side, ..spec(1, number) };
        client.get_floor(GetFloorRequest { spec: Some(wanted) }).await.map(|_| ()).map_err(|status| status.code())
    };
    for number in 1..=16 {
        assert_eq!(get(number, 512).await, Ok(()));
    }
    assert_eq!(get(17, 100).await, Err(Code::ResourceExhausted), "the old limit holds");
    let reloaded = "floors_reload_success{what=\"configuration\"}";
    assert_eq!(server.metric(reloaded), 0.0);
    fs::write(&file, "").unwrap();
    server.signal("-HUP");
    wait_until("the right file is read", || server.metric(reloaded) == 1.0);
    let metrics = server.page("/metrics").1;
    assert!(!metrics.contains("what=\"tls\"") && !metrics.contains("what=\"tokens\""), "the server has neither");
    server.stop();
}

#[test]
fn health_reports_not_serving_before_the_app_runs() {
    let data = TempDir::new().unwrap();
    let config = format!(
        "[grpc]\nlisten = \"127.0.0.1:0\"\n[ops]\nlisten = \"127.0.0.1:0\"\n[cache.lmdb]\npath = {:?}\n\
         [towers]\nkey_file = \"\"\n",
        data.path().join("lmdb")
    );
    // The app is wired and listening, but not running.
    let app = bevy_server::app(&Config::from_toml(&config).unwrap()).unwrap();
    let address = format!("http://{}", app.world().resource::<GrpcServer>().address());
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let channel = Channel::from_shared(address).unwrap().connect().await.unwrap();
        let mut health = HealthClient::new(channel);
        for service in ["", "floors.v1.FloorService"] {
            let answer = health.check(HealthCheckRequest { service: service.into() }).await.unwrap().into_inner();
            assert_eq!(answer.status(), ServingStatus::NotServing, "{service:?}");
        }
    });
}

#[test]
fn healthcheck_distinguishes_a_serving_server_from_a_missing_one() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let healthcheck = |address: &str| Setup::new(&data).with("GRPC__LISTEN", address).arg("healthcheck").run();
    let (code, output, _) = healthcheck(&server.grpc);
    assert_eq!((code, output.contains("serves")), (Some(0), true));
    let (_socket, address) = reserved_port();
    let (code, _, errors) = healthcheck(&address.to_string());
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains(&address.to_string()) && errors.contains("refused"), "{errors}");
    assert!(!errors.contains("transport error"), "only the root cause is printed: {errors}");
}

#[test]
fn manual_pages_and_completions_need_no_valid_configuration() {
    let data = TempDir::new().unwrap();
    let invalid = || Setup::new(&data).with("GRPC__LISTEN", "nowhere");
    let pages = data.path().join("share/man1");
    let (code, _, errors) = invalid().arg("man").arg("--output").arg(pages.to_str().unwrap()).run();
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let page = fs::read_to_string(pages.join("bevy-server.1")).unwrap();
    assert!(page.starts_with(".ie") && page.contains("SIGTERM"), "{page}");
    assert!(pages.join("bevy-server-healthcheck.1").exists());
    let (code, script, errors) = invalid().arg("completions").arg("bash").run();
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert!(script.contains("--check-config"), "{script}");
    let (code, _, errors) = invalid().arg("man").arg("--output").arg("/dev/null/man1").run();
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("cannot write manual pages to /dev/null/man1"), "{errors}");
}

/// All threads sleep while nothing happens.
#[cfg(target_os = "linux")]
#[test]
fn an_idle_server_uses_no_cpu_time() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let ticks = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap();
        let fields: Vec<_> = stat.rsplit(") ").next().unwrap().split(' ').collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    // A tick is 10 ms of CPU time, so two idle seconds may take two. Work after the start may take a while on a busy
    // machine, so any two seconds count; a server that spins has none.
    wait_until("the server is idle for two seconds", || {
        let before = ticks();
        std::thread::sleep(Duration::from_secs(2));
        ticks() - before <= 2
    });
}

#[tokio::test]
async fn a_store_is_put_aside_after_two_early_crashes_in_a_row() {
    const ASIDE: &str = "a store was put aside, and a new one is created";
    let data = TempDir::new().unwrap();
    let count = data.path().join("lmdb/early-ends");
    let start = async |by: &str| {
        let server = Server::start(&data);
        let wanted = GetFloorRequest { spec: Some(spec(1, 1)) };
        let answer = server.client().await.get_floor(wanted).await.unwrap();
        assert_eq!(answer.metadata().get("floor-served-by").unwrap(), by, "{}", server.log());
        server
    };
    start("generated").await.stop();
    // Dropping the server kills it.
    drop(start("lmdb").await);
    start("lmdb").await.stop();
    assert!(!count.exists(), "a clean end");
    drop(start("lmdb").await);
    drop(start("lmdb").await);
    assert_eq!(fs::read_to_string(&count).unwrap(), "2\n");
    let server = start("generated").await;
    assert!(server.log().contains(ASIDE), "{}", server.log());
    let aside = || {
        let names = fs::read_dir(data.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("lmdb.damaged-20")).collect::<Vec<_>>()
    };
    let first = aside();
    assert_eq!(first.len(), 1);
    assert!(server.metric("floors_store_aside_bytes{tier=\"lmdb\"}") > 0.0);
    // A loop of crashes: the disk has one store that was put aside, the latest.
    let stored = "floors_tier_writes_total{outcome=\"stored\",tier=\"lmdb\"}";
    wait_until("the floor is stored", || server.metric(stored) == 1.0);
    drop(server);
    drop(start("lmdb").await);
    let server = start("generated").await;
    assert!(server.log().contains("a store that was put aside before was removed"), "{}", server.log());
    let second = aside();
    assert!(second.len() == 1 && second != first, "{first:?} {second:?}");
    server.stop();
    fs::remove_dir_all(data.path().join(&second[0])).unwrap();
    let server = start("lmdb").await;
    assert_eq!(server.metric("floors_store_aside_bytes{tier=\"lmdb\"}"), 0.0);
    server.stop();
}

/// A full disk ends the start with an error message, not with a signal.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_with_the_space_needed() {
    let data = TempDir::new().unwrap();
    let disk = data.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mount = std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(&disk).output();
    if !mount.is_ok_and(|mount| mount.status.success()) {
        let required = std::env::var("FLOORS_TEST_DISK").is_ok_and(|value| value == "required");
        assert!(!required, "FLOORS_TEST_DISK=required, but mounting a file system is not permitted");
        println!("skipped: mounting a file system is not permitted");
        return;
    }
    /// Unmounts the disk, also when the test fails.
    struct Mounted(std::path::PathBuf);
    impl Drop for Mounted {
        fn drop(&mut self) {
            let _ = std::process::Command::new("umount").arg(&self.0).status();
        }
    }
    let disk = Mounted(disk);
    let ballast = disk.0.join("ballast");
    let full = fs::write(&ballast, vec![0xA5; 2 << 20]).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    let path = disk.0.join("lmdb");
    for free in [0, 4 << 10, 16 << 10] {
        let file = fs::OpenOptions::new().write(true).open(&ballast).unwrap();
        file.set_len((1 << 20) - free).unwrap();
        let errors = start_error(Setup::new(&data).with("CACHE__LMDB__PATH", &path.display().to_string()));
        assert!(errors.contains("no space left on the disk for the lmdb store in"), "{free} bytes free: {errors}");
        assert!(errors.contains(&path.display().to_string()) && errors.contains("free 1 MiB or more"), "{errors}");
        let names = fs::read_dir(&disk.0).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(names.into_iter().all(|name| name == "ballast" || name == "lmdb"), "nothing is renamed");
    }
}
