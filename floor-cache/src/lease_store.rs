//! The trait of a store of leases. A tier that servers share may offer one.

use std::{fmt, time::Duration};

use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::{key::Key, tier::TierError};

/// Stores leases under the keys of values. A stored value replaces the lease.
pub(crate) trait LeaseStore: fmt::Debug + Send + Sync + 'static {
    /// A new token.
    fn token(&self) -> Token;

    /// Acquires the lease of `key` for `expiry` if the key has neither a lease nor a value.
    fn claim<'a>(&'a self, key: &'a Key, token: Token, expiry: Duration) -> BoxFuture<'a, Result<Claim, TierError>>;

    /// Extends the lease to `expiry` from now; `false` if `token` no longer owns it.
    fn renew<'a>(&'a self, key: &'a Key, token: Token, expiry: Duration) -> BoxFuture<'a, Result<bool, TierError>>;

    /// Releases the lease if `token` still owns it.
    fn release<'a>(&'a self, key: &'a Key, token: Token) -> BoxFuture<'a, Result<(), TierError>>;
}

/// The identity of a lease: a random server id and a counter of the server's leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token(pub(crate) [u8; 16]);

/// The outcome of trying to acquire a lease.
#[derive(Debug)]
pub(crate) enum Claim {
    /// This server has the lease.
    Acquired,
    /// Another server has the lease.
    HeldByOther(Token),
    /// The value exists.
    Value(Bytes),
    /// The stored value is invalid or sealed with an unknown key. The generated value will replace it.
    Unusable,
}
