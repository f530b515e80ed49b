//! The page `/clients`: who had floors generated and was refused floors lately.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use serde_json::Value;

use super::{OpsState, json::json};
use crate::clients::ClientActivity;

pub(super) async fn most_active(State(state): State<Arc<OpsState>>) -> Response {
    let clients: Vec<_> = state.clients.most_active().iter().map(row).collect();
    json(StatusCode::OK, &serde_json::json!({ "clients": clients }))
}

fn row(client: &ClientActivity) -> Value {
    let ClientActivity { name, floors, cells, refusals, offloaded } = client;
    let offloaded = offloaded.as_millis() as u64;
    serde_json::json!({
        "name": &**name, "floors": floors, "cells": cells, "refusals": refusals, "offloadedMs": offloaded,
    })
}
