//! A pack as C sees it: an address, and what names it to a server.

use std::{
    ffi::{CString, c_char},
    sync::{Arc, LazyLock},
};

use floor_gen::pack::Files;
use floor_wire::LoadedPack;

use crate::error::{Code, Failure, c_string};

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
        Ok(Self::new(Arc::new(LoadedPack::from_bytes(file)?)))
    }

    pub(crate) fn reference(&self) -> *const c_char {
        self.reference.as_ptr()
    }

    fn new(loaded: Arc<LoadedPack>) -> Self {
        Self { reference: c_string(loaded.reference()), loaded }
    }
}
