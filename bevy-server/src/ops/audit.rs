//! The audit trail: a line of the target `floors::audit` for each operation that may change something, with who asked
//! for it. Filters of the log do not hide it.

use std::net::IpAddr;

use axum::{extract::Request, http::StatusCode};

use super::floors;

/// The address of the caller. The server of the port adds it to each request.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallerAddress(pub(super) IpAddr);

/// An operation that an operator has asked for. It is logged when it is dropped, so also if the caller leaves before the
/// answer or the page panics.
#[derive(Debug)]
pub(super) struct Operation {
    request: RequestLine,
    /// The name of the token; `None` if the server has no token for operators.
    operator: Option<Box<str>>,
    status: Option<StatusCode>,
}

/// What is logged of a request.
#[derive(Debug)]
pub(super) struct RequestLine {
    address: Option<IpAddr>,
    page: String,
    /// Without the values of parameters that no page has: they may be secrets.
    query: String,
}

impl RequestLine {
    pub(super) fn of(request: &Request) -> Self {
        let address = request.extensions().get::<CallerAddress>().map(|caller| caller.0);
        let (page, query) = (request.uri().path().to_owned(), redacted(request.uri().query().unwrap_or_default()));
        Self { address, page, query }
    }

    /// Logs that the caller may not do this. `suppressed` others were not logged.
    pub(super) fn log_refused(&self, status: StatusCode, suppressed: u64) {
        tracing::warn!(
            target: "floors::audit",
            address = self.address.map(tracing::field::display),
            page = self.page,
            query = self.query,
            status = status.as_u16(),
            suppressed,
            "an operation was refused"
        );
    }
}

/// The query with `…` in place of the parameters that no page has.
fn redacted(query: &str) -> String {
    let is_known = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default();
        name == "filter" || floors::is_parameter(name)
    };
    let pairs = query.split('&').map(|pair| Some(pair).filter(is_known).unwrap_or("…"));
    if query.is_empty() { String::new() } else { pairs.collect::<Vec<_>>().join("&") }
}

impl Operation {
    /// An operation that `operator` may ask for.
    pub(super) const fn begin(request: RequestLine, operator: Option<Box<str>>) -> Self {
        Self { request, operator, status: None }
    }

    /// The operation was answered.
    pub(super) fn end(mut self, status: StatusCode) {
        self.status = Some(status);
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        // There is no such page, or it changes nothing.
        if matches!(self.status, Some(StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED)) {
            return;
        }
        tracing::info!(
            target: "floors::audit",
            operator = self.operator.as_deref(),
            address = self.request.address.map(tracing::field::display),
            page = self.request.page,
            query = self.request.query,
            status = self.status.map(|status| status.as_u16()),
            "operation"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_pages_take_is_logged_of_a_query() {
        for query in
            ["", "seed=42&first=1&count=3", "tower=1&tenant=acme", "all=true", "tier=lmdb", "filter=info,a=debug"]
        {
            assert_eq!(redacted(query), query);
        }
        assert_eq!(redacted("token=hush&seed=1&hush&%74oken=hush"), "…&seed=1&…&…");
    }
}
