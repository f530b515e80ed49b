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
/// The longest name of a sealed tower, in bytes.
pub const MAX_TOWER_BYTES: usize = 64;

/// Whether `name` may name a sealed tower: 1 to [`MAX_TOWER_BYTES`] lowercase letters, digits, `-`, `_` or `.`. Such a
/// name can stand in the name of a file.
#[must_use]
pub fn is_tower_name(name: &str) -> bool {
    let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.');
    (1..=MAX_TOWER_BYTES).contains(&name.len()) && name.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tower_name_can_stand_in_the_name_of_a_file() {
        for name in ["daily-2026-11-29", "a", "a_b.c", &"x".repeat(MAX_TOWER_BYTES)] {
            assert!(is_tower_name(name), "{name}");
        }
        for name in ["", "A", "a/b", "a\\b", "ä", "a b", "a\n", &"x".repeat(MAX_TOWER_BYTES + 1)] {
            assert!(!is_tower_name(name), "{name}");
        }
    }
}
