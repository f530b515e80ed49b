//! A check of stored values by the caller of this crate, which knows what values mean.

use std::{fmt, sync::Arc};

use crate::key::Key;

type Check = dyn Fn(&Key, &[u8]) -> Result<(), &'static str> + Send + Sync;

/// Decides whether a stored value can be the value of its key.
///
/// It runs at each hit in a tier outside this process, after all other checks of the [`Envelope`](super::Envelope). It
/// must be cheap and must not panic on any bytes. A rejected value is a counted miss and is removed.
#[derive(Clone)]
pub struct ValueCheck(Arc<Check>);

impl ValueCheck {
    /// A check that calls `check`, which returns the reason of a rejection.
    pub fn new(check: impl Fn(&Key, &[u8]) -> Result<(), &'static str> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    pub(super) fn check(&self, key: &Key, value: &[u8]) -> Result<(), &'static str> {
        (self.0)(key, value)
    }
}

/// Equal if both are clones of the same check.
impl PartialEq for ValueCheck {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for ValueCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ValueCheck(..)")
    }
}
