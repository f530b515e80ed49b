//! Decodes header blocks with the decoder of the server and with one that follows the text of the specification. Two
//! zero bytes end a block.
#![no_main]

use libfuzzer_sys::fuzz_target;

// The files themselves, because the decoder is no public part of the crate.
#[allow(dead_code, unreachable_pub, unused_imports, reason = "the server uses all of it")]
#[path = "../../crates/floor-http2/src/hpack/mod.rs"]
mod hpack;
#[path = "../../crates/floor-http2/src/hpack/reference.rs"]
mod reference;

fuzz_target!(|data: &[u8]| {
    let mut decoders = reference::Decoders::new();
    let mut rest = data;
    loop {
        let end = rest.windows(2).position(|two| two == [0, 0]);
        let Some(_) = decoders.decode(&rest[..end.unwrap_or(rest.len())]) else { return };
        let Some(end) = end else { return };
        rest = &rest[end + 2..];
    }
});
