//! Decodes text as the JSON of each request and of a floor.
#![no_main]

use std::sync::LazyLock;

use floor_proto::json::{JsonCodec, JsonTypes};
use libfuzzer_sys::fuzz_target;

static CODECS: LazyLock<Vec<JsonCodec>> = LazyLock::new(|| {
    let types = JsonTypes::new([floor_proto::FILE_DESCRIPTOR_SET]).expect("the descriptor set of the build");
    let names = ["GetFloorRequest", "BatchGetFloorsRequest", "StreamFloorsRequest", "GetServerInfoRequest", "Floor"];
    names.map(|name| types.codec(&format!("floors.v1.{name}")).expect("a message of the .proto")).to_vec()
});

fuzz_target!(|data: &[u8]| {
    for codec in CODECS.iter() {
        match codec.decode(data) {
            // What is decoded has JSON, which decodes to the same message.
            Ok(message) => {
                let mut json = Vec::new();
                codec.encode(&message[..], &mut json).expect("a decoded message has JSON");
                assert_eq!(codec.decode(&json), Ok(message));
            }
            Err(error) => assert!(error.to_string().len() < 4096, "{error}"),
        }
    }
});
