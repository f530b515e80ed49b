//! Leases in Redis: a record under the value's own key until the value replaces it.
//!
//! One `SET key record NX GET PX expiry` has three outcomes: the key was empty and the lease is acquired; the key had
//! the value, which is returned; or it had another server's lease. Writing the value replaces the lease, and in a
//! cluster both are in the same slot.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use redis::{Cmd, Value};
use tracing::debug;

use super::{NAME, connection::Connection};
use crate::{
    envelope::{Defect, Envelope, StoredKey},
    key::Key,
    layers::within,
    lease_store::{Claim, LeaseStore, Token},
    tier::{TierError, TierErrorKind},
};

/// The first bytes of a lease. A value's envelope starts with `FLC`.
const MAGIC: [u8; 4] = *b"FLL\x01";

/// Whether `stored` is a lease.
pub(super) fn is_lease(stored: &[u8]) -> bool {
    stored.starts_with(&MAGIC)
}

/// Bytes needed to tell a lease from a value.
pub(super) const MAGIC_LEN: usize = MAGIC.len();

/// The leases in a Redis server or cluster.
#[derive(Debug)]
pub(crate) struct RedisLeases {
    connection: Connection,
    envelope: Envelope,
    timeout: Duration,
    owner: u64,
    taken: AtomicU64,
}

/// Only the owner may release or renew a lease. Otherwise another server may have the lease, or the value may have
/// replaced it.
const RELEASE: &str = "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end return 0";
const RENEW: &str =
    "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('PEXPIRE',KEYS[1],ARGV[2]) end return 0";

impl RedisLeases {
    pub(super) fn new(connection: Connection, envelope: Envelope, timeout: Duration) -> Self {
        // The standard library's hashers have random seeds, which give a unique owner.
        Self { connection, envelope, timeout, owner: RandomState::new().hash_one(()), taken: AtomicU64::new(0) }
    }

    fn script(&self, script: &str, key: &Key, token: Token) -> Cmd {
        let mut command = redis::cmd("EVAL");
        command.arg(script).arg(1).arg(self.envelope.stored(key).as_bytes()).arg(record(token).as_slice());
        command
    }

    async fn send(&self, action: &'static str, command: &Cmd) -> Result<Value, TierError> {
        within(self.timeout, action, self.connection.send(action, command)).await
    }
}

impl LeaseStore for RedisLeases {
    fn token(&self) -> Token {
        let mut token = [0; 16];
        token[..8].copy_from_slice(&self.owner.to_le_bytes());
        token[8..].copy_from_slice(&self.taken.fetch_add(1, Relaxed).to_le_bytes());
        Token(token)
    }

    fn claim<'a>(&'a self, key: &'a Key, token: Token, expiry: Duration) -> BoxFuture<'a, Result<Claim, TierError>> {
        const ACTION: &str = "take a lease in redis";
        let stored = self.envelope.stored(key);
        let mut command = redis::cmd("SET");
        command.arg(stored.as_bytes()).arg(record(token).as_slice()).arg("NX").arg("GET").arg("PX").arg(millis(expiry));
        async move {
            let reply = self.send(ACTION, &command).await?;
            let wrong = |what| TierError::new(TierErrorKind::Internal, ACTION, what);
            claim_from_reply(&self.envelope, &stored, token, reply).map_err(wrong)
        }
        .boxed()
    }

    fn renew<'a>(&'a self, key: &'a Key, token: Token, expiry: Duration) -> BoxFuture<'a, Result<bool, TierError>> {
        let mut command = self.script(RENEW, key, token);
        command.arg(millis(expiry));
        async move { Ok(self.send("renew a lease in redis", &command).await? == Value::Int(1)) }.boxed()
    }

    fn release<'a>(&'a self, key: &'a Key, token: Token) -> BoxFuture<'a, Result<(), TierError>> {
        let command = self.script(RELEASE, key, token);
        async move { self.send("release a lease in redis", &command).await.map(|_count| ()) }.boxed()
    }
}

/// The stored bytes of the lease `token`.
fn record(Token(token): Token) -> [u8; MAGIC.len() + 16] {
    let mut record = [0; MAGIC.len() + 16];
    record[..MAGIC.len()].copy_from_slice(&MAGIC);
    record[MAGIC.len()..].copy_from_slice(&token);
    record
}

/// The outcome of a claim by `token`, for which Redis found `found` under `key`.
fn claim_from_reply(envelope: &Envelope, key: &StoredKey, token: Token, found: Value) -> Result<Claim, String> {
    match found {
        Value::Nil => Ok(Claim::Acquired),
        // The command was sent twice, because the connection failed before the first reply.
        Value::BulkString(found) if found == record(token) => Ok(Claim::Acquired),
        Value::BulkString(found) if is_lease(&found) => match found[MAGIC.len()..].try_into() {
            Ok(token) => Ok(Claim::HeldByOther(Token(token))),
            Err(_) => Err(format!("a lease has {} bytes", found.len())),
        },
        Value::BulkString(stored) => match envelope.open_owned(key, stored) {
            Ok(value) => Ok(Claim::Value(value)),
            Err(Defect::UnknownKey) => Ok(Claim::Unusable),
            // Not an error of Redis. The lookup counted the defect, and the generated value replaces this one.
            Err(defect) => {
                debug!(tier = NAME, %defect, "a stored value is wrong; it will be replaced");
                Ok(Claim::Unusable)
            }
        },
        other => Err(format!("it sent {other:?}")),
    }
}

/// Whole milliseconds for Redis, at least one.
fn millis(expiry: Duration) -> u64 {
    u64::try_from(expiry.as_millis()).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        envelope::{MasterKeys, Namespace},
        key::Class,
    };

    #[test]
    fn the_stored_bytes_decide_a_claim() {
        let plain = Envelope::new(Namespace::new("test").unwrap(), 1);
        let keys: MasterKeys = format!("1:{}", "ab".repeat(32)).parse().unwrap();
        let others: MasterKeys = format!("2:{}", "cd".repeat(32)).parse().unwrap();
        let (ours, theirs) = (plain.clone().sealing(&keys), plain.sealing(&others));
        let key = ours.stored(&Key::new([7; Key::LEN - 1], Class::new(1)));
        let token = |number| Token([number; 16]);
        let claim = |found| claim_from_reply(&ours, &key, token(1), found);
        let sealed = |envelope: &Envelope| {
            let mut record = Vec::new();
            envelope.seal(&key, b"floor", &mut record).unwrap();
            Value::BulkString(record)
        };
        assert!(matches!(claim(Value::Nil), Ok(Claim::Acquired)));
        assert!(
            matches!(claim(Value::BulkString(record(token(1)).to_vec())), Ok(Claim::Acquired)),
            "taken by a first try"
        );
        assert!(
            matches!(claim(Value::BulkString(record(token(2)).to_vec())), Ok(Claim::HeldByOther(found)) if found == token(2))
        );
        assert!(matches!(claim(sealed(&ours)), Ok(Claim::Value(value)) if value == b"floor"[..]));
        assert!(matches!(claim(sealed(&theirs)), Ok(Claim::Unusable)));
        assert!(matches!(claim(Value::BulkString(b"noise".to_vec())), Ok(Claim::Unusable)), "no error of Redis");
        claim(Value::BulkString(b"FLL\x01short".to_vec())).unwrap_err();
        claim(Value::Int(1)).unwrap_err();
    }
}
