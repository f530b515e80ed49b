//! Header compression (RFC 7541): the decoder of requests and the encoder of responses.

mod decoder;
mod encoder;
mod huffman;
#[cfg(test)]
mod reference;
mod static_table;

pub(crate) use decoder::{Decoder, Field};
pub(crate) use encoder::Encoder;

/// The size of the decoder's table, and the most that the encoder uses: the default of HTTP/2, in bytes.
pub(crate) const TABLE_BYTES: usize = 4096;
/// What an entry counts in addition to its name and value, in bytes (section 4.1).
pub(crate) const ENTRY_OVERHEAD: usize = 32;

/// A header block that cannot be decoded. The state of the decoder is then lost, and the connection has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HpackError {
    #[error("the header block ends inside a field")]
    Truncated,
    #[error("the header block has an index beyond the tables")]
    Index,
    #[error("the header block has a number that is too large")]
    Number,
    #[error("the header block has a string with an invalid Huffman code")]
    Huffman,
    #[error("the header block sets an invalid table size")]
    TableSize,
    #[error("the fields of the header block are far above the limit")]
    TooLarge,
}
