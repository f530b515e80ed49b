//! The limits of requests and floors that the comments in `floors.proto` state.

/// The greatest floor number; the least is 1.
pub const MAX_FLOOR: u32 = 1_000_000;
/// The least width and height of a floor, in cells.
pub const MIN_SIDE: u32 = 16;
/// The greatest width and height of a floor, in cells.
pub const MAX_SIDE: u32 = 512;
/// The width and height of a floor whose request leaves them 0, in cells.
pub const DEFAULT_SIDE: u32 = 100;
/// Greatest number of specs in a batch.
pub const MAX_BATCH: usize = 256;
/// Greatest number of cells in all floors of a batch together. Keeps a typical response under
/// [`DEFAULT_MESSAGE_BYTES`].
pub const MAX_BATCH_CELLS: u64 = 4_194_304;
/// Greatest number of towers in a search.
pub const MAX_SEEDS: usize = 1_000;
/// Greatest number of floors in a stream.
pub const MAX_STREAM: u32 = 10_000;
/// The default message size limit of gRPC, in bytes. The server applies it to requests.
pub const DEFAULT_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// The message size limit of floor-client, in bytes.
pub const CLIENT_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
