//! Resolves the floor specs of requests. What is resolved is valid, and no code behind checks it again.

use std::fmt::Display;

use floor_gen::{FloorSpec, Kind, SpecError};
use floor_proto::v1;

use crate::grpc::status::Violation;

/// Resolves the spec in `field` of the request.
pub(super) fn resolve(requested: Option<&v1::FloorSpec>, field: impl Display) -> Result<FloorSpec, Vec<Violation>> {
    let Some(requested) = requested else {
        return Err(vec![Violation::new(field.to_string(), "missing: it must name a floor")]);
    };
    let kind = match requested.kind {
        0 => Some(None),
        number => u32::try_from(number).ok().and_then(Kind::from_number).map(Some),
    };
    let resolved =
        kind.map(|kind| FloorSpec::resolve(requested.seed, requested.number, requested.width, requested.height, kind));
    match resolved {
        Some(Ok(spec)) => Ok(spec),
        _ => Err(field_violations(requested, kind.is_some(), &field)),
    }
}

/// The violations of every invalid field. Each is checked with valid values for the others.
fn field_violations(requested: &v1::FloorSpec, kind_is_valid: bool, field: &impl Display) -> Vec<Violation> {
    let alone = |number, width, height| FloorSpec::resolve(requested.seed, number, width, height, None).err();
    let errors = [alone(requested.number, 0, 0), alone(1, requested.width, 0), alone(1, 0, requested.height)];
    let wrong = |error: SpecError| Violation::new(format!("{field}.{}", error.field()), error.to_string());
    let mut wrong: Vec<_> = errors.into_iter().flatten().map(wrong).collect();
    if !kind_is_valid {
        let description = format!("{} is not a FloorKind; offered: {}", requested.kind, offered());
        wrong.push(Violation::new(format!("{field}.kind"), description));
    }
    wrong
}

fn offered() -> String {
    Kind::ALL.iter().map(|kind| format!("{} ({})", *kind as u8, kind)).collect::<Vec<_>>().join(", ")
}
