//! Specs and names of floors that floorctl generates itself, without a server.

use bytes::Bytes;
use floor_client::{FloorKind, FloorSpec};
use floor_gen::{Kind, SpecError};
use floor_proto::pack::PackRef;

use crate::{failure::UsageError, target::FloorName};

/// The resolved spec for the generator. A server with the same generator resolves size and kind in the same way.
pub(crate) fn resolve(requested: &FloorSpec) -> Result<floor_gen::FloorSpec, SpecError> {
    // Only the unspecified kind becomes `None`; then the tower's schedule chooses the kind.
    let kind = u32::try_from(requested.kind).ok().and_then(Kind::from_number);
    floor_gen::FloorSpec::resolve(requested.seed, requested.number, requested.width, requested.height, kind)
}

/// Generates the floor and encodes it as a server with the same generator does.
pub(crate) fn generate(requested: &FloorSpec) -> Result<Bytes, SpecError> {
    let floor = floor_gen::generate(&resolve(requested)?);
    Ok(floor_wire::unframed(&floor_wire::framed(&floor)))
}

/// An error if the floor is of another pack than the built-in one, the only one that this program has.
pub(crate) fn require_built_in(requested: &FloorSpec) -> Result<(), UsageError> {
    if PackRef::matches(&requested.pack, "") {
        return Ok(());
    }
    let pack = &requested.pack;
    Err(UsageError(format!(
        "this program has only the built-in pack tower, and --pack is {pack}: ask a server that has it"
    )))
}

/// The full name of the floor. It includes size and kind, so it stays valid if defaults or the schedule change.
pub(crate) fn name(spec: &floor_gen::FloorSpec) -> FloorName {
    FloorName(FloorSpec {
        seed: spec.seed(),
        number: spec.number(),
        width: spec.width().into(),
        height: spec.height().into(),
        kind: FloorKind::try_from(spec.kind() as i32).unwrap_or_default().into(),
        pack: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_fields_are_resolved() {
        let FloorName(requested) = "42/10".parse().unwrap();
        assert_eq!(name(&resolve(&requested).unwrap()).to_string(), "42/10:boss@100x100");
    }

    #[test]
    fn a_name_parses_to_the_same_floor() {
        for kind in Kind::ALL {
            let spec = floor_gen::FloorSpec::resolve(42, 7, 64, 48, Some(kind)).unwrap();
            let FloorName(reparsed) = name(&spec).to_string().parse().unwrap();
            assert_eq!(resolve(&reparsed), Ok(spec));
        }
    }

    #[test]
    fn a_number_out_of_range_is_rejected() {
        assert_eq!(resolve(&FloorSpec::default()), Err(SpecError::Number(0)));
    }
}
