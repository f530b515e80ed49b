//! Other serializers on the same floors, in the same run: postcard, and rkyv, which is read in place.
//!
//! Each is timed on the fields of the message with grids encoded by our codec, and with one byte per cell.

use std::cell::{Cell, LazyCell};

use benches::{floors, tile_floor, timing::median};
use criterion::Criterion;
use floor_proto::v1;
use prost::Message;
use rkyv::{rancor, util::AlignedVec};

use crate::{
    COUNT, each,
    plain::{ArchivedFloor, Floor},
};

/// Converts a message to the fields for a serializer.
type Shape = fn(&v1::Floor) -> Floor;

const SHAPES: [(&str, Shape); 2] = [("grids", Floor::of), ("cells", Floor::with_cells)];

pub(crate) fn serializers(criterion: &mut Criterion) {
    let ran = Cell::new(false);
    let messages = LazyCell::new(|| {
        ran.set(true);
        floors::standard(COUNT).iter().map(floor_wire::message).collect::<Vec<_>>()
    });
    let mut group = criterion.benchmark_group("protobuf/yardsticks");
    group.bench_function("prost/encode", |bencher| each(bencher, &messages, Message::encode_to_vec));
    group.bench_function("prost/decode", |bencher| {
        let bytes: Vec<_> = messages.iter().map(Message::encode_to_vec).collect();
        each(bencher, &bytes, |bytes| v1::Floor::decode(&bytes[..]).expect("our own bytes"));
    });
    for (name, shape) in SHAPES {
        let plain = LazyCell::new(|| messages.iter().map(shape).collect::<Vec<_>>());
        group.bench_function(format!("postcard/encode/{name}"), |bencher| each(bencher, &plain, postcard));
        group.bench_function(format!("postcard/decode/{name}"), |bencher| {
            let bytes: Vec<_> = plain.iter().map(postcard).collect();
            let read = |bytes: &Vec<u8>| postcard::from_bytes::<Floor>(bytes).expect("our own bytes");
            each(bencher, &bytes, read);
            assert!(plain.iter().zip(&bytes).all(|(floor, bytes)| read(bytes) == *floor), "the same floors");
        });
        group.bench_function(format!("rkyv/encode/{name}"), |bencher| each(bencher, &plain, rkyv_bytes));
        group.bench_function(format!("rkyv/decode/{name}"), |bencher| {
            let bytes: Vec<_> = plain.iter().map(rkyv_bytes).collect();
            let read = |bytes: &AlignedVec| rkyv::from_bytes::<Floor, rancor::Error>(bytes).expect("our own bytes");
            each(bencher, &bytes, read);
            assert!(plain.iter().zip(&bytes).all(|(floor, bytes)| read(bytes) == *floor), "the same floors");
        });
        // Checks the bytes and copies nothing. Bytes from a socket would need alignment.
        group.bench_function(format!("rkyv/access/{name}"), |bencher| {
            let bytes: Vec<_> = plain.iter().map(rkyv_bytes).collect();
            each(bencher, &bytes, |bytes| access(bytes).terrain.data.len());
            let same = |(floor, bytes): (&Floor, &AlignedVec)| access(bytes).terrain.data[..] == floor.terrain.data[..];
            assert!(plain.iter().zip(&bytes).all(same), "the same floors");
        });
    }
    group.finish();
    if ran.get() {
        print_sizes(&messages);
    }
}

fn postcard(floor: &Floor) -> Vec<u8> {
    postcard::to_stdvec(floor).expect("memory grows")
}

fn rkyv_bytes(floor: &Floor) -> AlignedVec {
    rkyv::to_bytes::<rancor::Error>(floor).expect("memory grows")
}

fn access(bytes: &AlignedVec) -> &ArchivedFloor {
    rkyv::access::<ArchivedFloor, rancor::Error>(bytes).expect("our own bytes")
}

fn print_sizes(messages: &[v1::Floor]) {
    let print = |name: &str, length: &dyn Fn(&v1::Floor) -> usize| {
        let middle = median(messages.iter().map(|message| length(message) as f64));
        println!("protobuf/size/{name}: {middle:.0} bytes, the median of {} floors of 100x100", messages.len());
    };
    print("prost", &Message::encoded_len);
    for (name, shape) in SHAPES {
        print(&format!("postcard/{name}"), &|message| postcard(&shape(message)).len());
        print(&format!("rkyv/{name}"), &|message| rkyv_bytes(&shape(message)).len());
    }
    let floors = floors::standard(COUNT);
    let tiles = floors.iter().map(|floor| tile_floor::message(floor).encoded_len() as f64);
    println!("protobuf/size/tile-a-message: {:.0} bytes", median(tiles));
}
