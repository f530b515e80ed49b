//! Answers of pages in JSON.

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

/// The answer with `document`.
pub(super) fn json(status: StatusCode, document: &impl Serialize) -> Response {
    match serde_json::to_string(document) {
        Ok(text) => (status, [(header::CONTENT_TYPE, "application/json")], text + "\n").into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}
