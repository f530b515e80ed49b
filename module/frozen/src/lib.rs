//! The generator of this program as a module: any pack that this program reads, whose floors then stay as they are.
#![cfg(target_family = "wasm")]
#![allow(unsafe_code, reason = "an export without its mangled name counts as unsafe; there is no other")]

use floor_module::{
    FloorSpec, Module, Request, Resolved, export,
    floor_gen::{Generator, SpecError, pack::Files},
    v1,
};
use floor_wire::LoadedPack;

struct Frozen {
    pack: LoadedPack,
    generator: Generator,
}

impl Frozen {
    fn spec(&self, request: Request) -> Result<FloorSpec, SpecError> {
        let side = |side: Option<u16>| side.unwrap_or_default().into();
        self.pack.resolve(request.seed, request.number, side(request.width), side(request.height), request.kind)
    }
}

impl Module for Frozen {
    fn load(files: &Files) -> Result<Self, String> {
        let pack = LoadedPack::read_edited(files.clone()).map_err(|errors| errors.to_string())?;
        Ok(Self { pack, generator: Generator::new() })
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
        Ok(self.pack.message(&mut self.generator, &spec))
    }
}

export!(Frozen);
