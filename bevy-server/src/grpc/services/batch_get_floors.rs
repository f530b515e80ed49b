//! `BatchGetFloors`: up to 256 floors in one response.

use std::{collections::VecDeque, time::Duration};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use floor_cache::Served;
use floor_gen::FloorSpec;
use floor_proto::{
    FRAME_PREFIX_BYTES,
    limits::{MAX_BATCH, MAX_BATCH_CELLS},
    v1,
};
use prost::{
    DecodeError, Message,
    encoding::{DecodeContext, decode_key, skip_field},
};
use tonic::Status;

use super::{
    Call, Services,
    resolve::{Refused, Unresolved, decoded, resolve, validity},
};
use crate::{
    grpc::{
        answer::{Answer, Frame, ServedBy, ServedCounts, Validity, put_prefix},
        status::{Violation, invalid, malformed},
    },
    key,
    packs::VisiblePacks,
};

/// Longer batches pause before decoding, and between decoding and lookup, each of which takes 0.1 ms for 256 floors.
const PAUSE_ABOVE: usize = 64;
/// About what the specs of such a batch take.
const PAUSE_ABOVE_BYTES: usize = 16 * PAUSE_ABOVE;

pub(super) async fn answer(services: &Services, call: &Call<'_>, message: Bytes) -> Result<Answer, Status> {
    // Hundreds of specs and disk reads would block the connection's task.
    if message.len() > PAUSE_ABOVE_BYTES {
        tokio::task::yield_now().await;
    }
    let Requested { specs, validity } = decoded(services, call, message, decode).await?;
    let keys: Vec<_> = specs.iter().map(key::of).collect();
    if keys.len() > PAUSE_ABOVE {
        tokio::task::yield_now().await;
    }
    let served = services.get_many(call, &keys).await?;
    let mut counts = ServedCounts::default();
    counts.add(&served);
    let steps = served.iter().find_map(|served| served.trace.clone());
    Ok(Answer { frame: batch_frame(&served), served: ServedBy::Several(counts), steps, validity })
}

/// The requested floors.
struct Requested {
    specs: Vec<FloorSpec>,
    validity: Validity,
}

fn decode(packs: VisiblePacks<'_>, message: &[u8], mut allowed: Duration) -> Result<Requested, Refused> {
    let count = count_specs(message).map_err(|error| malformed(&error))?;
    if !(1..=MAX_BATCH).contains(&count) {
        let description = format!("a batch holds 1 ..= {MAX_BATCH} specs, this one holds {count}");
        return Err(invalid(vec![Violation::new("specs", description)]).into());
    }
    let request = v1::BatchGetFloorsRequest::decode(message).map_err(|error| malformed(&error))?;
    let mut specs = Vec::with_capacity(count);
    let mut violations = Vec::new();
    for (i, requested) in request.specs.iter().enumerate() {
        match resolve(packs, Some(requested), format_args!("specs[{i}]"), &mut allowed) {
            Ok(spec) => specs.push(spec),
            Err(Unresolved::Invalid(wrong)) => violations.extend(wrong),
            Err(Unresolved::Refused(Refused::TakesLong(one))) => return Err(Refused::TakesLong(one * count as u32)),
            Err(Unresolved::Refused(refused)) => return Err(refused),
        }
    }
    if !violations.is_empty() {
        return Err(invalid(violations).into());
    }
    let cells: u64 = specs.iter().map(|spec| spec.cells() as u64).sum();
    if cells > MAX_BATCH_CELLS {
        let description = format!("the floors of a batch have {MAX_BATCH_CELLS} cells at most, these have {cells}");
        return Err(invalid(vec![Violation::new("specs", description)]).into());
    }
    let validity = validity(packs, request.specs.iter().map(|spec| &*spec.pack));
    Ok(Requested { specs, validity })
}

/// A `floors.v1.BatchGetFloorsResponse` of slices: the stored floors themselves, and before each its tag and length.
fn batch_frame(served: &[Served]) -> Frame {
    /// Field 1, length-delimited.
    const FLOORS_TAG: u8 = 1 << 3 | 2;
    /// A tag and the length of a floor, which is far below 2^28.
    const HEAD_BYTES: usize = 1 + 4;
    let lengths = served.iter().map(|served| served.value.len() - FRAME_PREFIX_BYTES);
    let total = lengths.clone().map(|length| 1 + prost::length_delimiter_len(length) + length).sum();
    // All heads are slices of one buffer.
    let mut heads = BytesMut::with_capacity(FRAME_PREFIX_BYTES + HEAD_BYTES * served.len());
    put_prefix(&mut heads, total);
    let first = heads.split().freeze();
    let mut rest = VecDeque::with_capacity(2 * served.len());
    for (served, length) in served.iter().zip(lengths) {
        heads.put_u8(FLOORS_TAG);
        prost::encode_length_delimiter(length, &mut heads).expect("a BytesMut grows");
        rest.push_back(heads.split().freeze());
        rest.push_back(served.value.slice(FRAME_PREFIX_BYTES..));
    }
    Frame::of_slices(first, rest)
}

/// The number of specs in an encoded `BatchGetFloorsRequest`, found without decoding them: a message of 4 MiB may hold
/// two million empty specs, which would take 100 MiB.
fn count_specs(message: &[u8]) -> Result<usize, DecodeError> {
    /// `specs` in the request.
    const SPECS: u32 = 1;
    let mut rest = message;
    let mut count = 0;
    while rest.has_remaining() {
        let (tag, wire_type) = decode_key(&mut rest)?;
        count += usize::from(tag == SPECS);
        skip_field(wire_type, tag, &mut rest, DecodeContext::default())?;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_are_counted_without_decoding_them() {
        let request = v1::BatchGetFloorsRequest { specs: vec![v1::FloorSpec { seed: 1, ..Default::default() }; 300] };
        assert_eq!(count_specs(&request.encode_to_vec()), Ok(300));
        assert_eq!(count_specs(&[10, 0, 10, 0]), Ok(2));
        assert_eq!(count_specs(&[]), Ok(0));
        assert!(count_specs(&[10, 5, 1]).is_err());
    }
}
