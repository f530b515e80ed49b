//! The head of the last request of a connection. A client that makes the same call again mostly sends the same header
//! block, and then a copy of the head costs less than decoding the block.

use std::hint::black_box;

use http::Request;

/// A longer block is not remembered.
const MAX_BLOCK_BYTES: usize = 1024;
/// A head whose fields have more bytes, as HPACK counts them, is not remembered.
const MAX_HEAD_BYTES: usize = 2048;

/// The last header block of a request.
#[derive(Debug, Default)]
pub(super) struct LastHead {
    block: Vec<u8>,
    /// The version of the decoder's table for which `head` is right.
    table_version: u64,
    /// What the block decodes to. `None` until the block has come twice, so that a client with other blocks each time
    /// costs no copies of heads.
    head: Option<Box<Request<()>>>,
}

/// A head that was decoded.
pub(super) struct Decoded<'a> {
    pub(super) block: &'a [u8],
    pub(super) request: &'a Request<()>,
    /// The bytes of its fields, as HPACK counts them.
    pub(super) bytes: usize,
    /// The version of the decoder's table, the same before and after the block.
    pub(super) table_version: u64,
}

impl LastHead {
    /// The head of `block`, if that is known.
    pub(super) fn find(&self, block: &[u8], table_version: u64) -> Option<Request<()>> {
        let head = self.head.as_ref().filter(|_| self.table_version == table_version)?;
        is_equal(&self.block, block).then(|| (**head).clone())
    }

    /// Remembers a head that was decoded, and forgets the one before.
    pub(super) fn set(&mut self, decoded: &Decoded<'_>) {
        self.head = None;
        if decoded.bytes > MAX_HEAD_BYTES || decoded.block.len() > MAX_BLOCK_BYTES {
            self.block.clear();
        } else if self.table_version == decoded.table_version && is_equal(&self.block, decoded.block) {
            self.head = Some(Box::new(decoded.request.clone()));
        } else {
            self.block.clear();
            self.block.extend_from_slice(decoded.block);
            self.table_version = decoded.table_version;
        }
    }
}

#[cfg(test)]
impl LastHead {
    pub(super) fn remembered_bytes(&self) -> usize {
        self.block.len()
    }
}

/// Whether two blocks are equal, in a time that depends on their lengths only: behind a proxy, they may have the tokens
/// of different clients.
fn is_equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && black_box(a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b))) == 0
}
