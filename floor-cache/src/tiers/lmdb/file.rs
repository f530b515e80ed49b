//! The files of the store: how they are opened, whether they are whole, and what is known of damage in them.

use std::{
    fs::{self, OpenOptions},
    io,
    path::Path,
};

use heed::{Env, EnvFlags, EnvOpenOptions, MdbError, RwTxn, WithTls};
use tracing::{debug, error, warn};

use crate::open_error::OpenError;

/// The file that LMDB keeps everything in.
const DATA: &str = "data.mdb";

/// Stands beside it once damage was found in it.
const DAMAGED: &str = "damaged";

/// Opens the environment in `path`, if it is not known or seen to be damaged. It is marked by `layout`.
#[expect(unsafe_code, reason = "heed opens a map of a file, which others may change, in no other way")]
pub(super) fn open(
    options: &EnvOpenOptions<WithTls>,
    path: &Path,
    layout: &'static str,
) -> Result<Env<WithTls>, OpenError> {
    if path.join(DAMAGED).exists() {
        return Err(OpenError::store("lmdb", path, &"damage was found in it while it was in use"));
    }
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
    // To read a page beyond the end of the file would kill the process.
    if is_whole(&env) { Ok(env) } else { Err(OpenError::store("lmdb", path, &"its file is shorter than its pages")) }
}

/// Whether the file holds every page that the store says it has.
fn is_whole(env: &Env<WithTls>) -> bool {
    length(env) >= bytes_of_pages(env)
}

fn bytes_of_pages(env: &Env<WithTls>) -> u64 {
    (env.info().last_page_number as u64 + 1) * u64::from(env.stat().page_size)
}

/// Begins a transaction that may take up to `room` more bytes, and has the file reach as far before it takes any.
///
/// LMDB does not write a page that a transaction took and gave back, and that may be the last. Nobody reads it; but to who
/// opens the store, the file would look cut off. The file grows without taking room on the disk.
pub(super) fn write_txn<'e>(env: &'e Env<WithTls>, room: u64) -> Result<RwTxn<'e>, heed::Error> {
    let txn = env.write_txn()?;
    let map = env.info().map_size as u64;
    if length(env) < (bytes_of_pages(env) + room).min(map)
        && let Err(error) = grow(env, (bytes_of_pages(env) + 2 * room).min(map))
    {
        // It is seen to again when the transaction is done.
        debug!(tier = "lmdb", %error, "the file could not be made longer");
    }
    Ok(txn)
}

/// Makes the file longer. Only for who writes: it would cut off what another server writes behind.
fn grow(env: &Env<WithTls>, bytes: u64) -> io::Result<()> {
    OpenOptions::new().write(true).open(env.path().join(DATA))?.set_len(bytes)
}

/// Bytes of the file that take room on the disk.
pub(super) fn disk(env: &Env<WithTls>) -> u64 {
    #[cfg(unix)]
    let bytes = |file: fs::Metadata| std::os::unix::fs::MetadataExt::blocks(&file) * 512;
    #[cfg(not(unix))]
    let bytes = |file: fs::Metadata| file.len();
    fs::metadata(env.path().join(DATA)).map_or(0, bytes)
}

fn length(env: &Env<WithTls>) -> u64 {
    fs::metadata(env.path().join(DATA)).map_or(0, |file| file.len())
}

/// After a commit: has the file reach to the end of the last page, should the transaction have taken more than was thought.
pub(super) fn complete(env: &Env<WithTls>) {
    if is_whole(env) {
        return;
    }
    let extend = || {
        // Meanwhile no other server writes to the end, which this would cut off.
        let _turn = env.write_txn().map_err(io::Error::other)?;
        if is_whole(env) {
            return Ok(());
        }
        grow(env, bytes_of_pages(env))
    };
    if let Err(error) = extend() {
        warn!(tier = "lmdb", %error, "the file could not be made as long as its pages");
    }
}

/// Leaves word of damage for who opens the store next, if `error` shows any.
pub(super) fn note_damage(env: &Env<WithTls>, error: &heed::Error) {
    if !matches!(error, heed::Error::Mdb(MdbError::Corrupted | MdbError::PageNotFound | MdbError::Invalid)) {
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
