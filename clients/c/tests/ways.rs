//! The lists `seeds` and `ways` of the test vectors, through the functions of C.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]
#![allow(unsafe_code, reason = "it calls what C calls, with pointers")]

use std::{ffi::CString, fs, path::Path, ptr};

use floor_gen_c::{
    floor::{Point, View},
    floor_gen_floor_free, floor_gen_generate, floor_gen_pack_built_in,
    ways::{floor_gen_path, floor_gen_reachable, floor_gen_seed, floor_gen_starts},
};
use floor_proto::v1::{FloorSpec, GetFloorRequest};
use prost::Message as _;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

fn manifest() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto/vectors/manifest.json");
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn texts_are_the_seeds_of_the_vectors() {
    for vector in manifest()["seeds"].as_array().unwrap() {
        let text = vector["text"].as_str().unwrap();
        // C ends a text at a NUL.
        let Ok(text) = CString::new(text) else { continue };
        let mut seed = 0;
        // SAFETY: both are valid.
        let is_seed = unsafe { floor_gen_seed(text.as_ptr(), &raw mut seed) } == 1;
        assert_eq!(is_seed.then(|| seed.to_string()).as_deref(), vector["seed"].as_str(), "{text:?}");
    }
}

fn point(value: &Value) -> Point {
    let [x, y] = [0, 1].map(|index| value[index].as_u64().unwrap() as u32);
    Point { x, y }
}

fn points(value: &Value) -> Vec<(u32, u32)> {
    value.as_array().into_iter().flatten().map(point).map(|Point { x, y }| (x, y)).collect()
}

/// The floor of a request in hexadecimal.
fn generate(request: &str) -> *const View {
    let bytes: Vec<u8> =
        (0..request.len()).step_by(2).map(|at| u8::from_str_radix(&request[at..at + 2], 16).unwrap()).collect();
    let FloorSpec { seed, number, width, height, kind, view, .. } =
        GetFloorRequest::decode(&bytes[..]).unwrap().spec.unwrap();
    let kind = (kind | view << 8).unsigned_abs();
    // SAFETY: the pack is never freed.
    unsafe { floor_gen_generate(floor_gen_pack_built_in(), seed, number, width, height, kind) }
}

#[test]
fn ways_are_those_of_the_vectors() {
    let manifest = manifest();
    for vector in manifest["ways"].as_array().unwrap() {
        let name = vector["floor"].as_str().unwrap();
        let of_name = manifest["floors"].as_array().unwrap().iter().find(|floor| floor["name"] == name).unwrap();
        let floor = generate(of_name["request"].as_str().unwrap());
        let keys: Vec<u32> =
            vector["keys"].as_array().unwrap().iter().map(|key| key.as_u64().unwrap() as u32).collect();
        let (from, to, (ids, count)) = (point(&vector["from"]), point(&vector["to"]), (keys.as_ptr(), keys.len()));
        // SAFETY: the floor is freed at the end, and each list has room for what is written.
        unsafe {
            let cells = ((*floor).width * (*floor).height) as usize;
            let mut way = vec![Point::default(); cells];
            let length = floor_gen_path(floor, from, to, ids, count, way.as_mut_ptr(), cells);
            way.truncate(length);
            let way: Vec<_> = way.into_iter().map(|Point { x, y }| (x, y)).collect();
            assert_eq!(way, points(&vector["path"]), "{name}");
            assert_eq!(floor_gen_path(floor, from, to, ids, count, ptr::null_mut(), 0), length);
            let mut reached = vec![0; cells];
            let count = floor_gen_reachable(floor, from, ids, count, reached.as_mut_ptr());
            assert_eq!(count, reached.iter().filter(|cell| **cell == 1).count());
            assert_eq!(format!("{:016x}", xxh3_64(&reached)), vector["reachable_xxh3"], "{name}");
            let mut starts = [Point::default(); 6];
            assert_eq!(floor_gen_starts(floor, starts.as_mut_ptr(), 6), 6);
            assert_eq!(starts.map(|Point { x, y }| (x, y))[..], points(&vector["starts"]), "{name}");
            floor_gen_floor_free(floor);
        }
    }
}
