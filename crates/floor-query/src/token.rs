//! The tokens of the language.

use std::ops::Range;

use floor_proto::text::remark;

use super::error::ParseError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'t> {
    Number(i128),
    Identifier(&'t str),
    /// An operator or a parenthesis.
    Symbol(&'static str),
    End,
}

impl Token<'_> {
    /// The text of the token in an error message.
    pub(super) fn name(self) -> String {
        match self {
            Self::Number(number) => format!("`{number}`"),
            Self::Identifier(word) => format!("`{word}`"),
            Self::Symbol(symbol) => format!("`{symbol}`"),
            Self::End => "the end".to_owned(),
        }
    }
}

/// Longer symbols come first, so that `<=` is not read as `<`.
const SYMBOLS: [&str; 16] = ["==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "%", "(", ")"];

/// Symbols of other languages and of mathematics, and the ones to use here. Longer ones come first.
const COMMON_MISTAKES: [(&str, &str); 13] = [
    ("=>", ">="),
    ("=<", "<="),
    ("=", "=="),
    ("&", "&&"),
    ("|", "||"),
    ("≥", ">="),
    ("≤", "<="),
    ("≠", "!="),
    ("×", "*"),
    ("÷", "/"),
    ("∧", "&&"),
    ("∨", "||"),
    ("¬", "!"),
];

/// Marks in which other languages write names.
const QUOTATION_MARKS: [char; 7] = ['"', '\'', '`', '“', '”', '‘', '’'];

/// Splits the text; the last token is [`Token::End`].
pub(super) fn split(text: &str) -> Result<Vec<(Token<'_>, Range<usize>)>, ParseError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let token = if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        } else if first.is_ascii_digit() {
            let digits = leading(rest, |c| c.is_ascii_alphanumeric() || c == '_');
            let range = at..at + digits.len();
            let number =
                number(digits).ok_or_else(|| ParseError::new(range, format!("`{digits}` is no whole number")))?;
            (Token::Number(number), digits.len())
        } else if first.is_alphabetic() || first == '_' {
            let word = leading(rest, |c| c.is_alphanumeric() || c == '_');
            (Token::Identifier(word), word.len())
        } else if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
            (Token::Symbol(symbol), symbol.len())
        } else {
            let message = match COMMON_MISTAKES.into_iter().find(|(wrong, _)| rest.starts_with(wrong)) {
                Some((wrong, right)) => format!("`{wrong}` means nothing here; write `{right}`"),
                None if QUOTATION_MARKS.contains(&first) => {
                    format!("{first} means nothing here; write names without it")
                }
                None => match remark(first) {
                    Some(remark) => format!("`{}` means nothing here: {remark}", first.escape_debug()),
                    None => format!("`{first}` means nothing here"),
                },
            };
            return Err(ParseError::new(at..at + first.len_utf8(), message));
        };
        tokens.push((token.0, at..at + token.1));
        at += token.1;
    }
    tokens.push((Token::End, text.len()..text.len()));
    Ok(tokens)
}

fn leading(text: &str, belongs: impl Fn(char) -> bool) -> &str {
    &text[..text.find(|c| !belongs(c)).unwrap_or(text.len())]
}

/// Parses a number like a seed. `_` may separate digits.
fn number(digits: &str) -> Option<i128> {
    seed(&digits.replace('_', "")).ok().map(i128::from)
}

/// Parses a seed: decimal, or hexadecimal after `0x`.
///
/// # Errors
/// What would be a seed.
pub fn seed(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "a seed is a number from 0 to 2^64 - 1, decimal or 0x hexadecimal".to_owned())
}
