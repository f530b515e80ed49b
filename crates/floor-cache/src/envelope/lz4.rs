//! Compression by LZ4, in builds that have it.

#[cfg(feature = "lz4")]
pub(super) fn compress(value: &[u8]) -> Option<Vec<u8>> {
    Some(lz4_flex::block::compress(value))
}

/// The value in `body`, of at most `len` bytes.
#[cfg(feature = "lz4")]
pub(super) fn decompress(body: &[u8], len: usize) -> Option<Vec<u8>> {
    lz4_flex::block::decompress(body, len).ok()
}

#[cfg(not(feature = "lz4"))]
pub(super) const fn compress(_value: &[u8]) -> Option<Vec<u8>> {
    None
}

#[cfg(not(feature = "lz4"))]
pub(super) const fn decompress(_body: &[u8], _len: usize) -> Option<Vec<u8>> {
    None
}
