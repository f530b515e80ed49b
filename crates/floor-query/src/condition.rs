//! A parsed and checked condition, and its evaluation.

use std::collections::BTreeSet;

use super::fact::{Candidate, Fact};

/// A condition that is true or false for a floor.
#[derive(Debug, Clone)]
pub struct Condition(pub(crate) Node);

/// A part of a condition that is true or false.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    Compare(Comparison, Quantity, Quantity),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
}

/// A numeric expression. Kinds and themes are numbers here, and the parser allows comparisons only within one type.
#[derive(Debug, Clone)]
pub(crate) enum Quantity {
    Literal(i128),
    Fact(Fact),
    Arithmetic(Operation, Box<Self>, Box<Self>),
}

/// A comparison, such as [`PartialOrd::lt`].
pub(crate) type Comparison = fn(&i128, &i128) -> bool;

/// An operation, such as [`i128::checked_add`]. `None` on a division by zero or an overflow.
pub(crate) type Operation = fn(i128, i128) -> Option<i128>;

impl Condition {
    /// Whether the floor meets the condition. Evaluates from left to right with short circuits. `None` on a division by
    /// zero, an overflow of 128 bits, or if the pack's own generator made no floor; then the floor does not match.
    #[must_use]
    pub fn holds(&self, floor: &Candidate<'_>) -> Option<bool> {
        self.0.holds(floor)
    }

    /// The facts in the condition, each once.
    #[must_use]
    pub fn facts(&self) -> BTreeSet<Fact> {
        self.0.facts()
    }
}

impl Node {
    fn holds(&self, floor: &Candidate<'_>) -> Option<bool> {
        Some(match self {
            Self::Compare(holds, left, right) => holds(&left.evaluate(floor)?, &right.evaluate(floor)?),
            Self::Not(inner) => !inner.holds(floor)?,
            Self::And(left, right) => left.holds(floor)? && right.holds(floor)?,
            Self::Or(left, right) => left.holds(floor)? || right.holds(floor)?,
        })
    }

    fn facts(&self) -> BTreeSet<Fact> {
        match self {
            Self::Compare(_, left, right) => left.facts().into_iter().chain(right.facts()).collect(),
            Self::Not(inner) => inner.facts(),
            Self::And(left, right) | Self::Or(left, right) => left.facts().into_iter().chain(right.facts()).collect(),
        }
    }
}

impl Quantity {
    fn evaluate(&self, floor: &Candidate<'_>) -> Option<i128> {
        match self {
            Self::Literal(number) => Some(*number),
            Self::Fact(fact) => fact.evaluate(floor),
            Self::Arithmetic(apply, left, right) => apply(left.evaluate(floor)?, right.evaluate(floor)?),
        }
    }

    fn facts(&self) -> BTreeSet<Fact> {
        match self {
            Self::Literal(_) => BTreeSet::new(),
            Self::Fact(fact) => BTreeSet::from([*fact]),
            Self::Arithmetic(_, left, right) => left.facts().into_iter().chain(right.facts()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use floor_gen::{FloorSpec, Generator, Kind, pack::Files};
    use floor_pack::LoadedPack;

    use super::*;

    fn candidate(generator: &RefCell<Generator>) -> Candidate<'_> {
        let spec = FloorSpec::resolve(42, 17, 48, 48, Some(Kind::Standard)).unwrap();
        Candidate::new(LoadedPack::built_in(), spec, generator)
    }

    fn holds(condition: &str) -> Option<bool> {
        condition.parse::<Condition>().unwrap().holds(&candidate(&RefCell::default()))
    }

    #[test]
    fn precedence_is_as_in_rust() {
        for (condition, expected) in [
            ("1 + 2 * 3 == 7", true),
            ("(1 + 2) * 3 == 9", true),
            ("10 - 4 - 3 == 3", true),
            ("17 / 5 * 5 + 17 % 5 == 17", true),
            ("-2 * -3 == 6 && - -1 == 1", true),
            ("1 == 1 || 1 == 2 && 1 == 3", true),
            ("(1 == 1 || 1 == 2) && 1 == 3", false),
            ("!(1 == 2) && !!(1 == 1)", true),
            ("1 < 2 && 2 <= 2 && 3 > 2 && 2 >= 2 && 1 != 2", true),
            ("0xff == 255 && 1_000 == 1000", true),
        ] {
            assert_eq!(holds(condition), Some(expected), "{condition}");
        }
    }

    #[test]
    fn every_fact_has_the_value_of_the_floor() {
        let spec = FloorSpec::resolve(42, 17, 48, 48, Some(Kind::Standard)).unwrap();
        let floor = floor_gen::generate(&spec);
        assert_eq!(holds("seed == 42 && number == 17 && width == 48 && height == 48"), Some(true));
        assert_eq!(holds("kind == standard && kind != cavern && cavern != kind && theme == warren"), Some(true));
        for (fact, value) in [
            ("rooms", floor.rooms.len()),
            ("connections", floor.connections.len()),
            ("loops", floor.metrics.loops as usize),
            ("locks", floor.locks.len()),
            ("spawns", floor.spawns.len()),
            ("items", floor.items.len()),
            ("traps", floor.traps.len()),
            ("furniture", floor.furniture.len()),
            ("passable", floor.metrics.passable_cells as usize),
            ("critical_path", floor.metrics.critical_path as usize),
            ("difficulty", floor.metrics.difficulty as usize),
        ] {
            assert_eq!(holds(&format!("{fact} == {value}")), Some(true), "{fact}");
        }
        for (fact, role) in [
            ("secrets", floor_gen::RoomRole::Secret),
            ("treasures", floor_gen::RoomRole::Treasure),
            ("vaults", floor_gen::RoomRole::Vault),
            ("shrines", floor_gen::RoomRole::Shrine),
            ("shops", floor_gen::RoomRole::Shop),
        ] {
            let count = floor.rooms.iter().filter(|room| room.role == role).count();
            assert_eq!(holds(&format!("{fact} == {count}")), Some(true), "{fact}");
        }
        for (fact, behaviour) in [
            ("sleepers", floor_gen::Behaviour::Sleeps),
            ("guards", floor_gen::Behaviour::Guards),
            ("patrollers", floor_gen::Behaviour::Patrols),
            ("wanderers", floor_gen::Behaviour::Wanders),
        ] {
            let count = floor.spawns.iter().filter(|spawn| spawn.behaviour == behaviour).count();
            assert_eq!(holds(&format!("{fact} == {count}")), Some(true), "{fact}");
        }
        let groups: BTreeSet<u8> = floor.spawns.iter().map(|spawn| spawn.group).filter(|group| *group > 0).collect();
        assert_eq!(holds(&format!("groups == {}", groups.len())), Some(true));
    }

    #[test]
    fn an_arithmetic_error_is_no_match() {
        assert_eq!(holds("1 / 0 == 1"), None);
        assert_eq!(holds("!(1 % 0 == 1)"), None);
        assert_eq!(holds("0 > 1 && 1 / 0 == 1"), Some(false));
        let big = u64::MAX;
        assert_eq!(holds(&format!("{big} * {big} * {big} > 0")), None);
    }

    #[test]
    fn a_condition_on_a_pack_sees_its_themes_and_floors() {
        let mut files = Files::new();
        files.insert("pack.toml", b"name = \"hot\"\n[schedule]\nthemes = [\"forge\"]\n").unwrap();
        let pack = LoadedPack::read(files).unwrap();
        let generator = RefCell::default();
        let holds = |pack: &LoadedPack, condition: &str| {
            let spec = pack.resolve(42, 1, 48, 48, None).unwrap();
            Condition::of_pack(pack.pack(), condition).unwrap().holds(&Candidate::new(pack, spec, &generator))
        };
        assert_eq!(holds(&pack, "theme == forge && rooms > 0"), Some(true));
        let spec = pack.resolve(42, 1, 48, 48, None).unwrap();
        let bytes = floor_wire::unframed(&pack.framed(&mut Generator::new(), &spec).unwrap()).len();
        assert_eq!(holds(&pack, &format!("bytes == {bytes}")), Some(true));
        assert_eq!(holds(LoadedPack::built_in(), "theme == crypt && rooms > 0"), Some(true));
    }

    #[test]
    fn a_floor_is_generated_only_when_its_spec_does_not_decide() {
        let generator = RefCell::default();
        for (condition, generated) in [
            ("kind == cavern && loops > 4", false),
            ("theme == crypt && rooms > 0", false),
            ("kind == standard || rooms > 0", false),
            ("kind == standard && rooms > 0", true),
        ] {
            let candidate = candidate(&generator);
            condition.parse::<Condition>().unwrap().holds(&candidate).unwrap();
            assert_eq!(candidate.was_generated(), generated, "{condition}");
        }
    }

    #[test]
    fn facts_are_listed_once() {
        let condition = "loops > 4 && (rooms / loops < 3 || !(kind == maze))".parse::<Condition>().unwrap();
        assert_eq!(condition.facts().into_iter().map(Fact::name).collect::<Vec<_>>(), ["kind", "rooms", "loops"]);
    }
}
