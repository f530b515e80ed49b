//! Bytes that keep a call in flight until the transport has sent them.

use bytes::{Buf, Bytes};

use crate::lifecycle::InFlightGuard;

/// Bytes of a response with a guard. The transport takes frames long before it has sent them, and a call stays in
/// flight until its response is sent.
#[derive(Debug)]
pub struct GuardedBytes {
    bytes: Bytes,
    _guard: Option<InFlightGuard>,
}

impl GuardedBytes {
    pub(super) const fn new(bytes: Bytes, guard: Option<InFlightGuard>) -> Self {
        Self { bytes, _guard: guard }
    }

    /// The bytes without the guard, for a transport whose response holds the guard elsewhere.
    pub(in crate::grpc) fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

impl Buf for GuardedBytes {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }
}
