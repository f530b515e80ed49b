//! What is printed of the URL of a server.

use std::net::Ipv6Addr;

/// `url` for messages: its scheme, host and port. Of what is more than that, only the scheme: it may hold a password or
/// a token, and whoever reads the message may not know either.
#[must_use]
pub fn redacted(url: &str) -> String {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) if scheme.bytes().all(|byte| byte.is_ascii_lowercase()) => (format!("{scheme}://"), rest),
        Some(_) => return HIDDEN.to_owned(),
        None => (String::new(), url),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if rest.contains('@') || !is_authority(authority) { scheme + HIDDEN } else { scheme + authority }
}

const HIDDEN: &str = "***";

/// Whether `text` is a name or an address, with a port or without.
fn is_authority(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) if address.parse::<Ipv6Addr>().is_err() => return false,
        Some((_, port)) => ("address", port),
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    !host.is_empty() && host.bytes().all(is_of_name) && is_port
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_a_port_are_printed() {
        for (url, shown) in [
            ("http://127.0.0.1:50051", "http://127.0.0.1:50051"),
            ("https://floors.example", "https://floors.example"),
            ("https://[::1]:50051/", "https://[::1]:50051"),
            ("localhost:50051", "localhost:50051"),
            ("https://floors.example/path?token=hunter2#hunter2", "https://floors.example"),
            ("http://me:hunter2@floors.example", "http://***"),
            ("http://me:hun#ter2@floors.example", "http://***"),
            ("me:hunter2@floors.example", "***"),
            ("http://me:hunter2", "http://***"),
            ("http://two words", "http://***"),
            ("hunter2:x@http://floors.example", "***"),
        ] {
            assert_eq!(redacted(url), shown, "{url}");
        }
    }

    /// Every character that may end a user or a password, in every place.
    #[test]
    fn no_password_is_printed_whatever_stands_in_it() {
        const MARKER: &str = "hunter2";
        for one in ["", "#", "/", "?", "@", ":", "%", "%1", " ", ",", "[", "]", "\\", "&", "//", "://", "/3@", "\n"] {
            for other in ["", "#", "/", "?", "@", ":", "%", " ", "[", "]", "\\", "://", "\n"] {
                for url in [
                    format!("http://me:{one}{MARKER}{other}@h:1"),
                    format!("https://12:34{one}{MARKER}{other}@h"),
                    format!("http://{MARKER}{one}:{other}@h:1/path"),
                    format!("{MARKER}{one}:{other}{MARKER}@h:1"),
                    format!("http://h:1/?token={one}{MARKER}{other}"),
                ] {
                    assert!(!redacted(&url).contains(MARKER), "{url} is printed as {}", redacted(&url));
                }
            }
        }
    }
}
