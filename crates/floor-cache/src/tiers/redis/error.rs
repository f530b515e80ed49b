//! What an error of Redis means: whether a new connection may help, what kind of failure of the tier it is, and what
//! the operator can do about it.

use redis::{ErrorKind, RedisError, ServerErrorKind, Value};

use crate::{
    redis_url::Form,
    tier::{TierError, TierErrorKind},
};

/// What may help against an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remedy {
    /// The connection is broken: another one, and the request again.
    ReplaceConnection,
    /// The server is not the master that it was, or not yet: behind the name, the Sentinels or the slot there may be
    /// another by now. Another connection, and the request again.
    FindMaster,
    /// Nothing that a client does.
    None,
}

/// What may help against `error`. Every request of the tier may be sent twice.
pub(super) fn remedy(error: &RedisError) -> Remedy {
    match (error.kind(), error.code()) {
        (
            ErrorKind::Server(
                ServerErrorKind::ReadOnly
                | ServerErrorKind::MasterDown
                | ServerErrorKind::BusyLoading
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::TryAgain,
            ),
            _,
        )
        | (_, Some("UNBLOCKED")) => Remedy::FindMaster,
        (_, Some(_)) => Remedy::None,
        (ErrorKind::ClusterConnectionNotFound, _) => Remedy::ReplaceConnection,
        _ if error.is_timeout() => Remedy::None,
        _ if error.is_unrecoverable_error() || error.is_connection_dropped() => Remedy::ReplaceConnection,
        _ => Remedy::None,
    }
}

/// `reply`, unless it is an error: the library returns those of the server as replies. That a key has a value of
/// another type says nothing about the server.
pub(super) fn accepted(reply: Value) -> Result<Value, RedisError> {
    match reply {
        Value::ServerError(error) if error.code() != "WRONGTYPE" => Err(error.into()),
        reply => Ok(reply),
    }
}

/// The error of `action` on a Redis that `form` names.
pub(super) fn failed(action: &'static str, error: &RedisError, form: Form) -> TierError {
    let kind = if error.is_timeout() {
        TierErrorKind::Timeout
    } else if error.is_connection_dropped() || error.is_connection_refusal() || error.is_io_error() {
        TierErrorKind::Unreachable
    } else if error.code().is_some() || error.kind() == ErrorKind::AuthenticationFailed {
        TierErrorKind::Refused
    } else {
        TierErrorKind::Internal
    };
    TierError::new(kind, action, reason(error, form))
}

/// The text of Redis or of the library, and the advice that fits.
fn reason(error: &RedisError, form: Form) -> String {
    if error.kind() == ErrorKind::ClusterConnectionNotFound {
        return "no node of the cluster can be reached at the address that it announces; with TLS its certificate must be \
                valid for that address"
            .to_owned();
    }
    let text = match (error.code(), error.detail()) {
        (Some(code), Some(detail)) => format!("{code} {detail}"),
        _ => error.to_string(),
    };
    let text = without_arguments(&text);
    match advice(text, form) {
        Some(advice) => format!("{}; {advice}", text.trim_end_matches(['.', ' '])),
        None => text.to_owned(),
    }
}

/// `text` without the arguments of a command that Redis does not know. Those of AUTH are the user and the password.
fn without_arguments(text: &str) -> &str {
    text.split_once(", with args beginning with").map_or(text, |(before, _)| before)
}

/// What the operator can do, by a part of the text.
fn advice(text: &str, form: Form) -> Option<&'static str> {
    const ADVICE: [(&str, &str); 20] = [
        ("NOAUTH", "name the file of its password in cache.redis.password_file"),
        // The answer to a command with more than ten arguments.
        ("unauthenticated", "name the file of its password in cache.redis.password_file"),
        ("without any password configured", "this Redis has no password: remove it from cache.redis"),
        (
            "WRONGPASS",
            "check the user in cache.redis.url and the password, which stands in cache.redis.password_file or \
             percent-encoded in the URL",
        ),
        (
            "authentication failed",
            "check the user in cache.redis.url and the password, which stands in cache.redis.password_file or \
             percent-encoded in the URL",
        ),
        (
            "NOPERM",
            "allow its user (ACL SETUSER) the keys of cache.namespace and the commands MGET, SET, UNLINK, GETRANGE and \
             SCAN, for the figures DBSIZE and INFO, in a cluster CLUSTER SLOTS and PING",
        ),
        ("cluster support disabled", "this Redis is no cluster; write redis:// or rediss:// in cache.redis.url"),
        ("SELECT is not allowed in cluster mode", "it is a cluster; write redis+cluster://host:port without a number"),
        ("DB index is out of range", "write the number of a database that this Redis has after its port"),
        ("unknown command", "this Redis lacks the command, or it was renamed or disabled there"),
        ("DENIED", "give Redis a password, or bind it to an address that only this server reaches"),
        ("ERR max number of clients", "raise maxclients of Redis, or let fewer programs connect to it"),
        ("READONLY", "it is a replica; name the master, or let Sentinels name it (redis+sentinel://)"),
        ("MASTERDOWN", "it is a replica that has lost its master; name the master in cache.redis.url"),
        ("LOADING", "it has just started; wait until it has read its data"),
        ("OOM", "raise maxmemory of Redis, or set its maxmemory-policy to allkeys-lfu"),
        ("MISCONF", "Redis cannot save to its disk; free space there, or turn its persistence off"),
        ("NOREPLICAS", "Redis has fewer replicas than its option min-replicas-to-write requires"),
        ("BUSY", "a script blocks Redis; SCRIPT KILL ends it"),
        (
            "Master with given name not found",
            "the Sentinels know no reachable master of the name in cache.redis.url; SENTINEL MASTERS lists the names",
        ),
    ];
    let of_cluster = ["MOVED ", "CROSSSLOT", "ASK ", "CLUSTERDOWN"];
    if matches!(form, Form::Server | Form::Socket) && of_cluster.iter().any(|code| text.starts_with(code)) {
        return Some(
            "it is a node of a cluster; write redis+cluster://host:port in cache.redis.url, with TLS rediss+cluster://",
        );
    }
    ADVICE.iter().find(|(part, _)| text.contains(part)).map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error as Redis sends it.
    fn error(text: &str) -> RedisError {
        let reply = redis::parse_redis_value(format!("-{text}\r\n").as_bytes()).unwrap();
        accepted(reply).unwrap_err()
    }

    #[test]
    fn the_advice_fits_the_error() {
        let said = |text: &str| reason(&error(text), Form::Server);
        assert_eq!(
            said("NOAUTH Authentication required."),
            "NOAUTH Authentication required; name the file of its password in cache.redis.password_file"
        );
        assert!(said("ERR Protocol error: unauthenticated multibulk length").contains("password_file"));
        assert!(said("NOPERM User few has no permissions to run the 'mget' command").contains("MGET, SET"));
        assert!(said("MOVED 866 10.0.0.1:6379").contains("redis+cluster://"));
        assert!(said("CROSSSLOT Keys in request don't hash to the same slot").contains("redis+cluster://"));
        assert!(!reason(&error("CLUSTERDOWN The cluster is down"), Form::Cluster).contains("write"));
        assert_eq!(said("NEWS of another version"), "NEWS of another version");
    }

    #[test]
    fn a_password_in_an_error_is_not_repeated() {
        let text = "ERR unknown command 'AUTH', with args beginning with: 'me' 'hunter2' ";
        let said = reason(&error(text), Form::Server);
        assert!(said.starts_with("ERR unknown command 'AUTH'; ") && !said.contains("hunter2"), "{said}");
    }

    #[test]
    fn a_server_that_is_not_the_master_is_looked_for_again() {
        for text in [
            "READONLY You can't",
            "MASTERDOWN Link",
            "LOADING Redis is",
            "CLUSTERDOWN Hash slot",
            "TRYAGAIN m",
            "UNBLOCKED f",
        ] {
            assert_eq!(remedy(&error(text)), Remedy::FindMaster, "{text}");
        }
        for text in ["NOAUTH a", "NOPERM a", "OOM a", "MISCONF a", "ERR a", "MOVED 1 a:1", "BUSY a", "NOREPLICAS a"] {
            assert_eq!(remedy(&error(text)), Remedy::None, "{text}");
        }
        let io = |kind| RedisError::from(std::io::Error::from(kind));
        assert_eq!(remedy(&io(std::io::ErrorKind::BrokenPipe)), Remedy::ReplaceConnection);
        assert_eq!(remedy(&io(std::io::ErrorKind::TimedOut)), Remedy::None);
    }
}
