//! Towers that people name.

use floor_proto::seed::seed;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct SeedVector {
    text: &'static str,
    /// Decimal; none for a text that names no tower.
    seed: Option<String>,
}

const TEXTS: [&str; 30] = [
    "42",
    " 42\t\n",
    "42\u{200b}",
    "\u{feff}42",
    "\u{a0}4\u{202f}",
    "\u{ff14}\u{ff12}",
    "+42",
    "007",
    "0",
    "-0",
    "-1",
    "\u{2212}1",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "0xFF",
    "0Xffffffffffffffff",
    "0x",
    "0x1g",
    "0x10000000000000000",
    "",
    " \u{200b}",
    "my dungeon",
    " my  dungeon ",
    "My dungeon",
    "cafe\u{301}",
    "caf\u{e9}",
    "\u{1112}\u{1161}\u{11ab}",
    "\u{5854} 42 \u{1f5fc}",
];

pub(super) fn all() -> Vec<SeedVector> {
    TEXTS.map(|text| SeedVector { text, seed: seed(text).ok().map(|seed| seed.to_string()) }).into()
}
