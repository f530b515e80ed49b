//! The token in an `authorization` header (RFC 6750, section 2.1).

use http::HeaderValue;

/// The scheme of an `authorization` header with a token, in lower case.
const BEARER: &[u8] = b"bearer ";

/// The token in the value of an `authorization` header. `None` if it has another scheme or no token.
pub(crate) fn bearer(authorization: &HeaderValue) -> Option<&[u8]> {
    let (scheme, token) = authorization.as_bytes().split_at_checked(BEARER.len())?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(BEARER) && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_may_be_in_any_case_and_spaces_are_no_part_of_the_token() {
        for right in ["Bearer hush", "bearer hush", "BEARER hush", "Bearer  hush "] {
            assert_eq!(bearer(&HeaderValue::from_static(right)), Some(&b"hush"[..]), "{right:?}");
        }
        for wrong in ["", "hush", "Bearer", "Bearer ", "Bearer   ", "Bearerhush", "Basic hush", "Basic Bearer hush"] {
            assert_eq!(bearer(&HeaderValue::from_static(wrong)), None, "{wrong:?}");
        }
    }
}
