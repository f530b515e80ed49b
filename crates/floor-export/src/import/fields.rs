//! The fields of a map or of a thing on it, by name.

use std::{cell::RefCell, collections::BTreeSet};

use serde_json::{Map as Values, Value};

use super::{ImportError, Report, is_own, wrong};

/// Fields, and whose they are, for errors.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) of: String,
    /// By lower-case names.
    values: Values<String, Value>,
    /// The names that were asked for: what a floor keeps of it.
    asked: RefCell<BTreeSet<String>>,
}

impl Fields {
    /// The fields of a thing, without the designer's own.
    pub(super) fn new(of: String, all: impl IntoIterator<Item = (String, Value)>, report: &mut Report) -> Self {
        let mut values = Values::new();
        for (name, value) in all {
            if is_own(&name) {
                report.own(&name, 0);
            } else if values.insert(name.to_lowercase(), value).is_some() {
                report.problem(format!("{of} has `{}` twice", name.to_lowercase()));
            }
        }
        Self { of, values, asked: RefCell::default() }
    }

    /// Whether there is a value that says something.
    pub(super) fn has(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| value != "")
    }

    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.values.insert(name.to_owned(), value);
    }

    /// Reports the fields that nothing asked for.
    pub(super) fn report_left(&self, report: &mut Report) {
        let asked = self.asked.borrow();
        for name in self.values.keys().filter(|name| !asked.contains(*name)) {
            let known = if asked.is_empty() {
                "nothing more".to_owned()
            } else {
                asked.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
            };
            report.problem(format!(
                "{} has `{name}`, which a floor does not keep; it keeps {known}. `_{name}` would be yours",
                self.of
            ));
        }
    }

    fn get(&self, name: &str) -> Result<&Value, ImportError> {
        self.asked.borrow_mut().insert(name.to_owned());
        self.value(name).ok_or_else(|| wrong(format!("{} has no `{name}`", self.of)))
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
        self.asked.borrow_mut().insert(name.to_owned());
        if self.values.contains_key(name) { self.text(name).map(str::to_owned) } else { Ok(String::new()) }
    }

    /// A number, also as text, which is how editors keep those that they cannot hold.
    pub(super) fn number(&self, name: &str) -> Result<u32, ImportError> {
        self.large_number(name)?.try_into().or_else(|_| self.unlike(name, "at most 4294967295"))
    }

    /// A number, or another if there is no such field.
    pub(super) fn number_or(&self, name: &str, other: Option<u32>) -> Result<u32, ImportError> {
        match (self.number(name), other) {
            (Err(_), Some(other)) if !self.has(name) => Ok(other),
            (found, _) => found,
        }
    }

    pub(super) fn large_number(&self, name: &str) -> Result<u64, ImportError> {
        let value = self.get(name)?;
        // A property of the type float has whole numbers too.
        let whole =
            |number: f64| (number >= 0.0 && number < 2f64.powi(53) && number.fract() == 0.0).then_some(number as u64);
        let number = value.as_u64().or_else(|| whole(value.as_f64()?)).or_else(|| value.as_str()?.trim().parse().ok());
        number.map_or_else(|| self.unlike(name, "a whole number"), Ok)
    }

    pub(super) fn truth(&self, name: &str) -> Result<bool, ImportError> {
        self.get(name)?.as_bool().map_or_else(|| self.unlike(name, "true or false"), Ok)
    }

    /// The value of a name of a list, in whatever letters.
    pub(super) fn named<T>(&self, name: &str, all: impl Iterator<Item = (String, T)>) -> Result<T, ImportError> {
        let found = self.text(name)?.trim();
        let mut names = Vec::new();
        for (known, value) in all {
            if known.eq_ignore_ascii_case(found) {
                return Ok(value);
            }
            names.push(known);
        }
        self.unlike(name, &format!("one of {}", names.join(", ")))
    }
}
