//! Makes a generator of floors a module that a pack brings along as `generator.wasm`.
//!
//! Implement [`Module`] and [`export!`] it in a crate of the type `cdylib` for `wasm32-unknown-unknown`. docs/modules.md
//! has the functions that a module exports, for other languages, and the rules that a server checks floors by.

use std::cell::RefCell;

pub use floor_gen::{
    self, FloorSpec, Kind, PackHash,
    pack::{self, Files},
};
pub use floor_proto::{self, v1};
use prost::Message as _;

/// The version of the functions that [`export!`] exports.
pub const ABI: u32 = 1;

/// A generator of floors. The same files and the same spec always give the same floor, whatever was generated before.
pub trait Module: Sized {
    /// Reads the pack's files, without `generator.wasm`.
    ///
    /// # Errors
    /// What is wrong with them; the server refuses the pack and shows the text.
    fn load(files: &Files) -> Result<Self, String>;

    /// What a request leaves open, as `None`: the sides in cells, and the kind. A server calls it for every request, so it
    /// should take no more than a microsecond or so.
    ///
    /// # Errors
    /// Why there is no such floor; its client gets the text.
    fn resolve(&self, request: Request) -> Result<Resolved, String> {
        Ok(Resolved {
            width: request.width.unwrap_or(FloorSpec::DEFAULT_SIDE),
            height: request.height.unwrap_or(FloorSpec::DEFAULT_SIDE),
            kind: request.kind.unwrap_or(Kind::Standard),
        })
    }

    /// Generates a floor. The server sets its spec, the hash of the pack and the content hash, and counts its metrics if
    /// it has none.
    ///
    /// # Errors
    /// Why it cannot be generated; its client gets the text.
    fn generate(&mut self, spec: &FloorSpec) -> Result<v1::Floor, String>;
}

/// A request for floor `number` of tower `seed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The tower.
    pub seed: u64,
    /// 1 to [`FloorSpec::MAX_NUMBER`].
    pub number: u32,
    /// In cells.
    pub width: Option<u16>,
    /// In cells.
    pub height: Option<u16>,
    /// The kind of floor.
    pub kind: Option<Kind>,
}

/// What became of a [`Request`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolved {
    /// In cells, [`FloorSpec::MIN_SIDE`] to [`FloorSpec::MAX_SIDE`].
    pub width: u16,
    /// In cells, within the same limits.
    pub height: u16,
    /// The kind of floor.
    pub kind: Kind,
}

/// Exports a [`Module`].
///
/// ```ignore
/// floor_module::export!(MyGenerator);
/// ```
#[macro_export]
macro_rules! export {
    ($module:ty) => {
        ::std::thread_local! {
            static INSTANCE: $crate::Instance<$module> = const { $crate::Instance::new() };
        }

        #[unsafe(no_mangle)]
        extern "C" fn floor_abi() -> u32 {
            $crate::ABI
        }

        #[unsafe(no_mangle)]
        extern "C" fn floor_input(len: usize) -> *mut u8 {
            INSTANCE.with(|instance| instance.input(len))
        }

        #[unsafe(no_mangle)]
        extern "C" fn floor_load() -> u64 {
            INSTANCE.with($crate::Instance::load)
        }

        #[unsafe(no_mangle)]
        extern "C" fn floor_resolve(seed: u64, number: u32, width: u32, height: u32, kind: u32) -> u64 {
            INSTANCE.with(|instance| instance.resolve(seed, number, width, height, kind))
        }

        #[unsafe(no_mangle)]
        extern "C" fn floor_generate(seed: u64, number: u32, width: u32, height: u32, kind: u32) -> u64 {
            INSTANCE.with(|instance| instance.generate(seed, number, width, height, kind))
        }

        #[unsafe(no_mangle)]
        extern "C" fn floor_panic() -> u64 {
            INSTANCE.with($crate::Instance::panic)
        }
    };
}

/// The state behind the functions that [`export!`] exports.
#[doc(hidden)]
#[derive(Debug)]
pub struct Instance<T> {
    module: RefCell<Option<T>>,
    input: RefCell<Vec<u8>>,
    output: RefCell<Vec<u8>>,
}

/// Set in an answer that is a text about an error.
const ERROR: u64 = 1 << 63;

thread_local! {
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

#[doc(hidden)]
impl<T: Module> Instance<T> {
    #[must_use]
    #[allow(clippy::new_without_default, reason = "it is const")]
    pub const fn new() -> Self {
        Self { module: RefCell::new(None), input: RefCell::new(Vec::new()), output: RefCell::new(Vec::new()) }
    }

    pub fn input(&self, len: usize) -> *mut u8 {
        let mut input = self.input.borrow_mut();
        *input = vec![0; len];
        input.as_mut_ptr()
    }

    #[must_use]
    pub fn load(&self) -> u64 {
        std::panic::set_hook(Box::new(|panic| PANIC.set(panic.to_string())));
        let files = Files::from_bytes(&self.input.take()).map_err(|error| error.to_string());
        match files.and_then(|files| T::load(&files)) {
            Ok(module) => {
                self.module.replace(Some(module));
                0
            }
            Err(text) => self.fail(text),
        }
    }

    #[must_use]
    pub fn resolve(&self, seed: u64, number: u32, width: u32, height: u32, kind: u32) -> u64 {
        let side = |side: u32| u16::try_from(side).ok().filter(|side| *side > 0);
        let (width, height) = (side(width), side(height));
        let request = Request { seed, number, width, height, kind: Kind::from_number(kind) };
        match self.module.borrow().as_ref().map_or_else(not_loaded, |module| module.resolve(request)) {
            Ok(Resolved { width, height, kind }) => (kind as u64) << 32 | u64::from(height) << 16 | u64::from(width),
            Err(text) => self.fail(text),
        }
    }

    #[must_use]
    pub fn generate(&self, seed: u64, number: u32, width: u32, height: u32, kind: u32) -> u64 {
        let kind = Kind::from_number(kind).ok_or_else(|| format!("there is no kind {kind}"));
        let spec = kind.and_then(|kind| {
            FloorSpec::of_pack(PackHash::BUILT_IN, seed, number, width, height, kind).map_err(|error| error.to_string())
        });
        let mut module = self.module.borrow_mut();
        let floor = spec.and_then(|spec| module.as_mut().map_or_else(not_loaded, |module| module.generate(&spec)));
        match floor {
            Ok(floor) => {
                let mut output = self.output.borrow_mut();
                output.clear();
                // Writing to a Vec cannot fail.
                let _ = floor.encode(&mut *output);
                range(&output)
            }
            Err(text) => self.fail(text),
        }
    }

    #[must_use]
    pub fn panic(&self) -> u64 {
        self.fail(PANIC.take())
    }

    fn fail(&self, text: String) -> u64 {
        self.output.replace(text.into_bytes());
        range(&self.output.borrow()) | ERROR
    }
}

fn not_loaded<T>() -> Result<T, String> {
    Err("the module was not loaded".to_owned())
}

/// Where `bytes` lie: their address in the upper 32 bits, their length in the lower ones.
fn range(bytes: &[u8]) -> u64 {
    (bytes.as_ptr() as usize as u64) << 32 | bytes.len() as u64
}
