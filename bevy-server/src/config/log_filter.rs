//! Log filters: which events are logged.

use std::fmt;

use tracing_subscriber::EnvFilter;

/// The variable that overrides `log.level`.
const VARIABLE: &str = "RUST_LOG";

/// What every filter starts with; later directives override it. h2, which the exporter of traces uses, warns of frames
/// that its peer may send as often as it likes.
const BASE: &str = "info,sled=warn,h2=error";

/// What every filter ends with, so that none hides the audit trail.
const ALWAYS: &str = "floors::audit=info";

/// The longest filter, in bytes.
const MAX_BYTES: usize = 1024;

/// The names of levels.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// A valid filter: a level, directives such as `floor_cache=debug`, or both, separated by commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFilter(String);

/// Why a text is no filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// It is empty or too long.
    #[error("a filter has 1 to {max} bytes, not {0}", max = MAX_BYTES)]
    Length(usize),
    /// A word without `=` that is no level. The library would read it as a target of which everything is logged.
    #[error(
        "{0:?} is no level; write off, error, warn, info, debug, trace, or a target with one, as in floor_cache=debug"
    )]
    Level(String),
    /// The library does not accept a directive.
    #[error("{0}")]
    Directive(String),
}

impl LogFilter {
    /// Parses a filter.
    ///
    /// # Errors
    /// [`FilterError`]: what is wrong.
    pub fn new(text: &str) -> Result<Self, FilterError> {
        let text = text.trim();
        if text.is_empty() || text.len() > MAX_BYTES {
            return Err(FilterError::Length(text.len()));
        }
        let mut words = text.split(',').map(str::trim);
        if let Some(wrong) = words.find(|word| !word.contains(['=', '[', ']', '{', '}']) && !is_level(word)) {
            return Err(FilterError::Level(wrong.to_owned()));
        }
        let filter: String = text.split_whitespace().collect();
        EnvFilter::builder().parse(&filter).map_err(|error| FilterError::Directive(error.to_string()))?;
        Ok(Self(filter))
    }

    /// The filter in the environment, which overrides the configured one.
    pub(crate) fn from_environment() -> Option<Result<Self, FilterError>> {
        std::env::var(VARIABLE).ok().filter(|text| !text.trim().is_empty()).map(|text| Self::new(&text))
    }

    /// The filter of the library, with what every filter starts and ends with.
    pub(crate) fn build(&self) -> EnvFilter {
        // Only what `new` has accepted, so nothing is lost.
        EnvFilter::builder().parse_lossy(format!("{BASE},{},{ALWAYS}", self.0))
    }
}

/// Whether `word` is the name of a level.
fn is_level(word: &str) -> bool {
    LEVELS.iter().any(|level| word.eq_ignore_ascii_case(level))
}

impl fmt::Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_directives_are_filters() {
        for text in
            ["info", "OFF", "warn,floor_cache=debug", "floors::access=off", " info , redis = error ", "[call]=debug"]
        {
            assert!(LogFilter::new(text).is_ok(), "{text:?}: {:?}", LogFilter::new(text));
        }
        for text in ["", "  ", "inof", "info,floor_cache", "floor_cache=loud", &"info,".repeat(300)] {
            assert!(LogFilter::new(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_filter_overrides_what_every_filter_starts_with() {
        let built = |text: &str| LogFilter::new(text).unwrap().build().to_string();
        assert!(built("floor_cache=debug").split(',').any(|directive| directive == "info"));
        assert!(built("h2=trace").split(',').any(|directive| directive == "h2=trace"));
        assert!(!built("h2=trace").contains("h2=error"));
        assert!(!built("warn").split(',').any(|directive| directive == "info"));
        let audits = built("off,floors::audit=off");
        assert!(audits.split(',').any(|directive| directive == ALWAYS) && !audits.contains("audit=off"), "{audits}");
    }
}
