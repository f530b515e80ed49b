//! The generators that packs bring along, in the engine that runs this module: the page's imports do what an engine does
//! (web/src/guests.ts). An import answers 0 where it fails. What it has to say is the input: a value, bytes, or the reason.

use std::borrow::Cow;

use floor_pack::{Call, Code, Guest, Request};

use crate::buffers;

#[link(wasm_import_module = "guests")]
unsafe extern "C" {
    /// Compiles a module, and answers what it is called from now on.
    fn compile(wasm: *const u8, length: usize) -> u32;
    safe fn instantiate(code: u32) -> u32;
    /// Calls the function `which`, in the order of [`Call`], with what it takes of these. The input is its answer.
    safe fn call(guest: u32, which: u32, seed: u64, number: u32, width: u32, height: u32, kind: u32) -> u32;
    /// The input is a part of its memory.
    safe fn read(guest: u32, start: usize, length: usize) -> u32;
    fn write(guest: u32, start: usize, bytes: *const u8, length: usize) -> u32;
    safe fn release(number: u32);
}

/// A compiled module or an instance of one, by its number.
struct Kept(u32);

impl Kept {
    fn new(number: u32) -> Result<Self, String> {
        if number == 0 { Err(reason()) } else { Ok(Self(number)) }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        release(self.0);
    }
}

/// Compiles the module of a pack.
pub(crate) fn code(wasm: &[u8]) -> Result<Box<dyn Code>, String> {
    // SAFETY: the page reads these bytes and no others.
    let number = unsafe { compile(wasm.as_ptr(), wasm.len()) };
    let code = Kept::new(number)?;
    Ok(Box::new(code))
}

impl Code for Kept {
    fn instantiate(&self) -> Result<Box<dyn Guest>, String> {
        let guest = Self::new(instantiate(self.0))?;
        Ok(Box::new(guest))
    }
}

impl Guest for Kept {
    fn call(&mut self, what: Call) -> Result<u64, String> {
        let none = Request { seed: 0, number: 0, width: 0, height: 0, kind: 0 };
        let (which, Request { seed, number, width, height, kind }) = match what {
            Call::Abi => (0, none),
            Call::Input(number) => (1, Request { number, ..none }),
            Call::Load => (2, none),
            Call::Resolve(request) => (3, request),
            Call::Generate(request) => (4, request),
            Call::Panic => (5, none),
        };
        if call(self.0, which, seed, number, width, height, kind) == 0 {
            return Err(reason());
        }
        buffers::take().try_into().map(u64::from_le_bytes).map_err(|_| "its answer has no 64 bits".to_owned())
    }

    fn read(&self, start: usize, length: usize) -> Option<Cow<'_, [u8]>> {
        (read(self.0, start, length) != 0).then(|| Cow::Owned(buffers::take()))
    }

    fn write(&mut self, start: usize, bytes: &[u8]) -> Option<()> {
        // SAFETY: the page reads these bytes and no others.
        let written = unsafe { write(self.0, start, bytes.as_ptr(), bytes.len()) };
        (written != 0).then_some(())
    }
}

fn reason() -> String {
    String::from_utf8_lossy(&buffers::take()).into_owned()
}
