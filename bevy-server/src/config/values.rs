//! Types for the values of keys. Each parses a merged value, prints itself as TOML, and describes what is valid.

use std::{net::SocketAddr, path::PathBuf};

use figment::value::Value;
use floor_cache::{TierKind, envelope::MasterKeys};
use floor_proto::limits::MAX_BATCH;

/// The value of a key.
pub(super) trait Setting: Sized {
    /// The end of an error message: what is valid.
    const EXPECTED: &'static str;

    /// What an error message hides of an invalid value.
    const REDACTION: Redaction = Redaction::None;

    fn parse(value: &Value) -> Option<Self>;

    /// The value as TOML, secrets redacted.
    fn show(&self) -> String;
}

/// The part of an invalid value that an error message hides.
pub(super) enum Redaction {
    None,
    /// The user and password of a URL.
    Credentials,
    /// The whole value.
    Full,
}

/// Text that is no number. The environment turns `007` into a number and loses the zeros.
fn text_not_number(value: &Value) -> Option<String> {
    text(value).filter(|_| !matches!(value, Value::Num(..)))
}

/// Text, or a number as text: the environment gives numbers where a file gives text.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(_, text) => Some(text.clone()),
        Value::Char(_, char) => Some(char.to_string()),
        Value::Num(_, num) => super::layers::digits(*num),
        _ => None,
    }
}

impl Setting for SocketAddr {
    const EXPECTED: &'static str = "write an address and a port, as in \"127.0.0.1:50051\" or \"[::1]:50051\"";

    fn parse(value: &Value) -> Option<Self> {
        text(value)?.parse().ok()
    }

    fn show(&self) -> String {
        format!("\"{self}\"")
    }
}

impl Setting for PathBuf {
    const EXPECTED: &'static str = "write the path of a directory as text, as in \"./data/lmdb\"";

    fn parse(value: &Value) -> Option<Self> {
        text_not_number(value).filter(|path| !path.is_empty()).map(Self::from)
    }

    fn show(&self) -> String {
        toml::Value::from(self.to_string_lossy().into_owned()).to_string()
    }
}

impl Setting for usize {
    const EXPECTED: &'static str = "write a whole number, 0 ..= 1024";

    fn parse(value: &Value) -> Option<Self> {
        text(value)?.parse().ok().filter(|n| *n <= 1024)
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for bool {
    const EXPECTED: &'static str = "write true or false";

    fn parse(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(_, bool) => Some(*bool),
            _ => text(value)?.parse().ok(),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

/// One in so many; 0 for none.
pub(super) struct OneIn(pub(super) u32);

impl Setting for OneIn {
    const EXPECTED: &'static str = "write a whole number, 0 ..= 4294967295";

    fn parse(value: &Value) -> Option<Self> {
        text(value)?.parse().ok().map(Self)
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}

/// Master keys, if configured.
pub(super) struct Keys(pub(super) Option<MasterKeys>);

impl Setting for Keys {
    const EXPECTED: &'static str = "write keys as ID:KEY, the id 1 ..= 255, the key 64 hexadecimal digits, several \
         separated by commas, no id twice";
    const REDACTION: Redaction = Redaction::Full;

    fn parse(value: &Value) -> Option<Self> {
        match text(value)?.trim() {
            "" => Some(Self(None)),
            keys => keys.parse().ok().map(|keys| Self(Some(keys))),
        }
    }

    fn show(&self) -> String {
        if self.0.is_some() { "\"***\"".to_owned() } else { "\"\"".to_owned() }
    }
}

/// Master keys from a file, if configured.
pub(super) struct KeysFile(pub(super) Option<MasterKeys>, String);

impl Setting for KeysFile {
    const EXPECTED: &'static str = "write the path of a readable file that holds keys as ID:KEY, one a line, the id \
         1 ..= 255, the key 64 hexadecimal digits, no id twice";

    fn parse(value: &Value) -> Option<Self> {
        let path = text(value)?;
        if path.is_empty() {
            return Some(Self(None, path));
        }
        let keys = std::fs::read_to_string(&path).ok()?.parse().ok()?;
        Some(Self(Some(keys), path))
    }

    fn show(&self) -> String {
        toml::Value::from(self.1.as_str()).to_string()
    }
}

/// The capacity of the generation queue.
pub(super) struct QueueCapacity(pub(super) usize);

impl Setting for QueueCapacity {
    const EXPECTED: &'static str = "write a whole number, 256 ..= 1000000: a batch of 256 must fit";

    fn parse(value: &Value) -> Option<Self> {
        text(value)?.parse().ok().filter(|n| (MAX_BATCH..=1_000_000).contains(n)).map(Self)
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}

/// The number of floors to prefetch.
pub(super) struct FloorCount(pub(super) u32);

impl Setting for FloorCount {
    const EXPECTED: &'static str = "write a whole number of floors, 0 ..= 16";

    fn parse(value: &Value) -> Option<Self> {
        text(value)?.parse().ok().filter(|n| *n <= 16).map(Self)
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}

/// The tiers in probing order.
pub(super) struct Tiers(pub(super) Vec<TierKind>);

impl Setting for Tiers {
    const EXPECTED: &'static str = "write a list of lru, redis, lmdb and sled, each at most once, as in \
         [\"lru\", \"lmdb\"]; [] generates every floor";

    fn parse(value: &Value) -> Option<Self> {
        let names = value.as_array()?;
        let tiers = names.iter().map(|name| text(name)?.parse().ok()).collect::<Option<Vec<TierKind>>>()?;
        let twice = tiers.iter().enumerate().any(|(i, tier)| tiers[..i].contains(tier));
        (!twice).then_some(Self(tiers))
    }

    fn show(&self) -> String {
        let names: Vec<_> = self.0.iter().map(|tier| format!("\"{tier}\"")).collect();
        format!("[{}]", names.join(", "))
    }
}

/// The prefix of every stored key.
pub(super) struct Namespace(pub(super) String);

impl Setting for Namespace {
    const EXPECTED: &'static str = "write 1 ..= 64 letters, digits, '-', '_' or '.', not a number";

    fn parse(value: &Value) -> Option<Self> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        text_not_number(value).filter(|name| (1..=64).contains(&name.len()) && name.chars().all(allowed)).map(Self)
    }

    fn show(&self) -> String {
        format!("\"{}\"", self.0)
    }
}
