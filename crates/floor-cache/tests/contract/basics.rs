//! Clauses of every tier: values, batches, removals and counts.

use bytes::Bytes;
use floor_cache::{Class, Key, KeyPattern, Tier};
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

/// Removes every key that matches `pattern`. Returns how many there were, and in how many batches.
async fn remove_matching(tier: &dyn Tier, pattern: &KeyPattern) -> (u64, usize) {
    let (mut removed, mut batches, mut from) = (0, 0, None);
    loop {
        let batch = tier.remove_matching(pattern, from.as_ref()).await.expect("it removes");
        removed += batch.entries;
        batches += 1;
        assert!(batches < 1000, "the removal does not end");
        from = batch.next;
        if from.is_none() {
            return (removed, batches);
        }
    }
}

/// A key of a tower, as the server orders them: the prefix has every byte that a pattern of Redis gives a meaning.
fn tower_key(tower: u8, number: u32) -> Key {
    let mut identity = [0; Key::LEN - 1];
    identity[..8].copy_from_slice(&[b'*', b'?', b'[', b']', b'^', b'-', b'\\', tower]);
    identity[8..12].copy_from_slice(&number.to_be_bytes());
    Key::new(identity, Class::new((number % 9) as u8))
}

pub(crate) async fn a_prefix_removes_its_keys_in_batches_and_no_others(tier: &dyn Tier) {
    const FLOORS: u32 = 600;
    let tower = |tower| (0..FLOORS).map(move |number| tower_key(tower, number)).collect::<Vec<_>>();
    for number in [0, 1, 0xFF] {
        for batch in tower(number).chunks(100) {
            put(tier, batch).await;
        }
    }
    let all = tower_key(1, 0);
    let prefix = |length: usize| KeyPattern::prefix(&all.as_bytes()[..length]).expect("it is shorter than a key");
    assert_eq!(remove_matching(tier, &KeyPattern::prefix(b"another tower").expect("it is short")).await.0, 0);
    let (removed, batches) = remove_matching(tier, &prefix(8)).await;
    assert_eq!(removed, FLOORS.into());
    assert!(batches > 1 || tier.stats().limit > 0, "a store removes in batches: {batches}");
    assert_eq!(remove_matching(tier, &prefix(8)).await.0, 0, "they are gone");
    for (number, is_there) in [(0, true), (1, false), (0xFF, true)] {
        for key in tower(number) {
            assert_eq!(tier.contains(&key).await.expect("it answers"), is_there, "{key}");
        }
    }
    assert_eq!(remove_matching(tier, &prefix(7)).await.0, 2 * u64::from(FLOORS));
    put(tier, &keys(0..10)).await;
    assert_eq!(remove_matching(tier, &KeyPattern::ALL).await.0, 10);
    put(tier, &tower(1)[..10]).await;
    assert_eq!(get(tier, tower_key(1, 3)).await, Some(value_of(&tower_key(1, 3))), "a removed value is stored again");
}

/// A key of a pack, whose hash is inside of the key. The bytes before it are of many towers.
fn pack_key(pack: [u8; 8], number: u32) -> Key {
    let mut identity = [0; Key::LEN - 1];
    identity[..4].copy_from_slice(&number.wrapping_mul(0x9E37_79B1).to_be_bytes());
    identity[8..12].copy_from_slice(&number.to_be_bytes());
    identity[20..28].copy_from_slice(&pack);
    Key::new(identity, Class::new((number % 9) as u8))
}

pub(crate) async fn a_pattern_inside_of_keys_removes_its_keys_and_no_others(tier: &dyn Tier) {
    const FLOORS: u32 = 400;
    // The built-in pack, one with bytes that a pattern of Redis gives a meaning, and two that differ in a bit from it.
    const PACKS: [[u8; 8]; 4] = [[0; 8], *b"*?[]^-\\a", *b"*?[]^-\\c", *b"+?[]^-\\a"];
    let pack = |pack| (0..FLOORS).map(move |number| pack_key(pack, number)).collect::<Vec<_>>();
    for batch in PACKS.into_iter().flat_map(pack).collect::<Vec<_>>().chunks(100) {
        put(tier, batch).await;
    }
    let pattern = |pack: [u8; 8]| KeyPattern::at(20, &pack).expect("it is shorter than a key");
    assert_eq!(remove_matching(tier, &pattern([7; 8])).await.0, 0);
    for (index, removed) in [1, 0].into_iter().enumerate() {
        assert_eq!(remove_matching(tier, &pattern(PACKS[removed])).await.0, u64::from(FLOORS));
        assert_eq!(remove_matching(tier, &pattern(PACKS[removed])).await.0, 0, "they are gone");
        for (other, keys) in PACKS.into_iter().map(pack).enumerate() {
            let is_there = other >= 2 || (index == 0 && other == 0);
            for key in keys {
                assert_eq!(tier.contains(&key).await.expect("it answers"), is_there, "{key}");
            }
        }
    }
    assert_eq!(remove_matching(tier, &KeyPattern::ALL).await.0, 2 * u64::from(FLOORS));
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
