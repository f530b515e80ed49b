//! Grids and floors that a client must reject, each for one fault.

use floor_proto::{
    hash,
    v1::{Floor, FloorSpec, Furniture, GetFloorRequest, Grid, GridEncoding, Point, Room, Spawn},
};
use prost::Message;
use serde::Serialize;

use super::{Files, floors::encoded_by_name, hex, packs};

#[derive(Serialize)]
pub(super) struct MalformedGrid {
    name: &'static str,
    /// The encoded `Grid`, in hexadecimal.
    bytes: String,
    /// The class of the error (README.md).
    error: &'static str,
}

#[derive(Serialize)]
pub(super) struct MalformedFloor {
    name: &'static str,
    /// The encoded `GetFloorRequest`, if the fault is that it names another floor.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    /// The file of the bytes.
    bytes: String,
    /// The class of the error (README.md).
    error: &'static str,
}

/// A grid of 4x2 cells.
fn grid(encoding: GridEncoding, bits: u32, palette: &[u32], data: &[u8]) -> Grid {
    Grid { width: 4, height: 2, palette: palette.to_vec(), encoding: encoding.into(), bits, data: data.to_vec() }
}

pub(super) fn grids() -> Vec<MalformedGrid> {
    use GridEncoding::{Packed, Raw8, Rle, Uniform, Unspecified};
    let uniform = grid(Uniform, 0, &[1], &[]);
    let sized = |width, height| Grid { width, height, ..uniform.clone() };
    let many: Vec<u32> = (0..257).collect();
    let list = [
        ("no_width", sized(0, 2), "size"),
        ("no_height", sized(4, 0), "size"),
        ("too_wide", sized(513, 1), "size"),
        ("too_high", sized(1, u32::MAX), "size"),
        ("an_overflowing_size", sized(1 << 31, 1 << 31), "size"),
        ("no_palette", grid(Raw8, 0, &[], &[0; 8]), "palette"),
        ("a_descending_palette", grid(Packed, 1, &[2, 1], &[0x34]), "palette"),
        ("a_repeated_value", grid(Packed, 1, &[1, 1], &[0x34]), "palette"),
        ("a_value_over_255", grid(Packed, 1, &[1, 256], &[0x34]), "palette"),
        ("a_palette_of_257", grid(Raw8, 0, &many, &[0; 8]), "palette"),
        ("two_values_in_a_uniform_grid", grid(Uniform, 0, &[1, 2], &[]), "palette"),
        ("no_encoding", grid(Unspecified, 0, &[1], &[]), "encoding"),
        ("an_unknown_encoding", Grid { encoding: 5, ..uniform.clone() }, "encoding"),
        ("a_negative_encoding", Grid { encoding: -1, ..uniform.clone() }, "encoding"),
        ("bits_in_a_uniform_grid", grid(Uniform, 1, &[1], &[]), "bits"),
        ("bits_in_a_raw_grid", grid(Raw8, 8, &[1], &[0; 8]), "bits"),
        ("bits_in_runs", grid(Rle, 4, &[1], &[0, 7]), "bits"),
        ("packed_without_bits", grid(Packed, 0, &[1, 2], &[0x34]), "bits"),
        ("packed_with_3_bits", grid(Packed, 3, &[1, 2], &[0, 0, 0]), "bits"),
        ("packed_with_8_bits", grid(Packed, 8, &[1, 2], &[0; 8]), "bits"),
        ("a_raw_index_beyond_the_palette", grid(Raw8, 0, &[1, 2], &[0, 1, 0, 1, 0, 1, 0, 2]), "index"),
        ("a_packed_index_beyond_the_palette", grid(Packed, 2, &[1, 2, 3], &[0x00, 0xc0]), "index"),
        ("a_run_of_an_index_beyond_the_palette", grid(Rle, 0, &[1], &[0, 3, 1, 3]), "index"),
        ("data_in_a_uniform_grid", grid(Uniform, 0, &[1], &[0]), "length"),
        ("raw_too_short", grid(Raw8, 0, &[1, 2], &[0, 1, 0, 1, 0, 1, 0]), "length"),
        ("raw_too_long", grid(Raw8, 0, &[1, 2], &[0, 1, 0, 1, 0, 1, 0, 1, 0]), "length"),
        ("packed_too_short", grid(Packed, 2, &[1, 2, 3], &[0x24]), "length"),
        ("packed_too_long", grid(Packed, 1, &[1, 2], &[0x34, 0]), "length"),
        ("runs_of_no_cells", grid(Rle, 0, &[1], &[]), "length"),
        ("runs_too_short", grid(Rle, 0, &[1, 2], &[0, 3, 1, 2]), "length"),
        ("runs_too_long", grid(Rle, 0, &[1, 2], &[0, 3, 1, 4]), "length"),
        ("a_run_after_the_last_cell", grid(Rle, 0, &[1, 2], &[0, 7, 1, 0]), "length"),
        ("an_index_without_a_run", grid(Rle, 0, &[1, 2], &[0, 3, 1]), "length"),
        ("a_truncated_run_length", grid(Rle, 0, &[1, 2], &[0, 3, 1, 0x83]), "length"),
        ("an_enormous_run", grid(Rle, 0, &[1], &[0, 0xff, 0xff, 0x7f]), "length"),
        ("a_run_length_of_64_bits", grid(Rle, 0, &[1], &[[0].as_slice(), &[0xff; 9], &[1]].concat()), "length"),
        ("an_unused_bit_that_is_set", Grid { width: 3, ..grid(Packed, 1, &[1, 2], &[0x74]) }, "padding"),
        ("unused_bits_that_are_set", Grid { height: 1, ..grid(Packed, 1, &[1, 2], &[0xf4]) }, "padding"),
    ];
    let vectors = list.map(|(name, grid, error)| MalformedGrid { name, bytes: hex(&grid.encode_to_vec()), error });
    vectors.into()
}

pub(super) fn floors(files: &mut Files) -> Vec<MalformedFloor> {
    let mut vectors = Vec::new();
    for (name, bytes, error) in broken_bytes().into_iter().chain(wrong_contents()) {
        let path = format!("malformed/{name}.bin");
        files.insert(path.clone(), bytes);
        vectors.push(MalformedFloor { name, request: None, bytes: path, error });
    }
    // GetFloorRequest { spec: { seed: 0, number: 2 } }: the file has floor 1.
    let request = Some("0a021002".to_owned());
    vectors.push(MalformedFloor {
        name: "another_floor",
        request,
        bytes: "floors/tower_zero.bin".into(),
        error: "spec",
    });
    // GetFloorRequest { spec: { seed: 0, number: 1, kind: STORY } }: the file has the kind that the schedule chose.
    let request = Some("0a0410012809".to_owned());
    vectors.push(MalformedFloor {
        name: "another_kind",
        request,
        bytes: "floors/tower_zero.bin".into(),
        error: "spec",
    });
    let (name, version) = (packs::NAME, format!("{}@0123456789abcdef", packs::NAME));
    for (vector, pack, floor) in [
        ("another_pack", "other", packs::A_FLOOR),
        ("another_version", &*version, packs::A_FLOOR),
        ("not_the_built_in_pack", "tower", packs::A_FLOOR),
        ("not_of_the_pack", name, "default"),
    ] {
        let spec = match floor {
            packs::A_FLOOR => packs::a_floor(pack),
            _ => FloorSpec { number: 7, ..packs::a_floor(pack) },
        };
        let request = Some(hex(&GetFloorRequest { spec: Some(spec) }.encode_to_vec()));
        vectors.push(MalformedFloor { name: vector, request, bytes: format!("floors/{floor}.bin"), error: "spec" });
    }
    vectors
}

type Broken = (&'static str, Vec<u8>, &'static str);

/// The smallest floor with changed bytes.
fn broken_bytes() -> Vec<Broken> {
    let whole = encoded_by_name("tower_zero");
    // Field 1 is a length and a spec; field 2 follows.
    let version = 2 + usize::from(whole[1]);
    let hash = version + 2;
    assert_eq!((whole[version], whole[hash]), (0x10, 0x19), "the hash follows the generator version");
    let edited = |edit: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        edit(&mut bytes);
        bytes
    };
    let middle = whole.len() / 2;
    let repeated = whole[hash..hash + 9].to_vec();
    vec![
        ("a_truncated_message", edited(&|bytes| bytes.truncate(middle)), "protobuf"),
        ("a_truncated_varint", edited(&|bytes| bytes.push(0x80)), "protobuf"),
        ("an_unknown_wire_type", edited(&|bytes| bytes.push(0x7f)), "protobuf"),
        ("a_length_beyond_the_end", edited(&|bytes| bytes.extend([0x7a, 0x7f, 0x00])), "protobuf"),
        ("no_bytes", Vec::new(), "hash"),
        ("a_changed_hash", edited(&|bytes| bytes[hash + 4] ^= 0x10), "hash"),
        ("a_changed_version", edited(&|bytes| bytes[version + 1] ^= 0x40), "hash"),
        ("no_hash", edited(&|bytes| drop(bytes.drain(hash..hash + 9))), "hash"),
        ("an_added_field", edited(&|bytes| bytes.extend([0x7a, 0x03, b'n', b'e', b'w'])), "hash"),
        ("a_repeated_field", edited(&|bytes| bytes.extend([0x10, 0x03])), "hash"),
        ("a_repeated_hash", edited(&|bytes| bytes.extend(&repeated)), "hash"),
    ]
}

/// Floors whose hash is right, and whose contents are not.
fn wrong_contents() -> Vec<Broken> {
    let whole = Floor::decode(encoded_by_name("tower_zero").as_slice()).expect("a generated floor decodes");
    let edited = |edit: &dyn Fn(&mut Floor)| {
        let mut floor = whole.clone();
        edit(&mut floor);
        hash::encode_hashed(&floor, 0)
    };
    let outside = Some(Point { x: 16, y: 0 });
    let rat = Spawn { at: outside, archetype: "rat".into(), level: 1, ..Spawn::default() };
    let graves = |cells: &[u32]| Furniture { archetype: "grave".into(), cells: cells.into() };
    let solid = |value| Some(Grid { width: 16, height: 16, ..grid(GridEncoding::Uniform, 0, &[value], &[]) });
    vec![
        ("no_spec", edited(&|floor| floor.spec = None), "missing"),
        ("no_terrain", edited(&|floor| floor.terrain = None), "missing"),
        ("no_region", edited(&|floor| floor.region = None), "missing"),
        ("no_entry", edited(&|floor| floor.entry = None), "missing"),
        ("no_exit", edited(&|floor| floor.exit = None), "missing"),
        ("a_room_without_bounds", edited(&|floor| floor.rooms.push(Room::default())), "missing"),
        (
            "a_terrain_of_another_size",
            edited(&|floor| floor.terrain = Some(grid(GridEncoding::Uniform, 0, &[1], &[]))),
            "grid",
        ),
        (
            "a_region_that_does_not_fill",
            edited(&|floor| {
                let runs = grid(GridEncoding::Rle, 0, &[0], &[0, 0xfe, 0x01]);
                floor.region = Some(Grid { width: 16, height: 16, ..runs });
            }),
            "grid",
        ),
        ("a_cell_without_terrain", edited(&|floor| floor.terrain = solid(0)), "terrain"),
        ("an_entry_outside", edited(&|floor| floor.entry = outside), "outside"),
        ("a_spawn_outside", edited(&|floor| floor.spawns.push(rat.clone())), "outside"),
        ("a_landing_outside", edited(&|floor| floor.landing = outside), "outside"),
        ("a_furniture_outside", edited(&|floor| floor.furniture.push(graves(&[200, 50, 6]))), "outside"),
        (
            "a_furniture_beyond_32_bits",
            edited(&|floor| floor.furniture.push(graves(&[20, u32::MAX - 10, 30]))),
            "outside",
        ),
    ]
}
