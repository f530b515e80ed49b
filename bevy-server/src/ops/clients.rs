//! The page `/clients`: who had floors generated and was refused floors lately.

use std::sync::Arc;

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};

use serde_json::{Value, json};

use super::OpsState;
use crate::clients::ClientActivity;

pub(super) async fn most_active(State(state): State<Arc<OpsState>>) -> Response {
    let document = json!({ "clients": state.clients.most_active().iter().map(row).collect::<Vec<_>>() });
    ([(header::CONTENT_TYPE, "application/json")], format!("{document}\n")).into_response()
}

fn row(client: &ClientActivity) -> Value {
    let ClientActivity { name, floors, cells, refusals } = client;
    json!({ "name": &**name, "floors": floors, "cells": cells, "refusals": refusals })
}
