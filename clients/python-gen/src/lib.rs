//! The Python module `floor_gen`: the generator of tower floors without a server.
//!
//! The grid codec, the content hash and the messages are the crates of the server, so that the bytes cannot differ.

// This crate has the same name, which is that of the Python module.
extern crate generator as floor_gen;

mod floor;
mod generate;
mod pack;
mod parts;

/// Procedural tower floors as a pure function: the same arguments give the same floor on every machine.
#[pyo3::pymodule(gil_used = false, name = "floor_gen")]
mod module {
    #[pymodule_export]
    use crate::floor::Floor;
    #[pymodule_export]
    use crate::generate::{generate, generate_many};
    #[pymodule_export]
    use crate::pack::{InvalidPackError, Pack, PackFault};
    #[pymodule_export]
    use crate::parts::{Connection, Furniture, Item, Lock, Metrics, Point, Room, Spawn, Text, Trap};

    /// Rises with every change that alters any floor; a server of the same version generates the same floors.
    #[pymodule_export]
    const GENERATOR_VERSION: u32 = floor_gen::GENERATOR_VERSION;
}
