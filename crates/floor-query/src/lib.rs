//! Conditions on floors, such as `kind == cavern && loops > 4`: the language of `floorctl search --where` and of the
//! viewer's seed search.
//!
//! [`str::parse`] parses and checks a [`Condition`] in one pass and reports errors with their column. The condition is
//! evaluated on a [`Candidate`], which generates its floor only if a fact does not follow from the spec.
#![forbid(unsafe_code)]

mod condition;
mod error;
mod fact;
mod nearest;
mod parser;
mod token;

pub use self::{
    condition::Condition,
    fact::{Candidate, Fact},
    nearest::nearest,
    token::seed,
};
