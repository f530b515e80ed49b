//! The last check of a stored value: whether it can be the value of its key. The caller of this crate supplies it, since
//! the crate knows nothing of what values mean.

use std::{fmt, sync::Arc};

use crate::key::Key;

type Check = dyn Fn(&Key, &[u8]) -> Result<(), &'static str> + Send + Sync;

/// Decides whether a stored value can be the value of its key.
///
/// It runs at each hit in a tier outside this process, after every other check of the [`Envelope`](super::Envelope). So
/// it must be cheap, and it must not panic whatever the bytes are. A value that it rejects is a counted miss and is
/// removed.
#[derive(Clone)]
pub struct ValueCheck(Arc<Check>);

impl ValueCheck {
    /// A check by `check`, which returns what is wrong with the value.
    pub fn new(check: impl Fn(&Key, &[u8]) -> Result<(), &'static str> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    pub(super) fn check(&self, key: &Key, value: &[u8]) -> Result<(), &'static str> {
        (self.0)(key, value)
    }
}

/// Two are equal when they are clones of one.
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
