//! Reads text as a configuration. An error must be printable, and a key that seals floors must not be printed, also in the
//! place of the file that should hold it.
#![no_main]

use config::Config;
use libfuzzer_sys::fuzz_target;

// The files themselves, so that this target does not build Bevy.
#[allow(dead_code, unreachable_pub, unused_imports, reason = "the server uses all of it")]
#[path = "../../bevy-server/src/config/mod.rs"]
mod config;
#[allow(dead_code, unreachable_pub, reason = "the server uses all of it")]
#[path = "../../bevy-server/src/key.rs"]
mod key;
#[allow(dead_code, reason = "the server uses all of it")]
#[path = "../../bevy-server/src/packs/settings.rs"]
mod packs;
#[allow(dead_code, reason = "the server uses all of it")]
#[path = "../../bevy-server/src/tenants.rs"]
mod tenants;

/// Seeds hold this key.
const SECRET: &str = "5ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2";

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // Keys that name a file have it read: one of a device may never end. An escape could spell its name.
    if ["/dev", "/proc", "/sys", "\\"].iter().any(|forbidden| text.contains(forbidden)) {
        return;
    }
    let printed = match Config::from_toml(text) {
        Ok(config) => config.resolved().to_owned(),
        Err(error) => error.to_string(),
    };
    // A line in a string of several lines is no key.
    let is_key = text.contains(&format!("\nkeys_file = \"1:{SECRET}\"\n")) && text.matches(SECRET).count() == 1;
    let is_line = !text.contains("\"\"\"") && !text.contains("'''");
    assert!(!(is_key && is_line && printed.contains(SECRET)), "a secret is printed: {printed}");
});
