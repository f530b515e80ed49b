//! What a request of HTTP/1 must have that hyper does not check, on both ports.

use http::{HeaderValue, Request, Version, header, uri::Authority};

/// What is wrong with the `host` of the request, which is then answered with 400 (RFC 9112, section 3.2): two recipients
/// of one request must not take it for requests to two hosts.
pub(crate) fn host_problem<B>(request: &Request<B>) -> Option<&'static str> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(_), Some(_)) => Some("a request has one host, and this one has several\n"),
        (Some(host), None) if !is_host(host) => Some("host is no host: write a name or an address, and a port\n"),
        (None, _) if request.version() == Version::HTTP_11 => Some("a request of HTTP/1.1 has a host\n"),
        _ => None,
    }
}

/// Whether it is `HOST` or `HOST:PORT`, or empty, as for a target without an authority.
fn is_host(host: &HeaderValue) -> bool {
    let authority = Authority::try_from(host.as_bytes());
    host.is_empty() || authority.is_ok_and(|authority| !authority.as_str().contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(version: Version, hosts: &[&'static str]) -> Option<&'static str> {
        let mut request = Request::builder().version(version);
        for host in hosts {
            request = request.header(header::HOST, *host);
        }
        host_problem(&request.body(()).unwrap())
    }

    #[test]
    fn a_request_has_one_host() {
        for host in ["floors", "127.0.0.1:50052", "[::1]:50052", ""] {
            assert_eq!(problem(Version::HTTP_11, &[host]), None, "{host}");
        }
        assert_eq!(problem(Version::HTTP_10, &[]), None);
        for hosts in [&[][..], &["a", "b"], &["a", "a"], &["a b"], &["user@a"], &["a/b"]] {
            assert!(problem(Version::HTTP_11, hosts).is_some(), "{hosts:?}");
        }
        assert!(problem(Version::HTTP_10, &["a", "b"]).is_some());
    }
}
