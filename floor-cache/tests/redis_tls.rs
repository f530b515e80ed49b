//! Tests of Redis with TLS: values are found on a server with a trusted certificate; otherwise the chain continues
//! without the tier.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod fixture;

use std::{fs, path::Path, sync::Arc};

use fixture::{
    Fixture, LONG_TIMEOUT,
    authority::Authority,
    fake_source::{FakeSource, value_of},
    keys,
    redis_server::{RedisServer, free_port},
};
use floor_cache::{
    Bypass, ChainConfig, OpenError, Options, RedisConfig, TierKind, assemble, check,
    tls::{Certificates, PrivateKey, Tls},
};
use prometheus::Registry;
use tokio::runtime::Handle;

const HOST: &str = "127.0.0.1";

/// A server with TLS on the returned port, with a certificate of `authority`. `asks_clients`: whether it requires
/// client certificates.
fn server(authority: &Authority, asks_clients: bool) -> Option<(RedisServer, u16)> {
    let (cert, key) = authority.certify(HOST);
    let port = free_port();
    let (ca, cert, key) = (authority.ca(), cert, key);
    let text = |path: &Path| path.to_str().expect("a UTF-8 path").to_owned();
    let options = [
        ("--tls-port", port.to_string()),
        ("--tls-cert-file", text(&cert)),
        ("--tls-key-file", text(&key)),
        ("--tls-ca-cert-file", text(&ca)),
        ("--tls-auth-clients", if asks_clients { "yes" } else { "no" }.to_owned()),
    ];
    let options: Vec<&str> = options.iter().flat_map(|(name, value)| [*name, value.as_str()]).collect();
    Some((RedisServer::start_with(&options)?, port))
}

fn over(port: u16, tls: Tls) -> Fixture {
    Fixture::new(&[TierKind::Redis], |config| {
        let url = format!("rediss://{HOST}:{port}");
        config.redis = RedisConfig { url, timeout: LONG_TIMEOUT, tls, ..RedisConfig::default() };
        config.bypass = Bypass::Off;
    })
}

fn trusting(authority: &Authority) -> Tls {
    Tls { ca: Some(Certificates::read(&authority.ca()).unwrap()), ..Tls::default() }
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
    let (cert, key) = authority.certify("floors.example");
    let (cert, key) = (Certificates::read(&cert).unwrap(), PrivateKey::read(&key).unwrap());
    assert_served_without_the_tier(&over(port, trusting(&authority))).await;
    assert_stored_values_are_found(&over(port, Tls { cert: Some(cert), key: Some(key), ..trusting(&authority) })).await;
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
        match assemble(&config, Arc::new(FakeSource::default()), &Registry::new(), &Handle::current()) {
            Err(error @ OpenError::RedisTls(_)) => {
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
    assert!(refusal("rediss://127.0.0.1:1", both(None)).contains("go together"));
    assert!(refusal("rediss://127.0.0.1:1", both(key(&another))).contains("do not go together"));
    assert!(refusal("rediss://127.0.0.1:1/#insecure", Tls::default()).contains("not accepted"));
    assert!(!format!("{:?}", both(key(&another))).contains("PRIVATE"));
}
