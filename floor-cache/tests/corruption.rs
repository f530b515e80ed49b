//! Tests that every kind of invalid stored value is a counted miss that is removed, and never a wrong value.

mod fixture;

use std::path::Path;

use fixture::{envelope, fake_source::value_of, key, redis_server::RedisServer, when_free};
use floor_cache::{
    Key, LmdbConfig, SledConfig, Tier,
    envelope::{Envelope, Namespace},
    tiers::{LmdbTier, RedisTier, SledTier},
};
use heed::{EnvOpenOptions, types::Bytes as Raw};
use tempfile::TempDir;
use tokio::runtime::Handle;

/// A store that can be opened as a tier and changed directly while it is closed.
trait Store {
    fn open(&self, envelope: Envelope) -> Box<dyn Tier>;
    /// The envelope under `key`.
    fn read(&self, key: &Key) -> Vec<u8>;
    fn write(&self, key: &Key, envelope: &[u8]);
}

fn stored(key: &Key) -> Vec<u8> {
    [b"test:".as_slice(), key.as_bytes()].concat()
}

struct Lmdb(TempDir);

/// Bytes of an LMDB record before the envelope: the age.
const AGE: usize = 8;

impl Lmdb {
    #[allow(unsafe_code)]
    fn with<T>(path: &Path, work: impl FnOnce(&heed::Env, heed::Database<Raw, Raw>, &mut heed::RwTxn<'_>) -> T) -> T {
        let mut options = EnvOpenOptions::new();
        options.map_size(16 << 20).max_dbs(3);
        // SAFETY: nothing else has the store open; the tier was dropped.
        let env = unsafe { options.open(path) }.expect("the store opens");
        let mut txn = env.write_txn().expect("a transaction");
        let values = env.open_database(&txn, Some("values")).expect("no error").expect("the values are there");
        let result = work(&env, values, &mut txn);
        txn.commit().expect("it commits");
        env.prepare_for_closing().wait();
        result
    }
}

impl Store for Lmdb {
    fn open(&self, envelope: Envelope) -> Box<dyn Tier> {
        let config = LmdbConfig { path: self.0.path().to_owned(), map_size: 16 << 20 };
        Box::new(LmdbTier::open(&config, envelope).expect("it opens"))
    }

    fn read(&self, key: &Key) -> Vec<u8> {
        Self::with(self.0.path(), |_, values, txn| {
            values.get(txn, &stored(key)).expect("no error").expect("it is there")[AGE..].to_vec()
        })
    }

    fn write(&self, key: &Key, envelope: &[u8]) {
        Self::with(self.0.path(), |_, values, txn| {
            let record = [[0; AGE].as_slice(), envelope].concat();
            values.put(txn, &stored(key), &record).expect("it takes the record");
        });
    }
}

struct Sled(TempDir);

impl Sled {
    fn with<T>(&self, work: impl FnOnce(&sled::Tree) -> T) -> T {
        let db = when_free(|| sled::open(self.0.path()));
        let result = work(&db.open_tree("values").expect("the values are there"));
        db.flush().expect("it flushes");
        result
    }
}

impl Store for Sled {
    fn open(&self, envelope: Envelope) -> Box<dyn Tier> {
        let config = SledConfig { path: self.0.path().to_owned(), ..SledConfig::default() };
        Box::new(when_free(|| SledTier::open(&config, envelope.clone())))
    }

    fn read(&self, key: &Key) -> Vec<u8> {
        self.with(|values| values.get(stored(key)).expect("no error").expect("it is there").to_vec())
    }

    fn write(&self, key: &Key, envelope: &[u8]) {
        self.with(|values| values.insert(stored(key), envelope).expect("it takes the record"));
    }
}

struct Redis(RedisServer);

impl Store for Redis {
    fn open(&self, envelope: Envelope) -> Box<dyn Tier> {
        Box::new(RedisTier::open(&self.0.config(), envelope, &Handle::current()).expect("the URL is good"))
    }

    fn read(&self, key: &Key) -> Vec<u8> {
        let reply = self.0.command(&[b"GET", &stored(key)]);
        let line = reply.iter().position(|byte| *byte == b'\n').expect("a bulk string");
        reply[line + 1..reply.len() - 2].to_vec()
    }

    fn write(&self, key: &Key, envelope: &[u8]) {
        assert_eq!(self.0.command(&[b"SET", &stored(key), envelope]), b"+OK\r\n");
    }
}

/// Changes an envelope; `other` is the envelope of another key.
type Fault = fn(good: &[u8], other: &[u8]) -> Vec<u8>;

const FAULTS: [(&str, Fault); 14] = [
    ("nothing", |_, _| Vec::new()),
    ("one byte", |_, _| vec![b'F']),
    ("the header alone", |good, _| good[..24].to_vec()),
    ("one byte short", |good, _| good[..good.len() - 1].to_vec()),
    ("one byte more", |good, _| [good, &[0]].concat()),
    ("zeroed", |good, _| vec![0; good.len()]),
    ("a zeroed tail", |good, _| [&good[..good.len() / 2], &vec![0; good.len() - good.len() / 2]].concat()),
    ("another magic", |good, _| [b"XXX", &good[3..]].concat()),
    ("another format", |good, _| [&good[..3], &[99], &good[4..]].concat()),
    ("another codec", |good, _| [&good[..4], &[99], &good[5..]].concat()),
    ("a flipped bit in the value", |good, _| {
        let mut bad = good.to_vec();
        bad[30] ^= 0x10;
        bad
    }),
    ("a length of four gigabytes", |good, _| [&good[..12], &[0xFF; 4], &good[16..]].concat()),
    ("longer than any value", |good, _| [good, &vec![0; 9 << 20]].concat()),
    ("the value of another key", |_, other| other.to_vec()),
];

async fn every_invalid_value_is_a_miss(store: &dyn Store) {
    let (good, other) = (key(1, 1), key(2, 1));
    for (name, fault) in FAULTS {
        let tier = store.open(envelope());
        tier.put_many(&[(good, value_of(&good)), (other, value_of(&other))]).await.expect("it takes the values");
        tier.flush().await.expect("it flushes");
        drop(tier);
        let bad = fault(&store.read(&good), &store.read(&other));
        store.write(&good, &bad);

        let tier = store.open(envelope());
        assert_eq!(tier.get(&good).await.expect("an invalid value is no error of the tier"), None, "{name}");
        assert_eq!(tier.stats().corrupt, 1, "{name}");
        tier.flush().await.expect("it flushes");
        assert!(!tier.contains(&good).await.expect("it answers"), "{name}: removed");
        assert_eq!(tier.get_many(&[good, other]).await.expect("it answers"), [None, Some(value_of(&other))], "{name}");
        assert_eq!(tier.stats().corrupt, 1, "{name}: counted once");
    }
    a_value_of_another_version_is_a_miss(store).await;
    a_value_sealed_with_an_unknown_key_is_kept(store).await;
}

/// Two servers share a store, and only one has the new key: the other must not remove values sealed with it.
async fn a_value_sealed_with_an_unknown_key_is_kept(store: &dyn Store) {
    let (old, new) = (format!("1:{}", "ab".repeat(32)), format!("2:{}", "cd".repeat(32)));
    let sealing = |keys: &str| envelope().sealing(&keys.parse().expect("a list of keys"));
    let (ahead, behind) = (sealing(&format!("{new},{old}")), sealing(&old));
    let tier = store.open(ahead.clone());
    tier.put_many(&[(key(4, 1), value_of(&key(4, 1)))]).await.expect("it takes the value");
    tier.flush().await.expect("it flushes");
    drop(tier);

    let tier = store.open(behind);
    assert_eq!(tier.get(&key(4, 1)).await.expect("it answers"), None);
    assert_eq!(tier.get_many(&[key(4, 1)]).await.expect("it answers"), [None]);
    assert_eq!(tier.stats().corrupt, 0);
    tier.put_many(&[(key(5, 1), value_of(&key(5, 1)))]).await.expect("it takes the value");
    tier.flush().await.expect("it flushes");
    drop(tier);

    let tier = store.open(ahead);
    let both = [key(4, 1), key(5, 1)];
    let found = tier.get_many(&both).await.expect("it answers");
    assert_eq!(found, both.map(|key| Some(value_of(&key))), "a server with both keys reads both");
}

async fn a_value_of_another_version_is_a_miss(store: &dyn Store) {
    let tier = store.open(envelope());
    tier.put_many(&[(key(3, 1), value_of(&key(3, 1)))]).await.expect("it takes the value");
    tier.flush().await.expect("it flushes");
    drop(tier);
    let next = Envelope::new(Namespace::new("test").expect("a namespace"), 2);
    let tier = store.open(next);
    assert_eq!(tier.get(&key(3, 1)).await.expect("it answers"), None);
    assert_eq!(tier.stats().corrupt, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn in_lmdb() {
    every_invalid_value_is_a_miss(&Lmdb(tempfile::tempdir().expect("a directory"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_sled() {
    every_invalid_value_is_a_miss(&Sled(tempfile::tempdir().expect("a directory"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_redis() {
    if let Some(server) = RedisServer::start() {
        every_invalid_value_is_a_miss(&Redis(server)).await;
    }
}
