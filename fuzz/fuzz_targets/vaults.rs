//! Parses text as a vault file. A vault that parses has a name, and rows of its width.
#![no_main]

use floor_gen::pack::Vault;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Vault::parse("vaults/a.txt", text) {
        Ok(vault) => {
            assert!(!vault.name.is_empty());
            assert_eq!(vault.rows().count(), vault.height);
            assert!(vault.rows().all(|row| row.count() == vault.width));
        }
        Err(errors) => {
            assert!(
                !errors.is_empty() && errors.iter().all(|error| error.line >= 1 && error.column >= 1),
                "{errors:?}"
            );
        }
    }
});
