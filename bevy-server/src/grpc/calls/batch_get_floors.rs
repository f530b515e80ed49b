//! `BatchGetFloors`: up to 256 floors in one response.

use bytes::{BufMut, Bytes, BytesMut};
use floor_cache::Served;
use floor_gen::FloorSpec;
use floor_proto::{
    FRAME_PREFIX_BYTES,
    limits::{MAX_BATCH, MAX_BATCH_CELLS},
    v1,
};
use http::Response;
use prost::Message;
use tonic::Status;

use super::{
    Call, FloorBody, ServiceState,
    request::resolve,
    response::{ServedCounts, add_trace, put_prefix, respond},
};
use crate::{
    grpc::status::{Violation, from_source_error, invalid, malformed},
    key,
};

pub(super) async fn answer(state: &ServiceState, call: Call, message: Bytes) -> Result<Response<FloorBody>, Status> {
    // Hundreds of specs and disk reads would block the connection's task.
    tokio::task::yield_now().await;
    let keys: Vec<_> = decode(&message)?.iter().map(key::of).collect();
    drop(message);
    let get = async { state.deps.chain.get_many(&keys, call.options()).await.map_err(from_source_error) };
    let served = call.with_deadline(get).await?;
    let mut counts = ServedCounts::default();
    served.iter().for_each(|served| counts.add(served));
    let mut response = respond(batch_message(&served), counts.served_by());
    if let Some(coalesced) = counts.coalesced() {
        response.headers_mut().insert("floor-coalesced", coalesced);
    }
    let steps = served.iter().find_map(|served| served.trace.as_deref());
    add_trace(&call, steps.unwrap_or_default(), response.headers_mut());
    Ok(response)
}

fn decode(message: &[u8]) -> Result<Vec<FloorSpec>, Status> {
    let request = v1::BatchGetFloorsRequest::decode(message).map_err(|error| malformed(&error))?;
    let count = request.specs.len();
    if !(1..=MAX_BATCH).contains(&count) {
        let description = format!("a batch holds 1 ..= {MAX_BATCH} specs, this one holds {count}");
        return Err(invalid(vec![Violation::new("specs", description)]));
    }
    let mut specs = Vec::with_capacity(count);
    let mut violations = Vec::new();
    for (i, requested) in request.specs.iter().enumerate() {
        match resolve(Some(requested), format_args!("specs[{i}]")) {
            Ok(spec) => specs.push(spec),
            Err(wrong) => violations.extend(wrong),
        }
    }
    if !violations.is_empty() {
        return Err(invalid(violations));
    }
    let cells: u64 = specs.iter().map(|spec| spec.cells() as u64).sum();
    if cells > MAX_BATCH_CELLS {
        let description = format!("the floors of a batch have {MAX_BATCH_CELLS} cells at most, these have {cells}");
        return Err(invalid(vec![Violation::new("specs", description)]));
    }
    Ok(specs)
}

/// A `floors.v1.BatchGetFloorsResponse` with the stored floors, copied into one buffer: a few large HTTP/2 frames
/// instead of two small ones per floor.
fn batch_message(served: &[Served]) -> Bytes {
    /// Field 1, length-delimited.
    const FLOORS_TAG: u8 = 1 << 3 | 2;
    let lengths = served.iter().map(|served| served.value.len() - FRAME_PREFIX_BYTES);
    let total = lengths.clone().map(|length| 1 + prost::length_delimiter_len(length) + length).sum();
    let mut message = BytesMut::with_capacity(FRAME_PREFIX_BYTES + total);
    put_prefix(&mut message, total);
    for (served, length) in served.iter().zip(lengths) {
        message.put_u8(FLOORS_TAG);
        prost::encode_length_delimiter(length, &mut message).expect("a BytesMut grows");
        message.put_slice(&served.value[FRAME_PREFIX_BYTES..]);
    }
    message.freeze()
}
