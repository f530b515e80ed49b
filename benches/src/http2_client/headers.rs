//! The headers of calls and of their answers, in HPACK (RFC 7541) with dynamic tables of the initial size, as clients
//! mostly have them: from its second time on, a header takes a byte or two.

use std::{collections::HashMap, sync::Arc};

use anyhow::{Context, anyhow};
use floor_proto::rpc::Rpc;
use httlib_hpack::Decoder;

use crate::target::{OK, Protocol, Target};

/// The header blocks of a connection's calls, which all have the same headers.
#[derive(Debug)]
pub(super) struct RequestHeaders {
    /// Enters the headers into the server's dynamic table.
    first: Vec<u8>,
    /// Refers to them.
    later: Vec<u8>,
}

/// The index of the newest entry of a dynamic table.
const NEWEST: u8 = 62;

impl RequestHeaders {
    pub(super) fn new(rpc: Rpc, target: &Target) -> Self {
        let authority = target.address.to_string();
        // Indices of names in the static table: :path is 4, :authority 1 and content-type 31. `te` has none.
        let mut fields: Vec<(u8, &str, &str)> = vec![(4, ":path", rpc.path()), (1, ":authority", &authority)];
        let content_type = target.protocol.content_type();
        fields.extend(content_type.map(|content_type| (31, "content-type", content_type)));
        if target.protocol == Protocol::Grpc {
            fields.push((0, "te", "trailers"));
        }
        // :method POST or GET, and :scheme http or https, from the static table.
        let mut first =
            vec![if content_type.is_some() { 0x83 } else { 0x82 }, if target.tls.is_some() { 0x87 } else { 0x86 }];
        let mut later = first.clone();
        for (at, (index, name, value)) in fields.iter().enumerate() {
            first.push(0x40 | index);
            if *index == 0 {
                put_string(&mut first, name);
            }
            put_string(&mut first, value);
            later.push(0x80 | (NEWEST + (fields.len() - 1 - at) as u8));
        }
        if let Some(token) = &target.token {
            for block in [&mut first, &mut later] {
                // Never indexed, as floor-client sends it. `authorization` is 23 in the static table: 15, and the rest.
                block.extend_from_slice(&[0x1f, 0x08]);
                put_string(block, &format!("Bearer {token}"));
            }
        }
        Self { first, later }
    }

    /// The block of the call with this number.
    pub(super) fn of_call(&self, number: u32) -> &[u8] {
        if number == 0 { &self.first } else { &self.later }
    }
}

/// Appends an HPACK string. A length below 127 is one byte, whose first bit says that the string is not Huffman-coded.
fn put_string(out: &mut Vec<u8>, text: &str) {
    assert!(text.len() < 127, "{text:?} is too long for one byte of length");
    out.push(text.len() as u8);
    out.extend_from_slice(text.as_bytes());
}

/// What the loads read from the headers or trailers of an answer.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Headers {
    /// The tiers of `floor-served-by` with their floors: `lru`, or `lru=3,generated=8` on a batch.
    pub(crate) served_by: Vec<(String, u64)>,
    /// The number in `grpc-status`.
    grpc_status: Option<u8>,
    /// The status of HTTP.
    http_status: Option<u16>,
}

impl Headers {
    /// The number of the gRPC status that they say. `None` if they say none, and for an error of Connect.
    pub(crate) fn status(&self, protocol: Protocol) -> Option<u8> {
        match protocol {
            Protocol::Grpc => self.grpc_status,
            Protocol::Connect | Protocol::Json | Protocol::File => (self.http_status == Some(200)).then_some(OK),
        }
    }
}

/// Decodes the header blocks of a connection. While the dynamic table stays as it is, equal blocks are equal headers and
/// are decoded once.
#[derive(Debug, Default)]
pub(super) struct HeaderReader {
    decoder: Decoder<'static>,
    known: HashMap<Box<[u8]>, Arc<Headers>>,
}

/// Blocks that a reader remembers. Some answers have headers of their own, for example `etag`.
const MAX_BLOCKS: usize = 256;

impl HeaderReader {
    pub(super) fn read(&mut self, block: &[u8]) -> anyhow::Result<Arc<Headers>> {
        if let Some(known) = self.known.get(block) {
            return Ok(Arc::clone(known));
        }
        let mut decoded = Vec::new();
        self.decoder
            .decode(&mut block.to_vec(), &mut decoded)
            .map_err(|error| anyhow!("a header block cannot be decoded: {error:?}"))?;
        let mut headers = Headers::default();
        // A block may begin with a new size of the table.
        let mut changes_the_table = block.first().is_some_and(|first| first & 0xe0 == 0x20);
        for (name, value, flags) in decoded {
            changes_the_table |= flags & Decoder::WITH_INDEXING != 0;
            let value = String::from_utf8_lossy(&value);
            match &name[..] {
                b"floor-served-by" => headers.served_by = tiers(&value),
                b"grpc-status" => headers.grpc_status = Some(value.parse().context("grpc-status is a number")?),
                b":status" => headers.http_status = Some(value.parse().context(":status is a number")?),
                _ => {}
            }
        }
        if changes_the_table || self.known.len() == MAX_BLOCKS {
            self.known.clear();
        }
        let headers = Arc::new(headers);
        if !changes_the_table {
            self.known.insert(block.into(), Arc::clone(&headers));
        }
        Ok(headers)
    }
}

fn tiers(served_by: &str) -> Vec<(String, u64)> {
    let parts = served_by.split(',').filter(|part| !part.is_empty());
    let tier = |part: &str| match part.split_once('=') {
        Some((tier, count)) => (tier.to_owned(), count.parse().unwrap_or(0)),
        None => (part.to_owned(), 1),
    };
    parts.map(tier).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tiers_of_an_answer_are_read() {
        assert_eq!(tiers("lru"), [("lru".to_owned(), 1)]);
        assert_eq!(tiers("lru=3,generated=8"), [("lru".to_owned(), 3), ("generated".to_owned(), 8)]);
        assert_eq!(tiers(""), []);
    }

    /// `:status: 200` and `cache-control: private` as in RFC 7541, C.6.1, then literals.
    #[test]
    fn a_header_is_found_among_others() {
        let mut block = vec![0x88, 0x58, 0x85, 0xae, 0xc3, 0x77, 0x1a, 0x4b];
        block.extend(b"\x00\x0ffloor-served-by\x03lru\x00\x0bgrpc-status\x0217");
        let mut reader = HeaderReader::default();
        let expected =
            Headers { served_by: vec![("lru".to_owned(), 1)], grpc_status: Some(17), http_status: Some(200) };
        assert_eq!(*reader.read(&block).unwrap(), expected);
        assert_eq!((expected.status(Protocol::Grpc), expected.status(Protocol::Connect)), (Some(17), Some(OK)));
        assert_eq!(reader.known.len(), 0, "the block enters cache-control into the table");
        assert!(reader.read(&block[..block.len() - 1]).is_err());
    }

    #[test]
    fn blocks_are_forgotten_when_the_table_changes() {
        let mut reader = HeaderReader::default();
        reader.read(b"\x40\x0ffloor-served-by\x03lru").unwrap();
        let newest = [0x80 | NEWEST];
        for _ in 0..2 {
            assert_eq!(reader.read(&newest).unwrap().served_by, [("lru".to_owned(), 1)]);
            assert_eq!(reader.known.len(), 1);
        }
        reader.read(b"\x40\x0ffloor-served-by\x04lmdb").unwrap();
        assert_eq!(reader.read(&newest).unwrap().served_by, [("lmdb".to_owned(), 1)]);
        reader.read(&[0x20]).unwrap();
        assert!(reader.read(&newest).is_err(), "a table of size 0 is empty");
    }
}
