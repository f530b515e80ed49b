//! The page `/log-level`: changes the log filter until the next reload or restart.

use std::sync::Arc;

use axum::{
    extract::{RawQuery, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};

use super::{OpsState, json::json};
use crate::config::{FilterError, LogFilter};

/// An invalid query.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum QueryError {
    #[error(
        "write ?filter= and a level or levels of targets, as in ?filter=info,floor_cache=debug; empty returns to \
             the configured filter"
    )]
    Parameters,
    #[error("filter is wrong: {0}")]
    Filter(#[from] FilterError),
}

pub(super) async fn set(State(state): State<Arc<OpsState>>, RawQuery(query): RawQuery) -> Response {
    let changed = match parse(&query.unwrap_or_default()) {
        Ok(Some(filter)) => state.log.set(&filter).map(|()| filter),
        Ok(None) => state.log.reset(),
        Err(error) => return (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response(),
    };
    match changed {
        Ok(filter) => json(StatusCode::OK, &serde_json::json!({ "filter": filter.to_string() })),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

/// The filter in `query`; `None` for the configured one.
fn parse(query: &str) -> Result<Option<LogFilter>, QueryError> {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let (Some((name, filter)), None) = (pairs.next(), pairs.next()) else { return Err(QueryError::Parameters) };
    match &*filter {
        _ if name != "filter" => Err(QueryError::Parameters),
        "" => Ok(None),
        filter => Ok(Some(LogFilter::new(filter)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_one_filter() {
        let filter = |text: &str| Ok(Some(LogFilter::new(text).unwrap()));
        assert_eq!(parse("filter=info,floor_cache=debug"), filter("info,floor_cache=debug"));
        assert_eq!(parse("filter=info%2Cfloor_cache%3Ddebug"), filter("info,floor_cache=debug"));
        assert_eq!(parse("filter="), Ok(None));
        for wrong in ["", "level=debug", "filter=info&filter=debug", "filter=info&level=debug"] {
            assert_eq!(parse(wrong), Err(QueryError::Parameters), "{wrong}");
        }
        assert!(matches!(parse("filter=inof"), Err(QueryError::Filter(_))));
    }
}
