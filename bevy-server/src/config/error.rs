//! The errors of a configuration.

use std::fmt;

/// An error in the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key; empty if the whole file is invalid.
    pub key: String,
    /// What is wrong, where the value came from, and what would be valid.
    pub message: String,
}

impl Problem {
    /// A problem whose message names its place itself.
    pub(crate) fn without_key(message: String) -> Self {
        Self { key: String::new(), message }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() { f.write_str(&self.message) } else { write!(f, "{} {}", self.key, self.message) }
    }
}

/// All errors of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError(Vec<Problem>);

impl ConfigError {
    /// `problems` as an error, unless there is none.
    pub(crate) fn from_problems(problems: Vec<Problem>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self(problems)) }
    }

    /// This error with more problems.
    pub(crate) fn with(mut self, more: Vec<Problem>) -> Self {
        self.0.extend(more);
        self
    }

    /// The errors in the order of the keys, unknown keys last. Never empty.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.0
    }
}

impl From<Problem> for ConfigError {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => write!(f, "the configuration is wrong: {one}"),
            many => {
                write!(f, "the configuration is wrong in {} places:", many.len())?;
                many.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
            }
        }
    }
}

impl std::error::Error for ConfigError {}
