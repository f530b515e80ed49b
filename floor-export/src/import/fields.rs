//! The fields of a map or of a thing on it, by name.

use serde_json::{Map as Values, Value};

use super::{ImportError, wrong};

/// Fields, and whose they are, for errors.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) of: String,
    pub(super) values: Values<String, Value>,
}

impl Fields {
    fn get(&self, name: &str) -> Result<&Value, ImportError> {
        self.values
            .get(name)
            .filter(|value| !value.is_null())
            .ok_or_else(|| wrong(format!("{} has no `{name}`", self.of)))
    }

    /// An error about a value.
    fn unlike<T>(&self, name: &str, expected: &str) -> Result<T, ImportError> {
        Err(wrong(format!("{}: `{name}` is {}; expected {expected}", self.of, self.values[name])))
    }

    pub(super) fn text(&self, name: &str) -> Result<&str, ImportError> {
        self.get(name)?.as_str().map_or_else(|| self.unlike(name, "a text"), Ok)
    }

    /// A text, or nothing if there is no such field.
    pub(super) fn text_or_empty(&self, name: &str) -> Result<String, ImportError> {
        if self.values.contains_key(name) { self.text(name).map(str::to_owned) } else { Ok(String::new()) }
    }

    /// A number, also as text, which is how editors keep those that they cannot hold.
    pub(super) fn number(&self, name: &str) -> Result<u32, ImportError> {
        self.large_number(name)?.try_into().or_else(|_| self.unlike(name, "at most 4294967295"))
    }

    pub(super) fn large_number(&self, name: &str) -> Result<u64, ImportError> {
        let value = self.get(name)?;
        let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
        number.map_or_else(|| self.unlike(name, "a whole number"), Ok)
    }

    pub(super) fn truth(&self, name: &str) -> Result<bool, ImportError> {
        self.get(name)?.as_bool().map_or_else(|| self.unlike(name, "true or false"), Ok)
    }

    /// The value of a name of a list.
    pub(super) fn named<T>(&self, name: &str, all: impl Iterator<Item = (String, T)>) -> Result<T, ImportError> {
        let found = self.text(name)?;
        let mut names = Vec::new();
        for (known, value) in all {
            if known == found {
                return Ok(value);
            }
            names.push(known);
        }
        self.unlike(name, &format!("one of {}", names.join(", ")))
    }
}
