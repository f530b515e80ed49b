//! Reads the input as a pack: `pack.toml`, a zero byte, a vault. A floor of each kind of a pack that reads is valid.
#![no_main]

use floor_gen::pack::Files;
use floor_gen::validate::validate;
use floor_gen::{Generator, Kind, Pack};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(2, |&byte| byte == 0);
    let (toml, vault) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let mut files = Files::new();
    let inserted = files.insert("pack.toml", toml).and_then(|()| files.insert("vaults/a.txt", vault));
    if inserted.is_err() {
        return;
    }
    match Pack::read(files) {
        Ok(pack) => {
            let mut generator = Generator::new();
            for kind in Kind::ALL {
                let spec = pack.resolve(1, 12, 48, 40, Some(kind)).expect("in range");
                assert_eq!(validate(&generator.generate_of(&pack, &spec)), Ok(()), "{spec:?}");
            }
        }
        Err(errors) => assert!(!errors.list().is_empty()),
    }
});
