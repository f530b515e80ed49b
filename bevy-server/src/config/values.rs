//! Types for the values of keys. Each parses a merged value, prints itself as TOML, and describes what is valid.

use std::{fmt::Display, net::SocketAddr, path::PathBuf, str::FromStr, time::Duration};

use bytesize::ByteSize;
use figment::value::Value;
use floor_cache::{Admit, Bypass, Lease, RedisConfig, TierKind, envelope::MasterKeys};
use floor_gen::Kind;
use floor_proto::limits::MAX_BATCH;

use crate::key::class;

/// The kinds that `admit = "special"` admits to Redis.
const SPECIAL: [Kind; 3] = [Kind::Boss, Kind::Event, Kind::Story];

/// The value of a key.
pub(super) trait Setting: Sized {
    /// What is valid.
    const EXPECTED: &'static str;

    /// The end of an error message: what is valid, with names that come from a list elsewhere.
    fn expected() -> String {
        Self::EXPECTED.to_owned()
    }

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

/// A size in memory or on disk.
pub(super) struct ByteCount(pub(super) u64);

impl Setting for ByteCount {
    const EXPECTED: &'static str = "write a size of at least 1MiB, as in \"256MiB\" or \"4GiB\"";

    fn parse(value: &Value) -> Option<Self> {
        let size: ByteSize = text(value)?.parse().ok()?;
        Some(Self(size.as_u64())).filter(|size| size.0 >= bytesize::MIB)
    }

    fn show(&self) -> String {
        let (unit, name) = [(bytesize::GIB, "GiB"), (bytesize::MIB, "MiB"), (bytesize::KIB, "KiB"), (1, "B")]
            .into_iter()
            .find(|(unit, _)| self.0.is_multiple_of(*unit))
            .expect("every size is a multiple of a byte");
        format!("\"{}{name}\"", self.0 / unit)
    }
}

/// A limit on disk; 0 for none.
pub(super) struct DiskLimit(pub(super) u64);

impl Setting for DiskLimit {
    const EXPECTED: &'static str = "write a size of at least 1MiB, as in \"4GiB\", or \"0\" for no limit";

    fn parse(value: &Value) -> Option<Self> {
        match text(value)?.parse::<ByteSize>().ok()?.as_u64() {
            0 => Some(Self(0)),
            _ => ByteCount::parse(value).map(|size| Self(size.0)),
        }
    }

    fn show(&self) -> String {
        if self.0 == 0 { "\"0\"".to_owned() } else { ByteCount(self.0).show() }
    }
}

fn duration(value: &Value) -> Option<Duration> {
    humantime::parse_duration(&text(value)?).ok()
}

fn show_duration(span: Duration) -> String {
    format!("\"{}\"", humantime::format_duration(span))
}

/// Ten years: longer than any useful value, and far below the overflow of clocks.
const MAX_DURATION: Duration = Duration::from_secs(3650 * 24 * 60 * 60);

/// A duration, 0 included.
pub(super) struct TimeSpan(pub(super) Duration);

impl Setting for TimeSpan {
    const EXPECTED: &'static str = "write a duration of 0s ..= 3650days, as in \"50ms\", \"10s\" or \"0s\"";

    fn parse(value: &Value) -> Option<Self> {
        duration(value).filter(|span| *span <= MAX_DURATION).map(Self)
    }

    fn show(&self) -> String {
        show_duration(self.0)
    }
}

/// A time limit, never 0.
pub(super) struct Timeout(pub(super) Duration);

impl Setting for Timeout {
    const EXPECTED: &'static str = "write a duration of 1ms ..= 60s, as in \"50ms\"";

    fn parse(value: &Value) -> Option<Self> {
        let bounds = Duration::from_millis(1)..=Duration::from_secs(60);
        duration(value).filter(|span| bounds.contains(span)).map(Self)
    }

    fn show(&self) -> String {
        show_duration(self.0)
    }
}

/// A value that has a name.
fn named<T: FromStr>(value: &Value) -> Option<T> {
    text(value)?.parse().ok()
}

fn show_name(name: impl Display) -> String {
    format!("\"{name}\"")
}

/// The tiers in probing order.
impl Setting for Vec<TierKind> {
    const EXPECTED: &'static str = "each at most once, as in [\"lru\", \"lmdb\"]; [] generates every floor";

    fn expected() -> String {
        let [names @ .., last] = TierKind::ALL.map(TierKind::name);
        format!("write a list of {} and {last}, {}", names.join(", "), Self::EXPECTED)
    }

    fn parse(value: &Value) -> Option<Self> {
        let tiers = value.as_array()?.iter().map(named).collect::<Option<Self>>()?;
        let twice = tiers.iter().enumerate().any(|(i, tier)| tiers[..i].contains(tier));
        (!twice).then_some(tiers)
    }

    fn show(&self) -> String {
        format!("[{}]", self.iter().map(show_name).collect::<Vec<_>>().join(", "))
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

impl Setting for Bypass {
    const EXPECTED: &'static str = "write \"auto\" (a tier is probed while its measured cost is below generation), \
         \"off\" (always probed) or \"forced\" (no tier below memory is probed)";

    fn parse(value: &Value) -> Option<Self> {
        named(value)
    }

    fn show(&self) -> String {
        show_name(self)
    }
}

impl Setting for Lease {
    const EXPECTED: &'static str = "write \"auto\" (one server generates an expensive floor \
         that several miss at once), \"on\" (any floor) or \"off\"";

    fn parse(value: &Value) -> Option<Self> {
        named(value)
    }

    fn show(&self) -> String {
        show_name(self)
    }
}

impl Setting for Admit {
    const EXPECTED: &'static str = "write \"all\" or \"special\" (only boss, event and story floors)";

    fn parse(value: &Value) -> Option<Self> {
        match text(value)?.as_str() {
            "all" => Some(Self::All),
            "special" => Some(Self::Only(SPECIAL.into_iter().map(class).collect())),
            _ => None,
        }
    }

    fn show(&self) -> String {
        show_name(if *self == Self::All { "all" } else { "special" })
    }
}

/// The address of Redis. Printed without user and password.
pub(super) struct RedisUrl(pub(super) String);

impl Setting for RedisUrl {
    const REDACTION: Redaction = Redaction::Credentials;
    const EXPECTED: &'static str = "write redis://host:port, rediss://host:port (TLS) or \
         redis+cluster://host:port,host:port";

    fn parse(value: &Value) -> Option<Self> {
        let url = text(value)?;
        let (scheme, rest) = url.split_once("://")?;
        let known = ["redis", "rediss", "redis+cluster"].contains(&scheme) && !rest.is_empty();
        known.then_some(Self(url))
    }

    fn show(&self) -> String {
        let config = RedisConfig { url: self.0.clone(), ..RedisConfig::default() };
        format!("\"{}\"", config.redacted_url())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Setting>(names: &[&str]) {
        for name in names {
            assert!(T::expected().contains(name), "{name} is missing in: {}", T::expected());
        }
    }

    #[test]
    fn messages_list_every_name() {
        check::<Vec<TierKind>>(&TierKind::ALL.map(TierKind::name));
        check::<Bypass>(&Bypass::ALL.map(Bypass::name));
        check::<Lease>(&Lease::ALL.map(Lease::name));
        check::<Admit>(&SPECIAL.map(Kind::name));
    }
}
