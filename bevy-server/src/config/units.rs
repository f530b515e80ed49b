//! Types for the keys that have a unit: sizes and durations.

use std::time::Duration;

use bytesize::ByteSize;
use figment::value::Value;

use super::values::{Setting, text};

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
