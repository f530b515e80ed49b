//! Floors made here, by the generator that this program was built with: no server is asked.

use floor_client::{FloorKind, FloorSpec};
use floor_gen::{Kind, SpecError};

use crate::target::FloorWord;

/// The spec that the generator takes: size and kind resolved as a server of the same generator resolves them.
pub(crate) fn resolve(asked: &FloorSpec) -> Result<floor_gen::FloorSpec, SpecError> {
    // Unspecified, the only kind on the wire that has no number here, is the schedule's.
    let kind = u32::try_from(asked.kind).ok().and_then(Kind::from_number);
    floor_gen::FloorSpec::resolve(asked.seed, asked.number, asked.width, asked.height, kind)
}

/// The floor's name in one word, whole: whatever the schedule becomes, the word names this floor.
pub(crate) fn word(spec: &floor_gen::FloorSpec) -> FloorWord {
    FloorWord(FloorSpec {
        seed: spec.seed(),
        number: spec.number(),
        width: spec.width().into(),
        height: spec.height().into(),
        kind: FloorKind::try_from(spec.kind() as i32).unwrap_or_default().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_open_is_resolved() {
        let FloorWord(asked) = "42/10".parse().unwrap();
        assert_eq!(word(&resolve(&asked).unwrap()).to_string(), "42/10:boss@100x100");
    }

    #[test]
    fn a_word_names_the_same_floor_again() {
        for kind in Kind::ALL {
            let spec = floor_gen::FloorSpec::resolve(42, 7, 64, 48, Some(kind)).unwrap();
            let FloorWord(again) = word(&spec).to_string().parse().unwrap();
            assert_eq!(resolve(&again), Ok(spec));
        }
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        assert_eq!(resolve(&FloorSpec::default()), Err(SpecError::Number(0)));
    }
}
