//! Checks that the largest pack fits the message that every gRPC client accepts.

use floor_gen::pack::Files;
use floor_proto::v1;
use prost::Message as _;

/// The most that gRPC clients accept unless they are configured otherwise, in bytes.
const USUAL_LIMIT: usize = 4 << 20;

#[test]
fn the_largest_pack_fits_the_usual_limit_of_clients() {
    let pack = v1::Pack {
        name: "a".repeat(32),
        hash: u64::MAX,
        generator_version: u32::MAX,
        file: vec![b'\n'; Files::MAX_BYTES],
    };
    assert!(pack.encoded_len() <= USUAL_LIMIT, "{}", pack.encoded_len());
}
