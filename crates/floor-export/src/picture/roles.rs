//! The form of each role whose rooms are tinted, drawn on the ground of its rooms, since a tint alone does not tell.

use floor_proto::v1::RoomRole;

/// Lines in a cell of side 1.
pub(super) const fn form(role: RoomRole) -> &'static [&'static [(f32, f32)]] {
    match role {
        RoomRole::Entry => &[&[(0.3, 0.6), (0.5, 0.38), (0.7, 0.6)]],
        RoomRole::Exit => &[&[(0.3, 0.4), (0.5, 0.62), (0.7, 0.4)]],
        RoomRole::Treasure => &[&[(0.5, 0.28), (0.7, 0.5), (0.5, 0.72), (0.3, 0.5), (0.5, 0.28)]],
        RoomRole::Key => {
            &[&[(0.28, 0.4), (0.28, 0.6)], &[(0.28, 0.5), (0.74, 0.5), (0.74, 0.66)], &[(0.6, 0.5), (0.6, 0.62)]]
        }
        RoomRole::Shrine => &[&[(0.5, 0.28), (0.5, 0.72)], &[(0.28, 0.5), (0.72, 0.5)]],
        RoomRole::Shop => &[&[(0.28, 0.4), (0.72, 0.4)], &[(0.28, 0.6), (0.72, 0.6)]],
        RoomRole::Boss => &[&[(0.3, 0.3), (0.7, 0.7)], &[(0.7, 0.3), (0.3, 0.7)]],
        RoomRole::Vault => &[&[(0.3, 0.3), (0.7, 0.3), (0.7, 0.7), (0.3, 0.7), (0.3, 0.3)]],
        RoomRole::Secret => &[&[(0.66, 0.32), (0.36, 0.4), (0.64, 0.6), (0.34, 0.68)]],
        RoomRole::Unspecified | RoomRole::Combat | RoomRole::Passage => &[],
    }
}

/// Whether a cell shows the form: of five in a row one does, so that no room of three by three lacks it.
pub(super) const fn is_shown(x: u32, y: u32) -> bool {
    (x + 2 * y).is_multiple_of(5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::colour;

    #[test]
    fn every_tint_has_a_form_of_its_own() {
        let roles = (0..12).map(|role| RoomRole::try_from(role).unwrap());
        let tinted = roles.filter(|role| colour::tint(*role).is_some()).collect::<Vec<_>>();
        assert_eq!(tinted.len(), 9);
        for (at, role) in tinted.iter().enumerate() {
            assert!(!form(*role).is_empty(), "{role:?}");
            assert!(tinted[..at].iter().all(|other| form(*other) != form(*role)), "{role:?}");
        }
    }

    #[test]
    fn every_room_of_three_by_three_shows_its_form() {
        let room = |left: u32, top: u32| (left..left + 3).flat_map(move |x| (top..top + 3).map(move |y| (x, y)));
        for (left, top) in room(0, 0).chain(room(3, 3)) {
            assert!(room(left, top).any(|(x, y)| is_shown(x, y)), "({left}, {top})");
        }
    }
}
