//! The bounds of requests and floors, as the comments of `floors.proto` state them.

/// Floors are numbered from 1 to this.
pub const MAX_FLOOR: u32 = 1_000_000;
/// The least width and height of a floor, in cells.
pub const MIN_SIDE: u32 = 16;
/// The greatest width and height of a floor, in cells.
pub const MAX_SIDE: u32 = 512;
/// The width and height of a floor whose request names none, in cells.
pub const DEFAULT_SIDE: u32 = 100;
/// Specs in a batch, at the most.
pub const MAX_BATCH: usize = 256;
/// Cells in all floors of a batch together, at the most: keeps an ordinary answer under [`DEFAULT_MESSAGE_BYTES`].
pub const MAX_BATCH_CELLS: u64 = 4_194_304;
/// Floors in a stream, at the most.
pub const MAX_STREAM: u32 = 10_000;
/// What gRPC peers accept in one message unless told otherwise; the server's own limit on requests.
pub const DEFAULT_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// What our client accepts in one message.
pub const CLIENT_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
