//! Merges defaults, file and environment, and knows where each value came from.

use std::path::Path;

use figment::{
    Error, Figment, Metadata, Profile, Provider, Source,
    providers::{Env, Format},
    util::nest,
    value::{Dict, Map, Value},
};

use floor_proto::text;

use super::{
    DEFAULTS,
    error::{ConfigError, Problem},
};

/// The prefix of the server's environment variables.
const ENVIRONMENT_PREFIX: &str = "FLOORS__";
/// The letters with which variables begin that may be misspelt. Others begin so too: Kubernetes sets `FLOORS_PORT` for a
/// service `floors`.
const SIMILAR_PREFIX: &str = "FLOORS";
/// The variable that says what an unknown key is. It is no key, so that versions which do not know it ignore it.
const UNKNOWN_KEYS: &str = "FLOORS_UNKNOWN_KEYS";

/// TOML by the version of `toml` that everything else uses; figment's own reader brings an older one along.
struct Toml;

impl Format for Toml {
    type Error = toml::de::Error;

    const NAME: &'static str = "TOML";

    fn from_str<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Self::Error> {
        toml::from_str(text)
    }
}

/// Defaults, file and environment, merged.
pub(super) struct Layers {
    figment: Figment,
    /// Whether the environment is included.
    environment: bool,
    /// Whether an unknown key is a warning and no error.
    pub(super) tolerate_unknown: bool,
}

impl Layers {
    pub(super) fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        let mut figment = defaults();
        if let Some(file) = file {
            let bytes = std::fs::read(file)
                .map_err(|error| Problem::without_key(format!("cannot read {}: {error}", file.display())))?;
            let text = text::decode(&bytes)
                .map_err(|problem| Problem::without_key(format!("{} {problem}", file.display())))?;
            check_syntax(text, &file.display().to_string())?;
            figment = figment.merge(Toml::file_exact(file));
        }
        ConfigError::from_problems(not_utf8())?;
        let variables = Env::prefixed(ENVIRONMENT_PREFIX).split("__");
        let figment = variables
            .iter()
            .fold(figment, |figment, (key, text)| figment.merge(Variable { key: key.as_str().to_owned(), text }));
        Ok(Self { figment, environment: true, tolerate_unknown: tolerate_unknown()? })
    }

    pub(super) fn from_toml(text: &str) -> Result<Self, ConfigError> {
        check_syntax(text, "the given text")?;
        Ok(Self { figment: defaults().merge(Toml::string(text)), environment: false, tolerate_unknown: false })
    }

    /// The defaults with one variable of the environment.
    #[cfg(test)]
    pub(super) fn from_variable(key: &str, text: &str) -> Self {
        let variable = Variable { key: key.to_owned(), text: text.to_owned() };
        Self { figment: defaults().merge(variable), environment: false, tolerate_unknown: false }
    }

    /// The merged value of `key`.
    pub(super) fn value(&self, key: &str) -> Option<Value> {
        self.figment.find_value(key).ok()
    }

    /// The file or variable that the value of `key` comes from.
    pub(super) fn origin(&self, key: &str) -> String {
        match self.figment.find_metadata(key) {
            Some(metadata) => origin(metadata, key),
            None => "nowhere".to_owned(),
        }
    }

    /// Every key in the merged layers, dotted.
    pub(super) fn keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        if let Ok(data) = self.figment.extract::<Value>() {
            leaves("", &data, &mut keys);
        }
        keys
    }

    /// Environment variables that match a key by their letters and are not read, each with the correct name.
    pub(super) fn misspelt(&self, known: &[impl AsRef<str>]) -> Vec<Problem> {
        if !self.environment {
            return Vec::new();
        }
        let plain = |name: &str| name.replace(|c: char| !c.is_ascii_alphanumeric(), "").to_uppercase();
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        names
            .filter(|name| !is_read(name))
            .filter_map(|name| {
                let letters = plain(&name);
                // From a file whose lines a shell reads, and something else does not.
                let letters = letters.strip_prefix("EXPORT").unwrap_or(&letters);
                let written = letters.strip_prefix(SIMILAR_PREFIX)?;
                let key = known.iter().map(AsRef::as_ref).find(|key| plain(key) == written)?;
                let message = format!("is not read; did you mean {}?", variable(key));
                // Characters that are not visible are escaped.
                Some(Problem { key: name.escape_debug().to_string(), message })
            })
            .collect()
    }
}

/// A variable of the environment. Its value is text, as between quotes in a file, unless it is a list, a table or quoted
/// itself: figment's own provider makes numbers of text, so that `007` would become 7 and `1.50` 1.5.
struct Variable {
    key: String,
    text: String,
}

impl Provider for Variable {
    fn metadata(&self) -> Metadata {
        Metadata::named("environment variable")
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        let text = self.text.trim();
        let value = match text.parse::<Value>() {
            Ok(value) if text.starts_with(['[', '{', '"']) => value,
            Ok(_) => Value::from(text),
        };
        Ok(nest(&self.key, value).into_dict().map(|dict| Profile::Default.collect(dict)).unwrap_or_default())
    }
}

/// What the environment says about unknown keys.
fn tolerate_unknown() -> Result<bool, Problem> {
    let value = std::env::var_os(UNKNOWN_KEYS).unwrap_or_default();
    match value.to_str().map(str::trim) {
        Some("" | "error") => Ok(false),
        Some("warn") => Ok(true),
        _ => {
            let message = format!("must be \"error\" or \"warn\", not {value:?}");
            Err(Problem { key: UNKNOWN_KEYS.to_owned(), message })
        }
    }
}

/// Whether a variable of this name is one of the configuration.
fn is_read(name: &str) -> bool {
    name.get(..ENVIRONMENT_PREFIX.len()).is_some_and(|prefix| prefix.eq_ignore_ascii_case(ENVIRONMENT_PREFIX))
}

/// Variables whose values are no text. They would be read with other characters in the place of the wrong bytes.
fn not_utf8() -> Vec<Problem> {
    let names = std::env::vars_os().filter(|(_, value)| value.to_str().is_none()).map(|(name, _)| name);
    let names = names.filter_map(|name| name.into_string().ok()).filter(|name| is_read(name));
    names.map(|key| Problem { key, message: "is not UTF-8; write it in UTF-8".to_owned() }).collect()
}

/// The default of `key`.
pub(super) fn default(key: &str) -> Option<Value> {
    defaults().find_value(key).ok()
}

fn defaults() -> Figment {
    Figment::from(Toml::string(DEFAULTS))
}

/// Reports the position of a syntax error, which figment does not. TOML's own display would print the line, which may
/// contain a secret.
fn check_syntax(text: &str, place: &str) -> Result<(), ConfigError> {
    match text.parse::<toml::Table>() {
        Ok(_) => Ok(()),
        Err(error) => {
            let at = error.span().map(|span| position(text, span.start)).unwrap_or_default();
            let reason = toml_reason(text, &error);
            Err(Problem::without_key(format!("{place} is not TOML{at}: {reason}")).into())
        }
    }
}

/// Why `text` is not TOML, with a remark on a character that people do not see or take for another. The error's own
/// display would print the line, which may hold a secret.
pub(crate) fn toml_reason(text: &str, error: &toml::de::Error) -> String {
    let mut reason = error.message().lines().collect::<Vec<_>>().join(", ");
    // The reader reports some characters at themselves, others at what follows.
    let remark_at = |byte| text::remark_at(text.as_bytes(), byte);
    if let Some(remark) =
        error.span().and_then(|span| remark_at(span.start).or_else(|| remark_at(span.start.checked_sub(1)?)))
    {
        reason.push_str("; ");
        reason.push_str(&remark);
    }
    reason
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
