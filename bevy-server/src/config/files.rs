//! The files that are read with the configuration: certificates, keys and secrets.

use std::{fs, io, path::Path};

use floor_cache::{
    envelope::MasterKeys,
    tls::{Certificates, PemError, PrivateKey},
};
use floor_proto::text;

use super::{formats::File, token::Token};

/// The master keys of the chain.
pub(super) const MASTER_KEYS: File<MasterKeys> = File {
    expected: "write the path of a readable file that holds keys as ID:KEY, one a line, the id 1 ..= 255, the key 64 \
         hexadecimal digits, no id twice",
    read: |path| text(path)?.parse::<MasterKeys>().map_err(|error| format!("is wrong: {error}")),
};

/// The keys of sealed towers; `None` if there is no such file yet.
pub(super) const TOWER_KEYS: File<Option<MasterKeys>> = File {
    expected: "write the path of a file of keys as ID:KEY, one a line, the id 1 ..= 255, the key 64 hexadecimal digits, no \
         id twice; or of a file that is missing, for a new key; or \"\" for no sealed towers",
    read: |path| match fs::metadata(path) {
        // A key in place of its path must not become the name of a file.
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_path(path) => Ok(None),
        _ => (MASTER_KEYS.read)(path).map(Some),
    },
};

fn is_path(path: &Path) -> bool {
    path.to_str().is_none_or(|text| text.parse::<MasterKeys>().is_err())
}

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
    read: token,
};

/// The text of the file at `path`, without a byte order mark.
fn text(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    text::decode(&bytes).map(str::to_owned)
}

/// The first line of the file at `path`, unless it is empty. Its end may be that of any system; no other control character
/// is a part of a secret that people write.
fn first_line(path: &Path) -> Result<String, String> {
    let text = text(path)?;
    let line = text.lines().next().unwrap_or_default().trim_end_matches('\r');
    if line.is_empty() {
        return Err("has no first line, or an empty one".to_owned());
    }
    match line.chars().find(|character| character.is_control()).and_then(text::remark) {
        Some(remark) => Err(format!("has a control character in its first line: {remark}")),
        None => Ok(line.to_owned()),
    }
}

/// The token in the first line of the file at `path`.
fn token(path: &Path) -> Result<Token, String> {
    let line = first_line(path)?;
    let wrong = line.chars().find(|character| !character.is_ascii_graphic());
    let remark =
        wrong.and_then(|wrong| text::remark(wrong).or_else(|| (wrong == ' ').then(|| "it has a space".to_owned())));
    Token::new(line).ok_or_else(|| match remark {
        Some(remark) => format!("has a first line that is no token: {remark}"),
        None => "has a first line that is no token".to_owned(),
    })
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

    /// What editors, shells and other systems put around a secret is taken as it was meant or refused by its name.
    #[test]
    fn what_is_added_to_a_secret_is_no_part_of_it_or_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        let (both, bytes) = (|value| (value, value), |text: &str| text.as_bytes().to_vec());
        for (content, (password, token)) in [
            (bytes("hush"), both(Ok("hush"))),
            (bytes("hush\n"), both(Ok("hush"))),
            (bytes("hush\r\n"), both(Ok("hush"))),
            (bytes("hush\r"), both(Ok("hush"))),
            (bytes("hush\r\r\n"), both(Ok("hush"))),
            (bytes("\u{feff}hush\r\n"), both(Ok("hush"))),
            (bytes("hush\n# of the cache\n"), both(Ok("hush"))),
            (bytes("two words\n"), (Ok("two words"), Err("no token: it has a space"))),
            (bytes("hush \n"), (Ok("hush "), Err("no token: it has a space"))),
            (bytes("hu\u{200b}sh"), (Ok("hu\u{200b}sh"), Err("U+200B is invisible"))),
            (bytes("hush\u{a0}"), (Ok("hush\u{a0}"), Err("U+00A0 is not the ordinary space"))),
            (bytes("hüsh"), (Ok("hüsh"), Err("no token"))),
            (bytes("hush\t\n"), both(Err("U+0009 is a tab"))),
            (bytes("hush\0"), both(Err("U+0000 is a control character"))),
            (bytes("\nhush"), both(Err("an empty one"))),
            (bytes("\u{feff}\r\n"), both(Err("an empty one"))),
            (b"\xff\xfeh\0u\0".to_vec(), both(Err("is UTF-16; save it as UTF-8"))),
            (b"h\xfcsh".to_vec(), both(Err("is not UTF-8 in line 1"))),
        ] {
            std::fs::write(&path, &content).unwrap();
            let shown = String::from_utf8_lossy(&content);
            match (password, first_line(&path)) {
                (Ok(expected), read) => assert_eq!(read.as_deref(), Ok(expected), "{shown:?}"),
                (Err(part), read) => assert!(read.clone().unwrap_err().contains(part), "{shown:?}: {read:?}"),
            }
            match (token, super::token(&path)) {
                (Ok(expected), read) => assert!(read.unwrap().matches(expected.as_bytes()), "{shown:?}"),
                (Err(part), read) => {
                    let problem = read.unwrap_err();
                    assert!(problem.contains(part) && !problem.contains("hu"), "{shown:?}: {problem}");
                }
            }
        }
        let keys = |text: &str| {
            std::fs::write(&path, text).unwrap();
            (MASTER_KEYS.read)(&path).map(|_| ())
        };
        let key = format!("7:{}", "ab".repeat(32));
        for right in [key.clone(), key.to_uppercase(), format!("\u{feff}{key}\r\n"), format!("\n{key}  \n\n")] {
            assert_eq!(keys(&right), Ok(()), "{right:?}");
        }
        for wrong in [key.replace(':', ": "), key.replace(':', ":0x"), format!("\"{key}\""), format!("# new\n{key}")] {
            assert!(keys(&wrong).unwrap_err().contains("key number"), "{wrong:?}");
        }
    }

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
