//! The bearer token of the operations port.

use std::fmt;

use subtle::ConstantTimeEq;

/// A bearer token. It is compared in constant time, and [`Debug`](fmt::Debug) does not show it.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// `None` unless `token` can be sent in a header: one or more visible ASCII characters.
    #[must_use]
    pub fn new(token: String) -> Option<Self> {
        let is_valid = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        is_valid.then_some(Self(token))
    }

    /// Whether a caller that presents `bytes` has this token.
    #[must_use]
    pub fn matches(&self, bytes: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(bytes).into()
    }
}

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        self.matches(other.0.as_bytes())
    }
}

impl Eq for Token {}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_matches_only_itself_and_is_not_shown() {
        let token = Token::new("hush".to_owned()).unwrap();
        assert!(token.matches(b"hush"));
        for other in ["", "hus", "hush ", "hushh", "Hush"] {
            assert!(!token.matches(other.as_bytes()), "{other:?}");
        }
        assert!(!format!("{token:?}").contains("hush"));
        for invalid in ["", "a b", "a\t", "hush\u{e9}"] {
            assert_eq!(Token::new(invalid.to_owned()), None, "{invalid:?}");
        }
    }
}
