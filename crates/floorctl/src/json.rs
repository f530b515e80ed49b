//! The JSON of floors, of server information and of response metadata. docs/floorctl.md documents it, and scripts depend
//! on it. A message of the .proto has the JSON of proto3, as the server's Connect JSON.

use std::{sync::LazyLock, time::Duration};

use floor_client::{
    Floor, PackInfo, Served, ServedBy, ServerInfo,
    v1::{Climb, ListPacksResponse, Receipt},
};
use floor_proto::json::{InvalidJson, JsonCodec, JsonMessage, JsonTypes};
use prost::Message;
use serde::{Serialize, Serializer};

static CLIMB: LazyLock<JsonCodec> = LazyLock::new(|| codec("floors.v1.Climb"));
static PACKS: LazyLock<JsonCodec> = LazyLock::new(|| codec("floors.v1.ListPacksResponse"));
static RECEIPT: LazyLock<JsonCodec> = LazyLock::new(|| codec("floors.v1.Receipt"));
static SERVER_INFO: LazyLock<JsonCodec> = LazyLock::new(|| codec("floors.v1.ServerInfo"));

fn codec(message: &str) -> JsonCodec {
    let types = JsonTypes::new([floor_proto::FILE_DESCRIPTOR_SET]);
    types.and_then(|types| types.codec(message)).expect("the .proto has the message")
}

fn message(codec: &JsonCodec, message: &impl Message) -> JsonMessage {
    codec.message(&message.encode_to_vec()[..]).expect("a message decodes as what it was encoded from")
}

/// The JSON of server information.
pub(crate) fn server_info(info: &ServerInfo) -> JsonMessage {
    message(&SERVER_INFO, info)
}

/// The JSON of the packs of a server.
pub(crate) fn packs(packs: Vec<PackInfo>) -> JsonMessage {
    message(&PACKS, &ListPacksResponse { packs })
}

/// The JSON of a climb.
pub(crate) fn climb(climb: &Climb) -> JsonMessage {
    message(&CLIMB, climb)
}

/// Reads a receipt, or that of a `ClimbFloor`.
pub(crate) fn parse_receipt(json: &[u8]) -> Result<Receipt, InvalidJson> {
    let (mut encoded, of_floor) = RECEIPT.decode_with(json, &["receipt", "floor", "rolls"])?;
    if let Some(receipt) = of_floor.get("receipt") {
        encoded = RECEIPT.decode(receipt.to_string().as_bytes())?;
    }
    Ok(Receipt::decode(&*encoded).expect("the codec has encoded it"))
}

/// One floor, and how it was served.
#[derive(Debug, Serialize)]
pub(crate) struct FloorJson<'a> {
    #[serde(flatten)]
    floor: floor_proto::floor_json::FloorJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    served: Option<ServedJson<'a>>,
}

impl<'a> FloorJson<'a> {
    pub(crate) fn new(floor: &Floor, served: Option<&'a Served>) -> Self {
        Self { floor: floor_proto::floor_json::FloorJson::new(floor), served: served.map(ServedJson::new) }
    }
}

/// The response metadata of a call.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServedJson<'a> {
    #[serde(serialize_with = "floor_counts")]
    by: &'a ServedBy,
    coalesced: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_us: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trace: Vec<StepJson<'a>>,
}

impl<'a> ServedJson<'a> {
    pub(crate) fn new(served: &'a Served) -> Self {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let step = |step: &'a floor_client::TraceStep| StepJson {
            tier: &step.tier,
            outcome: step.outcome.as_deref(),
            cost_us: micros(step.cost),
        };
        Self {
            by: &served.by,
            coalesced: served.coalesced,
            server_us: served.server_time.map(micros),
            trace: served.trace.iter().map(step).collect(),
        }
    }
}

/// Serializes response metadata, for structs that hold it.
pub(crate) fn serialize_served<S: Serializer>(served: &Served, serializer: S) -> Result<S::Ok, S::Error> {
    ServedJson::new(served).serialize(serializer)
}

/// Number of floors from each tier, in the order of the server.
fn floor_counts<S: Serializer>(by: &&ServedBy, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(by.iter())
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StepJson<'a> {
    tier: &'a str,
    outcome: Option<&'a str>,
    cost_us: u64,
}

#[cfg(test)]
mod tests {
    use floor_export::json_layout;
    use floor_proto::floor_json::{self, BESIDES, FLOOR};

    use super::*;
    use crate::fixture;

    #[test]
    fn the_shape_that_scripts_rely_on() {
        let floor = fixture::floor();
        let mut out = Vec::new();
        json_layout::write(&mut out, &FloorJson::new(&floor, Some(&Served::default()))).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    /// Whoever reads the .proto's JSON reads this one, and the other way round.
    #[test]
    fn without_the_fields_besides_it_is_the_json_of_connect() {
        let floor = fixture::floor();
        let mut of_connect = Vec::new();
        FLOOR.encode(&floor.wire().encode_to_vec()[..], &mut of_connect).unwrap();
        let mut document = serde_json::to_value(FloorJson::new(&floor, Some(&Served::default()))).unwrap();
        let fields = document.as_object_mut().unwrap();
        assert!(BESIDES.iter().all(|field| fields.remove(*field).is_some()));
        assert_eq!(document, serde_json::from_slice::<serde_json::Value>(&of_connect).unwrap());
        assert_eq!(&floor_json::parse(&of_connect).unwrap(), floor.wire());
    }

    /// The error about the fixture's JSON after a change.
    fn error(change: impl FnOnce(&mut serde_json::Value)) -> String {
        let floor = fixture::floor();
        let mut json = serde_json::to_value(FloorJson::new(&floor, None)).unwrap();
        change(&mut json);
        floor_json::parse(json.to_string().as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn an_error_names_the_field_the_row_and_the_cell() {
        for (found, expected) in [
            (error(|json| json["terrainRows"][3] = "#".into()), "row 3 of terrainRows has 1 characters, not 30"),
            (error(|json| json["regionRows"][2] = "00".into()), "row 2 of regionRows has 2 characters, not 60"),
            (error(|json| json["terrainRows"] = serde_json::json!([])), "terrainRows has 0 rows, and the floor is 16"),
            (error(|json| json["terrainRows"] = 7.into()), "expected a sequence"),
            (error(|json| json["terrainRows"][1] = "#<....######?###......########".into()), "'?', at (12, 1)"),
            (error(|json| json["regionRows"][0] = "0g".repeat(30).into()), "at (0, 0)"),
            (error(|json| json["rooms"][1]["role"] = "pantry".into()), "rooms[1].role"),
            (error(|json| json["rooms"][1]["role"] = "pantry".into()), "ROOM_ROLE_PASSAGE"),
            (error(|json| json["spec"]["kind"] = "cavern".into()), "FLOOR_KIND_CAVERN"),
            (error(|json| json["spec"]["width"] = 5.into()), "16 to 512 cells wide and high, not 5x16"),
            (error(|json| json["spec"] = serde_json::Value::Null), "the floor has no spec"),
            (error(|json| json["spec"]["seed"] = "-1".into()), "an integer from 0"),
            (error(|json| json["contentHash"] = "hash".into()), "contentHash"),
            (error(|json| json["spawns"][0]["lvl"] = 1.into()), "spawns[0].lvl: no such field"),
            (error(|json| json["lock"] = 1.into()), "lock: no such field"),
        ] {
            assert!(found.contains(expected), "{found}");
        }
    }
}
