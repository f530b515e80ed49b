//! Rejects requests from pages of other sites in a browser: any page that an operator visits can send requests to the
//! operator's machine.

use std::net::IpAddr;

use axum::{
    extract::Request,
    http::{HeaderMap, StatusCode, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};

/// Middleware that answers 403 to requests from browser pages.
pub(super) async fn reject(request: Request, next: Next) -> Response {
    if is_from_browser(request.headers()) {
        let message = "requests from browser pages are not allowed; use floorctl or curl with the server's address\n";
        return (StatusCode::FORBIDDEN, message).into_response();
    }
    next.run(request).await
}

/// Browsers send an `origin` with every POST and every cross-site request, and the relation of the sites in
/// `sec-fetch-site`. A GET after DNS rebinding has neither, but its `host` is a registered name.
fn is_from_browser(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
    let host = headers.get(header::HOST).map(|host| host.to_str().unwrap_or("."));
    headers.contains_key(header::ORIGIN)
        || matches!(site, Some(b"cross-site" | b"same-site"))
        || host.is_some_and(|host| !is_unregistrable(host))
}

/// Whether no web page can have this host: an IP address, or a name without a dot (`localhost`, a container).
fn is_unregistrable(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host();
    let address = name.trim_start_matches('[').trim_end_matches(']');
    !name.contains('.') || address.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrable_host_names_are_rejected() {
        for host in ["127.0.0.1:50052", "[::1]:50052", "10.0.0.7", "localhost:50052", "floor-server:50052"] {
            assert!(is_unregistrable(host), "{host}");
        }
        for host in ["evil.example", "evil.example:50052", "127.0.0.1.evil.example:50052", "", "a b"] {
            assert!(!is_unregistrable(host), "{host}");
        }
    }
}
