//! What a pack says about its own generator, in `generator.toml`. It is a file of its own, because pack.toml is read by that
//! generator, which may be older than this key.

use alloc::format;

use toml::de::DeTable;

use super::error::{PackError, listed};
use super::files::Files;

/// Which rules the floors of a pack's own generator have to follow: `checks` in generator.toml.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Checks {
    /// Every rule of docs/protocol.md, as this program knows them.
    #[default]
    Strict,
    /// Those that never change: the size, a closed border, everything inside the floor, and a way between the stairs.
    Structure,
}

impl Checks {
    /// The file with the key.
    pub const FILE: &str = "generator.toml";
    const ALL: [(&str, Self); 2] = [("strict", Self::Strict), ("structure", Self::Structure)];

    /// What the files say, or the default.
    pub(super) fn read(files: &Files) -> Result<Self, PackError> {
        let Some(text) = files.get(Self::FILE) else { return Ok(Self::default()) };
        let text = core::str::from_utf8(text).unwrap_or_default();
        let table = DeTable::parse(text).map_err(|error| PackError::new(Self::FILE, 0, 0, error.message().into()))?;
        let mut checks = Self::default();
        for (key, value) in table.get_ref() {
            let value = value.get_ref().as_str().unwrap_or("no text");
            let known = Self::ALL.iter().find(|(name, _)| key.get_ref() == "checks" && *name == value);
            let wrong = || PackError::new(Self::FILE, 0, 0, format!("`{}` is {value}", key.get_ref()));
            checks = known
                .ok_or_else(|| wrong().expecting(&format!("`checks` as {}", listed(&Self::ALL.map(|(name, _)| name)))))?
                .1;
        }
        Ok(checks)
    }
}
