//! The language of `floorctl search --where`: conditions on floors, such as `kind == cavern && loops > 4`.
//!
//! A [`Condition`] is made by [`str::parse`], which reads and checks in one pass; what is wrong is told with
//! the column. Evaluation asks a [`Candidate`] for facts, and only facts that the name alone does not tell
//! make the candidate generate its floor.

mod condition;
mod error;
mod fact;
mod parser;
mod token;

pub(crate) use self::{
    condition::Condition,
    fact::{Candidate, Fact},
};
