//! Logs when writes to a tier begin to fail and when they succeed again. The writer of the tier calls it for each batch.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use tracing::{info, warn};

use crate::{
    tier::{TierError, TierErrorKind},
    tiers::directory,
};

/// How long no write may have failed before the log says that writes succeed again. A full disk takes a small batch now
/// and then.
const QUIET: Duration = Duration::from_secs(10);

/// Whether writes to a tier fail.
#[derive(Debug, Default)]
pub(super) struct WriteFailures(Option<Failing>);

/// Writes fail, and a warning says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Failing {
    /// The values that were not written since the warning.
    lost: usize,
    /// When a write last failed.
    last: Instant,
}

impl WriteFailures {
    /// Logs the result of a write of `values` at `now`, if it differs from those before. `directory` has the files of the
    /// tier.
    ///
    /// A write that an open circuit breaker refused is not logged: the breaker has warned.
    pub(super) fn log(
        &mut self,
        tier: &str,
        directory: Option<&Path>,
        values: usize,
        result: &Result<(), TierError>,
        now: Instant,
    ) {
        match (result, &mut self.0) {
            (Ok(()), Some(Failing { lost, last })) => {
                if now.duration_since(*last) >= QUIET && !directory.is_some_and(directory::is_full) {
                    info!(tier, lost, "writes to the tier succeed again");
                    self.0 = None;
                }
            }
            (Err(_), Some(failing)) => *failing = Failing { lost: failing.lost + values, last: now },
            (Err(error), None) if error.kind() != TierErrorKind::Open => {
                warn_of(tier, directory, error);
                self.0 = Some(Failing { lost: values, last: now });
            }
            (Ok(()) | Err(_), None) => {}
        }
    }
}

fn warn_of(tier: &str, directory: Option<&Path>, error: &TierError) {
    let path = directory.map(|path| tracing::field::display(path.display()));
    if error.kind() == TierErrorKind::Full {
        warn!(tier, path, %error, "the disk of the tier is full; it serves what it has and stores nothing new");
    } else {
        warn!(tier, path, %error, "writes to the tier fail; it does not store new values");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(kind: TierErrorKind) -> Result<(), TierError> {
        Err(TierError::new(kind, "write", "the disk is full"))
    }

    #[test]
    fn a_series_of_failures_is_one_warning() {
        let (mut failures, start) = (WriteFailures::default(), Instant::now());
        let mut log = |values, result: Result<(), TierError>, seconds| {
            failures.log("lmdb", None, values, &result, start + Duration::from_secs(seconds));
            failures.0.map(|failing| failing.lost)
        };
        assert_eq!(log(1, Ok(()), 0), None);
        assert_eq!(log(3, failure(TierErrorKind::Full), 1), Some(3));
        assert_eq!(log(2, failure(TierErrorKind::Open), 2), Some(5));
        assert_eq!(log(1, Ok(()), 3), Some(5), "one success may be a small batch");
        assert_eq!(log(1, failure(TierErrorKind::Full), 9), Some(6));
        assert_eq!(log(1, Ok(()), 18), Some(6));
        assert_eq!(log(1, Ok(()), 19), None);
        assert_eq!(log(1, failure(TierErrorKind::Full), 20), Some(1), "a new series is a new warning");
    }

    #[test]
    fn what_the_breaker_refuses_is_no_new_failure() {
        let mut failures = WriteFailures::default();
        failures.log("redis", None, 1, &failure(TierErrorKind::Open), Instant::now());
        assert_eq!(failures.0, None);
    }
}
