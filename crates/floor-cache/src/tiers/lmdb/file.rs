//! The files of the store: opening them, checking their length, and recording damage.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::Path,
};

use heed::{Env, EnvFlags, EnvOpenOptions, MdbError, RwTxn, WithoutTls};
use tracing::{debug, error, warn};

use super::{DATA, NAME};
use crate::{
    open_error::OpenError,
    tiers::{directory, quarantine},
};

/// Maps are multiples of this: the largest page size of any system.
pub(super) const MAP_GRANULARITY: u64 = 64 << 10;

/// A marker file beside the data, created when damage is found.
pub(super) const DAMAGED: &str = "damaged";

/// Opens the environment and the data file in `path`, which must have been [prepared](super::open_guard). `layout` is
/// the expected format.
///
/// The file is accessed by its handle from then on, because another server may quarantine the store and create another
/// in its place.
#[expect(unsafe_code, reason = "heed opens a map of a file, which others may change, in no other way")]
pub(super) fn open(
    mut options: EnvOpenOptions<WithoutTls>,
    map_size: u64,
    path: &Path,
    layout: &'static str,
) -> Result<(Env<WithoutTls>, File), OpenError> {
    options.map_size(usize::try_from(map_size).unwrap_or(usize::MAX));
    // Without read-ahead: a value is a few pages at a random place, and the kernel would read up to 8 MB around it.
    // SAFETY: `NO_META_SYNC` gives up the last commit after a crash of the system, not the file's integrity, and
    // `NO_READ_AHEAD` changes what the kernel reads; they are unsafe in heed because some other flags are.
    unsafe { options.flags(EnvFlags::NO_META_SYNC | EnvFlags::NO_READ_AHEAD) };
    // SAFETY: the map is undefined behaviour when something else changes the file under it. The directory is ours:
    // operators are told so, LMDB's own lock file orders other servers that open it, and heed refuses a second opening
    // in this process.
    let env = unsafe { options.open(path) }.map_err(|error| match &error {
        heed::Error::Mdb(MdbError::VersionMismatch) => {
            OpenError::version(NAME, path, "another version of LMDB", layout)
        }
        heed::Error::Io(io) if io.kind() == io::ErrorKind::OutOfMemory => {
            OpenError::MapSize { bytes: map_size, reason: io.to_string() }
        }
        heed::Error::Io(io) => OpenError::directory(NAME, path, io),
        heed::Error::EnvAlreadyOpened => OpenError::Locked { tier: NAME, path: path.to_owned() },
        _ => OpenError::store(NAME, path, &error),
    })?;
    let data = OpenOptions::new().read(true).write(true).open(path.join(DATA));
    let data = data.map_err(|error| OpenError::directory(NAME, path, &error))?;
    // Reading a page beyond the end of the file would kill the process.
    if !is_whole(&env, &data) {
        return Err(OpenError::store(NAME, path, &"its file is shorter than its pages"));
    }
    Ok((env, data))
}

/// Checks that this process could map `map_size` bytes, as far as its limit and the processor tell. Other memory of the
/// process may leave less.
#[cfg(unix)]
pub(super) fn check_map(map_size: u64) -> Result<(), OpenError> {
    use rustix::process::{Resource, getrlimit};

    let limit = getrlimit(Resource::As).current.map_or(ADDRESSES, |limit| limit.min(ADDRESSES));
    if map_size < limit {
        return Ok(());
    }
    Err(OpenError::MapSize { bytes: map_size, reason: format!("the limit is {}MiB", limit >> 20) })
}

/// Unknown on this system.
#[cfg(not(unix))]
pub(super) fn check_map(_map_size: u64) -> Result<(), OpenError> {
    Ok(())
}

/// The addresses of a process: 47 bits on x86-64, and as many or more on most others of 64 bits.
#[cfg(unix)]
const ADDRESSES: u64 = if usize::BITS == 64 { 1 << 47 } else { 1 << 31 };

/// Extends the map to `space` bytes beyond the last page, in case the store was created for a larger map. Only while
/// nothing else uses `env`.
#[expect(unsafe_code, reason = "heed does not look whether a transaction is open")]
pub(super) fn extend_map(env: &Env<WithoutTls>, space: u64) -> Result<(), heed::Error> {
    let size = (bytes_of_pages(env) + space).next_multiple_of(MAP_GRANULARITY);
    // SAFETY: no transaction is open: the caller has just opened the store and has not handed it on.
    unsafe { env.resize(usize::try_from(size).unwrap_or(usize::MAX)) }
}

/// Whether the file is long enough for all pages of the store.
fn is_whole(env: &Env<WithoutTls>, data: &File) -> bool {
    length(data) >= bytes_of_pages(env)
}

fn bytes_of_pages(env: &Env<WithoutTls>) -> u64 {
    // The number of a damaged store may be any.
    (env.info().last_page_number as u64)
        .saturating_add(1)
        .saturating_mul(u64::from(env.unnamed_database_stat().page_size))
}

/// Begins a transaction that may use up to `space` more bytes, after extending the file by as much.
///
/// LMDB does not write a page that a transaction allocated and freed, which may be the last. Without the extension, the
/// file would then look truncated at the next open. The extension is sparse.
pub(super) fn write_txn<'e>(env: &'e Env<WithoutTls>, data: &File, space: u64) -> Result<RwTxn<'e>, heed::Error> {
    let txn = env.write_txn()?;
    let map = env.info().map_size as u64;
    if length(data) < bytes_of_pages(env).saturating_add(space).min(map)
        // Only inside the write transaction: it could truncate concurrent writes of another server.
        && let Err(error) = data.set_len(bytes_of_pages(env).saturating_add(2 * space).min(map))
    {
        // `extend_to_last_page` tries again after the transaction.
        debug!(tier = NAME, %error, "the file could not be extended");
    }
    Ok(txn)
}

/// Bytes of the file that are allocated on the disk.
pub(super) fn disk(data: &File) -> u64 {
    data.metadata().map_or(0, |file| quarantine::disk_bytes(&file))
}

/// Whether a write to a store in `path` failed by `error` because its disk is full. LMDB reports a write that the disk
/// took in part as an input/output error; that part then fills the disk.
pub(super) fn is_disk_full(path: &Path, error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) || directory::is_full(path)
}

fn length(data: &File) -> u64 {
    data.metadata().map_or(0, |file| file.len())
}

/// Extends the file to the end of the last page after a commit, in case the transaction used more space than expected.
pub(super) fn extend_to_last_page(env: &Env<WithoutTls>, data: &File) {
    if is_whole(env, data) {
        return;
    }
    let extend = || {
        // In a write transaction, so that no other server's writes are truncated.
        let _txn = env.write_txn().map_err(io::Error::other)?;
        if is_whole(env, data) {
            return Ok(());
        }
        data.set_len(bytes_of_pages(env))
    };
    if let Err(error) = extend() {
        warn!(tier = NAME, %error, "the file could not be extended to its pages");
    }
}

/// Whether `error` shows that the store is damaged.
pub(super) const fn shows_damage(error: &heed::Error) -> bool {
    matches!(error, heed::Error::Mdb(MdbError::Corrupted | MdbError::PageNotFound | MdbError::Invalid))
}

/// Creates the marker file of damage for the next open, if the store is still in its directory.
pub(super) fn record_damage(env: &Env<WithoutTls>, data: &File, error: &heed::Error) {
    if !is_data_file_of(env.path(), data) {
        return;
    }
    let mark = env.path().join(DAMAGED);
    if !mark.exists() {
        error!(tier = NAME, %error, "the store is damaged; it will be put aside at the next start");
        if let Err(error) = fs::write(mark, "") {
            warn!(tier = NAME, %error, "the damage marker could not be written");
        }
    }
}

/// Whether `data` is the data file of the store in `path` now, and not of an earlier store there.
#[cfg(unix)]
fn is_data_file_of(path: &Path, data: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |file: fs::Metadata| (file.dev(), file.ino());
    let (there, ours) = (fs::metadata(path.join(DATA)).map(identity), data.metadata().map(identity));
    matches!((there, ours), (Ok(there), Ok(ours)) if there == ours)
}

/// On this system, a directory with open files cannot be renamed.
#[cfg(not(unix))]
fn is_data_file_of(_path: &Path, _data: &File) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_store_is_detected() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("lmdb");
        let create = || {
            fs::create_dir(&path).expect("it is not there");
            File::create(path.join(DATA)).expect("a file")
        };
        let first = create();
        assert!(is_data_file_of(&path, &first));
        fs::rename(&path, home.path().join("aside")).expect("it can be put aside");
        assert!(!is_data_file_of(&path, &first));
        let second = create();
        assert!(is_data_file_of(&path, &second) && !is_data_file_of(&path, &first));
    }
}
