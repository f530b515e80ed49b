//! Types for the keys whose value is one of a few words.

use figment::value::Value;
use floor_cache::{Bypass, Lease};

use super::values::{Setting, text};

/// A value that is one of a few words.
pub(super) trait Keyword: Copy + PartialEq + 'static {
    /// The end of an error message: what is valid.
    const EXPECTED: &'static str;

    /// Every word and its value.
    const WORDS: &'static [(&'static str, Self)];
}

impl<K: Keyword> Setting for K {
    const EXPECTED: &'static str = <K as Keyword>::EXPECTED;

    fn parse(value: &Value) -> Option<Self> {
        let text = text(value)?;
        K::WORDS.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
    }

    fn show(&self) -> String {
        let word = K::WORDS.iter().find(|(_, value)| value == self).map(|(word, _)| *word);
        format!("\"{}\"", word.expect("WORDS has every value"))
    }
}

impl Keyword for Bypass {
    const EXPECTED: &'static str = "write \"auto\" (a tier is probed while its measured cost is below generation), \
         \"off\" (always probed) or \"forced\" (no tier below memory is probed)";
    const WORDS: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("off", Self::Off), ("forced", Self::Forced)];
}

impl Keyword for Lease {
    const EXPECTED: &'static str = "write \"auto\" (one server generates an expensive floor \
         that several miss at once), \"on\" (any floor) or \"off\"";
    const WORDS: &'static [(&'static str, Self)] = &[("auto", Self::Auto), ("on", Self::On), ("off", Self::Off)];
}

/// Which floors Redis admits.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Admission {
    All,
    Special,
}

impl Keyword for Admission {
    const EXPECTED: &'static str = "write \"all\" or \"special\" (only boss, event and story floors)";
    const WORDS: &'static [(&'static str, Self)] = &[("all", Self::All), ("special", Self::Special)];
}
