//! What an engine provides of a module, and what a generator is on top of it: the functions of docs/modules.md.

use std::borrow::Cow;

use floor_gen::{FloorSpec, Kind, PackHash};

use crate::Request;

/// The version of the functions.
const ABI: u64 = 1;
/// Set in an answer that is a text about an error.
const ERROR: u64 = 1 << 63;
/// The most bytes of a text that are shown.
const MAX_TEXT: usize = 500;

/// Compiles a module. The error says why it does not run in this engine.
pub type Compile = fn(&[u8]) -> Result<Box<dyn Code>, String>;

/// A module that an engine has compiled.
pub trait Code: Send + Sync {
    /// An instance with memory of its own.
    ///
    /// # Errors
    /// How its start ended, or which function of a generator it lacks.
    fn instantiate(&self) -> Result<Box<dyn Guest>, String>;
}

/// An instance of a module in an engine.
pub trait Guest: Send {
    /// Calls a function. A number of 32 bits is without a sign in the answer.
    ///
    /// # Errors
    /// How the call ended.
    fn call(&mut self, call: Call) -> Result<u64, String>;

    /// `length` bytes of its memory from `start` on, if it has them.
    fn read(&self, start: usize, length: usize) -> Option<Cow<'_, [u8]>>;

    /// Writes into its memory, if `bytes` lie in it.
    fn write(&mut self, start: usize, bytes: &[u8]) -> Option<()>;

    /// Bounds the calls that follow, in an engine that counts what they do.
    fn refuel(&mut self, _fuel: u64) {}
}

/// A call of a function that a generator exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// `floor_abi`.
    Abi,
    /// `floor_input` with a length.
    Input(u32),
    /// `floor_load`.
    Load,
    /// `floor_resolve`.
    Resolve(Request),
    /// `floor_generate`.
    Generate(Request),
    /// `floor_panic`.
    Panic,
}

impl Call {
    /// The name of the function.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Abi => "floor_abi",
            Self::Input(_) => "floor_input",
            Self::Load => "floor_load",
            Self::Resolve(_) => "floor_resolve",
            Self::Generate(_) => "floor_generate",
            Self::Panic => "floor_panic",
        }
    }
}

/// What a generator answers, or its text about why there is no such floor.
pub(super) type Answer<T> = Result<T, String>;

/// A guest that is a generator and has read its pack. Its errors are faults.
pub(super) struct Instance(Box<dyn Guest>);

impl Instance {
    /// An instance that has read `files`.
    pub(super) fn start(code: &dyn Code, files: &[u8]) -> Result<Self, String> {
        let mut instance = Self(code.instantiate()?);
        let version = instance.call(Call::Abi)?;
        if version != ABI {
            return Err(format!("floor_abi answers {version}; this program runs generators of version {ABI}"));
        }
        let length = u32::try_from(files.len()).map_err(|_| "the pack has 4 GiB or more".to_owned())?;
        let start = instance.call(Call::Input(length))?;
        let written = instance.0.write(start as usize, files);
        written
            .ok_or_else(|| format!("floor_input answers {start}, and from there its memory has no {length} bytes"))?;
        let loaded = instance.call(Call::Load)?;
        instance.answer(loaded)??;
        // What a module prepares for its first request belongs to the start, whose fuel suffices.
        let first = Request { seed: 0, number: 1, width: 0, height: 0, kind: 0 };
        let resolved = instance.call(Call::Resolve(first))?;
        let _ = instance.answer(resolved)?;
        Ok(instance)
    }

    /// Bounds the calls that follow.
    pub(super) fn refuel(&mut self, fuel: u64) {
        self.0.refuel(fuel);
    }

    /// The spec of a floor of the pack.
    pub(super) fn resolve(&mut self, hash: PackHash, request: Request) -> Result<Answer<FloorSpec>, String> {
        let value = self.call(Call::Resolve(request))?;
        let resolved = match self.answer(value)? {
            Ok(resolved) => resolved,
            Err(text) => return Ok(Err(text)),
        };
        let (width, height) = (resolved as u32 & 0xffff, (resolved >> 16) as u32 & 0xffff);
        let kind = Kind::from_number((resolved >> 32) as u32).filter(|_| width > 0 && height > 0);
        let spec =
            kind.and_then(|kind| FloorSpec::of_pack(hash, request.seed, request.number, width, height, kind).ok());
        spec.map(Ok).ok_or_else(|| format!("floor_resolve answers {resolved:#x}, which is no size and kind"))
    }

    /// Generates the floor of `spec`, and makes `accept` of it.
    pub(super) fn generate<T>(
        &mut self,
        spec: &FloorSpec,
        accept: impl FnOnce(&[u8]) -> Result<T, String>,
    ) -> Result<Answer<T>, String> {
        let (width, height) = (spec.width().into(), spec.height().into());
        let (seed, number, kind) = (spec.seed(), spec.number(), spec.kind() as u32);
        let value = self.call(Call::Generate(Request { seed, number, width, height, kind }))?;
        match self.answer(value)? {
            Ok(range) => accept(&self.read(range)?).map(Ok),
            Err(text) => Ok(Err(text)),
        }
    }

    fn answer(&self, value: u64) -> Result<Answer<u64>, String> {
        if value & ERROR == 0 {
            return Ok(Ok(value));
        }
        Ok(Err(shortened(&self.read(value & !ERROR)?)))
    }

    /// The bytes of an answer: its address in the upper 32 bits, its length in the lower ones.
    fn read(&self, range: u64) -> Result<Cow<'_, [u8]>, String> {
        let (start, length) = ((range >> 32) as usize, range as u32 as usize);
        let bytes = self.0.read(start, length);
        bytes.ok_or_else(|| format!("its answer of {length} bytes at {start} is outside its memory"))
    }

    fn call(&mut self, call: Call) -> Result<u64, String> {
        self.0.call(call).map_err(|fault| {
            let panic = self.panic_message().map(|panic| format!(": {panic}")).unwrap_or_default();
            format!("{}: {fault}{panic}", call.name())
        })
    }

    /// What the module says about a panic, after the trap that ended it.
    fn panic_message(&mut self) -> Option<String> {
        let said = self.0.call(Call::Panic).ok()?;
        let text = shortened(&self.read(said & !ERROR).ok()?);
        (!text.is_empty()).then_some(text)
    }
}

/// The beginning of a text of a module, without what a terminal would obey.
fn shortened(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_TEXT)]);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
