//! Specs and names of floors that floorctl generates itself, without a server.

use bytes::Bytes;
use floor_client::{EncodedFloor, Floor, FloorKind, FloorSpec};
use floor_gen::{Generator, Kind, View};
use floor_pack::{LoadedPack, ModuleError, ResolveError};

use crate::target::FloorName;

/// The resolved spec for the generator. A server with the same generator and the same pack resolves size and kind in the
/// same way.
pub(crate) fn resolve(pack: &LoadedPack, requested: &FloorSpec) -> Result<floor_gen::FloorSpec, ResolveError> {
    // Only the unspecified kind becomes `None`; then the pack's schedule chooses the kind.
    let kind = u32::try_from(requested.kind).ok().and_then(Kind::from_number);
    let spec = pack.resolve(requested.seed, requested.number, requested.width, requested.height, kind)?;
    let view = u32::try_from(requested.view).ok().and_then(View::from_number);
    Ok(spec.with_view(view.unwrap_or_default()))
}

/// Generates the floor and encodes it as a server with the same generator and the same pack does.
pub(crate) fn generate(pack: &LoadedPack, requested: &FloorSpec) -> Result<Bytes, ResolveError> {
    let spec = resolve(pack, requested)?;
    Ok(floor_wire::unframed(&pack.framed(&mut Generator::new(), &spec)?))
}

/// The floor of a spec that the pack resolved, as clients get it.
pub(crate) fn floor(
    pack: &LoadedPack,
    generator: &mut Generator,
    spec: &floor_gen::FloorSpec,
) -> Result<Floor, ModuleError> {
    let encoded = EncodedFloor::new(floor_wire::unframed(&pack.framed(generator, spec)?));
    Ok(encoded.decode().expect("a floor of a pack that was read is complete"))
}

/// The full name of the floor. It includes size and kind, so it stays valid if defaults or the schedule change.
pub(crate) fn name(spec: &floor_gen::FloorSpec) -> FloorName {
    FloorName(FloorSpec {
        seed: spec.seed(),
        number: spec.number(),
        width: spec.width().into(),
        height: spec.height().into(),
        kind: FloorKind::try_from(spec.kind() as i32).unwrap_or_default().into(),
        ..FloorSpec::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_fields_are_resolved() {
        let FloorName(requested) = "42/10".parse().unwrap();
        assert_eq!(name(&resolve(LoadedPack::built_in(), &requested).unwrap()).to_string(), "42/10:boss@100x100");
    }

    #[test]
    fn a_name_parses_to_the_same_floor() {
        for kind in Kind::ALL {
            let spec = floor_gen::FloorSpec::resolve(42, 7, 64, 48, Some(kind)).unwrap();
            let FloorName(reparsed) = name(&spec).to_string().parse().unwrap();
            assert_eq!(resolve(LoadedPack::built_in(), &reparsed), Ok(spec));
        }
    }

    #[test]
    fn a_number_out_of_range_is_rejected() {
        assert_eq!(resolve(LoadedPack::built_in(), &FloorSpec::default()), Err(floor_gen::SpecError::Number(0).into()));
    }
}
