//! Tests of Redis with TLS: values are found on a server or cluster with trusted certificates; otherwise the chain
//! continues without the tier.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod fixture;

use std::{fs, path::Path, sync::Arc, time::Duration};

use fixture::{
    Fixture, LONG_TIMEOUT,
    authority::Authority,
    envelope,
    fake_source::{FakeSource, value_of},
    keys,
    redis_cluster::RedisCluster,
    redis_server::{RedisServer, free_port},
    wait_until,
};
use floor_cache::{
    Bypass, ChainConfig, OpenError, Options, RedisConfig, Tier, TierError, TierErrorKind, TierKind, assemble, check,
    tiers::RedisTier,
    tls::{Certificates, PrivateKey, Tls},
};
use tokio::runtime::Handle;

const HOST: &str = "127.0.0.1";

/// The options of a server with a certificate of `authority` for `host`. `asks_clients`: whether it requires client
/// certificates.
fn options(authority: &Authority, host: &str, asks_clients: bool) -> Vec<String> {
    let (cert, key) = authority.certify(host);
    let text = |path: &Path| path.to_str().expect("a UTF-8 path").to_owned();
    let options = [
        ("--tls-cert-file", text(&cert)),
        ("--tls-key-file", text(&key)),
        ("--tls-ca-cert-file", text(&authority.ca())),
        ("--tls-auth-clients", if asks_clients { "yes" } else { "no" }.to_owned()),
    ];
    options.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
}

fn as_strs(options: &[String]) -> Vec<&str> {
    options.iter().map(String::as_str).collect()
}

/// A server with TLS on the returned port, with [`options`].
fn server(authority: &Authority, asks_clients: bool) -> Option<(RedisServer, u16)> {
    let port = free_port();
    let mut options = options(authority, HOST, asks_clients);
    options.extend(["--tls-port".to_owned(), port.to_string()]);
    Some((RedisServer::start_with(&as_strs(&options))?, port))
}

fn over(port: u16, tls: Tls) -> Fixture {
    over_url(format!("rediss://{HOST}:{port}"), tls)
}

fn over_url(url: String, tls: Tls) -> Fixture {
    Fixture::new(&[TierKind::Redis], |config| {
        config.redis = RedisConfig { url, timeout: LONG_TIMEOUT, tls, ..RedisConfig::default() };
        config.bypass = Bypass::Off;
    })
}

/// The error of a read over `url`.
async fn read_error(url: String, tls: Tls) -> TierError {
    let config = RedisConfig { url, timeout: Duration::from_secs(2), tls, ..RedisConfig::default() };
    let tier = RedisTier::open(&config, envelope(), &Handle::current()).unwrap();
    tier.get_many(&keys(0..1)).await.unwrap_err()
}

fn trusting(authority: &Authority) -> Tls {
    Tls { ca: Some(Certificates::read(&authority.ca()).unwrap()), ..Tls::default() }
}

/// As [`trusting`], with a client certificate of `authority`.
fn identified(authority: &Authority) -> Tls {
    let (cert, key) = authority.certify("floors.example");
    let (cert, key) = (Certificates::read(&cert).unwrap(), PrivateKey::read(&key).unwrap());
    Tls { cert: Some(cert), key: Some(key), ..trusting(authority) }
}

async fn assert_stored_values_are_found(fixture: &Fixture) {
    fixture.chain.get_many(&keys(0..20), Options::default()).await.unwrap();
    assert!(fixture.chain.close(LONG_TIMEOUT).await);
    let served = fixture.chain.get_many(&keys(0..20), Options::default()).await.unwrap();
    assert!(served.iter().zip(keys(0..20)).all(|(served, key)| served.value == value_of(&key)));
    assert!(served.iter().all(|served| served.by == "redis"), "{:?}", fixture.tier("redis"));
    assert_eq!(fixture.tier("redis").errors, 0);
}

async fn assert_served_without_the_tier(fixture: &Fixture) {
    for key in keys(0..20) {
        let served = fixture.chain.get(key, Options::default()).await.expect("a fault fails no call");
        assert_eq!((served.by, served.value), ("generated", value_of(&key)));
    }
    let redis = fixture.tier("redis");
    assert!(redis.errors > 0, "{redis:?}");
    assert_eq!(redis.verdict, "open");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_trusted_certificate_is_used() {
    let authority = Authority::new();
    let Some((_server, port)) = server(&authority, false) else { return };
    assert_stored_values_are_found(&over(port, trusting(&authority))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_master_that_sentinels_with_tls_name_is_used() {
    let authority = Authority::new();
    let Some((_server, port)) = server(&authority, true) else { return };
    let sentinel_port = free_port();
    let options = options(&authority, HOST, true);
    let lines = options.chunks(2).map(|option| format!("{} {}", option[0].trim_start_matches('-'), option[1]));
    let lines = lines.chain([format!("tls-port {sentinel_port}"), "tls-replication yes".to_owned()]);
    let Some(sentinel) = RedisServer::start_sentinel(&Vec::from_iter(lines)) else { return };
    let monitor = ["SENTINEL", "MONITOR", "mymaster", HOST, &port.to_string(), "1"];
    assert_eq!(sentinel.command_with(None, &monitor), "+OK\r\n");
    wait_until("the sentinel has reached the master", || {
        sentinel.command_with(None, &["SENTINEL", "MASTERS"]).contains("role-reported\r\n$6\r\nmaster")
    })
    .await;
    let url = format!("rediss+sentinel://{HOST}:{sentinel_port}/mymaster");
    assert_stored_values_are_found(&over_url(url.clone(), identified(&authority))).await;
    assert_served_without_the_tier(&over_url(url, trusting(&authority))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_an_untrusted_certificate_fails_no_call() {
    let authority = Authority::new();
    let Some((_server, port)) = server(&authority, false) else { return };
    assert_served_without_the_tier(&over(port, trusting(&Authority::new()))).await;
    // The system does not trust the new authority either.
    assert_served_without_the_tier(&over(port, Tls::default())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_for_another_host_is_not_accepted() {
    let authority = Authority::new();
    let Some((_server, port)) = server(&authority, false) else { return };
    let fixture = Fixture::new(&[TierKind::Redis], |config| {
        config.redis.url = format!("rediss://localhost:{port}");
        config.redis.tls = trusting(&authority);
        config.bypass = Bypass::Off;
    });
    assert_served_without_the_tier(&fixture).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_certificate_is_presented_on_request() {
    let authority = Authority::new();
    let Some((_server, port)) = server(&authority, true) else { return };
    assert_served_without_the_tier(&over(port, trusting(&authority))).await;
    assert_stored_values_are_found(&over(port, identified(&authority))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_without_tls_fails_with_advice() {
    let authority = Authority::new();
    let Some((_server, port)) = server(&authority, false) else { return };
    let error = read_error(format!("redis://{HOST}:{port}"), Tls::default()).await;
    assert_eq!(error.kind(), TierErrorKind::Unreachable);
    assert!(error.to_string().contains("if it speaks TLS, write rediss:// in cache.redis.url"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_used_with_trusted_certificates_and_an_own_one() {
    let authority = Authority::new();
    let Some(cluster) = RedisCluster::start_tls(&as_strs(&options(&authority, HOST, true))).await else { return };
    let hosts = cluster.tls_hosts(HOST);
    let url = || format!("rediss+cluster://{hosts}");
    let fixture = over_url(url(), identified(&authority));
    assert_stored_values_are_found(&fixture).await;
    assert_eq!(cluster.sizes().iter().sum::<u64>(), 20);

    let stranger = Authority::new();
    let untrusting = Tls { ca: trusting(&stranger).ca, ..identified(&authority) };
    assert_served_without_the_tier(&over_url(url(), untrusting.clone())).await;
    let error = read_error(url(), untrusting).await;
    assert!(error.to_string().contains("invalid peer certificate"), "{error}");
    assert_eq!(error.kind(), TierErrorKind::Unreachable);

    assert_served_without_the_tier(&over_url(url(), trusting(&authority))).await;

    let plain = format!("redis+cluster://{hosts}");
    assert_served_without_the_tier(&over_url(plain.clone(), Tls::default())).await;
    let error = read_error(plain, Tls::default()).await;
    assert!(error.to_string().contains("if it speaks TLS, write rediss+cluster:// in cache.redis.url"), "{error}");
    assert_eq!(error.kind(), TierErrorKind::Unreachable);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_certificates_of_a_cluster_must_be_for_the_announced_addresses() {
    const NAME: &str = "localhost";
    let authority = Authority::new();
    let mut options = options(&authority, NAME, false);
    let Some(by_address) = RedisCluster::start_tls(&as_strs(&options)).await else { return };
    let url = format!("rediss+cluster://{}", by_address.tls_hosts(NAME));
    // The nodes of the URL are trusted, but they announce 127.0.0.1.
    let error = read_error(url, trusting(&authority)).await;
    assert!(error.to_string().contains("at the address that it announces"), "{error}");
    drop(by_address);

    let announced = ["--cluster-announce-hostname", NAME, "--cluster-preferred-endpoint-type", "hostname"];
    options.extend(announced.map(str::to_owned));
    let Some(by_name) = RedisCluster::start_tls(&as_strs(&options)).await else { return };
    let url = format!("rediss+cluster://{}", by_name.tls_hosts(NAME));
    assert_stored_values_are_found(&over_url(url, trusting(&authority))).await;
}

#[test]
fn the_error_of_an_unusable_file_names_it() {
    let authority = Authority::new();
    let error = |path: &Path| Certificates::read(path).unwrap_err().to_string();
    let missing = authority.file("missing.pem");
    assert!(error(&missing).contains("missing.pem cannot be read"), "{}", error(&missing));
    let (cert, key) = authority.certify(HOST);
    assert!(error(&key).contains("127.0.0.1.key holds no certificate"), "{}", error(&key));
    let error = PrivateKey::read(&cert).unwrap_err().to_string();
    assert!(error.contains("127.0.0.1.pem holds no private key"), "{error}");
    let damaged = authority.file("damaged.pem");
    fs::write(&damaged, fs::read_to_string(&cert).unwrap().replacen('M', "!", 1)).unwrap();
    assert!(Certificates::read(&damaged).unwrap_err().to_string().contains("damaged.pem is not PEM"));
}

#[tokio::test]
async fn inconsistent_tls_options_are_found_at_startup() {
    let authority = Authority::new();
    let (cert, _) = authority.certify(HOST);
    let (_, another) = authority.certify("floors.example");
    let cert = Some(Certificates::read(&cert).unwrap());
    let key = |path| Some(PrivateKey::read(path).unwrap());
    let refusal = |url: &str, tls: Tls| {
        let redis = RedisConfig { url: url.to_owned(), tls, ..RedisConfig::default() };
        let config = ChainConfig { chain: vec![TierKind::Redis], redis, ..ChainConfig::default() };
        match assemble(&config, Arc::new(FakeSource::default()), &Handle::current()) {
            Err(error @ (OpenError::RedisTls(_) | OpenError::RedisUrl { .. })) => {
                let text = error.to_string();
                assert_eq!(
                    check(&config).iter().map(ToString::to_string).collect::<Vec<_>>(),
                    std::slice::from_ref(&text)
                );
                text
            }
            other => panic!("{url} was not refused: {other:?}"),
        }
    };
    let both = |key| Tls { cert: cert.clone(), key, ..Tls::default() };
    assert!(refusal("redis://127.0.0.1:1", trusting(&authority)).contains("write rediss://"));
    let cluster = refusal("redis+cluster://me:hush@a:1,b:2", trusting(&authority));
    assert!(cluster.contains("write rediss+cluster://") && !cluster.contains("hush"), "{cluster}");
    assert!(refusal("rediss+cluster://a:1,b:2", both(None)).contains("go together"));
    assert!(refusal("rediss+cluster://a:1,b:2", both(key(&another))).contains("do not go together"));
    assert!(refusal("rediss+cluster://a:1/#insecure,b:2", Tls::default()).contains("not accepted"));
    assert!(refusal("rediss://127.0.0.1:1", both(None)).contains("go together"));
    assert!(refusal("rediss://127.0.0.1:1", both(key(&another))).contains("do not go together"));
    assert!(refusal("rediss://127.0.0.1:1/#insecure", Tls::default()).contains("not accepted"));
    assert!(!format!("{:?}", both(key(&another))).contains("PRIVATE"));
}
