//! Decodes bytes as each request and resolves its specs, and as a floor whose content hash is checked.
#![no_main]

use floor_gen::{FloorSpec, Kind};
use floor_proto::{hash, v1};
use libfuzzer_sys::fuzz_target;
use prost::Message;

fuzz_target!(|data: &[u8]| {
    if let Ok(request) = v1::GetFloorRequest::decode(data) {
        request.spec.iter().for_each(resolve);
    }
    if let Ok(request) = v1::BatchGetFloorsRequest::decode(data) {
        request.specs.iter().for_each(resolve);
    }
    if let Ok(request) = v1::StreamFloorsRequest::decode(data) {
        request.first.iter().for_each(resolve);
    }
    let _ = hash::verify_encoded(data);
});

/// What is resolved is in range, and resolves to itself.
fn resolve(requested: &v1::FloorSpec) {
    let kind = u32::try_from(requested.kind).ok().and_then(Kind::from_number);
    let Ok(spec) = FloorSpec::resolve(requested.seed, requested.number, requested.width, requested.height, kind) else {
        return;
    };
    let (width, height) = (spec.width(), spec.height());
    assert!((FloorSpec::MIN_SIDE..=FloorSpec::MAX_SIDE).contains(&width), "{spec:?}");
    assert!((FloorSpec::MIN_SIDE..=FloorSpec::MAX_SIDE).contains(&height), "{spec:?}");
    let again = FloorSpec::resolve(spec.seed(), spec.number(), width.into(), height.into(), Some(spec.kind()));
    assert_eq!(again, Ok(spec));
}
