//! The options of the Redis tier.

use std::{fmt, time::Duration};

use crate::{admit::Admit, tls::Tls};

/// See [`RedisTier`](crate::tiers::RedisTier).
#[derive(Clone, PartialEq, Eq)]
pub struct RedisConfig {
    /// `redis://[user:password@]host:port[/db]`, or `redis+cluster://[user:password@]host:port,host:port` with some
    /// nodes of a cluster. `rediss://` and `rediss+cluster://` are the same with TLS.
    pub url: String,
    /// The classes of values that it stores.
    pub admit: Admit,
    /// The deadline of a query.
    pub timeout: Duration,
    /// The TLS options of a `rediss://` or `rediss+cluster://` URL.
    pub tls: Tls,
}

impl Default for RedisConfig {
    fn default() -> Self {
        Self {
            url: "redis://127.0.0.1:6379".to_owned(),
            admit: Admit::All,
            timeout: Duration::from_millis(50),
            tls: Tls::default(),
        }
    }
}

impl RedisConfig {
    /// The URL for logs and errors, with the user and password redacted.
    #[must_use]
    pub fn redacted_url(&self) -> String {
        redact(&self.url)
    }
}

impl fmt::Debug for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisConfig")
            .field("url", &self.redacted_url())
            .field("admit", &self.admit)
            .field("timeout", &self.timeout)
            .field("tls", &self.tls)
            .finish()
    }
}

/// Redacts the user and password, and drops the query, which may contain a password. Splits at the last `@`, since a
/// password may contain one.
fn redact(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let separator = if scheme.is_empty() { "" } else { "://" };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}{separator}***@{host}"),
        None => format!("{scheme}{separator}{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secrets_of_a_redis_url_are_redacted() {
        for (url, shown) in [
            ("redis://127.0.0.1:6379", "redis://127.0.0.1:6379"),
            ("redis://:hunter2@cache:6379/1", "redis://***@cache:6379/1"),
            ("rediss://user:p@ss@cache:6379", "rediss://***@cache:6379"),
            ("rediss+cluster://user:p@ss@a:1,b:2", "rediss+cluster://***@a:1,b:2"),
            ("redis+unix:///run/redis.sock?user=me&pass=hunter2", "redis+unix:///run/redis.sock"),
            ("user:hunter2@cache", "***@cache"),
        ] {
            let config = RedisConfig { url: url.to_owned(), ..RedisConfig::default() };
            assert_eq!(config.redacted_url(), shown);
            let debug = format!("{config:?}");
            assert!(!debug.contains("hunter2") && !debug.contains("p@ss"), "{debug}");
        }
    }
}
