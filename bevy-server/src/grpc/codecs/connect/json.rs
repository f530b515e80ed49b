//! JSON in place of encoded messages: requests are decoded to protobuf before a call begins, and answers are made of its
//! protobuf.

use std::{sync::LazyLock, time::Duration};

use bytes::{Buf, Bytes};
use floor_proto::{
    FRAME_PREFIX_BYTES,
    floor_json::{FLOOR, FloorJson},
    json::{JsonCodec, JsonError, JsonTypes},
    limits::MAX_BATCH,
    v1::FloorSpec,
};
use prost::{
    DecodeError, Message as _,
    encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field},
};
use serde::Serialize as _;
use tonic::Status;

use crate::{
    callers::Caller,
    grpc::{
        Rpc, SERVICE_NAME,
        admission::{Charge, Offload, WAITING_CALL_BYTES, head_bytes},
        status::{Violation, invalid},
    },
};

/// Limit for a request in JSON. A batch of 256 specs with every field has about 30 KiB.
pub(super) const MAX_BYTES: usize = 128 << 10;
/// A request up to this length is decoded on the thread of its connection, which takes about as long as two hits.
const INLINE_BYTES: usize = 1 << 10;
/// The objects of a batch: the request and its specs. More are refused before they are decoded, which takes 0.2 us each.
const MAX_OBJECTS: usize = 1 + MAX_BATCH;

/// Memory that JSON takes while it is made, for each byte of the protobuf. A floor has two to three times its bytes.
const GROWTH: usize = 4;
/// The same with all fields, beside the rows of text.
const FULL_GROWTH: usize = 8;
/// Bytes of the rows of text for a cell: its terrain, and its room in two digits.
const ROW_BYTES: usize = 3;

/// About how long it takes to read a request in JSON.
const fn parsing_time(bytes: usize) -> Duration {
    Duration::from_nanos(20 * bytes as u64)
}

/// About how long it takes to write JSON that takes so much memory.
const fn writing_time(memory: usize) -> Duration {
    Duration::from_nanos(10 * memory as u64)
}

/// Memory that the JSON of an encoded answer takes while it is made.
pub(super) fn memory(rpc: Rpc, message: &[u8], is_full: bool) -> usize {
    if !is_full {
        return GROWTH * message.len();
    }
    let cells = match rpc {
        Rpc::GetFloor => Head::decode(message).map_or(0, |head| head.cells()),
        Rpc::BatchGetFloors => Heads::decode(message).map_or(0, |heads| heads.floors.iter().map(Head::cells).sum()),
        _ => 0,
    };
    FULL_GROWTH * message.len() + ROW_BYTES * cells
}

/// What says how large a floor is.
#[derive(Clone, PartialEq, prost::Message)]
struct Head {
    #[prost(message, optional, tag = "1")]
    spec: Option<FloorSpec>,
}

/// The same of a batch.
#[derive(Clone, PartialEq, prost::Message)]
struct Heads {
    #[prost(message, repeated, tag = "1")]
    floors: Vec<Head>,
}

impl Head {
    fn cells(&self) -> usize {
        self.spec.as_ref().map_or(0, |spec| spec.width as usize * spec.height as usize)
    }
}

/// Appends the JSON of an encoded floor.
fn write_floor(floor: &[u8], is_full: bool, json: &mut Vec<u8>) -> Result<(), JsonError> {
    if is_full {
        return Ok(FloorJson::with_all_fields(floor)?.serialize(&mut serde_json::Serializer::new(json))?);
    }
    FLOOR.encode(floor, json)
}

/// Field 1 of `BatchGetFloorsResponse`.
const FLOORS: u32 = 1;

static CODECS: LazyLock<Codecs> = LazyLock::new(Codecs::new);

struct Codecs {
    /// Requests and responses, by RPC.
    methods: [(JsonCodec, JsonCodec); Rpc::COUNT],
    details: JsonTypes,
}

impl Codecs {
    fn new() -> Self {
        let types = JsonTypes::new([floor_proto::FILE_DESCRIPTOR_SET]).expect("protox wrote the descriptor set");
        let methods =
            Rpc::ALL.map(|rpc| types.method(SERVICE_NAME, rpc.name()).expect("the build script lists the RPCs"));
        let details = JsonTypes::new([tonic_types::pb::FILE_DESCRIPTOR_SET]).expect("prost wrote the descriptor set");
        Self { methods, details }
    }

    fn of(&self, rpc: Rpc) -> &(JsonCodec, JsonCodec) {
        &self.methods[rpc as usize]
    }
}

/// The encoded request of `json`. A long one is decoded in another thread.
pub(super) async fn request(rpc: Rpc, json: Bytes, charge: Charge<'_>, offload: &Offload) -> Result<Bytes, Status> {
    if json.len() <= INLINE_BYTES {
        return parse(rpc, &json);
    }
    let _waiting = charge.reserve(WAITING_CALL_BYTES + head_bytes(charge.head) + json.len())?;
    offload.run(charge.caller, parsing_time(json.len()), move || parse(rpc, &json)).await?
}

fn parse(rpc: Rpc, json: &[u8]) -> Result<Bytes, Status> {
    let objects = json.iter().filter(|byte| **byte == b'{').count();
    if objects > MAX_OBJECTS {
        let description = format!("a batch holds 1 ..= {MAX_BATCH} specs, this one holds {}", objects - 1);
        return Err(invalid(vec![Violation::new("specs", description)]));
    }
    let message = CODECS.of(rpc).0.decode(json).map_err(|error| match error.field {
        Some(field) => invalid(vec![Violation::new(field, error.description)]),
        None => Status::invalid_argument(format!("the request is not the expected JSON: {}", error.description)),
    })?;
    Ok(message.into())
}

/// The JSON of an encoded response, which takes so much `memory`.
pub(super) async fn response(
    rpc: Rpc,
    message: Bytes,
    is_full: bool,
    memory: usize,
    offload: &Offload,
    caller: &Caller,
) -> Result<Bytes, Status> {
    if rpc == Rpc::BatchGetFloors {
        return batch(message, is_full, offload, caller).await.map(Bytes::from);
    }
    let time = writing_time(memory);
    let convert = move || {
        let mut json = Vec::with_capacity(3 * message.len());
        let written = match (rpc, is_full) {
            (Rpc::GetFloor, _) => write_floor(&message, is_full, &mut json),
            (_, false) => CODECS.of(rpc).1.encode(message, &mut json),
            (_, true) => CODECS.of(rpc).1.message(message).map_err(JsonError::from).and_then(|message| {
                Ok(message.with_all_fields().serialize(&mut serde_json::Serializer::new(&mut json))?)
            }),
        };
        written.map(|()| json)
    };
    let mut json = offload.run(caller, time, convert).await?.map_err(|error| defect(&error))?;
    // Until it is sent, its client pays for its length.
    json.shrink_to_fit();
    Ok(json.into())
}

/// The JSON of a floor of a stream, which has a prefix, as it has itself.
pub(super) async fn enveloped(
    floor: Bytes,
    is_full: bool,
    offload: &Offload,
    caller: &Caller,
) -> Result<Bytes, Status> {
    let time = writing_time(memory(Rpc::GetFloor, &floor[FRAME_PREFIX_BYTES..], is_full));
    let convert = move || {
        let mut json = vec![0; FRAME_PREFIX_BYTES];
        write_floor(&floor[FRAME_PREFIX_BYTES..], is_full, &mut json).map(|()| json)
    };
    let mut json = offload.run(caller, time, convert).await?.map_err(|error| defect(&error))?;
    let length = u32::try_from(json.len() - FRAME_PREFIX_BYTES).expect("a floor is far below 4 GiB");
    json[1..FRAME_PREFIX_BYTES].copy_from_slice(&length.to_be_bytes());
    Ok(json.into())
}

/// The JSON of a detail of an error, if its type is known.
pub(super) fn detail(name: &str, message: &[u8]) -> Option<serde_json::Value> {
    let mut json = Vec::new();
    CODECS.details.codec(name)?.encode(message, &mut json).ok()?;
    serde_json::from_slice(&json).ok()
}

/// The JSON of a `BatchGetFloorsResponse`, a floor at a time: decoded, all floors together would take many times the
/// memory of the answer, and others would wait for all of them.
async fn batch(mut message: Bytes, is_full: bool, offload: &Offload, caller: &Caller) -> Result<Vec<u8>, Status> {
    let mut json = Vec::with_capacity(3 * message.len());
    json.extend_from_slice(b"{\"floors\":[");
    let mut is_first = true;
    while let Some(floor) = next_floor(&mut message).map_err(|error| defect(&error.into()))? {
        if !is_first {
            json.push(b',');
        }
        is_first = false;
        let time = writing_time(memory(Rpc::GetFloor, &floor, is_full));
        let convert = move || write_floor(&floor, is_full, &mut json).map(|()| json);
        json = offload.run(caller, time, convert).await?.map_err(|error| defect(&error))?;
    }
    json.extend_from_slice(b"]}");
    json.shrink_to_fit();
    Ok(json)
}

fn next_floor(message: &mut Bytes) -> Result<Option<Bytes>, DecodeError> {
    while message.has_remaining() {
        let (tag, wire_type) = decode_key(message)?;
        if tag != FLOORS || wire_type != WireType::LengthDelimited {
            skip_field(wire_type, tag, message, DecodeContext::default())?;
            continue;
        }
        let length = usize::try_from(decode_varint(message)?).unwrap_or(usize::MAX).min(message.len());
        return Ok(Some(message.split_to(length)));
    }
    Ok(None)
}

/// Stored floors were checked when they were read.
fn defect(error: &JsonError) -> Status {
    tracing::error!(%error, "an answer has no JSON");
    Status::internal(format!("a defect in the server: {error}"))
}

#[cfg(test)]
mod tests {
    use floor_proto::v1;
    use prost::Message;
    use tonic::Code;
    use tonic_types::StatusExt;

    use super::*;
    use crate::{callers::Callers, config::CallerIdentity};

    #[test]
    fn a_wrong_field_is_named_as_in_grpc() {
        let status = parse(Rpc::GetFloor, br#"{"spec":{"number":"x"}}"#).unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        let details = status.get_error_details();
        assert_eq!(details.bad_request().unwrap().field_violations[0].field, "spec.number");
        assert_eq!(parse(Rpc::GetFloor, b"").unwrap_err().code(), Code::InvalidArgument);
    }

    #[test]
    fn tens_of_thousands_of_specs_are_refused_before_they_are_decoded() {
        let batch = |count: usize| format!("{{\"specs\":[{}]}}", vec!["{}"; count].join(","));
        assert!(parse(Rpc::BatchGetFloors, batch(MAX_BATCH).as_bytes()).is_ok());
        let status = parse(Rpc::BatchGetFloors, batch(43_600).as_bytes()).unwrap_err();
        assert!(status.message().contains("this one holds 43600"), "{status:?}");
    }

    #[test]
    fn a_number_that_was_rounded_is_refused_with_its_field() {
        for seed in ["9007199254740993", "9007199254740993.0", "1.8446744073709552e19", "18446744073709551616"] {
            let json = format!(r#"{{"spec":{{"number":1,"seed":{seed}}}}}"#);
            let status = parse(Rpc::GetFloor, json.as_bytes()).unwrap_err();
            assert!(status.message().starts_with(&format!("spec.seed: the number {seed} is beyond")), "{status:?}");
        }
    }

    #[tokio::test]
    async fn a_batch_has_the_json_of_the_whole_message() {
        let floor = |hash| v1::Floor { content_hash: hash, ..Default::default() };
        let answer = v1::BatchGetFloorsResponse { floors: vec![floor(1), floor(0), floor(u64::MAX)] };
        let (offload, caller) = (Offload::new(), Callers::new(CallerIdentity::default()).unknown());
        let response = |message| response(Rpc::BatchGetFloors, message, false, 0, &offload, &caller);
        let json = response(answer.encode_to_vec().into()).await.unwrap();
        let wanted = r#"{"floors":[{"contentHash":"1"},{},{"contentHash":"18446744073709551615"}]}"#;
        assert_eq!(json, wanted);
        let json = response(Bytes::new()).await.unwrap();
        assert_eq!(json, &br#"{"floors":[]}"#[..]);
    }

    #[test]
    fn details_of_errors_have_json() {
        // RetryInfo { retry_delay: Duration { seconds: 1, nanos: 500_000_000 } }
        let retry = [10, 8, 8, 1, 16, 0x80, 0xca, 0xb5, 0xee, 0x01];
        let json = detail("google.rpc.RetryInfo", &retry).unwrap();
        assert_eq!(json, serde_json::json!({"retryDelay": "1.500s"}));
        assert_eq!(detail("google.rpc.Unknown", &[]), None);
    }
}
