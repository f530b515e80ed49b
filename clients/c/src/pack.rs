//! A pack as C sees it: an address, and what names it to a server.

use std::{
    ffi::{CString, c_char},
    panic::resume_unwind,
    sync::{Arc, LazyLock, OnceLock},
    thread,
};

use floor_gen::pack::Files;
use floor_pack::LoadedPack;

use crate::error::{Code, Failure, c_string};

/// Reading a pack needs more than jobs of an engine may have.
const STACK_BYTES: usize = 2 << 20;

/// A pack that is ready to generate.
#[derive(Debug)]
pub struct Pack {
    pub(crate) loaded: Arc<LoadedPack>,
    reference: CString,
}

impl Pack {
    /// Always the same.
    pub(crate) fn built_in() -> *const Self {
        static BUILT_IN: LazyLock<Pack> = LazyLock::new(|| Pack::new(LoadedPack::built_in().clone()));
        &raw const *BUILT_IN
    }

    /// Reads the built-in pack, if that is not done.
    pub(crate) fn read_built_in() -> Result<(), Failure> {
        static IS_READ: OnceLock<()> = OnceLock::new();
        if IS_READ.get().is_none() {
            on_large_stack(|| Ok(_ = floor_gen::Pack::tower()))?;
            let _ = IS_READ.set(());
        }
        Ok(())
    }

    pub(crate) fn check_length(length: usize) -> Result<(), Failure> {
        if length <= Files::MAX_BYTES {
            return Ok(());
        }
        Err(Failure::new(
            Code::Pack,
            format!("length {length} is too much: a pack has at most {} bytes", Files::MAX_BYTES),
        ))
    }

    pub(crate) fn read(file: &[u8]) -> Result<Self, Failure> {
        on_large_stack(|| Ok(Self::new(Arc::new(LoadedPack::from_bytes(file)?))))
    }

    pub(crate) fn reference(&self) -> *const c_char {
        self.reference.as_ptr()
    }

    fn new(loaded: Arc<LoadedPack>) -> Self {
        Self { reference: c_string(loaded.reference()), loaded }
    }
}

/// Runs `work` on a thread of its own, and panics as it does.
fn on_large_stack<T: Send>(work: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| {
            Failure::new(Code::Internal, format!("a pack is read on a thread, and none could be started: {error}"))
        })?;
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
