//! Logs when writes to a tier begin to fail and when they succeed again. The writer of the tier calls it for each batch.

use std::time::{Duration, Instant};

use tracing::{info, warn};

use crate::tier::{TierError, TierErrorKind};

/// The least time between two warnings of one tier, for a tier that fails and recovers all the time.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// Whether writes to a tier fail.
#[derive(Debug, Default)]
pub(super) struct WriteFailures {
    /// The values that were not written since the warning. `None` while writes succeed, or fail without a warning.
    lost: Option<usize>,
    warned: Option<Instant>,
}

impl WriteFailures {
    /// Logs the result of a write of `values`, if it differs from those before.
    ///
    /// A write that an open circuit breaker refused is not logged: the breaker has warned.
    pub(super) fn log(&mut self, tier: &str, values: usize, result: &Result<(), TierError>) {
        match result {
            Ok(()) => {
                if let Some(lost) = self.lost.take() {
                    info!(tier, lost, "writes to the tier succeed again");
                }
            }
            Err(error) => {
                if let Some(lost) = &mut self.lost {
                    *lost += values;
                } else if error.kind() != TierErrorKind::Open
                    && self.warned.is_none_or(|warned| warned.elapsed() >= WARNING_INTERVAL)
                {
                    warn!(tier, %error, "writes to the tier fail; it does not store new values");
                    self.lost = Some(values);
                    self.warned = Some(Instant::now());
                }
            }
        }
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
        let mut failures = WriteFailures::default();
        failures.log("lmdb", 1, &Ok(()));
        assert_eq!((failures.lost, failures.warned), (None, None));
        failures.log("lmdb", 3, &failure(TierErrorKind::Refused));
        failures.log("lmdb", 2, &failure(TierErrorKind::Open));
        assert_eq!(failures.lost, Some(5));
        failures.log("lmdb", 1, &Ok(()));
        assert_eq!(failures.lost, None);
        failures.log("lmdb", 1, &failure(TierErrorKind::Refused));
        assert_eq!(failures.lost, None, "a tier that fails and recovers all the time warns once a minute");
    }

    #[test]
    fn what_the_breaker_refuses_is_no_new_failure() {
        let mut failures = WriteFailures::default();
        failures.log("redis", 1, &failure(TierErrorKind::Open));
        assert_eq!((failures.lost, failures.warned), (None, None));
    }
}
