//! Who may change the stores: callers with the operators' token or with a token of the scope `operate`, or callers on
//! this machine if neither is configured.

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

use super::audit::{Operation, RequestLine};
use crate::{
    auth::{self, Authenticator, Scope, bearer},
    clients::WarningLimiter,
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

/// The name of the token in `ops.token_file`.
const OPERATORS_TOKEN: &str = "ops.token_file";

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

    /// The name of the token of a caller with these headers, who may change the stores. `None` if no token is needed.
    fn check(&self, headers: &HeaderMap) -> Result<Option<Box<str>>, Denied> {
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
            None if self.0.is_loopback => Ok(None),
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
}

impl Denied {
    /// The reason under which the refusal counts.
    const fn limit(&self) -> Limit {
        match self {
            Self::WrongToken | Self::NoTokenConfigured => Limit::Unauthenticated,
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
        }
    }
}

/// Middleware that answers 401 or 403 to requests that would change something and may not, and logs all that would.
pub(super) async fn check(State(access): State<OperatorAccess>, request: Request, next: Next) -> Response {
    if request.method().is_safe() {
        return next.run(request).await;
    }
    let line = RequestLine::of(&request);
    match access.check(request.headers()) {
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

    #[test]
    fn without_a_token_only_a_loopback_listener_allows_changes() {
        for address in ["127.0.0.1:1", "127.0.0.7:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(access(address, None).check(&HeaderMap::new()), Ok(None), "{address}");
        }
        for address in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1"] {
            let denied = access(address, None).check(&headers("Bearer hush"));
            assert_eq!(denied, Err(Denied::NoTokenConfigured), "{address}");
        }
    }

    #[test]
    fn with_a_token_every_listener_needs_it() {
        for address in ["127.0.0.1:1", "0.0.0.0:1"] {
            let access = access(address, Some("hush"));
            for right in ["Bearer hush", "bearer hush", "Bearer  hush "] {
                assert_eq!(access.check(&headers(right)), Ok(Some(OPERATORS_TOKEN.into())), "{right:?}");
            }
            assert_eq!(access.check(&HeaderMap::new()), Err(Denied::WrongToken));
            for wrong in ["Bearer", "Bearer ", "Bearer hus", "Bearer hushh", "Basic hush", "hush"] {
                assert_eq!(access.check(&headers(wrong)), Err(Denied::WrongToken), "{wrong:?}");
            }
        }
    }

    #[test]
    fn a_new_token_replaces_the_old_one() {
        let access = access("127.0.0.1:1", Some("old"));
        let token = |text: &str| Token::new(text.to_owned());
        assert!(!access.set_token(token("old")));
        assert!(access.set_token(token("new")));
        assert_eq!(access.check(&headers("Bearer old")), Err(Denied::WrongToken));
        assert!(access.check(&headers("Bearer new")).is_ok());
    }
}
