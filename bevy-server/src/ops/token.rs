//! Who may change the stores: callers with the operators' token or with a token of the scope `operate`, or callers on
//! this machine if neither is configured. A token is a header: a query with one is refused, and never logged.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use bevy::prelude::Resource;

use super::{
    audit::{Operation, RequestLine},
    forwarded,
};
use crate::{
    auth::{self, Authenticator, Scope, bearer},
    callers::WarningLimiter,
    config::Token,
    metrics::{Limit, Refusals},
};

/// Decides which callers of the operations port may change the stores. Cheap to clone; clones share the token.
#[derive(Resource, Debug, Clone)]
pub struct OperatorAccess(Arc<Access>);

#[derive(Debug)]
struct Access {
    /// Whether only this machine reaches the listener.
    is_loopback: bool,
    token: RwLock<Option<Token>>,
    /// Knows the tokens of callers, if they have any.
    authenticator: Option<Authenticator>,
    refusals: Refusals,
    warnings: Mutex<WarningLimiter>,
}

/// The name of the token in `ops.token_file`, which is the key.
pub(super) const OPERATORS_TOKEN: &str = "ops.token_file";

impl OperatorAccess {
    /// Access through a listener on `address`, with `token` if there is one, and with the tokens that `authenticator`
    /// knows.
    #[must_use]
    pub fn new(
        address: SocketAddr,
        token: Option<Token>,
        authenticator: Option<Authenticator>,
        refusals: Refusals,
    ) -> Self {
        let is_loopback = address.ip().to_canonical().is_loopback();
        let (token, warnings) = (RwLock::new(token), Mutex::default());
        Self(Arc::new(Access { is_loopback, token, authenticator, refusals, warnings }))
    }

    /// Replaces the token. Returns whether it changed.
    pub fn set_token(&self, token: Option<Token>) -> bool {
        let mut current = self.0.token.write().unwrap_or_else(PoisonError::into_inner);
        let changed = *current != token;
        *current = token;
        changed
    }

    /// The name of the token of the caller, who may change the stores. `None` if no token is needed.
    fn check(&self, request: &Request) -> Result<Option<Box<str>>, Denied> {
        self.check_token(request.headers(), || forwarded::sign_of_proxy(request))
    }

    /// Checks the token in the headers. `sign_of_proxy` says why a caller is not one of this machine.
    fn check_token(
        &self,
        headers: &HeaderMap,
        sign_of_proxy: impl FnOnce() -> Option<String>,
    ) -> Result<Option<Box<str>>, Denied> {
        let token = self.0.token.read().unwrap_or_else(PoisonError::into_inner);
        let given = headers.get(header::AUTHORIZATION).and_then(bearer);
        if token.as_ref().zip(given).is_some_and(|(token, given)| token.matches(given)) {
            return Ok(Some(OPERATORS_TOKEN.into()));
        }
        match &self.0.authenticator {
            Some(authenticator) => {
                authenticator.check(headers, Scope::Operate).map(Some).map_err(|denied| match denied {
                    auth::Denied::Scope { .. } => Denied::Scope,
                    _ => Denied::WrongToken,
                })
            }
            None if token.is_some() => Err(Denied::WrongToken),
            None if self.0.is_loopback => sign_of_proxy().map_or(Ok(None), |sign| Err(Denied::Forwarded(sign))),
            None => Err(Denied::NoTokenConfigured),
        }
    }
}

/// Why a caller may not change the stores.
#[derive(Debug, PartialEq, Eq)]
enum Denied {
    WrongToken,
    /// The token is one of a caller that is no operator.
    Scope,
    NoTokenConfigured,
    /// Something on this machine forwards requests of others, as the sign says.
    Forwarded(String),
    /// The query has this parameter, which is a token by its name.
    InQuery(String),
}

impl Denied {
    /// The reason under which the refusal counts.
    const fn limit(&self) -> Limit {
        match self {
            Self::WrongToken | Self::NoTokenConfigured | Self::Forwarded(_) | Self::InQuery(_) => {
                Limit::Unauthenticated
            }
            Self::Scope => Limit::Scope,
        }
    }
}

impl IntoResponse for Denied {
    fn into_response(self) -> Response {
        match self {
            Self::WrongToken => {
                let message = "this needs the token in the file that ops.token_file names, or a token of \
                               auth.tokens_file with the scope operate: send it as `authorization: Bearer TOKEN`, or \
                               use floorctl with --ops-token-file FILE\n";
                (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], message).into_response()
            }
            Self::Scope => {
                let message = "this needs a token with the scope operate: add it to the token's scopes in the file \
                               that auth.tokens_file names\n";
                (StatusCode::FORBIDDEN, message).into_response()
            }
            Self::NoTokenConfigured => {
                let message = "other machines reach this port, so this needs a token, and the server has none: set \
                               ops.token_file to a file with one, or ops.listen to a loopback address\n";
                (StatusCode::FORBIDDEN, message).into_response()
            }
            Self::Forwarded(sign) => {
                let message = format!(
                    "without a token only callers on this machine may do this, and a proxy has forwarded this request: \
                     {sign}. Set ops.token_file to a file with a token, and send it as `authorization: Bearer TOKEN`; \
                     or use floorctl or curl on this machine with http://localhost:PORT\n"
                );
                (StatusCode::FORBIDDEN, message).into_response()
            }
            Self::InQuery(parameter) => {
                let message = format!(
                    "{parameter}: a token does not belong into a URL, which proxies log and shells remember. Send it as \
                     `authorization: Bearer TOKEN`, or use floorctl with --ops-token-file FILE; and replace this one\n"
                );
                (StatusCode::BAD_REQUEST, message).into_response()
            }
        }
    }
}

/// The first parameter of the query that is a token or another secret by its name.
fn secret_in(query: &str) -> Option<String> {
    const SECRETS: [&str; 8] = ["token", "auth", "bearer", "key", "secret", "passw", "credential", "jwt"];
    let names = form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name.to_ascii_lowercase());
    names.into_iter().find(|name| SECRETS.iter().any(|secret| name.contains(secret)))
}

/// Middleware that answers 400, 401 or 403 to requests that would change something and may not, and to those with a token
/// in their query. Logs all that would change something.
pub(super) async fn check(State(access): State<OperatorAccess>, request: Request, next: Next) -> Response {
    let in_query = request.uri().query().and_then(secret_in).map(Denied::InQuery);
    if request.method().is_safe() && in_query.is_none() {
        return next.run(request).await;
    }
    let line = RequestLine::of(&request);
    match in_query.map_or_else(|| access.check(&request), Err) {
        Ok(operator) => {
            let operation = Operation::begin(line, operator);
            let response = next.run(request).await;
            operation.end(response.status());
            response
        }
        Err(denied) => {
            access.0.refusals.count(denied.limit());
            let response = denied.into_response();
            let suppressed = access.0.warnings.lock().unwrap_or_else(PoisonError::into_inner).admit();
            if let Some(suppressed) = suppressed {
                line.log_refused(response.status(), suppressed);
            }
            response
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(address: &str, token: Option<&str>) -> OperatorAccess {
        let token = token.and_then(|token| Token::new(token.to_owned()));
        let refusals = Refusals::register(&prometheus::Registry::new()).unwrap();
        OperatorAccess::new(address.parse().unwrap(), token, None, refusals)
    }

    fn headers(authorization: &'static str) -> HeaderMap {
        [(header::AUTHORIZATION, authorization.parse().unwrap())].into_iter().collect()
    }

    /// A proxy has forwarded the request.
    fn proxy() -> Option<String> {
        Some("it has the header via".to_owned())
    }

    #[test]
    fn without_a_token_only_a_loopback_listener_allows_changes() {
        for address in ["127.0.0.1:1", "127.0.0.7:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(access(address, None).check_token(&HeaderMap::new(), || None), Ok(None), "{address}");
        }
        for address in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1"] {
            let denied = access(address, None).check_token(&headers("Bearer hush"), || None);
            assert_eq!(denied, Err(Denied::NoTokenConfigured), "{address}");
        }
    }

    #[test]
    fn what_a_proxy_forwards_is_not_of_this_machine() {
        let denied = access("127.0.0.1:1", None).check_token(&HeaderMap::new(), proxy);
        assert_eq!(denied, Err(Denied::Forwarded("it has the header via".to_owned())));
    }

    #[test]
    fn a_secret_in_a_query_is_known_by_its_name() {
        for secret in
            ["token=a", "seed=1&Access_Token=a", "%74oken=a", "ops-token", "api_key=a", "authorization=Bearer+a"]
        {
            assert!(secret_in(secret).is_some(), "{secret}");
        }
        for query in
            ["", "seed=42&first=1&count=10&width=64&kind=boss&pack=a&tenant=b", "tower=1", "tier=lmdb", "filter=info"]
        {
            assert_eq!(secret_in(query), None, "{query}");
        }
    }

    #[test]
    fn with_a_token_every_listener_needs_it() {
        for address in ["127.0.0.1:1", "0.0.0.0:1"] {
            let access = access(address, Some("hush"));
            for right in ["Bearer hush", "bearer hush", "Bearer  hush "] {
                assert_eq!(access.check_token(&headers(right), proxy), Ok(Some(OPERATORS_TOKEN.into())), "{right:?}");
            }
            assert_eq!(access.check_token(&HeaderMap::new(), proxy), Err(Denied::WrongToken));
            for wrong in ["Bearer", "Bearer ", "Bearer hus", "Bearer hushh", "Basic hush", "hush"] {
                assert_eq!(access.check_token(&headers(wrong), proxy), Err(Denied::WrongToken), "{wrong:?}");
            }
        }
    }

    #[test]
    fn a_new_token_replaces_the_old_one() {
        let access = access("127.0.0.1:1", Some("old"));
        let token = |text: &str| Token::new(text.to_owned());
        assert!(!access.set_token(token("old")));
        assert!(access.set_token(token("new")));
        assert_eq!(access.check_token(&headers("Bearer old"), proxy), Err(Denied::WrongToken));
        assert!(access.check_token(&headers("Bearer new"), proxy).is_ok());
    }
}
