//! Refusing what a page in a browser sends: any page that an operator visits may send to his own machine.

use std::net::IpAddr;

use axum::{
    extract::Request,
    http::{HeaderMap, StatusCode, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};

/// Answers 403 in place of `next` to whatever a browser sends from a page.
pub(super) async fn reject(request: Request, next: Next) -> Response {
    if is_from_browser(request.headers()) {
        let message = "pages in a browser may not do this; use floorctl or curl, and name the server by its address\n";
        return (StatusCode::FORBIDDEN, message).into_response();
    }
    next.run(request).await
}

/// Browsers send an origin with every POST and across sites, and say in `sec-fetch-site` whose page asks. A page whose
/// own name was made to point here (DNS rebinding) sends neither with a GET, but the host that it asks for has its name.
fn is_from_browser(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
    let host = headers.get(header::HOST).map(|host| host.to_str().unwrap_or("."));
    headers.contains_key(header::ORIGIN)
        || matches!(site, Some(b"cross-site" | b"same-site"))
        || host.is_some_and(|host| !is_unregistrable(host))
}

/// Whether no page can come from `host`: an address, or a name without a dot (`localhost`, a service in a network of
/// containers), which nobody can register.
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
