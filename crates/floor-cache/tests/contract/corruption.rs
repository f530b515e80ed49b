//! Clauses of a tier outside this process's memory: an invalid stored value is a counted miss that is removed.

use floor_cache::envelope::{Envelope, Namespace};

use crate::fixture::{envelope, fake_source::value_of, key, put_durably, stores::Records};

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

pub(crate) async fn every_invalid_value_is_a_miss(store: &dyn Records) {
    let (good, other) = (key(1, 1), key(2, 1));
    for (name, fault) in FAULTS {
        let tier = store.open_with(envelope());
        put_durably(&*tier, &[good, other]).await;
        drop(tier);
        let bad = fault(&store.read(&good), &store.read(&other));
        store.write(&good, &bad);

        let tier = store.open_with(envelope());
        assert_eq!(tier.get(&good).await.expect("an invalid value is no error of the tier"), None, "{name}");
        assert_eq!(tier.stats().corrupt, 1, "{name}");
        tier.flush().await.expect("it flushes");
        assert!(!tier.contains(&good).await.expect("it answers"), "{name}: removed");
        assert_eq!(tier.get_many(&[good, other]).await.expect("it answers"), [None, Some(value_of(&other))], "{name}");
        assert_eq!(tier.stats().corrupt, 1, "{name}: counted once");
    }
}

/// Two servers share a store, and only one has the new key: the other must not remove values sealed with it.
pub(crate) async fn a_value_sealed_with_an_unknown_key_is_kept(store: &dyn Records) {
    let (old, new) = (format!("1:{}", "ab".repeat(32)), format!("2:{}", "cd".repeat(32)));
    let sealing = |keys: &str| envelope().sealing(&keys.parse().expect("a list of keys"));
    let (ahead, behind) = (sealing(&format!("{new},{old}")), sealing(&old));
    let tier = store.open_with(ahead.clone());
    put_durably(&*tier, &[key(4, 1)]).await;
    drop(tier);

    let tier = store.open_with(behind);
    assert_eq!(tier.get(&key(4, 1)).await.expect("it answers"), None);
    assert_eq!(tier.get_many(&[key(4, 1)]).await.expect("it answers"), [None]);
    assert_eq!(tier.stats().corrupt, 0);
    put_durably(&*tier, &[key(5, 1)]).await;
    drop(tier);

    let tier = store.open_with(ahead);
    let both = [key(4, 1), key(5, 1)];
    let found = tier.get_many(&both).await.expect("it answers");
    assert_eq!(found, both.map(|key| Some(value_of(&key))), "a server with both keys reads both");
}

pub(crate) async fn a_value_of_another_version_is_a_miss(store: &dyn Records) {
    let tier = store.open_with(envelope());
    put_durably(&*tier, &[key(3, 1)]).await;
    drop(tier);
    let next = Envelope::new(Namespace::new("test").expect("a namespace"), 2);
    let tier = store.open_with(next);
    assert_eq!(tier.get(&key(3, 1)).await.expect("it answers"), None);
    assert_eq!(tier.stats().corrupt, 1);
}
