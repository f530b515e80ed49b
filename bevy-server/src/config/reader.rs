//! Reads the keys of the merged layers, collects their errors, and prints their values.

use std::{borrow::Cow, fmt::Write as _};

use figment::value::Value;

use super::{
    error::{ConfigError, Problem},
    formats::{Format, Redaction, digits},
    layers::{self, Layers},
};

/// Keys of earlier versions, and what to do about them.
const REMOVED: [(&str, &str); 14] = [
    ("cache.hedge", "a slow tier ends by its timeout and its breaker; remove the key"),
    (
        "cache.audit",
        "stored floors are checked when they are read, and `floorctl verify` compares them; remove the key",
    ),
    ("cache.redis.lease", "several servers that miss a floor at once each generate it, which is rare; remove the key"),
    ("cache.keys", "write the keys into a file, one a line, and its path into cache.keys_file"),
    ("generation.queue", "1024 floors may wait for each thread, 4096 in all; remove the key"),
    ("grpc.idle_timeout", "it is always 10m; remove the key"),
    ("grpc.max_streams", "it is always 128; remove the key"),
    ("grpc.reflection", "the server always answers reflection; remove the key"),
    ("grpc.stall_timeout", "it is always 30s; remove the key"),
    ("grpc.unsent", "it is always 64MiB; remove the key"),
    ("limits.burst_cells", "it is always 4194304; remove the key"),
    ("log.slow", "it is always 1s; remove the key"),
    ("prefetch.ahead", "write generation.prefetch = true, or false instead of 0"),
    ("trace.max_per_second", "it is always 100; remove the key"),
];

/// The removed key that is always an error: without it values would be stored unsealed.
const SEALS: &str = "cache.keys";

/// A configuration without errors.
pub(super) struct Resolved {
    /// As TOML, each key with its source.
    pub(super) text: String,
    /// The unknown keys, if they are tolerated.
    pub(super) warnings: Vec<String>,
}

/// Reads keys and collects their errors.
pub(super) struct Reader<'a> {
    layers: &'a Layers,
    known: Vec<Cow<'static, str>>,
    problems: Vec<Problem>,
    resolved: String,
    /// The table whose values were printed last.
    table: String,
}

impl<'a> Reader<'a> {
    pub(super) fn new(layers: &'a Layers) -> Self {
        Self { layers, known: Vec::new(), problems: Vec::new(), resolved: String::new(), table: String::new() }
    }

    /// The value of `key`. If it is invalid, the error is collected for [`finish`](Self::finish), and the default takes
    /// its place until then.
    pub(super) fn key<F: Format>(&mut self, key: &'static str, format: F) -> F::Output {
        self.known.push(key.into());
        let found = self.layers.value(key).ok_or_else(|| "is missing".to_owned());
        match found.and_then(|value| format.parse(&value).ok_or_else(|| describe_invalid(&format, &value))) {
            Ok(value) => {
                self.show(key, &format.show(&value));
                value
            }
            Err(is) => {
                self.refuse(key, &is, &format.expected());
                let default = layers::default(key).and_then(|value| format.parse(&value));
                default.expect("every key has a valid default")
            }
        }
    }

    /// The value of `key`, which has no default in the defaults: `missing` takes its place. `None` if there is none, or it
    /// is invalid; the error is collected.
    pub(super) fn entry<F: Format>(&mut self, key: String, format: F, missing: Option<F::Output>) -> Option<F::Output> {
        let value = match (self.layers.value(&key), missing) {
            (Some(value), _) => format.parse(&value).ok_or_else(|| describe_invalid(&format, &value)),
            (None, Some(missing)) => Ok(missing),
            (None, None) => Err("is missing".to_owned()),
        };
        let value = match value {
            Ok(value) => {
                self.show(&key, &format.show(&value));
                Some(value)
            }
            Err(is) => {
                self.refuse(&key, &is, &format.expected());
                None
            }
        };
        self.known.push(key.into());
        value
    }

    /// The table `name`, which has no defaults. It may be empty, and so may the tables in it.
    pub(super) fn table(&mut self, name: &'static str) -> Option<Value> {
        let table = self.layers.value(name)?;
        let inner = table.as_dict().into_iter().flatten().filter(|(_, value)| value.as_dict().is_some());
        self.known.extend(inner.map(|(inner, _)| format!("{name}.{inner}").into()));
        self.known.extend(table.as_dict().map(|_| name.into()));
        Some(table)
    }

    /// Collects an error: what is wrong with the value of `key`, and what to do.
    pub(super) fn refuse(&mut self, key: &str, is: &str, advice: &str) {
        let message = match self.layers.value(key) {
            Some(_) => format!("{is} ({}); {advice}", self.layers.origin(key)),
            None => format!("{is}; {advice}"),
        };
        self.problems.push(Problem { key: key.to_owned(), message });
    }

    /// The resolved configuration, or all errors.
    pub(super) fn finish(mut self) -> Result<Resolved, ConfigError> {
        let seals = self.layers.value(SEALS).is_some_and(|value| value.as_str() != Some(""));
        let is_error = |problem: &mut Problem| !self.layers.tolerate_unknown || (seals && problem.key == SEALS);
        let mut unknown = self.unknown_keys();
        self.problems.extend(unknown.extract_if(.., is_error));
        self.problems.extend(self.layers.misspelt(&self.known));
        ConfigError::from_problems(self.problems)?;
        let warnings = unknown.iter().map(|problem| format!("{problem}; the key is ignored")).collect();
        Ok(Resolved { text: self.resolved, warnings })
    }

    fn unknown_keys(&self) -> Vec<Problem> {
        let found = self.layers.keys().into_iter().filter(|key| !self.known.iter().any(|known| known == key));
        let problem =
            |key: String| Problem { message: self.describe_unknown(&key), key: without_login(&key).into_owned() };
        found.map(problem).collect()
    }

    fn describe_unknown(&self, key: &str) -> String {
        let from = self.layers.origin(key);
        if let Some((_, why)) = REMOVED.iter().find(|(removed, _)| *removed == key) {
            return format!("is no key any more ({from}): {why}");
        }
        let nearest = self.known.iter().max_by(|a, b| similarity(key, a).total_cmp(&similarity(key, b)));
        format!("is no key ({from}); the nearest is {}", nearest.map(|key| &**key).unwrap_or_default())
    }

    fn show(&mut self, key: &str, value: &str) {
        let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
        if table != self.table {
            let gap = if self.resolved.is_empty() { "" } else { "\n" };
            let _ = writeln!(self.resolved, "{gap}[{table}]");
            table.clone_into(&mut self.table);
        }
        let line = format!("{name} = {value}");
        let origin = self.layers.value(key).map_or_else(|| "default".to_owned(), |_| self.layers.origin(key));
        let _ = writeln!(self.resolved, "{line:<44}  # {origin}");
    }
}

/// Similarity of a misspelt key to `known`. The last part counts more than the rest.
fn similarity(key: &str, known: &str) -> f64 {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    strsim::jaro_winkler(key, known) + 2.0 * strsim::normalized_damerau_levenshtein(&last(key), &last(known))
}

fn describe_invalid<F: Format>(format: &F, value: &Value) -> String {
    let is = match F::REDACTION {
        Redaction::None => format!("is {}", display(value)),
        Redaction::Part(redacted) => format!("is {:?}", redacted(value.as_str().unwrap_or_default())),
    };
    match format.problem(value) {
        Some(problem) => format!("{is}, which {problem}"),
        None => is,
    }
}

/// `text`, unless it is a URL with a user or a password, which may stand where none belongs.
fn without_login(text: &str) -> Cow<'_, str> {
    if text.contains("://") && text.contains('@') { floor_proto::url::redacted(text).into() } else { text.into() }
}

/// A value as it was written, but for a secret.
fn display(value: &Value) -> String {
    match value {
        Value::String(_, text) => format!("{:?}", without_login(text)),
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
