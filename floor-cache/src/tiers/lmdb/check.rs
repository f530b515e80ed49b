//! Checks LMDB's file before LMDB reads it. LMDB trusts its pages: a damaged page can make it write outside its memory
//! and kill the process.
//!
//! The check reads the file as bytes without LMDB's code. It traverses every tree from the newest meta page and
//! verifies what LMDB relies on: page numbers, flags, bounds and order of the nodes, counts, and that each page is used
//! at most once, by a tree or by the list of free pages. It does not read the values, whose envelopes are checked when
//! they are read. docs/decisions/0202-checking-stores.md gives the reasons.

use std::{
    cmp::Ordering,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    time::{Duration, Instant},
};

use tracing::info;

use super::{
    NAME,
    layout::{
        self, BIG, Counts, DATABASE, Damage, MAX_DEPTH, MAX_KEY, META_LEN, METAS, Meta, NO_PAGE, Node, OVERFLOW,
        PAGE_HEADER, RECORD, Record, VERSION, damage, pages_of, u16_at, u32_at, u64_at,
    },
};

/// The result of checking a file that is not damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckOutcome {
    /// LMDB can use the file.
    Whole,
    /// Not checked: the file is of another LMDB version or has another program's databases. Opening it decides.
    Unknown,
}

/// Bytes per read of the first pages of long values.
const WINDOW: u64 = 256 << 10;

/// Interval of progress logs.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// Checks the LMDB file at `path`. Nothing may write to it meanwhile. `databases` are the expected databases, with the
/// length of their keys if it is fixed.
pub(super) fn check(path: &Path, databases: &[(&str, Option<usize>)]) -> Result<CheckOutcome, Damage> {
    let file = File::open(path).or(damage(0, "the file cannot be opened"))?;
    let length = file.metadata().map_or(0, |file| file.len());
    let mut head = vec![0; PAGE_HEADER + META_LEN];
    let mut read_meta = |page: u64, at| {
        read_exact(&file, at, &mut head).or(damage(page, "it cannot be read"))?;
        Meta::parse(page, &head)
    };
    let first = read_meta(0, 0)?;
    let second = read_meta(1, u64::from(first.page_size))?;
    if first.version != VERSION && second.version == first.version {
        return Ok(CheckOutcome::Unknown);
    }
    let newest = if second.txn > first.txn { &second } else { &first };
    for meta in [&first, &second] {
        meta.check(first.page_size, newest.txn)?;
    }
    let page_size = newest.page_size as usize;
    let at = newest.txn & 1;
    let pages = newest.last_page.saturating_add(1);
    if pages < METAS || pages.checked_mul(page_size as u64).is_none_or(|bytes| bytes > length) {
        return damage(at, "the file is shorter than its pages");
    }
    let mut checker = Checker {
        file,
        page_size,
        pages,
        txn: newest.txn,
        used: vec![0; pages.div_ceil(64) as usize],
        runs: Vec::new(),
        long: Vec::new(),
    };
    for meta in 0..METAS {
        checker.claim(meta)?;
    }
    let outcome = checker.main(at, &newest.main, databases)?;
    if outcome == CheckOutcome::Whole {
        checker.free_pages(at, &newest.free)?;
        checker.long_values()?;
    }
    Ok(outcome)
}

/// The key order of a tree.
#[derive(Debug, Clone, Copy)]
enum Order {
    Bytes,
    /// The list of free pages: transaction numbers of 8 bytes.
    Numbers,
}

impl Order {
    fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Bytes => a.cmp(b),
            Self::Numbers => u64_at(a, 0).cmp(&u64_at(b, 0)),
        }
    }

    const fn accepts(self, key: &[u8]) -> bool {
        match self {
            Self::Bytes => !key.is_empty() && key.len() <= MAX_KEY,
            Self::Numbers => key.len() == size_of::<u64>(),
        }
    }
}

/// The content of a leaf entry.
enum Item<'a> {
    Value(&'a [u8]),
    /// A value of `len` bytes in overflow pages from `page` on.
    Long {
        page: u64,
        len: u32,
    },
    Database(Record),
}

/// A callback for each entry, with its page, key and content.
type Visit<'v> = dyn FnMut(&mut Checker, u64, &[u8], Item<'_>) -> Result<(), Damage> + 'v;

/// The state of a traversal.
struct Tree<'v> {
    order: Order,
    depth: u16,
    /// The least number of children of a branch.
    min: usize,
    /// Its index in [`Checker::long`].
    long: u32,
    counts: Counts,
    visit: &'v mut Visit<'v>,
}

/// The overflow pages of one long value. They are checked last, in file order.
struct Run {
    first: u64,
    /// The least number of pages for the value.
    min: u32,
    /// The tree of the value: an index into [`Checker::long`].
    tree: u32,
}

/// The overflow pages of a tree.
struct LongPages {
    /// The page of its record.
    page: u64,
    recorded: u64,
    seen: u64,
}

struct Checker {
    file: File,
    page_size: usize,
    /// Pages of the store, used or not.
    pages: u64,
    txn: u64,
    /// A bit per page: used by a tree or listed as free.
    used: Vec<u64>,
    runs: Vec<Run>,
    long: Vec<LongPages>,
}

impl Checker {
    /// Marks `page` as used.
    fn claim(&mut self, page: u64) -> Result<(), Damage> {
        if page >= self.pages {
            return damage(page, "it is referenced and beyond the last page");
        }
        let (word, bit) = (&mut self.used[(page / 64) as usize], 1 << (page % 64));
        if *word & bit != 0 {
            return damage(page, "it is used twice");
        }
        *word |= bit;
        Ok(())
    }

    /// Checks the database of databases. [`CheckOutcome::Unknown`] if it has databases but none of `expected`.
    fn main(&mut self, at: u64, main: &Record, expected: &[(&str, Option<usize>)]) -> Result<CheckOutcome, Damage> {
        let mut found = Vec::new();
        self.tree(at, main, Order::Bytes, &mut |_, page, name, item| match item {
            Item::Database(record) => {
                found.push((page, name.to_vec(), record));
                Ok(())
            }
            Item::Value(_) | Item::Long { .. } => damage(page, "a value is in the list of databases"),
        })?;
        let known = |name: &[u8]| expected.iter().find(|(known, _)| known.as_bytes() == name);
        if !found.is_empty() && !found.iter().any(|(_, name, _)| known(name).is_some()) {
            return Ok(CheckOutcome::Unknown);
        }
        for (page, name, record) in found {
            let Some((_, key_len)) = known(&name) else {
                return damage(page, "a database has an unknown name");
            };
            if record.flags != 0 {
                return damage(page, "a database has unknown flags");
            }
            self.tree(page, &record, Order::Bytes, &mut |_, page, key, item| {
                if matches!(item, Item::Database(_)) {
                    return damage(page, "a database is among values");
                }
                if key_len.is_some_and(|len| key.len() != len) {
                    return damage(page, "a key has a wrong length");
                }
                Ok(())
            })?;
        }
        Ok(CheckOutcome::Whole)
    }

    /// Checks the list of free pages: for each transaction, the number of pages it freed, then the page numbers in
    /// descending order.
    fn free_pages(&mut self, at: u64, free: &Record) -> Result<(), Damage> {
        const WORD: usize = size_of::<u64>();
        self.tree(at, free, Order::Numbers, &mut |checker, page, key, item| {
            if !(1..=checker.txn).contains(&u64_at(key, 0)) {
                return damage(page, "a future transaction has freed pages");
            }
            let long;
            let list = match item {
                Item::Value(list) => list,
                Item::Long { page, len } => {
                    long = checker.long_value(page, len)?;
                    &long[..]
                }
                Item::Database(_) => return damage(page, "a database is in the list of free pages"),
            };
            if list.len() < WORD || !list.len().is_multiple_of(WORD) {
                return damage(page, "its list of free pages is truncated");
            }
            let count = u64_at(list, 0);
            if count > (list.len() / WORD - 1) as u64 {
                return damage(page, "its list of free pages is longer than its record");
            }
            let mut above = u64::MAX;
            for number in list[WORD..].chunks_exact(WORD).take(count as usize).map(|word| u64_at(word, 0)) {
                if number >= above {
                    return damage(page, "its list of free pages is out of order");
                }
                checker.claim(number)?;
                above = number;
            }
            Ok(())
        })
    }

    /// Checks the tree of `record`, which is on page `at`.
    fn tree<'v>(&mut self, at: u64, record: &Record, order: Order, visit: &'v mut Visit<'v>) -> Result<(), Damage> {
        let long = self.long.len() as u32;
        self.long.push(LongPages { page: at, recorded: record.counts.overflow, seen: 0 });
        if record.root == NO_PAGE {
            let is_empty = record.depth == 0 && record.counts == Counts::default();
            return if is_empty { Ok(()) } else { damage(at, "an empty tree has counts") };
        }
        if !(1..=MAX_DEPTH).contains(&record.depth) {
            return damage(at, "the depth of a tree is invalid");
        }
        // LMDB tolerates a branch with one child in the list of free pages, and in no other tree.
        let min = if matches!(order, Order::Numbers) { 1 } else { 2 };
        let mut tree = Tree { order, depth: record.depth, min, long, counts: Counts::default(), visit };
        self.subtree(&mut tree, record.root, 1, None, None)?;
        let counts = Counts { overflow: record.counts.overflow, ..tree.counts };
        if counts == record.counts { Ok(()) } else { damage(at, "the counts of a tree are wrong") }
    }

    /// Checks the part of `tree` below `page`, whose keys must be in `low..high`.
    fn subtree(
        &mut self,
        tree: &mut Tree<'_>,
        page: u64,
        level: u16,
        low: Option<&[u8]>,
        high: Option<&[u8]>,
    ) -> Result<(), Damage> {
        self.claim(page)?;
        let mut bytes = vec![0; self.page_size];
        self.read(page, 0, &mut bytes)?;
        let is_leaf = level == tree.depth;
        let nodes = layout::nodes(self.page_size, page, &bytes, is_leaf)?;
        let in_bounds = |key: &[u8]| {
            low.is_none_or(|low| tree.order.compare(key, low).is_ge())
                && high.is_none_or(|high| tree.order.compare(key, high).is_lt())
        };
        // LMDB ignores the first key of a branch.
        let keyed = if is_leaf { &nodes[..] } else { &nodes[1..] };
        let follow = |pair: &[Node<'_>]| tree.order.compare(pair[0].key, pair[1].key).is_lt();
        if !keyed.iter().all(|node| tree.order.accepts(node.key)) {
            return damage(page, "a key is too short or too long");
        }
        if !keyed.windows(2).all(follow) || !keyed.iter().all(|node| in_bounds(node.key)) {
            return damage(page, "its keys are out of order");
        }
        if is_leaf {
            tree.counts.leaves += 1;
            tree.counts.entries += nodes.len() as u64;
            return nodes.iter().try_for_each(|node| self.entry(tree, page, node));
        }
        if nodes.len() < tree.min {
            return damage(page, "it is a branch with too few children");
        }
        tree.counts.branches += 1;
        for (position, node) in nodes.iter().enumerate() {
            let from = if position == 0 { low } else { Some(node.key) };
            let to = nodes.get(position + 1).map(|next| next.key).or(high);
            self.subtree(tree, node.child(), level + 1, from, to)?;
        }
        Ok(())
    }

    fn entry(&mut self, tree: &mut Tree<'_>, page: u64, node: &Node<'_>) -> Result<(), Damage> {
        let item = match node.flags {
            0 => Item::Value(node.data),
            BIG => {
                let first = u64_at(node.data, 0);
                self.runs.push(Run { first, min: pages_of(self.page_size, node.low), tree: tree.long });
                Item::Long { page: first, len: node.low }
            }
            DATABASE if node.data.len() == RECORD => Item::Database(Record::parse(node.data)),
            _ => return damage(page, "a node has unknown flags"),
        };
        (tree.visit)(self, page, node.key, item)
    }

    /// The `len` bytes of a long value.
    fn long_value(&self, page: u64, len: u32) -> Result<Vec<u8>, Damage> {
        if page.checked_add(u64::from(pages_of(self.page_size, len))).is_none_or(|end| end > self.pages) {
            return damage(page, "a value reaches beyond the last page");
        }
        let mut bytes = vec![0; len as usize];
        self.read(page, PAGE_HEADER as u64, &mut bytes)?;
        Ok(bytes)
    }

    fn read(&self, page: u64, offset: u64, bytes: &mut [u8]) -> Result<(), Damage> {
        read_exact(&self.file, page * self.page_size as u64 + offset, bytes).or(damage(page, "it cannot be read"))
    }

    /// Checks the first pages of the long values, in file order.
    fn long_values(&mut self) -> Result<(), Damage> {
        let mut runs = std::mem::take(&mut self.runs);
        runs.sort_unstable_by_key(|run| run.first);
        let (mut window, mut begin) = (Vec::new(), 0);
        let mut reported = Instant::now();
        for run in runs {
            let page = run.first;
            if page >= self.pages {
                return damage(page, "it is referenced and beyond the last page");
            }
            let at = page * self.page_size as u64;
            if at < begin || at + PAGE_HEADER as u64 > begin + window.len() as u64 {
                begin = at;
                window.resize(WINDOW.min(self.pages * self.page_size as u64 - at) as usize, 0);
                self.read(page, 0, &mut window)?;
                if reported.elapsed() > PROGRESS_INTERVAL {
                    reported = Instant::now();
                    info!(tier = NAME, percent = 100 * page / self.pages, "checking the store");
                }
            }
            let header = &window[(at - begin) as usize..][..PAGE_HEADER];
            let count = u32_at(header, 12);
            if u64_at(header, 0) != page || u16_at(header, 10) != OVERFLOW || count < run.min {
                return damage(page, "it is not the first page of its value");
            }
            if page + u64::from(count) > self.pages {
                return damage(page, "a value reaches beyond the last page");
            }
            for page in page..page + u64::from(count) {
                self.claim(page)?;
            }
            self.long[run.tree as usize].seen += u64::from(count);
        }
        match self.long.iter().find(|tree| tree.seen != tree.recorded) {
            Some(tree) => damage(tree.page, "the count of overflow pages of a tree is wrong"),
            None => Ok(()),
        }
    }
}

fn read_exact(mut file: &File, at: u64, bytes: &mut [u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(bytes)
}
