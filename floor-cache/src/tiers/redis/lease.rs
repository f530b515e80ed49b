//! Who makes a value that several servers miss at once: a record under the value's own key, until the value takes its place.
//!
//! One `SET key record NX GET PX expiry` answers everything a server wants to know: nothing lay there, and now the lease is
//! its own; or the value, which is served; or another's lease. Writing the value ends the lease, since it overwrites it, and a
//! cluster has both in one slot by nature.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use bytes::Bytes;
use redis::{Cmd, Value};
use tracing::debug;

use super::{connection::Connection, tier::failed};
use crate::{
    envelope::{Defect, Envelope, StoredKey},
    key::Key,
    tier::{TierError, TierErrorKind},
    timeout::within,
};

/// What tells a lease from a value's envelope, which begins with `FLC`.
const MAGIC: [u8; 4] = *b"FLL\x01";

const RECORD: usize = MAGIC.len() + 16;

/// Whether `stored` begins as a lease does.
pub(super) fn is_lease(stored: &[u8]) -> bool {
    stored.starts_with(&MAGIC)
}

/// Bytes that tell a lease from a value.
pub(super) const MAGIC_LEN: usize = MAGIC.len();

/// Whose a lease is: one server's, one of the leases that it took. No two are alike, and each server's rise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token([u8; RECORD]);

/// What became of the wish to make a value.
#[derive(Debug)]
pub(crate) enum Claim {
    /// The lease is ours.
    Acquired,
    /// Another makes it.
    HeldByOther(Token),
    /// It has been made.
    Value(Bytes),
    /// There is a value that cannot be used here: it is wrong, or sealed with a key that is not known here. The value that
    /// is made takes its place.
    Unusable,
}

/// The leases in a Redis server, or in a cluster of them.
#[derive(Debug)]
pub(crate) struct RedisLeases {
    connection: Connection,
    envelope: Envelope,
    timeout: Duration,
    owner: u64,
    taken: AtomicU64,
}

/// Only the lease's owner gives it up or makes it longer. To anybody else it may have gone meanwhile, or the value may lie
/// in its place, which neither is to touch.
const RELEASE: &str = "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end return 0";
const RENEW: &str =
    "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('PEXPIRE',KEYS[1],ARGV[2]) end return 0";

impl RedisLeases {
    pub(super) fn new(connection: Connection, envelope: Envelope, timeout: Duration) -> Self {
        // The standard library's hashers are seeded by the system, which makes an owner that no other server has.
        Self { connection, envelope, timeout, owner: RandomState::new().hash_one(()), taken: AtomicU64::new(0) }
    }

    /// A token that no lease had.
    pub(crate) fn token(&self) -> Token {
        let mut record = [0; RECORD];
        record[..4].copy_from_slice(&MAGIC);
        record[4..12].copy_from_slice(&self.owner.to_le_bytes());
        record[12..].copy_from_slice(&self.taken.fetch_add(1, Relaxed).to_le_bytes());
        Token(record)
    }

    /// Takes the lease of `key` for as long as `expiry`, if there is neither a lease nor a value.
    pub(crate) async fn claim(&self, key: &Key, token: Token, expiry: Duration) -> Result<Claim, TierError> {
        const ACTION: &str = "take a lease in redis";
        let stored = self.envelope.stored(key);
        let mut command = redis::cmd("SET");
        command.arg(stored.as_bytes()).arg(&token.0).arg("NX").arg("GET").arg("PX").arg(millis(expiry));
        let wrong = |what| TierError::new(TierErrorKind::Internal, ACTION, what);
        claim_from_reply(&self.envelope, &stored, token, self.send(ACTION, &command).await?).map_err(wrong)
    }

    /// Has the lease last `expiry` from now; `false` when it is not `token`'s any more.
    pub(crate) async fn renew(&self, key: &Key, token: Token, expiry: Duration) -> Result<bool, TierError> {
        let mut command = self.script(RENEW, key, token);
        command.arg(millis(expiry));
        Ok(self.send("renew a lease in redis", &command).await? == Value::Int(1))
    }

    /// Gives the lease up, if it is still `token`'s.
    pub(crate) async fn release(&self, key: &Key, token: Token) -> Result<(), TierError> {
        self.send("release a lease in redis", &self.script(RELEASE, key, token)).await.map(|_count| ())
    }

    fn script(&self, script: &str, key: &Key, token: Token) -> Cmd {
        let mut command = redis::cmd("EVAL");
        command.arg(script).arg(1).arg(self.envelope.stored(key).as_bytes()).arg(&token.0);
        command
    }

    async fn send(&self, action: &'static str, command: &Cmd) -> Result<Value, TierError> {
        let work = async { self.connection.send(command).await.map_err(|error| failed(action, &error)) };
        within(self.timeout, action, work).await
    }
}

/// What `found`, which lay under `key` when `token` was to be put there, makes of a claim.
fn claim_from_reply(envelope: &Envelope, key: &StoredKey, token: Token, found: Value) -> Result<Claim, String> {
    match found {
        Value::Nil => Ok(Claim::Acquired),
        // Sent twice, since the connection broke before the first answer.
        Value::BulkString(found) if found == token.0 => Ok(Claim::Acquired),
        Value::BulkString(found) if is_lease(&found) => match found.try_into() {
            Ok(record) => Ok(Claim::HeldByOther(Token(record))),
            Err(found) => Err(format!("a lease has {} bytes", found.len())),
        },
        Value::BulkString(stored) => match envelope.open_owned(key, stored) {
            Ok(value) => Ok(Claim::Value(value)),
            Err(Defect::UnknownKey) => Ok(Claim::Unusable),
            // Redis works, so this is no error of it. The lookup counted the defect, and the value that we make replaces it.
            Err(defect) => {
                debug!(tier = "redis", %defect, "a stored value is wrong; it will be replaced");
                Ok(Claim::Unusable)
            }
        },
        other => Err(format!("it sent {other:?}")),
    }
}

/// Redis counts in whole milliseconds, of which a lease has at least one.
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
    fn what_lies_there_decides_a_claim() {
        let plain = Envelope::new(Namespace::new("test").unwrap(), 1);
        let keys: MasterKeys = format!("1:{}", "ab".repeat(32)).parse().unwrap();
        let others: MasterKeys = format!("2:{}", "cd".repeat(32)).parse().unwrap();
        let (ours, theirs) = (plain.clone().sealing(&keys), plain.sealing(&others));
        let key = ours.stored(&Key::new([7; Key::LEN - 1], Class::new(1)));
        let token = |number| Token([MAGIC.as_slice(), &[number; 16]].concat().try_into().unwrap());
        let claim = |found| claim_from_reply(&ours, &key, token(1), found);
        let sealed = |envelope: &Envelope| {
            let mut record = Vec::new();
            envelope.seal(&key, b"floor", &mut record).unwrap();
            Value::BulkString(record)
        };
        assert!(matches!(claim(Value::Nil), Ok(Claim::Acquired)));
        assert!(matches!(claim(Value::BulkString(token(1).0.to_vec())), Ok(Claim::Acquired)), "taken by a first try");
        assert!(
            matches!(claim(Value::BulkString(token(2).0.to_vec())), Ok(Claim::HeldByOther(found)) if found == token(2))
        );
        assert!(matches!(claim(sealed(&ours)), Ok(Claim::Value(value)) if value == b"floor"[..]));
        assert!(matches!(claim(sealed(&theirs)), Ok(Claim::Unusable)));
        assert!(matches!(claim(Value::BulkString(b"noise".to_vec())), Ok(Claim::Unusable)), "no error of Redis");
        claim(Value::BulkString(b"FLL\x01short".to_vec())).unwrap_err();
        claim(Value::Int(1)).unwrap_err();
    }
}
