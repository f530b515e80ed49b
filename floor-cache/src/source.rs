//! What stands behind the last tier and can make any value.

use std::{fmt, time::Duration};

use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::key::{Class, Key};

/// Makes values. Stands behind the last tier of a `Chain`.
pub trait Source: fmt::Debug + Send + Sync + 'static {
    /// Makes the value of `key`.
    ///
    /// Dropping the future may or may not stop the work.
    fn generate(&self, key: Key, priority: Priority) -> BoxFuture<'static, Result<Made, SourceError>>;

    /// What to call the value of `key` in a log that a person reads.
    fn describe(&self, key: &Key) -> String {
        key.to_string()
    }

    /// What to call a class in metrics and reports.
    fn class_name(&self, class: Class) -> &'static str;

    /// How much work the value of `key` is, in units of the source's choice: within a class, the cost of a value is taken
    /// to be proportional to it.
    fn size(&self, _key: &Key) -> u32 {
        1
    }

    /// How many values are generated at the same time, at the most. The wait for a worker is predicted from it.
    fn workers(&self) -> usize {
        1
    }
}

/// A value fresh from the [`Source`].
#[derive(Debug, Clone)]
pub struct Made {
    /// The value, as it will be cached and sent.
    pub value: Bytes,
    /// How long generating it took, from its begin on a worker. The wait for a worker is not included.
    pub took: Duration,
    /// CPU time that generating it took. Where that cannot be measured, the same as `took`.
    pub cpu: Duration,
}

/// Who waits for the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priority {
    /// A caller.
    #[default]
    Foreground,
    /// Nobody yet: gives way to every caller.
    Background,
}

/// Why a [`Source`] made nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// Its queue is full.
    #[error("the generation queue is full ({queued} floors wait); try again in {} ms", retry_after.as_millis())]
    Busy {
        /// How many wait.
        queued: usize,
        /// When to try again.
        retry_after: Duration,
    },
    /// It is shutting down.
    #[error("generation has stopped")]
    Stopped,
    /// It broke on this key; others are unharmed.
    #[error("generating {key} failed: {reason}")]
    Failed {
        /// The key it broke on.
        key: Key,
        /// What it said.
        reason: String,
    },
}
