//! What a floor is made from: its spec and its pack.

use crate::floor::Point;
use crate::pack::content::{Choice, Content, NameId, Theme};
use crate::pack::params::Params;
use crate::rng::Rng;
use crate::spec::FloorSpec;

/// The spec of a floor, with what its pack says about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan<'p> {
    pub(crate) spec: FloorSpec,
    pub(crate) content: &'p Content,
    /// The index of its theme.
    pub(crate) theme: usize,
    /// The cell of the stairs up.
    pub(crate) arrival: Point,
    /// The cell of the stairs down.
    pub(crate) departure: Point,
}

impl<'p> Plan<'p> {
    pub(crate) fn new(content: &'p Content, spec: &FloorSpec) -> Self {
        let (arrival, departure) = (spec.arrival(), spec.departure());
        Self { spec: *spec, content, theme: content.theme_of(spec.number()), arrival, departure }
    }

    pub(crate) fn params(&self) -> &'p Params {
        self.content.params(self.spec.kind())
    }

    pub(crate) fn theme(&self) -> &'p Theme {
        &self.content.themes[self.theme]
    }

    /// The base level of the floor.
    pub(crate) fn level(&self) -> u32 {
        self.params().curve.level_of_floor(self.spec.number())
    }

    /// A name of the list that is for this floor's number. Draws nothing if there is one name only.
    pub(crate) fn choose(&self, list: &[Choice], rng: &mut Rng) -> NameId {
        let mut fitting = list.iter().filter(|choice| choice.from <= self.spec.number());
        let mut others = fitting.clone().skip(1);
        let choice = if others.next().is_some() { rng.choose(fitting, |choice| choice.weight) } else { fitting.next() };
        // The reader checks that each list has a name for floor 1.
        choice.map_or_else(NameId::default, |choice| choice.name)
    }
}
