//! The files that are read with the configuration: certificates, keys and secrets.

use std::{fs, path::Path};

use floor_cache::{
    envelope::MasterKeys,
    tls::{Certificates, PemError, PrivateKey},
};

use super::{formats::File, token::Token};

/// The master keys of the chain.
pub(super) const MASTER_KEYS: File<MasterKeys> = File {
    expected: "write the path of a readable file that holds keys as ID:KEY, one a line, the id 1 ..= 255, the key 64 \
         hexadecimal digits, no id twice",
    read: |path| text(path)?.parse::<MasterKeys>().map_err(|error| format!("is wrong: {error}")),
};

/// The authorities that sign the certificate of a server to which this one connects: Redis, or the collector of traces.
pub(super) const CA: File<Certificates> = File {
    expected: "write the path of a readable PEM file that holds at least one certificate, or \"\" for those of the \
         system",
    read: |path| Certificates::read(path).map_err(reason),
};

/// The client certificate for Redis.
pub(super) const CERT: File<Certificates> = File {
    expected: "write the path of a readable PEM file that holds at least one certificate, or \"\" for none",
    read: |path| Certificates::read(path).map_err(reason),
};

/// The private key of [`CERT`].
pub(super) const KEY: File<PrivateKey> = File {
    expected: "write the path of a readable PEM file that holds a private key, or \"\" for none",
    read: |path| PrivateKey::read(path).map_err(reason),
};

/// The password of Redis.
pub(super) const PASSWORD: File<String> = File {
    expected: "write the path of a readable file whose first line is the password, or \"\" for none",
    read: first_line,
};

/// The bearer token of the operations port.
pub(super) const TOKEN: File<Token> = File {
    expected: "write the path of a readable file whose first line is the token, visible ASCII characters without \
         spaces, or \"\" for none",
    read: |path| Token::new(first_line(path)?).ok_or_else(|| "has a first line that is no token".to_owned()),
};

/// The text of the file at `path`.
fn text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))
}

/// The first line of the file at `path`, unless it is empty.
fn first_line(path: &Path) -> Result<String, String> {
    let text = text(path)?;
    let line = text.lines().next().filter(|line| !line.is_empty());
    line.map(str::to_owned).ok_or_else(|| "has no first line, or an empty one".to_owned())
}

fn reason(error: PemError) -> String {
    error.reason().to_owned()
}

/// `url` with `password` for its user. `None` if it has a password.
pub(super) fn with_password(url: &str, password: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    // Any byte may be written as its code, so that no password is taken for a part of the URL.
    let encoded: String = password.bytes().map(|byte| format!("%{byte:02X}")).collect();
    if rest.starts_with('/') {
        // A socket has its options in the query.
        let separator = if rest.contains('?') { '&' } else { '?' };
        return (!rest.contains("pass=")).then(|| format!("{url}{separator}pass={encoded}"));
    }
    let (user, hosts) = rest.rsplit_once('@').unwrap_or(("", rest));
    (!user.contains(':')).then(|| format!("{scheme}://{user}:{encoded}@{hosts}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_becomes_part_of_the_url() {
        for (url, with) in [
            ("redis://cache:6379", Some("redis://:%61%40%2F@cache:6379")),
            ("rediss://me@cache/1", Some("rediss://me:%61%40%2F@cache/1")),
            ("redis+cluster://me@a:1,b:2", Some("redis+cluster://me:%61%40%2F@a:1,b:2")),
            ("rediss+cluster://a:1,b:2", Some("rediss+cluster://:%61%40%2F@a:1,b:2")),
            ("redis+sentinel://me@a:1,b:2/mymaster", Some("redis+sentinel://me:%61%40%2F@a:1,b:2/mymaster")),
            ("redis+unix:///run/redis.sock", Some("redis+unix:///run/redis.sock?pass=%61%40%2F")),
            ("redis+unix:///run/redis.sock?user=me", Some("redis+unix:///run/redis.sock?user=me&pass=%61%40%2F")),
            ("redis+unix:///run/redis.sock?pass=hush", None),
            ("redis://me:hush@cache", None),
            ("redis://:hush@cache", None),
        ] {
            assert_eq!(with_password(url, "a@/").as_deref(), with, "{url}");
        }
    }
}
