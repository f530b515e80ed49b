//! The values of `cache.bypass`, which the benchmark compares.

use std::fmt;

use serde::Serialize;

/// The value of `cache.bypass`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bypass {
    /// The policy decides.
    Auto,
    /// The tier is always asked.
    Off,
    /// The tier is never asked.
    Forced,
}

impl Bypass {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Off, Self::Forced];

    /// The value in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Off => "off",
            Self::Forced => "forced",
        }
    }
}

impl fmt::Display for Bypass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
