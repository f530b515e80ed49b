//! The page `/clients`: who had floors generated and was refused floors lately.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use serde_json::Value;

use super::{OpsState, json::json};
use crate::callers::CallerActivity;

pub(super) async fn most_active(State(state): State<Arc<OpsState>>) -> Response {
    let callers: Vec<_> = state.callers.most_active().iter().map(row).collect();
    json(StatusCode::OK, &serde_json::json!({ "clients": callers }))
}

fn row(caller: &CallerActivity) -> Value {
    let CallerActivity { name, floors, cells, refusals, offloaded } = caller;
    let offloaded = offloaded.as_millis() as u64;
    serde_json::json!({
        "name": &**name, "floors": floors, "cells": cells, "refusals": refusals, "offloadedMs": offloaded,
    })
}
