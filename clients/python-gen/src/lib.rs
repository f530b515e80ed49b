//! The Python module `floor_gen`: the generator of tower floors without a server.
//!
//! The grid codec, the content hash and the conversion to messages are the files that the server compiles, so that the
//! bytes cannot differ. Their crates are not dependencies, because `floor-proto` brings tonic along.

// The files of the server name each other by the names of their crates.
extern crate generator as floor_gen;
extern crate self as floor_proto;

mod floor;
mod generate;
#[path = "../../../proto/src/grid.rs"]
pub mod grid;
#[path = "../../../proto/src/hash.rs"]
pub mod hash;
#[path = "../../../proto/src/limits.rs"]
pub mod limits;
mod parts;
pub mod v1;
#[path = "../../../floor-wire/src/lib.rs"]
mod wire;

/// Length in bytes of the prefix of every gRPC message.
pub const FRAME_PREFIX_BYTES: usize = 5;

/// Procedural tower floors as a pure function: the same arguments give the same floor on every machine.
#[pyo3::pymodule(gil_used = false, name = "floor_gen")]
mod module {
    #[pymodule_export]
    use crate::floor::Floor;
    #[pymodule_export]
    use crate::generate::{generate, generate_many};
    #[pymodule_export]
    use crate::parts::{Connection, Item, Lock, Metrics, Point, Room, Spawn, Trap};

    /// Rises with every change that alters any floor; a server of the same version generates the same floors.
    #[pymodule_export]
    const GENERATOR_VERSION: u32 = floor_gen::GENERATOR_VERSION;
}
