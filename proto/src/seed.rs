//! Towers that people name by a word. Every client, program and address reads a text as the same tower.

use unicode_normalization::UnicodeNormalization as _;

/// Why a text names no tower.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SeedError {
    /// Nothing is left without white space and invisible characters at both ends.
    #[error("the name of a tower is empty; write a number or a word")]
    Empty,
    /// A number that is no seed.
    #[error("{0} is no seed: a number is -2^63 to 2^64 - 1, decimal, or 0x and up to 16 hexadecimal digits")]
    Number(String),
}

/// The seed of the tower that a text names.
///
/// White space and invisible characters at both ends do not count, and the rest is brought into the form NFC of Unicode, so
/// that what looks alike names one tower. A number, also in full-width digits, is the seed itself; a negative one counts
/// down from 2^64. Of any other text the seed is the FNV-1a hash of its UTF-8 bytes, in 64 bits.
///
/// # Errors
/// The text is empty, or a number that is no seed.
///
/// ```
/// use floor_proto::seed::seed;
///
/// assert_eq!(seed(" 42\u{200b}"), Ok(42));
/// assert_eq!(seed("-1"), Ok(u64::MAX));
/// assert_eq!(seed("cafe\u{301}"), seed("caf\u{e9}"));
/// ```
pub fn seed(text: &str) -> Result<u64, SeedError> {
    let name: String = text.trim_matches(is_unseen).nfc().collect();
    if name.is_empty() {
        return Err(SeedError::Empty);
    }
    let plain: String = name.chars().map(half_width).collect();
    let (sign, digits) = match plain.strip_prefix(['+', '-']) {
        Some(digits) => (&plain[..1], digits),
        None => ("", &*plain),
    };
    let wrong = || SeedError::Number(plain.clone());
    if let Some(hexadecimal) = plain.strip_prefix("0x").or_else(|| plain.strip_prefix("0X")) {
        let is_hexadecimal = hexadecimal.bytes().all(|byte| byte.is_ascii_hexdigit());
        return Some(hexadecimal)
            .filter(|_| is_hexadecimal)
            .and_then(|text| u64::from_str_radix(text, 16).ok())
            .ok_or_else(wrong);
    }
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return match sign {
            "-" => plain.parse::<i64>().map(i64::cast_unsigned).map_err(|_| wrong()),
            _ => digits.parse().map_err(|_| wrong()),
        };
    }
    Ok(name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)))
}

/// White space, controls, and what editors and chats put around words without showing it.
const fn is_unseen(c: char) -> bool {
    matches!(c,
        '\0'..=' ' | '\u{7f}'..='\u{a0}' | '\u{ad}' | '\u{1680}' | '\u{180e}' | '\u{2000}'..='\u{200f}'
        | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{2064}' | '\u{2066}'..='\u{206f}' | '\u{3000}' | '\u{feff}')
}

/// The ASCII character of a full-width form, and of the minus sign.
const fn half_width(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => (c as u32 - 0xfee0) as u8 as char,
        '\u{2212}' => '-',
        _ => c,
    }
}
