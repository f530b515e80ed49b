//! Clauses of every tier: values, batches, removals and counts.

use bytes::Bytes;
use floor_cache::{Key, Tier};
use tokio::runtime::Handle;

use crate::fixture::{fake_source::value_of, key, keys, put};

async fn get(tier: &dyn Tier, key: Key) -> Option<Bytes> {
    tier.get(&key).await.expect("it answers")
}

pub(crate) async fn a_new_tier_is_empty(tier: &dyn Tier) {
    assert_eq!(get(tier, key(1, 1)).await, None);
    assert_eq!(tier.get_many(&keys(1..3)).await.expect("it answers"), [None, None]);
    assert!(!tier.contains(&key(1, 1)).await.expect("it answers"));
    assert_eq!(tier.stats().entries, 0);
}

pub(crate) async fn put_values_are_returned(tier: &dyn Tier) {
    put(tier, &keys(0..100)).await;
    for key in keys(0..100) {
        assert_eq!(get(tier, key).await, Some(value_of(&key)), "{key}");
    }
    tier.flush().await.expect("it flushes");
    assert_eq!(get(tier, key(50, 1)).await, Some(value_of(&key(50, 1))));
}

pub(crate) async fn get_many_keeps_the_order_of_keys(tier: &dyn Tier) {
    put(tier, &[key(1, 1), key(3, 1)]).await;
    let asked = [key(3, 1), key(2, 1), key(1, 1), key(3, 1)];
    let expected = [Some(value_of(&asked[0])), None, Some(value_of(&asked[2])), Some(value_of(&asked[3]))];
    assert_eq!(tier.get_many(&asked).await.expect("it answers"), expected);
}

pub(crate) async fn empty_batches_succeed(tier: &dyn Tier) {
    assert_eq!(tier.get_many(&[]).await.expect("it answers"), Vec::<Option<Bytes>>::new());
    tier.put_many(&[]).await.expect("it answers");
    tier.remove_many(&[]).await.expect("it answers");
}

pub(crate) async fn removed_values_are_gone(tier: &dyn Tier) {
    put(tier, &keys(0..10)).await;
    let gone = [key(2, 1), key(7, 1), key(99, 1)];
    tier.remove_many(&gone).await.expect("missing keys are no error");
    for number in 0..10 {
        let is_there = get(tier, key(number, 1)).await.is_some();
        assert_eq!(is_there, number != 2 && number != 7, "key {number}");
    }
}

pub(crate) async fn contains_reports_stored_keys(tier: &dyn Tier) {
    put(tier, &[key(1, 1)]).await;
    assert!(tier.contains(&key(1, 1)).await.expect("it answers"));
    assert!(!tier.contains(&key(2, 1)).await.expect("it answers"));
}

pub(crate) async fn putting_again_changes_nothing(tier: &dyn Tier) {
    put(tier, &[key(1, 1), key(2, 1)]).await;
    put(tier, &[key(2, 1), key(1, 1)]).await;
    assert_eq!(get(tier, key(1, 1)).await, Some(value_of(&key(1, 1))));
    assert_eq!(get(tier, key(2, 1)).await, Some(value_of(&key(2, 1))));
    tier.remove_many(&[key(1, 1), key(2, 1)]).await.expect("it answers");
    assert_eq!(get(tier, key(1, 1)).await, None);
}

pub(crate) async fn an_empty_value_is_a_value(tier: &dyn Tier) {
    tier.put_many(&[(key(1, 1), Bytes::new())]).await.expect("it takes the value");
    assert_eq!(get(tier, key(1, 1)).await, Some(Bytes::new()));
}

pub(crate) async fn a_large_value_is_stored(tier: &dyn Tier) {
    let large: Bytes = (0..1 << 20).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    tier.put_many(&[(key(1, 1), large.clone())]).await.expect("it takes the value");
    assert!(get(tier, key(1, 1)).await == Some(large));
}

pub(crate) async fn keys_that_differ_in_one_bit_are_distinct(tier: &dyn Tier) {
    put(tier, &[key(1, 1)]).await;
    let bytes = *key(1, 1).as_bytes();
    for bit in 0..8 * (Key::LEN - 1) {
        let mut other = [0; Key::LEN - 1];
        other.copy_from_slice(&bytes[..Key::LEN - 1]);
        other[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(get(tier, Key::new(other, key(1, 1).class())).await, None, "bit {bit}");
    }
    assert_eq!(get(tier, key(1, 2)).await, None, "another class");
}

pub(crate) async fn concurrent_use_is_safe(tier: &dyn Tier) {
    let worker = async |thread: u64| {
        for round in 0..20 {
            let mine: Vec<Key> = (0..5).map(|i| key(thread * 1000 + round * 5 + i, 1)).collect();
            put(tier, &mine).await;
            let expected: Vec<_> = mine.iter().map(|key| Some(value_of(key))).collect();
            assert_eq!(tier.get_many(&mine).await.expect("it answers"), expected);
            tier.remove_many(&mine[..1]).await.expect("it answers");
            assert_eq!(get(tier, mine[0]).await, None);
        }
    };
    let handle = Handle::current();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (handle, worker) = (handle.clone(), &worker);
            scope.spawn(move || handle.block_on(worker(thread)));
        }
    });
}

pub(crate) async fn stats_count_entries_and_bytes(tier: &dyn Tier) {
    put(tier, &keys(0..10)).await;
    tier.flush().await.expect("it flushes");
    let stats = tier.stats();
    assert_eq!(stats.entries, 10);
    let values: usize = keys(0..10).iter().map(|key| value_of(key).len()).sum();
    assert!(stats.bytes >= values as u64, "{stats:?} for {values} bytes of values");
    assert_eq!(stats.corrupt, 0);
}
