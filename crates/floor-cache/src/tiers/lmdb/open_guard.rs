//! Preparation before LMDB opens a store: no other server is opening it, it did not end the process twice in a row, and
//! the disk has space for what LMDB writes through a map.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use tracing::{debug, warn};

use super::{
    DATA, LOCK, NAME,
    early_end::{self, EarlyEnd},
    file::DAMAGED,
};
use crate::open_error::OpenError;

/// A guard that allows to open the store in a directory. Hold it until the store is open.
pub(super) struct OpenGuard {
    path: PathBuf,
    /// The locked directory: no other server opens the store.
    _lock: Option<File>,
    /// Whether the store did not exist.
    is_new: bool,
    /// The early unclean ends in a row before this run; `None` if another server has the store open, which counts.
    early_ends: Option<u32>,
}

impl OpenGuard {
    /// Waits for other servers that are opening the store in `path`. Then reserves disk space for `readers` readers.
    ///
    /// # Errors
    /// [`OpenError::Store`] when damage was found in the store, or when the process ended early and uncleanly with it
    /// twice in a row; [`OpenError::Locked`] when this process has it open; [`OpenError::SameProcessId`];
    /// [`OpenError::NoSpace`].
    pub(super) fn acquire(path: &Path, readers: u32) -> Result<Self, OpenError> {
        let unusable = |error: io::Error| OpenError::directory(NAME, path, &error);
        let path = fs::canonicalize(path).map_err(unusable)?;
        let lock = lock_directory(&path).map_err(unusable)?;
        // Before the lock file is opened: closing any handle of it would release the locks of this process.
        if heed::env_closing_event(&path).is_some() {
            return Err(OpenError::Locked { tier: NAME, path });
        }
        if has_reader_of_this_number(&path) {
            return Err(OpenError::SameProcessId { tier: NAME, path, process: std::process::id() });
        }
        if path.join(DAMAGED).exists() {
            return Err(OpenError::store(NAME, &path, &"damage was found in it while it was in use"));
        }
        let is_new = fs::metadata(path.join(DATA)).map_or(true, |file| file.len() == 0);
        let is_in_use = is_in_use(&path);
        let early_ends = (!is_in_use).then(|| early_end::count(&path));
        if early_ends.is_some_and(|ends| ends >= early_end::MOST) {
            let reason = "the last two servers that had it open ended uncleanly within a minute";
            return Err(OpenError::store(NAME, &path, &reason));
        }
        if !is_in_use {
            reserve(&path, readers).map_err(|error| OpenError::directory(NAME, &path, &error))?;
        }
        Ok(Self { path, _lock: lock, is_new, early_ends })
    }

    /// Counts an end of the process from now on as early and unclean, until the result is dropped.
    pub(super) fn begin_early_end(&self) -> Option<EarlyEnd> {
        let begun = EarlyEnd::begin(&self.path, self.early_ends? + 1);
        begun.inspect_err(|error| warn!(tier = NAME, %error, "a crash soon after this start will not be counted")).ok()
    }

    /// Removes the files of a new store after a failed open. On a full disk they may be incomplete, and the next start
    /// would report a damaged store.
    pub(super) fn remove_new_files(self) {
        if self.is_new {
            for file in [DATA, LOCK] {
                if let Err(error) = fs::remove_file(self.path.join(file)) {
                    debug!(tier = NAME, file, %error, "a file of an incomplete store could not be removed");
                }
            }
        }
    }
}

/// Locks `path` against other servers that open the store. One of several servers opens it while the others wait.
#[cfg(unix)]
fn lock_directory(path: &Path) -> io::Result<Option<File>> {
    let directory = File::open(path)?;
    match directory.try_lock() {
        Ok(()) => return Ok(Some(directory)),
        Err(fs::TryLockError::WouldBlock) => {
            tracing::info!(tier = NAME, "another server opens the store; waiting for it");
        }
        Err(fs::TryLockError::Error(error)) => return Err(error),
    }
    directory.lock().map(|()| Some(directory))
}

/// Directories cannot be locked on this system.
#[cfg(not(unix))]
fn lock_directory(_path: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

/// Whether another process has the store in `path` open. LMDB then holds a lock on the first byte of its lock file.
fn is_in_use(path: &Path) -> bool {
    is_locked(path, 0)
}

/// Whether another process that has the store in `path` open has the number of this one, as in another container. LMDB holds
/// a lock on the byte of the lock file that has the number of the process, and tells readers apart by that number alone: the
/// end of one would take the readers of the other.
fn has_reader_of_this_number(path: &Path) -> bool {
    is_locked(path, std::process::id().into())
}

/// Whether another process has a lock on the `byte` of LMDB's lock file in `path`.
#[cfg(unix)]
fn is_locked(path: &Path, byte: u64) -> bool {
    use rustix::process::{Flock, FlockType, fcntl_getlk};
    let Ok(file) = File::open(path.join(LOCK)) else { return false };
    let byte = Flock { start: byte, length: 1, ..Flock::from(FlockType::WriteLock) };
    match fcntl_getlk(&file, &byte) {
        Ok(holder) => holder.is_some(),
        Err(error) => {
            warn!(tier = NAME, %error, "cannot find out whether another server uses the store; assuming not");
            false
        }
    }
}

/// On this system, the files of a store that another process has open cannot be opened.
#[cfg(not(unix))]
fn is_locked(_path: &Path, _byte: u64) -> bool {
    false
}

/// Allocates disk space for the whole lock file. LMDB creates a sparse file and writes through a map, and on a full
/// disk the system kills the process. Call it only while no process uses the store.
fn reserve(path: &Path, readers: u32) -> io::Result<()> {
    /// Bytes of a reader, and more than the bytes before the readers.
    const READER: u64 = 64;
    const HEADER: u64 = 4096;
    let length = u64::from(readers) * READER + HEADER;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    // The mode that LMDB uses.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path.join(LOCK))?;
    let length = file.metadata()?.len().max(length);
    fill(&file, length)
}

/// Allocates disk space for the first `length` bytes of `file`. May overwrite them.
#[cfg(target_os = "linux")]
pub(super) fn fill(file: &File, length: u64) -> io::Result<()> {
    use rustix::{
        fs::{FallocateFlags, fallocate},
        io::Errno,
    };
    loop {
        match fallocate(file, FallocateFlags::empty(), 0, length) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return write_zeros(file, length),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn fill(file: &File, length: u64) -> io::Result<()> {
    write_zeros(file, length)
}

fn write_zeros(mut file: &File, length: u64) -> io::Result<()> {
    io::copy(&mut io::Read::take(io::repeat(0), length), &mut file).map(|_written| ())
}
