//! Checks bytes as the stored floor of a key: 24 bytes of key, then the value. Only the key of a floor may pass.
#![no_main]

use floor_cache::{Class, Key};
use libfuzzer_sys::fuzz_target;

// The files themselves, so that this target does not build Bevy.
#[allow(dead_code, unreachable_pub, reason = "the server uses all of it")]
#[path = "../../bevy-server/src/key.rs"]
mod key;

fuzz_target!(|data: &[u8]| {
    let Some((&bytes, value)) = data.split_first_chunk::<{ Key::LEN }>() else { return };
    let (class, identity) = bytes.split_last().expect("a key is not empty");
    let stored_key = Key::new(identity.try_into().expect("a key less its class"), Class::new(*class));
    if key::check(&stored_key, value).is_ok() {
        let spec = key::spec(&stored_key).expect("only keys of floors pass");
        assert_eq!(key::of(&spec), stored_key);
    }
});
