//! The files of the store: how they are opened, whether they are whole, and what is known of damage in them.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::Path,
};

use heed::{Env, EnvFlags, EnvOpenOptions, MdbError, RwTxn, WithTls};
use tracing::{debug, error, warn};

use super::clean;
use crate::open_error::OpenError;

/// The file that LMDB keeps everything in.
pub(super) const DATA: &str = "data.mdb";

/// A map is a multiple of the page size, and no system has larger pages than this.
pub(super) const MAP_GRANULARITY: u64 = 64 << 10;

/// Stands beside it once damage was found in it.
pub(super) const DAMAGED: &str = "damaged";

/// Opens the environment in `path`, which has been [checked](super::open_guard), and its file. It is marked by `layout`.
///
/// The file is looked at by its handle from then on: another server may put the store aside and begin another in its place.
#[expect(unsafe_code, reason = "heed opens a map of a file, which others may change, in no other way")]
pub(super) fn open(
    options: &EnvOpenOptions<WithTls>,
    path: &Path,
    layout: &'static str,
) -> Result<(Env<WithTls>, File), OpenError> {
    let mut options = options.clone();
    // SAFETY: `NO_META_SYNC` gives up the last commit after a crash of the system, not the file's integrity; it is
    // unsafe in heed because some other flags are.
    unsafe { options.flags(EnvFlags::NO_META_SYNC) };
    // SAFETY: the map is undefined behaviour when something else changes the file under it. The directory is ours:
    // operators are told so, LMDB's own lock file orders other servers that open it, and heed refuses a second opening
    // in this process.
    let env = unsafe { options.open(path) }.map_err(|error| match &error {
        heed::Error::Mdb(MdbError::VersionMismatch) => {
            OpenError::version("lmdb", path, "another version of LMDB", layout)
        }
        heed::Error::Io(io) => OpenError::directory("lmdb", path, io),
        heed::Error::EnvAlreadyOpened => OpenError::Locked { tier: "lmdb", path: path.to_owned() },
        _ => OpenError::store("lmdb", path, &error),
    })?;
    let data = OpenOptions::new().read(true).write(true).open(path.join(DATA));
    let data = data.map_err(|error| OpenError::directory("lmdb", path, &error))?;
    // To read a page beyond the end of the file would kill the process.
    if !is_whole(&env, &data) {
        return Err(OpenError::store("lmdb", path, &"its file is shorter than its pages"));
    }
    Ok((env, data))
}

/// Has the map reach `space` bytes beyond the last page, as that of a store that was made for a larger map may not. Only while
/// nobody else uses `env`.
#[expect(unsafe_code, reason = "heed does not look whether a transaction is open")]
pub(super) fn extend_map(env: &Env<WithTls>, space: u64) -> Result<(), heed::Error> {
    let size = (bytes_of_pages(env) + space).next_multiple_of(MAP_GRANULARITY);
    // SAFETY: no transaction is open: the caller has just opened the store and has not handed it on.
    unsafe { env.resize(usize::try_from(size).unwrap_or(usize::MAX)) }
}

/// Whether the file holds every page that the store says it has.
fn is_whole(env: &Env<WithTls>, data: &File) -> bool {
    length(data) >= bytes_of_pages(env)
}

fn bytes_of_pages(env: &Env<WithTls>) -> u64 {
    (env.info().last_page_number as u64 + 1) * u64::from(env.stat().page_size)
}

/// Begins a transaction that may take up to `space` more bytes, and has the file reach as far before it takes any.
///
/// LMDB does not write a page that a transaction took and gave back, and that may be the last. Nobody reads it; but to who
/// opens the store, the file would look cut off. The file grows without taking room on the disk.
pub(super) fn write_txn<'e>(env: &'e Env<WithTls>, data: &File, space: u64) -> Result<RwTxn<'e>, heed::Error> {
    let txn = env.write_txn()?;
    let map = env.info().map_size as u64;
    if length(data) < (bytes_of_pages(env) + space).min(map)
        // Only for who writes: it would cut off what another server writes behind.
        && let Err(error) = data.set_len((bytes_of_pages(env) + 2 * space).min(map))
    {
        // It is seen to again when the transaction is done.
        debug!(tier = "lmdb", %error, "the file could not be made longer");
    }
    Ok(txn)
}

/// Bytes of the file that take room on the disk.
pub(super) fn disk(data: &File) -> u64 {
    #[cfg(unix)]
    let bytes = |file: fs::Metadata| std::os::unix::fs::MetadataExt::blocks(&file) * 512;
    #[cfg(not(unix))]
    let bytes = |file: fs::Metadata| file.len();
    data.metadata().map_or(0, bytes)
}

fn length(data: &File) -> u64 {
    data.metadata().map_or(0, |file| file.len())
}

/// After a commit: has the file reach to the end of the last page, should the transaction have taken more than was thought.
pub(super) fn extend_to_last_page(env: &Env<WithTls>, data: &File) {
    if is_whole(env, data) {
        return;
    }
    let extend = || {
        // Meanwhile no other server writes to the end, which this would cut off.
        let _txn = env.write_txn().map_err(io::Error::other)?;
        if is_whole(env, data) {
            return Ok(());
        }
        data.set_len(bytes_of_pages(env))
    };
    if let Err(error) = extend() {
        warn!(tier = "lmdb", %error, "the file could not be made as long as its pages");
    }
}

/// Whether `error` shows that the store is damaged.
pub(super) const fn shows_damage(error: &heed::Error) -> bool {
    matches!(error, heed::Error::Mdb(MdbError::Corrupted | MdbError::PageNotFound | MdbError::Invalid))
}

/// Leaves word of damage, which `error` shows, for who opens the store next, if the store is still where it was.
pub(super) fn note_damage(env: &Env<WithTls>, data: &File, error: &heed::Error) {
    if !is_data_file_of(env.path(), data) {
        return;
    }
    let mark = env.path().join(DAMAGED);
    if !mark.exists() {
        error!(tier = "lmdb", %error, "the store is damaged; it will be put aside at the next start");
        if let Err(error) = fs::write(mark, "") {
            warn!(tier = "lmdb", %error, "no mark of the damage could be left");
        }
    }
}

/// Makes the store durable and marks its end as clean, if it is still where it was. No other server writes meanwhile.
pub(super) fn mark_clean(env: &Env<WithTls>, data: &File) -> Result<(), heed::Error> {
    let _txn = env.write_txn()?;
    env.force_sync()?;
    if is_data_file_of(env.path(), data) {
        clean::mark(env.path(), data)?;
    }
    Ok(())
}

/// Whether `data` is the file of the store in `path`, and not of one that lay there before.
#[cfg(unix)]
fn is_data_file_of(path: &Path, data: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |file: fs::Metadata| (file.dev(), file.ino());
    let (there, ours) = (fs::metadata(path.join(DATA)).map(identity), data.metadata().map(identity));
    matches!((there, ours), (Ok(there), Ok(ours)) if there == ours)
}

/// Where no directory can be renamed while a file in it is open, what lies there is what was opened.
#[cfg(not(unix))]
fn is_data_file_of(_path: &Path, _data: &File) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_another_took_the_place_of_is_told_from_it() {
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
