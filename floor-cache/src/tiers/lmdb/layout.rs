//! The layout of LMDB's file: meta pages, database records, pages of nodes. The parsers here detect damage within one
//! page; [`check`](super::check) detects damage between pages.
//!
//! The layout is that of LMDB 0.9 on 64-bit little-endian machines (`mdb.c`: `MDB_page`, `MDB_node`, `MDB_db`,
//! `MDB_meta`).

/// A defect of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("page {page}: {what}")]
pub(super) struct Damage {
    pub(super) page: u64,
    pub(super) what: &'static str,
}

pub(super) const fn damage<T>(page: u64, what: &'static str) -> Result<T, Damage> {
    Err(Damage { page, what })
}

/// Whether the parsers know LMDB's layout on this machine.
pub(super) const KNOWS_LAYOUT: bool = cfg!(all(target_endian = "little", target_pointer_width = "64"));

/// Bytes of a page before its nodes.
pub(super) const PAGE_HEADER: usize = 16;

/// Flags of a page. LMDB stores no other combination.
const BRANCH: u16 = 1;
const LEAF: u16 = 2;
pub(super) const OVERFLOW: u16 = 4;
const META: u16 = 8;

/// Bytes of a node before its key.
const NODE_HEADER: usize = 8;

/// Flags of a node in a leaf.
pub(super) const BIG: u16 = 1;
pub(super) const DATABASE: u16 = 2;

/// The longest key of LMDB.
pub(super) const MAX_KEY: usize = 511;

/// The deepest tree that LMDB's cursors support.
pub(super) const MAX_DEPTH: u16 = 32;

/// The root of an empty tree.
pub(super) const NO_PAGE: u64 = u64::MAX;

/// Bytes of the record of a database.
pub(super) const RECORD: usize = 48;

const MAGIC: u32 = 0xBEEF_C0DE;
pub(super) const VERSION: u32 = 1;
pub(super) const META_LEN: usize = 136;
pub(super) const METAS: u64 = 2;

/// The list of free pages has integer keys. A copy of an environment without a directory may have another flag
/// (0x4000).
const FREE_FLAGS: u16 = 0x08;
const NO_DIRECTORY: u16 = 0x4000;

/// A meta page, which has the roots of the trees.
pub(super) struct Meta {
    pub(super) page: u64,
    pub(super) version: u32,
    pub(super) page_size: u32,
    pub(super) free: Record,
    pub(super) main: Record,
    pub(super) last_page: u64,
    pub(super) txn: u64,
}

impl Meta {
    pub(super) fn parse(page: u64, bytes: &[u8]) -> Result<Self, Damage> {
        let meta = &bytes[PAGE_HEADER..];
        if u16_at(bytes, 10) != META || u32_at(meta, 0) != MAGIC {
            return damage(page, "it is not a meta page of LMDB");
        }
        if u64_at(bytes, 0) != page {
            return damage(page, "it has the number of another page");
        }
        let free = Record::parse(&meta[24..][..RECORD]);
        Ok(Self {
            page,
            version: u32_at(meta, 4),
            page_size: u32_at(meta, 24),
            free,
            main: Record::parse(&meta[72..][..RECORD]),
            last_page: u64_at(meta, 120),
            txn: u64_at(meta, 128),
        })
    }

    pub(super) fn check(&self, page_size: u32, newest: u64) -> Result<(), Damage> {
        if self.version != VERSION {
            return damage(self.page, "it is of another version than the other meta page");
        }
        if self.page_size != page_size || !page_size.is_power_of_two() || !(512..=32 << 10).contains(&page_size) {
            return damage(self.page, "its page size is invalid");
        }
        // Transaction N writes page N % 2. Both pages of a new store have transaction 0.
        if self.txn & 1 != self.page && !(self.txn == 0 && newest <= 1) {
            return damage(self.page, "it has the number of another transaction");
        }
        if self.txn > newest || newest > u64::MAX >> 8 {
            return damage(self.page, "its transaction number is invalid");
        }
        if self.free.flags & !NO_DIRECTORY != FREE_FLAGS || self.main.flags != 0 {
            return damage(self.page, "its databases have wrong flags");
        }
        Ok(())
    }
}

/// The record of a database: the root and size of its tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub(super) flags: u16,
    pub(super) depth: u16,
    pub(super) counts: Counts,
    pub(super) root: u64,
}

/// The page and entry counts of a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) branches: u64,
    pub(super) leaves: u64,
    pub(super) overflow: u64,
    pub(super) entries: u64,
}

impl Record {
    pub(super) fn parse(bytes: &[u8]) -> Self {
        Self {
            flags: u16_at(bytes, 4),
            depth: u16_at(bytes, 6),
            counts: Counts {
                branches: u64_at(bytes, 8),
                leaves: u64_at(bytes, 16),
                overflow: u64_at(bytes, 24),
                entries: u64_at(bytes, 32),
            },
            root: u64_at(bytes, 40),
        }
    }
}

/// A node: a key and its child or data.
pub(super) struct Node<'a> {
    pub(super) key: &'a [u8],
    pub(super) flags: u16,
    /// In a branch, the child; in a leaf, the length of the data.
    pub(super) low: u32,
    pub(super) data: &'a [u8],
}

impl Node<'_> {
    pub(super) const fn child(&self) -> u64 {
        self.low as u64 | (self.flags as u64) << 32
    }
}

/// The nodes of a page in key order. They must fill the end of the page without gaps.
pub(super) fn nodes(page_size: usize, page: u64, bytes: &[u8], is_leaf: bool) -> Result<Vec<Node<'_>>, Damage> {
    if u64_at(bytes, 0) != page {
        return damage(page, "it has the number of another page");
    }
    if u16_at(bytes, 10) != if is_leaf { LEAF } else { BRANCH } {
        return damage(page, "its kind does not fit its level in the tree");
    }
    let (lower, upper) = (usize::from(u16_at(bytes, 12)), usize::from(u16_at(bytes, 14)));
    if lower <= PAGE_HEADER || !lower.is_multiple_of(2) || upper < lower || upper > page_size {
        return damage(page, "the bounds of its free space are invalid");
    }
    let offsets = bytes[PAGE_HEADER..lower].chunks_exact(2).map(|offset| usize::from(u16_at(offset, 0)));
    let mut ranges = Vec::with_capacity((lower - PAGE_HEADER) / 2);
    let mut nodes = Vec::with_capacity(ranges.capacity());
    for offset in offsets {
        let (node, len) = node(page_size, bytes, offset, upper, is_leaf)
            .ok_or(Damage { page, what: "the bounds of a node are invalid" })?;
        nodes.push(node);
        ranges.push((offset, len));
    }
    ranges.sort_unstable();
    let end = ranges.iter().try_fold(upper, |at, (offset, len)| (*offset == at).then_some(at + len));
    if end == Some(page_size) { Ok(nodes) } else { damage(page, "its nodes overlap or leave gaps") }
}

/// The node at `offset` and its length, if it is within `bytes[upper..]`.
fn node(page_size: usize, bytes: &[u8], offset: usize, upper: usize, is_leaf: bool) -> Option<(Node<'_>, usize)> {
    if offset < upper {
        return None;
    }
    let node = bytes.get(offset..)?;
    let (header, rest) = node.split_at_checked(NODE_HEADER)?;
    let (low, flags) = (u32_at(header, 0), u16_at(header, 4));
    let (key, rest) = rest.split_at_checked(usize::from(u16_at(header, 6)))?;
    let data_len = match (is_leaf, flags & BIG != 0) {
        (false, _) => 0,
        (true, true) => size_of::<u64>(),
        (true, false) => low as usize,
    };
    let data = rest.get(..data_len)?;
    let len = NODE_HEADER + key.len() + data.len();
    // Longer data is in overflow pages.
    let most = (((page_size - PAGE_HEADER) / 2) & !1) - size_of::<u16>();
    (len <= most).then_some((Node { key, flags, low, data }, len.next_multiple_of(2)))
}

/// The least number of pages for a long value of `len` bytes.
pub(super) const fn pages_of(page_size: usize, len: u32) -> u32 {
    ((PAGE_HEADER as u64 + len as u64).div_ceil(page_size as u64)) as u32
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
