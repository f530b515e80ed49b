//! Generates floors in the game's process, as a server of the same version would answer.

use std::{cell::RefCell, fmt::Display, sync::Arc};

use floor_gen::{Generator, Kind, pack::PackErrors};
use floor_pack::{LoadedPack, ResolveError};
use floor_proto::pack::PackRef;
use tonic::Code;

use crate::{Answer, ClientError, EncodedFloor, Floor, FloorSpec, Served, ServedBy, StatusError, Violation};

/// Floors without a server: a generator with the client's answers and errors. The floors are those of a server of the same
/// version.
///
/// ```
/// use floor_client::{FloorSpec, OfflineFloors};
///
/// let floor = OfflineFloors::new().get(&FloorSpec::new(42, 7))?.value;
/// println!("{} rooms", floor.rooms().len());
/// # Ok::<(), floor_client::ClientError>(())
/// ```
#[derive(Debug)]
pub struct OfflineFloors {
    pack: Arc<LoadedPack>,
    generator: RefCell<Generator>,
}

impl OfflineFloors {
    /// Generates floors of the built-in pack.
    #[must_use]
    pub fn new() -> Self {
        Self::of(Arc::clone(LoadedPack::built_in()))
    }

    /// Generates floors of a pack: the bytes of a `.floorpack` file.
    ///
    /// # Errors
    /// [`PackErrors`] if `file` is no pack, with everything that is wrong in it.
    pub fn with_pack(file: &[u8]) -> Result<Self, PackErrors> {
        Ok(Self::of(Arc::new(LoadedPack::from_bytes(file)?)))
    }

    /// Generates floors of `pack`.
    pub(crate) fn of(pack: Arc<LoadedPack>) -> Self {
        Self { pack, generator: RefCell::default() }
    }

    /// Generates a floor. The answer says that it was `generated`.
    ///
    /// # Errors
    /// In [`ClientError::Status`] `INVALID_ARGUMENT` if `requested` names no floor, and `NOT_FOUND` if it names another
    /// pack.
    pub fn get(&self, requested: &FloorSpec) -> Result<Answer<Floor>, ClientError> {
        let kind = kind(requested.kind)?;
        self.check_pack(&requested.pack)?;
        let spec = self
            .pack
            .resolve(requested.seed, requested.number, requested.width, requested.height, kind)
            .map_err(|error| match error {
                ResolveError::Spec(error) => invalid(error.field(), error.to_string()),
                error => of_pack(error),
            })?;
        let framed = self.pack.framed(&mut self.generator.borrow_mut(), &spec).map_err(of_pack)?;
        let value = EncodedFloor::new(floor_wire::unframed(&framed)).decode_for(requested)?;
        Ok(Answer { value, served: Served { by: ServedBy::one_from("generated"), ..Served::default() } })
    }

    fn check_pack(&self, requested: &str) -> Result<(), ClientError> {
        if PackRef::matches(requested, self.pack.reference()) {
            return Ok(());
        }
        if let Err(error) = PackRef::parse(requested) {
            return Err(invalid("pack", error.to_string()));
        }
        let own = PackRef { name: self.pack.pack().name(), hash: Some(self.pack.pack().hash().0) };
        Err(status(Code::NotFound, format!("there is no pack {requested}; the game has {own}")))
    }
}

impl Default for OfflineFloors {
    fn default() -> Self {
        Self::new()
    }
}

/// The kind with the wire's number, `None` for 0.
fn kind(number: i32) -> Result<Option<Kind>, ClientError> {
    let known = u32::try_from(number).ok().and_then(Kind::from_number);
    if known.is_none() && number != 0 {
        return Err(invalid("kind", format!("{number} is not a FloorKind: 0 ..= {}", Kind::ALL.len())));
    }
    Ok(known)
}

/// The pack's own generator made no floor.
fn of_pack(error: impl Display) -> ClientError {
    status(Code::FailedPrecondition, error.to_string())
}

fn status(code: Code, message: String) -> ClientError {
    ClientError::Status(Box::new(StatusError { code, message, violations: Vec::new(), retry_after: None }))
}

fn invalid(field: &str, description: String) -> ClientError {
    ClientError::Status(Box::new(StatusError {
        code: Code::InvalidArgument,
        message: description.clone(),
        violations: vec![Violation { field: format!("spec.{field}"), description }],
        retry_after: None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(number: u32) -> FloorSpec {
        FloorSpec { seed: 42, number, width: 48, height: 32, ..FloorSpec::default() }
    }

    #[test]
    fn a_floor_is_that_of_the_spec() {
        let answer = OfflineFloors::of(Arc::clone(LoadedPack::built_in())).get(&spec(10)).unwrap();
        assert_eq!((answer.value.spec().seed, answer.value.spec().number), (42, 10));
        assert_eq!((answer.value.width(), answer.value.height()), (48, 32));
        assert_eq!(answer.served.by.to_string(), "generated");
    }

    #[test]
    fn a_bad_spec_is_refused_with_its_field() {
        let floors = OfflineFloors::of(Arc::clone(LoadedPack::built_in()));
        let bad = [(spec(0), "spec.number"), (FloorSpec { kind: 99, ..spec(1) }, "spec.kind")];
        for (spec, field) in bad {
            let error = floors.get(&spec).unwrap_err();
            let ClientError::Status(status) = &error else { panic!("{error}") };
            assert_eq!((status.code, status.violations[0].field.as_str()), (Code::InvalidArgument, field));
        }
    }
}
