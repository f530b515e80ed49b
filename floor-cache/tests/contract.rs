//! What every tier promises, checked against the real thing: one suite that all four run.

mod fixture;

use bytes::Bytes;
use fixture::{envelope, fake_source::value_of, key, keys, redis_server::RedisServer};
use floor_cache::{
    Key, LmdbConfig, LruConfig, SledConfig, Tier,
    tiers::{LmdbTier, LruTier, RedisTier, SledTier},
};
use tempfile::TempDir;
use tokio::runtime::Handle;

/// A tier, and what it lives in.
struct Subject<T, H> {
    tier: T,
    _home: H,
}

fn lru() -> Option<Subject<LruTier, ()>> {
    Some(Subject { tier: LruTier::new(&LruConfig::default()), _home: () })
}

fn lmdb() -> Option<Subject<LmdbTier, TempDir>> {
    let home = tempfile::tempdir().expect("a directory");
    let config = LmdbConfig { path: home.path().to_owned(), map_size: 16 << 20 };
    Some(Subject { tier: LmdbTier::open(&config, envelope()).expect("it opens"), _home: home })
}

fn sled() -> Option<Subject<SledTier, TempDir>> {
    let home = tempfile::tempdir().expect("a directory");
    let config = SledConfig { path: home.path().to_owned(), ..SledConfig::default() };
    Some(Subject { tier: SledTier::open(&config, envelope()).expect("it opens"), _home: home })
}

fn redis() -> Option<Subject<RedisTier, RedisServer>> {
    let home = RedisServer::start()?;
    let tier = RedisTier::open(&home.config(), envelope(), &Handle::current()).expect("the URL is good");
    Some(Subject { tier, _home: home })
}

/// The suite, for the tier of that name.
macro_rules! contract {
    ($($tier:ident)*) => {$(
        mod $tier {
            contract!(@clauses $tier
                nothing_is_there_at_first
                what_was_put_is_got
                many_are_got_position_by_position
                no_keys_are_no_work
                what_was_removed_is_gone
                contains_tells_without_reading
                putting_again_changes_nothing
                an_empty_value_is_a_value
                a_large_value_is_kept_whole
                keys_that_differ_in_one_bit_are_two
                many_threads_may_use_it_at_once
                stats_count_what_is_there
            );
        }
    )*};
    (@clauses $tier:ident $($clause:ident)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $clause() {
            if let Some(subject) = super::$tier() {
                super::$clause(&subject.tier).await;
            }
        }
    )*};
}

contract!(lru lmdb sled redis);

fn entry(key: Key) -> (Key, Bytes) {
    (key, value_of(&key))
}

async fn put(tier: &dyn Tier, keys: &[Key]) {
    let entries: Vec<_> = keys.iter().copied().map(entry).collect();
    tier.put_many(&entries).await.expect("it takes the values");
}

async fn got(tier: &dyn Tier, key: Key) -> Option<Bytes> {
    tier.get(&key).await.expect("it answers")
}

async fn nothing_is_there_at_first(tier: &dyn Tier) {
    assert_eq!(got(tier, key(1, 1)).await, None);
    assert_eq!(tier.get_many(&keys(1..3)).await.expect("it answers"), [None, None]);
    assert!(!tier.contains(&key(1, 1)).await.expect("it answers"));
    assert_eq!(tier.stats().entries, 0);
}

async fn what_was_put_is_got(tier: &dyn Tier) {
    put(tier, &keys(0..100)).await;
    for key in keys(0..100) {
        assert_eq!(got(tier, key).await, Some(value_of(&key)), "{key}");
    }
    tier.flush().await.expect("it flushes");
    assert_eq!(got(tier, key(50, 1)).await, Some(value_of(&key(50, 1))));
}

async fn many_are_got_position_by_position(tier: &dyn Tier) {
    put(tier, &[key(1, 1), key(3, 1)]).await;
    let asked = [key(3, 1), key(2, 1), key(1, 1), key(3, 1)];
    let expected = [Some(value_of(&asked[0])), None, Some(value_of(&asked[2])), Some(value_of(&asked[3]))];
    assert_eq!(tier.get_many(&asked).await.expect("it answers"), expected);
}

async fn no_keys_are_no_work(tier: &dyn Tier) {
    assert_eq!(tier.get_many(&[]).await.expect("it answers"), Vec::<Option<Bytes>>::new());
    tier.put_many(&[]).await.expect("it answers");
    tier.remove_many(&[]).await.expect("it answers");
}

async fn what_was_removed_is_gone(tier: &dyn Tier) {
    put(tier, &keys(0..10)).await;
    let gone = [key(2, 1), key(7, 1), key(99, 1)];
    tier.remove_many(&gone).await.expect("keys that are not there are no error");
    for number in 0..10 {
        let is_there = got(tier, key(number, 1)).await.is_some();
        assert_eq!(is_there, number != 2 && number != 7, "key {number}");
    }
}

async fn contains_tells_without_reading(tier: &dyn Tier) {
    put(tier, &[key(1, 1)]).await;
    assert!(tier.contains(&key(1, 1)).await.expect("it answers"));
    assert!(!tier.contains(&key(2, 1)).await.expect("it answers"));
}

async fn putting_again_changes_nothing(tier: &dyn Tier) {
    put(tier, &[key(1, 1), key(2, 1)]).await;
    put(tier, &[key(2, 1), key(1, 1)]).await;
    assert_eq!(got(tier, key(1, 1)).await, Some(value_of(&key(1, 1))));
    assert_eq!(got(tier, key(2, 1)).await, Some(value_of(&key(2, 1))));
    tier.remove_many(&[key(1, 1), key(2, 1)]).await.expect("it answers");
    assert_eq!(got(tier, key(1, 1)).await, None);
}

async fn an_empty_value_is_a_value(tier: &dyn Tier) {
    tier.put_many(&[(key(1, 1), Bytes::new())]).await.expect("it takes the value");
    assert_eq!(got(tier, key(1, 1)).await, Some(Bytes::new()));
}

async fn a_large_value_is_kept_whole(tier: &dyn Tier) {
    let large: Bytes = (0..1 << 20).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    tier.put_many(&[(key(1, 1), large.clone())]).await.expect("it takes the value");
    assert!(got(tier, key(1, 1)).await == Some(large));
}

async fn keys_that_differ_in_one_bit_are_two(tier: &dyn Tier) {
    put(tier, &[key(1, 1)]).await;
    let bytes = *key(1, 1).as_bytes();
    for bit in 0..8 * (Key::LEN - 1) {
        let mut other = [0; Key::LEN - 1];
        other.copy_from_slice(&bytes[..Key::LEN - 1]);
        other[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(got(tier, Key::new(other, key(1, 1).class())).await, None, "bit {bit}");
    }
    assert_eq!(got(tier, key(1, 2)).await, None, "another class");
}

async fn many_threads_may_use_it_at_once(tier: &dyn Tier) {
    let worker = async |lane: u64| {
        for round in 0..20 {
            let mine: Vec<Key> = (0..5).map(|i| key(lane * 1000 + round * 5 + i, 1)).collect();
            put(tier, &mine).await;
            let expected: Vec<_> = mine.iter().map(|key| Some(value_of(key))).collect();
            assert_eq!(tier.get_many(&mine).await.expect("it answers"), expected);
            tier.remove_many(&mine[..1]).await.expect("it answers");
            assert_eq!(got(tier, mine[0]).await, None);
        }
    };
    let handle = Handle::current();
    std::thread::scope(|scope| {
        for lane in 0..4 {
            let (handle, worker) = (handle.clone(), &worker);
            scope.spawn(move || handle.block_on(worker(lane)));
        }
    });
}

async fn stats_count_what_is_there(tier: &dyn Tier) {
    put(tier, &keys(0..10)).await;
    tier.flush().await.expect("it flushes");
    let stats = tier.stats();
    assert_eq!(stats.entries, 10);
    let values: usize = keys(0..10).iter().map(|key| value_of(key).len()).sum();
    assert!(stats.bytes >= values as u64, "{stats:?} for {values} bytes of values");
    assert_eq!(stats.corrupt, 0);
}
