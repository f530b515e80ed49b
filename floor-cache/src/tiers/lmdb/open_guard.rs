//! Preparation before LMDB opens a store: no other server is opening it, its pages are checked, and the disk has space
//! for what LMDB writes through a map. LMDB checks neither pages nor space, and either fault kills the process.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    time::Instant,
};

use tracing::{debug, info, warn};

use super::{
    DATA, DATABASES, NAME,
    check::{self, CheckOutcome},
    clean,
    file::DAMAGED,
    layout,
};
use crate::open_error::OpenError;

/// LMDB's reader table, which LMDB writes through a map.
const LOCK: &str = "lock.mdb";

/// The check of a larger file is logged before it starts, because it takes a while.
const LARGE: u64 = 64 << 20;

/// A guard that allows to open the store in a directory. Hold it until the store is open.
pub(super) struct OpenGuard {
    path: PathBuf,
    /// The locked directory: no other server opens the store.
    _lock: Option<File>,
    /// Whether the store did not exist.
    is_new: bool,
}

impl OpenGuard {
    /// Waits for other servers that are opening the store in `path`. Then checks the store if it was not closed
    /// cleanly, and reserves disk space for `readers` readers.
    ///
    /// # Errors
    /// [`OpenError::Store`] when the store is damaged, [`OpenError::Locked`] when this process has it open, and
    /// [`OpenError::NoSpace`].
    pub(super) fn acquire(path: &Path, readers: u32) -> Result<Self, OpenError> {
        let unusable = |error: io::Error| OpenError::directory(NAME, path, &error);
        let path = fs::canonicalize(path).map_err(unusable)?;
        let lock = lock_directory(&path).map_err(unusable)?;
        // Before the lock file is opened: closing any handle of it would release the locks of this process.
        if heed::env_closing_event(&path).is_some() {
            return Err(OpenError::Locked { tier: NAME, path });
        }
        if path.join(DAMAGED).exists() {
            return Err(OpenError::store(NAME, &path, &"damage was found in it while it was in use"));
        }
        let is_new = fs::metadata(path.join(DATA)).map_or(true, |file| file.len() == 0);
        let is_in_use = is_in_use(&path);
        // A server that has the store open has checked it and may be writing.
        if !is_new && !is_in_use && !clean::is_clean(&path) {
            check_pages(&path)?;
        }
        clean::unmark(&path).map_err(unusable)?;
        if !is_in_use {
            reserve(&path, readers).map_err(|error| OpenError::directory(NAME, &path, &error))?;
        }
        Ok(Self { path, _lock: lock, is_new })
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

/// Checks the pages of the store in `path`.
fn check_pages(path: &Path) -> Result<(), OpenError> {
    if !layout::KNOWS_LAYOUT {
        return Ok(());
    }
    let bytes = fs::metadata(path.join(DATA)).map_or(0, |file| file.len());
    if bytes > LARGE {
        info!(tier = NAME, path = %path.display(), bytes, "the store was not closed cleanly; its pages are checked");
    }
    let started = Instant::now();
    let outcome = check::check(&path.join(DATA), &DATABASES).map_err(|damage| OpenError::store(NAME, path, &damage))?;
    let took = started.elapsed();
    match outcome {
        CheckOutcome::Whole => {
            info!(tier = NAME, bytes, ?took, "the store was not closed cleanly; its pages are whole");
        }
        CheckOutcome::Unknown => debug!(tier = NAME, "the store was not checked: it has another version"),
    }
    Ok(())
}

/// Locks `path` against other servers that open the store. One of several servers checks it while the others wait.
#[cfg(unix)]
fn lock_directory(path: &Path) -> io::Result<Option<File>> {
    let directory = File::open(path)?;
    match directory.try_lock() {
        Ok(()) => return Ok(Some(directory)),
        Err(fs::TryLockError::WouldBlock) => info!(tier = NAME, "another server opens the store; waiting for it"),
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
#[cfg(unix)]
fn is_in_use(path: &Path) -> bool {
    use rustix::process::{Flock, FlockType, fcntl_getlk};
    let Ok(file) = File::open(path.join(LOCK)) else { return false };
    let first_byte = Flock { length: 1, ..Flock::from(FlockType::WriteLock) };
    match fcntl_getlk(&file, &first_byte) {
        Ok(holder) => holder.is_some(),
        Err(error) => {
            warn!(tier = NAME, %error, "cannot find out whether another server uses the store; assuming not");
            false
        }
    }
}

/// On this system, the files of a store that another process has open cannot be opened.
#[cfg(not(unix))]
fn is_in_use(_path: &Path) -> bool {
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
fn fill(file: &File, length: u64) -> io::Result<()> {
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
fn fill(file: &File, length: u64) -> io::Result<()> {
    write_zeros(file, length)
}

fn write_zeros(mut file: &File, length: u64) -> io::Result<()> {
    io::copy(&mut io::Read::take(io::repeat(0), length), &mut file).map(|_written| ())
}
