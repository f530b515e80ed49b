//! Request messages of every method.

use floor_proto::v1::{
    BatchGetFloorsRequest, FloorKind, FloorSpec, GetFloorRequest, GetServerInfoRequest, StreamFloorsRequest, View,
};
use prost::Message;
use prost_reflect::DynamicMessage;
use serde::Serialize;

use super::{hex, json};

#[derive(Serialize)]
pub(super) struct Request {
    name: &'static str,
    method: &'static str,
    message: &'static str,
    /// The encoded message, in hexadecimal.
    bytes: String,
    /// The same in proto3 JSON.
    json: DynamicMessage,
}

/// Requests with defaults left out, with every field, and with the greatest numbers.
pub(super) fn all() -> Vec<Request> {
    let spec = |seed, number| FloorSpec { seed, number, ..FloorSpec::default() };
    let full = FloorSpec {
        seed: u64::MAX,
        number: 1_000_000,
        width: 512,
        height: 16,
        kind: FloorKind::Story.into(),
        view: View::Player.into(),
        ..FloorSpec::default()
    };
    let get = |name, spec| request(name, "GetFloor", "GetFloorRequest", &GetFloorRequest { spec: Some(spec) });
    vec![
        get("get", spec(42, 7)),
        get("get_tower_zero", spec(0, 1)),
        get("get_every_field", full.clone()),
        get("get_of_a_pack", FloorSpec { pack: "sample".to_owned(), ..spec(42, 7) }),
        get("get_of_a_version", FloorSpec { pack: "sample@0123456789abcdef".to_owned(), ..full.clone() }),
        request(
            "batch",
            "BatchGetFloors",
            "BatchGetFloorsRequest",
            &BatchGetFloorsRequest { specs: vec![spec(42, 7), full, spec(0, 1)] },
        ),
        request(
            "stream",
            "StreamFloors",
            "StreamFloorsRequest",
            &StreamFloorsRequest { first: Some(spec(42, 5)), count: 300 },
        ),
        request("info", "GetServerInfo", "GetServerInfoRequest", &GetServerInfoRequest {}),
    ]
}

fn request(name: &'static str, method: &'static str, message: &'static str, value: &impl Message) -> Request {
    Request { name, method, message, bytes: hex(&value.encode_to_vec()), json: json::message(message, value) }
}
