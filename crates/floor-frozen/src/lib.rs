//! The generator of this program as a module: any pack that this program reads, whose floors then stay as they are.
#![cfg(target_family = "wasm")]
#![allow(unsafe_code, reason = "an export without its mangled name counts as unsafe; there is no other")]

use std::sync::Arc;

use floor_module::{
    FloorSpec, Module, Request, Resolved, export,
    floor_gen::{Generator, pack::Files},
    v1,
};
use floor_pack::{LoadedPack, ResolveError};

struct Frozen {
    pack: Arc<LoadedPack>,
    generator: Generator,
}

impl Frozen {
    fn spec(&self, request: Request) -> Result<FloorSpec, ResolveError> {
        let side = |side: Option<u16>| side.unwrap_or_default().into();
        self.pack.resolve(request.seed, request.number, side(request.width), side(request.height), request.kind)
    }
}

/// Whether a pack has a name and a description alone: its floors are those of the built-in pack.
fn says_nothing(files: &Files) -> bool {
    let says_nothing = |line: &[u8]| [&b"name = "[..], b"description = "].iter().any(|key| line.starts_with(key));
    let mut lines = files.iter().flat_map(|(_, text)| text.split(|byte| *byte == b'\n'));
    files.iter().count() == 1 && lines.all(|line| line.is_empty() || says_nothing(line))
}

impl Module for Frozen {
    fn load(files: &Files) -> Result<Self, String> {
        if says_nothing(files) {
            return Ok(Self { pack: Arc::clone(LoadedPack::built_in()), generator: Generator::new() });
        }
        let pack = LoadedPack::read_edited(files.clone()).map_err(|errors| errors.to_string())?;
        Ok(Self { pack: Arc::new(pack), generator: Generator::new() })
    }

    fn resolve(&self, request: Request) -> Result<Resolved, String> {
        let spec = self.spec(request).map_err(|error| error.to_string())?;
        Ok(Resolved { width: spec.width(), height: spec.height(), kind: spec.kind() })
    }

    fn generate(&mut self, spec: &FloorSpec) -> Result<v1::Floor, String> {
        let request = Request {
            seed: spec.seed(),
            number: spec.number(),
            width: Some(spec.width()),
            height: Some(spec.height()),
            kind: Some(spec.kind()),
        };
        let spec = self.spec(request).map_err(|error| error.to_string())?;
        self.pack.message(&mut self.generator, &spec).map_err(|error| error.to_string())
    }
}

export!(Frozen);
