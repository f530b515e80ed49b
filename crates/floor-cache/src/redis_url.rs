//! The forms of a Redis URL: a server, a cluster, Sentinels, a socket. Whatever is printed of a URL is printed from
//! here.

use std::fmt::{self, Write as _};

/// The parts of a URL of Redis.
///
/// It is stricter than the URL standard: what follows a character that is not percent-encoded in a password would
/// otherwise pass for a host, a path or a fragment, and be printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct RedisUrl<'a> {
    pub(crate) form: Form,
    pub(crate) has_tls: bool,
    /// `user:password`, percent-encoded.
    pub(crate) login: Option<&'a str>,
    /// `host:port` of each node; of a socket, its path.
    pub(crate) hosts: Vec<&'a str>,
    /// The name under which the Sentinels know the master.
    pub(crate) service: &'a str,
    pub(crate) database: Option<u16>,
    /// The query of a socket, which may have the user and the password.
    pub(crate) query: Option<&'a str>,
}

/// What a URL names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// One server.
    Server,
    /// Some nodes of a cluster.
    Cluster,
    /// The Sentinels of a server.
    Sentinel,
    /// A server on this machine, behind a socket file.
    Socket,
}

/// The schemes, what each names, and whether it is with TLS.
const SCHEMES: [(&str, Form, bool); 7] = [
    ("redis", Form::Server, false),
    ("rediss", Form::Server, true),
    ("redis+cluster", Form::Cluster, false),
    ("rediss+cluster", Form::Cluster, true),
    ("redis+sentinel", Form::Sentinel, false),
    ("rediss+sentinel", Form::Sentinel, true),
    ("redis+unix", Form::Socket, false),
];

/// What a valid URL looks like, for messages.
pub(crate) const EXPECTED: &str = "write redis://host:port, redis+cluster://host:port,host:port, \
    redis+sentinel://host:port,host:port/service or redis+unix:///path, with TLS rediss://, rediss+cluster:// or \
    rediss+sentinel://; percent-encode special characters of a user or a password (%23 for #, %2F for /, %40 for @), or \
    name a file with the password in cache.redis.password_file";

impl<'a> RedisUrl<'a> {
    /// The parts of `url`, or what is wrong with it, to follow "which". The message has no part of the URL.
    pub(crate) fn parse(url: &'a str) -> Result<Self, &'static str> {
        let (scheme, rest) = url.split_once("://").ok_or("has no ://")?;
        let known = SCHEMES.iter().find(|(name, ..)| *name == scheme).ok_or("has an unknown scheme")?;
        let (_, form, has_tls) = *known;
        if rest.contains("#insecure") {
            return Err("has #insecure, which is not accepted; name the authority in cache.redis.ca");
        }
        if rest.contains('#') {
            return Err("has a # that is not percent-encoded");
        }
        if form == Form::Socket {
            return Self::parse_socket(rest);
        }
        if rest.contains('?') {
            return Err("has a ? that is not percent-encoded");
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, hosts) = authority.rsplit_once('@').map_or((None, authority), |(login, rest)| (Some(login), rest));
        let hosts: Vec<_> = hosts.split(',').map(str::trim).collect();
        if form == Form::Server && hosts.len() > 1 {
            return Err("names several hosts, and only clusters and Sentinels have several");
        }
        if !hosts.iter().all(|host| is_host(host)) {
            return Err("has a host or port that is not valid, or a character before it that is not percent-encoded");
        }
        let (service, database) = match form {
            Form::Sentinel => path.split_once('/').unwrap_or((path, "")),
            _ => ("", path),
        };
        if form == Form::Sentinel && (service.is_empty() || !service.bytes().all(is_of_name)) {
            return Err("does not name the service of the Sentinels after the hosts, as in /mymaster");
        }
        let database = database_number(database)?;
        if form == Form::Cluster && database.is_some_and(|database| database > 0) {
            return Err(
                "has the number of a database, and a cluster has no numbered databases; remove it, and use cache.namespace",
            );
        }
        Ok(Self { form, has_tls, login, hosts, service, database, query: None })
    }

    fn parse_socket(rest: &'a str) -> Result<Self, &'static str> {
        let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
        if !path.starts_with('/') || path.contains(['@', ':']) {
            return Err("lacks the path of the socket, which begins with /, after redis+unix://");
        }
        let options = query.into_iter().flat_map(|query| query.split('&'));
        let mut options = options.map(|option| option.split_once('=').unwrap_or((option, "")));
        let database =
            options.clone().find(|(name, _)| *name == "db").map_or(Ok(None), |(_, db)| database_number(db))?;
        if !options.all(|(name, value)| ["db", "user", "pass"].contains(&name) && !value.is_empty()) {
            return Err("has an option that is not db, user or pass, as in ?db=1&user=me&pass=hush, percent-encoded");
        }
        let form = Form::Socket;
        Ok(Self { form, has_tls: false, login: None, hosts: vec![path], service: "", database, query })
    }

    /// The scheme that the URL would have with TLS. `None` if it has it, or is a socket.
    pub(crate) fn scheme_with_tls(&self) -> Option<&'static str> {
        let is_it = |(_, form, has_tls): &&(&str, Form, bool)| *form == self.form && *has_tls && !self.has_tls;
        SCHEMES.iter().find(is_it).map(|(name, ..)| *name)
    }

    fn scheme(&self) -> &'static str {
        let known = SCHEMES.iter().find(|(_, form, has_tls)| (*form, *has_tls) == (self.form, self.has_tls));
        known.map_or("", |(name, ..)| name)
    }
}

/// The URL without its user and password.
impl fmt::Display for RedisUrl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let login = if self.login.is_some() { "***@" } else { "" };
        write!(f, "{}://{login}{}", self.scheme(), self.hosts.join(","))?;
        if !self.service.is_empty() {
            write!(f, "/{}", self.service)?;
        }
        match self.database {
            Some(database) if self.form == Form::Socket => write!(f, "?db={database}"),
            Some(database) => write!(f, "/{database}"),
            None => Ok(()),
        }
    }
}

/// `url` for logs and errors: without user and password. Of what cannot be parsed only the scheme.
pub(crate) fn redacted(url: &str) -> String {
    if let Ok(parsed) = RedisUrl::parse(url) {
        return parsed.to_string();
    }
    let mut shown = String::new();
    if let Some((scheme, _)) = url.split_once("://").filter(|(scheme, _)| scheme.bytes().all(is_of_scheme)) {
        let _ = write!(shown, "{scheme}://");
    }
    shown + "***"
}

const fn is_of_scheme(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte == b'+'
}

const fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

/// Whether `text` is a name or an address, with a port or without.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) if address.parse::<std::net::Ipv6Addr>().is_ok() => ("v6", rest),
        Some(_) => return false,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    !host.is_empty() && host.bytes().all(is_of_name) && is_port
}

/// The number of a database; `None` if `text` is empty.
fn database_number(text: &str) -> Result<Option<u16>, &'static str> {
    let text = text.trim_end_matches('/');
    let number = (!text.is_empty()).then(|| text.parse()).transpose();
    number.map_err(|_| "has a database that is not a number, or a character before it that is not percent-encoded")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_passwords_are_not_printed() {
        for (url, shown) in [
            ("redis://127.0.0.1:6379", "redis://127.0.0.1:6379"),
            ("redis://:hunter2@cache:6379/1", "redis://***@cache:6379/1"),
            ("rediss://user:p@ss@cache:6379", "rediss://***@cache:6379"),
            ("rediss+cluster://user:p@ss@a:1, b:2/0", "rediss+cluster://***@a:1,b:2/0"),
            ("redis+sentinel://:hunter2@a:1,[::1]:2/my-master/3", "redis+sentinel://***@a:1,[::1]:2/my-master/3"),
            ("redis+unix:///run/redis.sock?user=me&pass=hunter2&db=2", "redis+unix:///run/redis.sock?db=2"),
            // What cannot be parsed: redis-rs/redis-rs#517.
            ("redis://:57#Wc903z@127.0.0.1:6379", "redis://***"),
            ("redis://few:p@ss/w#rd:%1@h:6379", "redis://***"),
            ("redis://few:p@ss/w@h:6379", "redis://***"),
            ("redis://me:p?ss@h", "redis://***"),
            ("redis://hunter2:/@h", "redis://***"),
            ("redis+sentinel://a:1/p:hunter2@h", "redis+sentinel://***"),
            ("redis+unix://me:hunter2@/run/redis.sock", "redis+unix://***"),
            ("redis+unix:///run/redis.sock?password=hunter2", "redis+unix://***"),
            ("rediz://me:hunter2@h", "rediz://***"),
            ("user:hunter2@cache", "***"),
            ("hunter2:x@redis://cache", "***"),
        ] {
            assert_eq!(redacted(url), shown, "{url}");
        }
    }

    /// Every place of a URL in which a password may stand, with every character that could end it there.
    #[test]
    fn no_password_is_printed_whatever_stands_in_it() {
        const MARKER: &str = "hunter2";
        let special =
            ["", "#", "/", "?", "@", ":", "%", "%1", " ", ",", "[", "]", "\\", "&", "=", "//", "://", "/3@", "\n"];
        let mut printed = 0;
        for scheme in SCHEMES.map(|(name, ..)| name).into_iter().chain(["http", "rediz", "Redis", "re dis"]) {
            for one in special {
                for other in special {
                    for url in [
                        format!("{scheme}://:{one}{MARKER}{other}@h:6379"),
                        format!("{scheme}://me:12{one}{MARKER}{other}@h:6379/1"),
                        format!("{scheme}://{MARKER}{one}:{other}{MARKER}@a:1,b:2/mymaster/1"),
                        format!("{scheme}:///run/redis.sock?user=me&pass={one}{MARKER}{other}"),
                        format!("{scheme}://me:{one}{MARKER}{other}@/run/redis.sock"),
                    ] {
                        let shown = redacted(&url);
                        assert!(!shown.contains(MARKER), "{url} is printed as {shown}");
                        printed += usize::from(shown.contains("***@"));
                    }
                }
            }
        }
        assert!(printed > 1000, "{printed} URLs could be parsed");
    }

    #[test]
    fn the_parts_of_a_url_are_found() {
        let url = RedisUrl::parse("rediss+sentinel://me:p@ss@a:1,b:2/mymaster/3").unwrap();
        assert_eq!((url.form, url.has_tls, url.login), (Form::Sentinel, true, Some("me:p@ss")));
        assert_eq!((url.hosts, url.service, url.database), (vec!["a:1", "b:2"], "mymaster", Some(3)));
        let url = RedisUrl::parse("redis+unix:///run/redis.sock?db=1&pass=x").unwrap();
        assert_eq!((url.form, url.hosts, url.database), (Form::Socket, vec!["/run/redis.sock"], Some(1)));
        let with_tls = |url| RedisUrl::parse(url).unwrap().scheme_with_tls();
        assert_eq!(with_tls("redis://a"), Some("rediss"));
        assert_eq!(with_tls("redis+cluster://a"), Some("rediss+cluster"));
        assert_eq!((with_tls("rediss://a"), with_tls("redis+unix:///a")), (None, None));
    }

    #[test]
    fn an_error_says_what_is_wrong() {
        for (url, expected) in [
            ("redis+cluster://host/3", "no numbered databases"),
            ("redis://a:1,b:2", "several hosts"),
            ("redis+sentinel://a:1", "/mymaster"),
            ("redis://a/b", "not a number"),
            ("redis://a:66000", "port"),
            ("redis://", "host"),
            ("redis+unix://run/redis.sock", "begins with /"),
        ] {
            let error = RedisUrl::parse(url).err().unwrap();
            assert!(error.contains(expected), "{url}: {error}");
        }
        assert!(RedisUrl::parse("redis+cluster://host/0").is_ok() && RedisUrl::parse("redis://host/").is_ok());
    }
}
