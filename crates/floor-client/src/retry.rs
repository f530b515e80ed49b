//! Whether and when a failed attempt of a call is repeated. The rules are those of docs/protocol.md, for all clients.

use std::time::{Duration, Instant};

use backon::{ExponentialBuilder, Retryable};
use tokio::time::timeout_at;

use crate::ClientError;

/// The longest first wait between two attempts if the server names none.
const MIN_BACKOFF: Duration = Duration::from_millis(100);
/// The longest wait between two attempts if the server names none.
const MAX_BACKOFF: Duration = Duration::from_secs(2);
/// How long a server that restarts is awaited: until then an attempt that no server accepts is not counted.
const RESTART: Duration = Duration::from_secs(10);

/// Makes attempts until one succeeds or no further one is allowed. The deadline covers connecting, all attempts, the waits
/// between them and the whole response.
pub(crate) async fn with_retries<T, F>(
    allowed: usize,
    deadline: Option<Instant>,
    attempt: impl Fn() -> F,
) -> Result<T, ClientError>
where
    F: Future<Output = Result<T, ClientError>>,
{
    let backoff = ExponentialBuilder::new().with_min_delay(MIN_BACKOFF).with_max_delay(MAX_BACKOFF);
    let mut left = Left { attempts: allowed, deadline, awaited_until: Instant::now() + RESTART };
    let attempts = attempt
        .retry(backoff.without_max_times())
        .when(|error| allowed > 0 && error.is_transient())
        .adjust(move |error, longest| left.wait_after(error, longest?));
    match deadline {
        None => attempts.await,
        Some(deadline) => {
            timeout_at(deadline.into(), attempts).await.unwrap_or_else(|_| Err(ClientError::deadline_exceeded()))
        }
    }
}

/// What is left of a call.
struct Left {
    attempts: usize,
    deadline: Option<Instant>,
    awaited_until: Instant,
}

impl Left {
    /// How long to wait before the next attempt: as long as the server asks, else a random time up to `longest`. `None` if
    /// there is none.
    fn wait_after(&mut self, error: &ClientError, longest: Duration) -> Option<Duration> {
        let now = Instant::now();
        if !error.is_refused() || now >= self.awaited_until {
            self.attempts = self.attempts.checked_sub(1)?;
        }
        let wait = error.retry_after().unwrap_or_else(|| longest.mul_f64(fastrand::f64()));
        self.deadline.is_none_or(|deadline| now + wait < deadline).then_some(wait)
    }
}
