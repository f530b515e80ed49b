//! Packs as a server serves them: with their authored floors, the generators that they bring along, and the rules that
//! floors from outside have to keep. The server, the client's generator and floorctl load packs with [`LoadedPack`].
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod accept;
#[cfg(feature = "authored")]
mod authored;
mod loaded_pack;
#[cfg(feature = "guests")]
mod module;
mod module_error;
pub mod pack_files;
mod request;
pub mod rules;

pub use loaded_pack::LoadedPack;
#[cfg(feature = "guests")]
pub use module::{Call, Code, Compile, Guest};
pub use module_error::{ModuleError, ResolveError};
pub use request::Request;

/// The folder of the authored floors in a pack.
const AUTHORED: &str = "floors/";

/// Authored floors of a pack by number, and by tower; without a tower, for every tower.
type ByPlace<T> = std::collections::BTreeMap<(u32, Option<u64>), T>;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
