//! Merges defaults, file and environment, and reads the keys of the result.

use std::{
    fmt::{self, Write as _},
    path::Path,
};

use figment::{
    Figment, Metadata, Source,
    providers::{Env, Format, Toml},
    value::{Num, Value},
};

use floor_cache::RedisConfig;

use super::{
    DEFAULTS,
    values::{Redaction, Setting},
};

/// The prefix of the server's environment variables.
const ENVIRONMENT_PREFIX: &str = "FLOORS__";
/// The prefix of variables that may be misspelt. Others have it too: Kubernetes sets `FLOORS_PORT` for a service
/// `floors`.
const SIMILAR_PREFIX: &str = "FLOORS_";

/// Defaults, file and environment, merged.
pub(super) struct Layers {
    figment: Figment,
    /// Whether the environment is included.
    environment: bool,
}

impl Layers {
    pub(super) fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        let mut figment = Figment::from(Toml::string(DEFAULTS));
        if let Some(file) = file {
            let text = std::fs::read_to_string(file)
                .map_err(|error| Problem::of_file(format!("cannot read {}: {error}", file.display())))?;
            check_syntax(&text, &file.display().to_string())?;
            figment = figment.merge(Toml::file_exact(file));
        }
        Ok(Self { figment: figment.merge(Env::prefixed(ENVIRONMENT_PREFIX).split("__")), environment: true })
    }

    pub(super) fn from_toml(text: &str) -> Result<Self, ConfigError> {
        check_syntax(text, "the given text")?;
        Ok(Self { figment: Figment::from(Toml::string(DEFAULTS)).merge(Toml::string(text)), environment: false })
    }

    /// Environment variables that match a key except for underscores, each with the correct name.
    fn misspelt(known: &[&str]) -> Vec<Problem> {
        let plain = |name: &str| name.replace(['_', '.'], "").to_uppercase();
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let candidates = names.filter(|name| name.starts_with(SIMILAR_PREFIX) && !name.starts_with(ENVIRONMENT_PREFIX));
        candidates
            .filter_map(|name| {
                let key = known.iter().find(|key| plain(key) == plain(&name[SIMILAR_PREFIX.len()..]))?;
                let message = format!("is not read; did you mean {}?", variable(key));
                Some(Problem { key: name, message })
            })
            .collect()
    }

    /// Every key in the merged layers, dotted.
    fn keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        if let Ok(data) = self.figment.extract::<Value>() {
            leaves("", &data, &mut keys);
        }
        keys
    }
}

/// Reports the position of a syntax error, which figment does not. TOML's own display would print the line, which may
/// contain a secret.
fn check_syntax(text: &str, place: &str) -> Result<(), ConfigError> {
    match text.parse::<toml::Table>() {
        Ok(_) => Ok(()),
        Err(error) => {
            let at = error.span().map(|span| position(text, span.start)).unwrap_or_default();
            let reason = error.message().lines().collect::<Vec<_>>().join(", ");
            Err(Problem::of_file(format!("{place} is not TOML{at}: {reason}")).into())
        }
    }
}

/// Line and column of a byte, both from 1.
fn position(text: &str, byte: usize) -> String {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!(" at line {line}, column {column}")
}

fn leaves(prefix: &str, value: &Value, keys: &mut Vec<String>) {
    match value.as_dict() {
        // The defaults fill every known table, so an empty one is unknown.
        Some(table) if !table.is_empty() || prefix.is_empty() => {
            for (name, value) in table {
                let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                leaves(&key, value, keys);
            }
        }
        _ => keys.push(prefix.to_owned()),
    }
}

/// Reads keys and collects their errors.
pub(super) struct Reader<'a> {
    layers: &'a Layers,
    known: Vec<&'static str>,
    problems: Vec<Problem>,
    resolved: String,
    table: &'static str,
}

impl<'a> Reader<'a> {
    pub(super) fn new(layers: &'a Layers) -> Self {
        Self { layers, known: Vec::new(), problems: Vec::new(), resolved: String::new(), table: "" }
    }

    /// The value of `key`. An error is also collected for [`finish`](Self::finish).
    pub(super) fn key<T: Setting>(&mut self, key: &'static str) -> Result<T, ConfigError> {
        self.known.push(key);
        let found = self.layers.figment.find_value(key).map_err(|_| "is missing".to_owned());
        let from = self.origin(key);
        match found.and_then(|value| T::parse(&value).ok_or_else(|| describe_invalid::<T>(&value))) {
            Ok(value) => {
                self.show(key, &value.show(), &from);
                Ok(value)
            }
            Err(is) => {
                let problem = Problem { key: key.to_owned(), message: format!("{is} ({from}); {}", T::expected()) };
                self.problems.push(problem.clone());
                Err(problem.into())
            }
        }
    }

    /// The resolved configuration as TOML, or all errors.
    pub(super) fn finish(mut self) -> Result<String, ConfigError> {
        let found = self.layers.keys();
        for key in found.iter().filter(|key| !self.known.contains(&key.as_str())) {
            let from = self.origin(key);
            let nearest = self.known.iter().copied().max_by(|a, b| similarity(key, a).total_cmp(&similarity(key, b)));
            let message = format!("is no key ({from}); the nearest is {}", nearest.unwrap_or_default());
            self.problems.push(Problem { key: key.clone(), message });
        }
        if self.layers.environment {
            self.problems.extend(Layers::misspelt(&self.known));
        }
        if self.problems.is_empty() { Ok(self.resolved) } else { Err(ConfigError(self.problems)) }
    }

    fn origin(&self, key: &str) -> String {
        match self.layers.figment.find_metadata(key) {
            Some(metadata) => origin(metadata, key),
            None => "nowhere".to_owned(),
        }
    }

    fn show(&mut self, key: &'static str, value: &str, from: &str) {
        let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
        if table != self.table {
            let gap = if self.resolved.is_empty() { "" } else { "\n" };
            let _ = writeln!(self.resolved, "{gap}[{table}]");
            self.table = table;
        }
        let line = format!("{name} = {value}");
        let _ = writeln!(self.resolved, "{line:<44}  # {from}");
    }
}

fn origin(metadata: &Metadata, key: &str) -> String {
    match metadata.source.as_ref().and_then(Source::file_path) {
        Some(path) => path.display().to_string(),
        None if metadata.name.contains("environment") => variable(key),
        None => "default".to_owned(),
    }
}

/// The environment variable of a key.
fn variable(key: &str) -> String {
    format!("{ENVIRONMENT_PREFIX}{}", key.replace('.', "__").to_uppercase())
}

/// Similarity of a misspelt key to `known`. The last part counts more than the rest.
fn similarity(key: &str, known: &str) -> f64 {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    strsim::jaro_winkler(key, known) + 2.0 * strsim::normalized_damerau_levenshtein(&last(key), &last(known))
}

fn describe_invalid<T: Setting>(value: &Value) -> String {
    match T::REDACTION {
        Redaction::None => format!("is {}", display(value)),
        Redaction::Full => "is wrong (and not shown, being secret)".to_owned(),
        Redaction::Credentials => format!("is {}", display(&redacted(value))),
    }
}

fn redacted(value: &Value) -> Value {
    let url = value.as_str().unwrap_or_default().to_owned();
    Value::from(RedisConfig { url, ..RedisConfig::default() }.redacted_url())
}

/// A value as it was written.
fn display(value: &Value) -> String {
    match value {
        Value::String(_, text) => format!("{text:?}"),
        Value::Char(_, char) => format!("\"{char}\""),
        Value::Dict(..) => "a table".to_owned(),
        Value::Array(_, items) => {
            format!("[{}]", items.iter().map(display).collect::<Vec<_>>().join(", "))
        }
        Value::Empty(..) => "empty".to_owned(),
        Value::Bool(_, bool) => bool.to_string(),
        Value::Num(_, num) => digits(*num).unwrap_or_default(),
    }
}

/// A number as text. figment distinguishes signed, unsigned and floating-point numbers.
pub(super) fn digits(num: Num) -> Option<String> {
    let whole = num.to_i128().map(|n| n.to_string()).or_else(|| num.to_u128().map(|n| n.to_string()));
    whole.or_else(|| num.to_f64().map(|n| n.to_string()))
}

/// An error in the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key; empty if the whole file is invalid.
    pub key: String,
    /// What is wrong, where the value came from, and what would be valid.
    pub message: String,
}

impl Problem {
    fn of_file(message: String) -> Self {
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
