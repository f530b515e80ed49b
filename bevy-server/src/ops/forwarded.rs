//! Whether a request was forwarded by a proxy: then it comes from this machine only as far as TCP knows.

use std::net::IpAddr;

use axum::{
    extract::Request,
    http::{HeaderMap, Version, header, uri::Authority},
};

/// Headers that proxies add, besides those that begin with one of [`PREFIXES`].
const HEADERS: [&str; 13] = [
    "forwarded",
    "via",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-original-host",
    "x-original-url",
    "x-rewrite-url",
    "true-client-ip",
    "cdn-loop",
    "client-ip",
    "proxy-connection",
    "x-proxyuser-ip",
];
/// What the names of other such headers begin with.
const PREFIXES: [&str; 5] = ["x-forwarded", "x-envoy-", "cf-", "x-amzn-", "fastly-"];

/// What shows that the request was not made on this machine: a header of a proxy, HTTP/1.0, which nginx speaks to its
/// upstreams by default, or a `host` that is no name of this machine. A proxy that hides all of these is told from a
/// local caller by nothing.
pub(super) fn sign_of_proxy(request: &Request) -> Option<String> {
    let headers = request.headers();
    if let Some(name) = headers.keys().map(|name| name.as_str()).find(|name| is_added_by_proxies(name)) {
        return Some(format!("it has the header {name}"));
    }
    if request.version() < Version::HTTP_11 {
        return Some("it is of HTTP/1.0".to_owned());
    }
    (!is_for_this_machine(headers)).then(|| "its host is neither localhost nor a loopback address".to_owned())
}

fn is_added_by_proxies(name: &str) -> bool {
    HEADERS.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn is_for_this_machine(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| Authority::try_from(host.as_bytes()).ok());
    host.is_some_and(|authority| {
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
    })
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn request(version: Version, headers: &[(&'static str, &'static str)]) -> Request {
        let mut request = Request::builder().method("POST").uri("/compact").version(version);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Body::empty()).unwrap()
    }

    #[test]
    fn a_request_of_this_machine_names_it_and_no_proxy() {
        for host in ["localhost:50052", "LOCALHOST", "127.0.0.1:50052", "127.0.0.9", "[::1]:50052"] {
            let request = request(Version::HTTP_11, &[("host", host), ("x-request-id", "1"), ("user-agent", "curl")]);
            assert_eq!(sign_of_proxy(&request), None, "{host}");
        }
        for host in ["floors", "10.0.0.1:50052", "localhost.example", "[::2]"] {
            let sign = sign_of_proxy(&request(Version::HTTP_11, &[("host", host)]));
            assert!(sign.is_some_and(|sign| sign.contains("host")), "{host}");
        }
        for name in
            HEADERS.into_iter().chain(["x-forwarded-for", "x-forwarded", "cf-connecting-ip", "x-envoy-internal"])
        {
            let request = request(Version::HTTP_11, &[("host", "localhost"), (name, "10.0.0.1")]);
            assert_eq!(sign_of_proxy(&request), Some(format!("it has the header {name}")));
        }
        assert!(sign_of_proxy(&request(Version::HTTP_10, &[("host", "127.0.0.1:50052")])).is_some());
    }
}
