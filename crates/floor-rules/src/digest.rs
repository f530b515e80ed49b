//! FNV-1a in 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv). It tells floors and logs apart; it proves nothing against
//! who wants two to be equal, which a replay does.

/// The digest of nothing.
pub(crate) const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// The digest of what `before` is that of, followed by `byte`. For one byte, two different digests before give two
/// different ones after: so logs of one length that differ in one act never have the same digest.
pub(crate) const fn add(before: u64, byte: u8) -> u64 {
    (before ^ byte as u64).wrapping_mul(0x0000_0100_0000_01b3)
}
