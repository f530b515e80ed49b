//! Opens bytes as an envelope of each codec, in both ways, and opens what sealing the bytes gives.
#![no_main]

use std::sync::LazyLock;

use floor_cache::{
    Class, Key,
    envelope::{Envelope, MasterKeys, Namespace},
};
use libfuzzer_sys::fuzz_target;

/// Neither compressed nor sealed, compressed, sealed, both.
static ENVELOPES: LazyLock<[Envelope; 4]> = LazyLock::new(|| {
    let keys: MasterKeys = format!("1:{}", "ab".repeat(32)).parse().expect("an id and 64 digits");
    let plain = Envelope::new(Namespace::new("floors").expect("a short name"), 1);
    let sealing = plain.clone().sealing(&keys);
    [plain.clone(), plain.compressing(true), sealing.clone(), sealing.compressing(true)]
});

fuzz_target!(|data: &[u8]| {
    for envelope in ENVELOPES.iter() {
        let key = envelope.stored(&Key::new([7; Key::LEN - 1], Class::new(2)));
        assert_eq!(envelope.open(&key, data), envelope.open_owned(&key, data.to_vec()));
        let mut sealed = Vec::new();
        envelope.seal(&key, data, &mut sealed).expect("shorter than the longest value");
        assert_eq!(envelope.open(&key, &sealed).expect("sealed under this key"), data);
    }
});
