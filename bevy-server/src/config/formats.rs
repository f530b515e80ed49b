//! How the values of keys are written. Each format parses a merged value, prints it as TOML, and says what is valid.

use std::{
    fmt::Display,
    net::SocketAddr,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use bytesize::ByteSize;
use figment::value::{Num, Value};
use floor_proto::pack;

/// How the value of a key is written.
pub(super) trait Format {
    type Output;

    /// What an error message hides of an invalid value.
    const REDACTION: Redaction = Redaction::None;

    /// The end of an error message: what is valid.
    fn expected(&self) -> String;

    fn parse(&self, value: &Value) -> Option<Self::Output>;

    /// What is wrong with an invalid value, if that is not obvious. Follows "which".
    fn problem(&self, _value: &Value) -> Option<String> {
        None
    }

    /// The value as TOML, secrets redacted.
    fn show(&self, value: &Self::Output) -> String;
}

/// The part of an invalid value that an error message hides.
pub(super) enum Redaction {
    None,
    /// What this function hides: the user and password of a URL, a secret in the place of the file that should hold it.
    Part(fn(&str) -> String),
}

/// Text. A number in a file is none: `0x10` and `1e3` are other texts when they are read.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(_, text) => Some(text.clone()),
        Value::Char(_, char) => Some(char.to_string()),
        _ => None,
    }
}

/// A number as text: a file has it without quotes, or with.
pub(super) fn number(value: &Value) -> Option<String> {
    match value {
        Value::Num(_, num) => digits(*num),
        _ => text(value),
    }
}

/// A number as text. figment distinguishes signed, unsigned and floating-point numbers.
pub(super) fn digits(num: Num) -> Option<String> {
    let whole = num.to_i128().map(|n| n.to_string()).or_else(|| num.to_u128().map(|n| n.to_string()));
    whole.or_else(|| num.to_f64().map(|n| n.to_string()))
}

/// `text` as TOML.
pub(super) fn quote(text: impl Display) -> String {
    toml::Value::from(text.to_string()).to_string()
}

/// Values as a list in TOML.
pub(super) fn quote_all<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    format!("[{}]", items.into_iter().map(quote).collect::<Vec<_>>().join(", "))
}

/// An address and a port.
pub(super) struct Address;

impl Format for Address {
    type Output = SocketAddr;

    fn expected(&self) -> String {
        "write an address and a port, as in \"127.0.0.1:50051\" or \"[::1]:50051\"".to_owned()
    }

    fn parse(&self, value: &Value) -> Option<SocketAddr> {
        text(value)?.parse().ok()
    }

    fn show(&self, address: &SocketAddr) -> String {
        quote(address)
    }
}

/// The path of a directory that need not exist.
pub(super) struct Directory;

impl Format for Directory {
    type Output = PathBuf;

    fn expected(&self) -> String {
        "write the path of a directory as text, as in \"./data/lmdb\"".to_owned()
    }

    fn parse(&self, value: &Value) -> Option<PathBuf> {
        text(value).filter(|path| !path.is_empty() && !has_tilde(path)).map(PathBuf::from)
    }

    fn problem(&self, value: &Value) -> Option<String> {
        let is_of_shell = text(value).is_some_and(|path| has_tilde(&path));
        is_of_shell.then(|| "begins with ~, which only a shell replaces by the home directory".to_owned())
    }

    fn show(&self, path: &PathBuf) -> String {
        quote(path.display())
    }
}

fn has_tilde(path: &str) -> bool {
    path == "~" || path.starts_with("~/")
}

/// The path of a file that is read later, if one is named.
pub(super) struct FilePath {
    pub(super) expected: &'static str,
}

impl Format for FilePath {
    /// `None` if the path is empty.
    type Output = Option<PathBuf>;

    fn expected(&self) -> String {
        self.expected.to_owned()
    }

    fn parse(&self, value: &Value) -> Option<Self::Output> {
        let path = PathBuf::from(text(value)?);
        Some((!path.as_os_str().is_empty()).then_some(path))
    }

    fn show(&self, path: &Self::Output) -> String {
        quote(path.as_deref().unwrap_or(Path::new("")).display())
    }
}

/// The contents of a file, with its path. The file is read with the configuration, so that a start finds an error in it.
pub(super) struct File<T> {
    pub(super) expected: &'static str,
    /// The contents, or what is wrong with the file. Follows "which".
    pub(super) read: fn(&Path) -> Result<T, String>,
}

/// A file that was read.
pub(super) struct Named<T> {
    pub(super) path: PathBuf,
    pub(super) contents: T,
}

/// `path` for messages. What does not look like a path may be the secret that its file should hold.
fn shown_path(path: &str) -> String {
    let is_path = path.contains(['/', '.', '\\']) || Path::new(path).exists();
    if is_path { path.to_owned() } else { "***".to_owned() }
}

impl<T> Format for File<T> {
    /// `None` if the path is empty.
    type Output = Option<Named<T>>;

    const REDACTION: Redaction = Redaction::Part(shown_path);

    fn expected(&self) -> String {
        self.expected.to_owned()
    }

    fn parse(&self, value: &Value) -> Option<Self::Output> {
        let path = PathBuf::from(text(value)?);
        if path.as_os_str().is_empty() {
            return Some(None);
        }
        (self.read)(&path).ok().map(|contents| Some(Named { path, contents }))
    }

    fn problem(&self, value: &Value) -> Option<String> {
        (self.read)(Path::new(&text(value)?)).err()
    }

    fn show(&self, file: &Self::Output) -> String {
        quote(file.as_ref().map_or(Path::new(""), |file| file.path.as_path()).display())
    }
}

/// `true` or `false`.
pub(super) struct Flag;

impl Format for Flag {
    type Output = bool;

    fn expected(&self) -> String {
        "write true or false".to_owned()
    }

    fn parse(&self, value: &Value) -> Option<bool> {
        match value {
            Value::Bool(_, flag) => Some(*flag),
            _ => text(value)?.parse().ok(),
        }
    }

    fn show(&self, flag: &bool) -> String {
        flag.to_string()
    }
}

/// A whole number.
pub(super) struct Whole<T> {
    bounds: RangeInclusive<T>,
    note: &'static str,
}

/// A whole number within `bounds`.
pub(super) fn whole<T>(bounds: RangeInclusive<T>) -> Whole<T> {
    Whole { bounds, note: "" }
}

impl<T> Whole<T> {
    /// Adds a note on the bounds, for errors: `"; 0 for no limit"`.
    pub(super) fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }
}

impl<T: Copy + Display + FromStr + PartialOrd> Format for Whole<T> {
    type Output = T;

    fn expected(&self) -> String {
        format!("write a whole number, {} ..= {}{}", self.bounds.start(), self.bounds.end(), self.note)
    }

    fn parse(&self, value: &Value) -> Option<T> {
        number(value)?.parse::<T>().ok().filter(|number| self.bounds.contains(number))
    }

    fn show(&self, number: &T) -> String {
        number.to_string()
    }
}

/// A size in memory or on disk, in bytes.
pub(super) enum Size {
    /// At least 1 MiB.
    Limited,
    /// The same, or 0 for no limit.
    MaybeUnlimited,
}

impl Format for Size {
    type Output = u64;

    fn expected(&self) -> String {
        match self {
            Self::Limited => "write a size of at least 1MiB, as in \"256MiB\" or \"4GiB\"".to_owned(),
            Self::MaybeUnlimited => "write a size of at least 1MiB, as in \"4GiB\", or \"0\" for no limit".to_owned(),
        }
    }

    fn parse(&self, value: &Value) -> Option<u64> {
        let size = number(value)?.parse::<ByteSize>().ok()?.as_u64();
        let is_unlimited = size == 0 && matches!(self, Self::MaybeUnlimited);
        (is_unlimited || size >= bytesize::MIB).then_some(size)
    }

    fn show(&self, size: &u64) -> String {
        if *size == 0 {
            return quote(0);
        }
        let (unit, name) = [(bytesize::GIB, "GiB"), (bytesize::MIB, "MiB"), (bytesize::KIB, "KiB"), (1, "B")]
            .into_iter()
            .find(|(unit, _)| size.is_multiple_of(*unit))
            .expect("every size is a multiple of a byte");
        quote(format_args!("{}{name}", size / unit))
    }
}

/// A duration.
pub(super) enum Span {
    /// Up to ten years, 0 included: longer than any useful value, and far below the overflow of clocks.
    Any,
    /// The time limit of a query, never 0.
    Timeout,
}

impl Format for Span {
    type Output = Duration;

    fn expected(&self) -> String {
        match self {
            Self::Any => "write a duration of 0s ..= 3650days, as in \"50ms\", \"10s\" or \"0s\"".to_owned(),
            Self::Timeout => "write a duration of 1ms ..= 60s, as in \"50ms\"".to_owned(),
        }
    }

    fn parse(&self, value: &Value) -> Option<Duration> {
        let bounds = match self {
            Self::Any => Duration::ZERO..=Duration::from_secs(3650 * 24 * 60 * 60),
            Self::Timeout => Duration::from_millis(1)..=Duration::from_secs(60),
        };
        humantime::parse_duration(&number(value)?).ok().filter(|span| bounds.contains(span))
    }

    fn show(&self, span: &Duration) -> String {
        quote(humantime::format_duration(*span))
    }
}

/// The name of a pack.
pub(super) struct PackName;

impl Format for PackName {
    type Output = String;

    fn expected(&self) -> String {
        "write the name of a pack: a letter, then up to 31 letters, digits or -, all in lower case".to_owned()
    }

    fn parse(&self, value: &Value) -> Option<String> {
        text(value).filter(|name| pack::is_name(name))
    }

    fn show(&self, name: &String) -> String {
        quote(name)
    }
}

/// The names of packs, none of them twice.
pub(super) struct PackNames;

impl Format for PackNames {
    type Output = Vec<String>;

    fn expected(&self) -> String {
        "write a list of names of packs, each once, as in [\"mine\"]; the built-in pack is for all".to_owned()
    }

    fn parse(&self, value: &Value) -> Option<Vec<String>> {
        let names: Vec<_> = value.as_array()?.iter().map(|name| PackName.parse(name)).collect::<Option<_>>()?;
        let is_own = |(at, name): (usize, &String)| name != pack::BUILT_IN && !names[..at].contains(name);
        names.iter().enumerate().all(is_own).then_some(names)
    }

    fn show(&self, names: &Vec<String>) -> String {
        quote_all(names)
    }
}

/// One of several values that have names.
pub(super) struct OneOf<T> {
    pub(super) values: Vec<(&'static str, T)>,
    pub(super) expected: &'static str,
}

impl<T: Copy + PartialEq> Format for OneOf<T> {
    type Output = T;

    fn expected(&self) -> String {
        self.expected.to_owned()
    }

    fn parse(&self, value: &Value) -> Option<T> {
        let text = text(value)?;
        self.values.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
    }

    fn show(&self, value: &T) -> String {
        let named = self.values.iter().find(|(_, other)| other == value);
        quote(named.expect("a parsed value has a name").0)
    }
}
