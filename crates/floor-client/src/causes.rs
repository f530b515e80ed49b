//! The causes of errors.

use std::error::Error as StdError;

/// An error and its causes, outermost first.
pub(crate) fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// The message of the innermost cause. It says "Connection refused" where the outermost says "transport error".
pub(crate) fn innermost(error: &(dyn StdError + 'static)) -> String {
    causes(error).last().unwrap_or(error).to_string()
}
