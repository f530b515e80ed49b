//! The wire types of the floor server: `floors/v1/floors.proto` compiled, the [grid codec](grid), the
//! [content hash](hash) and the [limits] that the .proto states in its comments; [messages as bytes](raw) and the
//! [names of status codes](status), which server, client and benches share.
#![forbid(unsafe_code)]

pub mod grid;
pub mod hash;
pub mod limits;
pub mod raw;
pub mod status;

/// Package `floors.v1` as prost and tonic generate it.
pub mod v1 {
    #![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]
    tonic::include_proto!("floors.v1");
}

/// The descriptor set of `floors/v1/floors.proto`, for server reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/floors_descriptor.bin"));

/// Bytes in front of every gRPC message: a compression flag and the length, big-endian.
pub const FRAME_PREFIX_BYTES: usize = 5;
