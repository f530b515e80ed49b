//! The options of the Redis tier.

use std::{fmt, time::Duration};

use crate::{
    admit::Admit,
    redis_url::{self, RedisUrl},
    tls::Tls,
};

/// See [`RedisTier`](crate::tiers::RedisTier).
#[derive(Clone, PartialEq, Eq)]
pub struct RedisConfig {
    /// `redis://[user:password@]host:port[/db]`; `redis+cluster://[user:password@]host:port,host:port` with some nodes
    /// of a cluster; `redis+sentinel://[user:password@]host:port,host:port/service[/db]` with some Sentinels; or
    /// `redis+unix:///path[?db=1&user=me&pass=hush]`. `rediss://`, `rediss+cluster://` and `rediss+sentinel://` are
    /// with TLS.
    pub url: String,
    /// The classes of values that it stores.
    pub admit: Admit,
    /// The deadline of a query.
    pub timeout: Duration,
    /// The TLS options of a URL with TLS.
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
    /// What a URL looks like, for messages.
    pub const EXPECTED_URL: &'static str = redis_url::EXPECTED;

    /// The defaults with this URL.
    #[must_use]
    pub fn at(url: &str) -> Self {
        Self { url: url.to_owned(), ..Self::default() }
    }

    /// The URL for logs and errors, with the user and password redacted. Of a URL that cannot be parsed only the
    /// scheme.
    #[must_use]
    pub fn redacted_url(&self) -> String {
        redis_url::redacted(&self.url)
    }

    /// What is wrong with the URL, if it cannot be parsed, to follow "which". The message has no part of the URL.
    #[must_use]
    pub fn url_problem(&self) -> Option<&'static str> {
        RedisUrl::parse(&self.url).err()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secrets_of_a_redis_url_are_not_in_its_debug_output() {
        for url in ["redis://:hunter2@cache:6379/1", "redis://me:p#hunter2@cache", "user:hunter2@cache"] {
            let debug = format!("{:?}", RedisConfig::at(url));
            assert!(!debug.contains("hunter2"), "{debug}");
        }
    }
}
