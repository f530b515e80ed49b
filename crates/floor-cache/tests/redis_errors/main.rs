//! The errors that Redis documents, from a real Redis that gives them: before the first request and in the middle, for
//! single lookups and batches. Each case checks what a caller gets, what the log and the report say, what the breaker
//! does, and that the tier is used again when the fault ends.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod cases;
#[path = "../fixture/mod.rs"]
mod fixture;
mod forms;
mod log;
mod replaced;

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use fixture::{
    Fixture, LONG_TIMEOUT,
    fake_source::value_of,
    keys,
    redis_server::{RedisConnection, RedisServer},
};
use floor_cache::{Bypass, Options, RedisConfig, Served, TierKind, core_thread};

use self::log::Log;

/// An error, and how to bring a server to give it.
pub(crate) struct Case {
    /// The part of the URL before the host.
    pub(crate) login: &'static str,
    /// The part of the URL after the port.
    pub(crate) path: &'static str,
    pub(crate) options: &'static [&'static str],
    /// Runs before everything, as the setup of an operator does.
    pub(crate) prepare: fn(&RedisServer),
    pub(crate) provoke: fn(&RedisServer),
    pub(crate) cure: fn(&RedisServer),
    pub(crate) fails: Fails,
    /// What the report says: the text of Redis, and the advice. `|` is between texts of which one is said; the first to a
    /// command for one key.
    pub(crate) says: &'static [&'static str],
}

/// What a server with the fault refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fails {
    Everything,
    Writes,
}

/// When the fault begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Start,
    Middle,
}

/// The password of the user `admin`, who always may do everything.
const ADMIN: &[u8] = b"admin-password";

/// A connection of `admin` to the server on `port`.
pub(crate) struct Admin(RedisConnection);

impl Admin {
    pub(crate) fn of(port: u16) -> Self {
        let mut connection = RedisConnection::to(port).unwrap();
        assert_eq!(connection.command(&[b"AUTH", b"admin", ADMIN]).unwrap(), b"+OK\r\n");
        Self(connection)
    }

    /// Runs a command, whose words are separated by spaces, with `_` for a space in a word. Returns the raw reply.
    pub(crate) fn run(&mut self, command: &str) -> String {
        let words: Vec<String> = command.split(' ').map(|word| word.replace('_', " ")).collect();
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        String::from_utf8_lossy(&self.0.command(&words).unwrap()).into_owned()
    }
}

/// Runs commands as `admin`. Each must succeed.
pub(crate) fn admin(server: &RedisServer, commands: &[&str]) {
    let mut admin = Admin::of(server.port());
    for command in commands {
        let reply = admin.run(command);
        assert!(!reply.starts_with('-'), "{command}: {reply}");
    }
}

/// Waits until the reply to `command` contains `text`.
pub(crate) fn wait_for(server: &RedisServer, command: &str, text: &str) {
    let started = Instant::now();
    while !Admin::of(server.port()).run(command).contains(text) {
        assert!(started.elapsed() < LONG_TIMEOUT, "{command} does not say {text}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A chain of Redis alone at `url`, without bypass, so that values in Redis come from there.
pub(crate) fn over(url: String) -> Fixture {
    Fixture::new(&[TierKind::Redis], |config| {
        config.redis = RedisConfig { url, timeout: Duration::from_secs(1), ..RedisConfig::default() };
        config.bypass = Bypass::Off;
    })
}

/// Asks for `numbers` one by one, then all at once. Returns how many Redis had in each way.
pub(crate) async fn ask(fixture: &Fixture, numbers: Range<u64>) -> [usize; 2] {
    let keys = keys(numbers);
    let mut found = [0; 2];
    let mut take = |way: usize, served: &Served, key| {
        assert_eq!(served.value, value_of(key), "{key}");
        found[way] += usize::from(served.by == "redis");
    };
    for key in &keys {
        let call = tokio::time::timeout(LONG_TIMEOUT, fixture.chain.get(*key, Options::default()));
        take(0, &call.await.expect("no call hangs").expect("a fault fails no call"), key);
    }
    let call = tokio::time::timeout(LONG_TIMEOUT, fixture.chain.get_many(&keys, Options::default()));
    let served = call.await.expect("no call hangs").expect("a fault fails no call");
    served.iter().zip(&keys).for_each(|(served, key)| take(1, served, key));
    found
}

/// Stores `numbers`, which Redis then has.
pub(crate) async fn store(fixture: &Fixture, numbers: Range<u64>) {
    fixture.chain.get_many(&keys(numbers.clone()), Options::default()).await.unwrap();
    assert!(fixture.chain.close(LONG_TIMEOUT).await, "{:?}", last_error(fixture));
    let count = numbers.clone().count();
    assert_eq!(ask(fixture, numbers).await, [count; 2], "{:?}", last_error(fixture));
}

pub(crate) fn last_error(fixture: &Fixture) -> String {
    fixture.tier("redis").last_error.map(|error| error.message.to_string()).unwrap_or_default()
}

/// Waits until new values are stored and found again.
pub(crate) async fn wait_until_well(fixture: &Fixture) -> Duration {
    let started = Instant::now();
    for round in 0.. {
        let new = 1_000_000 + 10 * round..1_000_005 + 10 * round;
        ask(fixture, new.clone()).await;
        fixture.chain.close(LONG_TIMEOUT).await;
        if ask(fixture, new).await == [5; 2] {
            break;
        }
        assert!(started.elapsed() < LONG_TIMEOUT, "not well again: {}", last_error(fixture));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(fixture.tier("redis").verdict, "probed");
    started.elapsed()
}

/// How long a fault lasts: the breaker's first probe is after half a second, the second one a second later.
pub(crate) const FAULT: Duration = Duration::from_millis(1700);

async fn run(case: &Case, phase: Phase) {
    let log = Log::start();
    let Some(server) = RedisServer::start_with(case.options) else { return };
    server.command(&[b"ACL", b"SETUSER", b"admin", b"on", &[b">", ADMIN].concat(), b"~*", b"&*", b"+@all"]);
    (case.prepare)(&server);
    let url = format!("redis://{}127.0.0.1:{}{}", case.login, server.port(), case.path);
    let fixture = over(url);
    if phase == Phase::Middle {
        // As a thread that serves calls, which has a connection of its own.
        core_thread::enter(0);
        store(&fixture, 0..10).await;
    }
    (case.provoke)(&server);
    let began = Instant::now();
    let mut number = 1000;
    while began.elapsed() < FAULT {
        let found = ask(&fixture, 0..10).await;
        if case.fails == Fails::Everything {
            assert_eq!(found, [0; 2], "{}", last_error(&fixture));
        } else if phase == Phase::Middle {
            assert_eq!(found, [10; 2], "reads continue: {}", last_error(&fixture));
        }
        // New values, which are written.
        ask(&fixture, number..number + 10).await;
        fixture.chain.close(LONG_TIMEOUT).await;
        number += 10;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (redis, lower) = (fixture.tier("redis"), fixture.lower("redis"));
    let said = last_error(&fixture);
    let has_all = |text: &str| case.says.iter().all(|part| part.split('|').any(|one| text.contains(one)));
    assert!(has_all(&said), "{said}");
    assert!(lower.writes.stored <= 10, "nothing was stored: {lower:?}");
    match case.fails {
        Fails::Everything => {
            assert_eq!(redis.verdict, "open", "{redis:?}");
            assert!(redis.errors < 150 && redis.bypasses > 0, "most calls do not ask: {redis:?}");
            // At once, and after probes half a second and a second later: the pause doubles.
            let warnings: Vec<_> = log.lines().into_iter().filter(|line| line.contains("keeps failing")).collect();
            assert!((2..=3).contains(&warnings.len()), "{warnings:?}");
            assert!(warnings.iter().all(|warning| has_all(warning)), "{warnings:?}");
            let held = fixture.chain.contains(&keys(0..1)[0]).await.pop().unwrap().1;
            let refusal = held.unwrap_err().to_string();
            assert!(case.says[0].split('|').any(|one| refusal.contains(one)), "not \"not held\": {refusal}");
        }
        Fails::Writes => {
            assert_eq!((redis.verdict, redis.errors), ("probed", 0), "{redis:?}");
            assert!(lower.writes.failed > 0, "{lower:?}");
        }
    }
    let back = |log: &Log| log.lines().iter().filter(|line| line.contains("the tier is back")).count();
    assert_eq!(back(&log), 0, "no probe has succeeded");
    (case.cure)(&server);
    wait_until_well(&fixture).await;
    assert_eq!(back(&log), usize::from(case.fails == Fails::Everything));
}

macro_rules! cases {
    ($($case:ident)*) => {$(
        mod $case {
            #[tokio::test]
            async fn at_the_start() {
                crate::run(&crate::cases::$case(), crate::Phase::Start).await;
            }

            #[tokio::test]
            async fn in_the_middle() {
                crate::run(&crate::cases::$case(), crate::Phase::Middle).await;
            }
        }
    )*};
}

cases! {
    no_password
    a_wrong_password
    a_user_that_was_removed
    a_user_without_mget
    a_user_without_set
    a_user_without_the_keys
    a_replica
    a_replica_without_its_master
    out_of_memory
    a_disk_that_cannot_be_written
    too_few_replicas
    a_script_that_blocks
    too_many_clients
    loading
}
