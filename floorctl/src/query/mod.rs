//! The language of `floorctl search --where`: conditions on floors, such as `kind == cavern && loops > 4`.
//!
//! [`str::parse`] parses and checks a [`Condition`] in one pass and reports errors with their column. The condition is
//! evaluated on a [`Candidate`], which generates its floor only if a fact does not follow from the spec.

mod condition;
mod error;
mod fact;
mod parser;
mod token;

pub(crate) use self::{
    condition::Condition,
    fact::{Candidate, Fact},
};
