//! What must hold before LMDB opens a store: no other server is opening it, its pages can be trusted, and the disk has
//! room for what LMDB writes through a map. LMDB checks neither pages nor room, and a process that it misleads is killed.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    time::Instant,
};

use tracing::{debug, info, warn};

use super::{
    check::{self, CheckOutcome},
    clean,
    file::{DAMAGED, DATA},
    layout,
    tier::DATABASES,
};
use crate::open_error::OpenError;

/// LMDB's table of readers, which it writes through a map.
const LOCK: &str = "lock.mdb";

/// A check of a file that is larger than this is logged before it begins, since it takes a while.
const LARGE: u64 = 64 << 20;

/// The right to open the store in a directory, held until it is open.
pub(super) struct OpenGuard {
    path: PathBuf,
    /// Locked, so that no other server opens the store meanwhile.
    _lock: Option<File>,
    /// Whether there was no store.
    is_new: bool,
}

impl OpenGuard {
    /// Waits for other servers that are opening the store in `path`, then checks it if its last end was not clean, and
    /// reserves room for `readers` readers.
    ///
    /// # Errors
    /// [`OpenError::Store`] when it is damaged, [`OpenError::Locked`] when this process has it open, and
    /// [`OpenError::NoSpace`].
    pub(super) fn acquire(path: &Path, readers: u32) -> Result<Self, OpenError> {
        let unusable = |error: io::Error| OpenError::directory("lmdb", path, &error);
        let path = fs::canonicalize(path).map_err(unusable)?;
        let lock = lock_directory(&path).map_err(unusable)?;
        // Before the lock file is touched: to close any handle of it would end the locks of this process.
        if heed::env_closing_event(&path).is_some() {
            return Err(OpenError::Locked { tier: "lmdb", path });
        }
        if path.join(DAMAGED).exists() {
            return Err(OpenError::store("lmdb", &path, &"damage was found in it while it was in use"));
        }
        let is_new = fs::metadata(path.join(DATA)).map_or(true, |file| file.len() == 0);
        let is_in_use = is_in_use(&path);
        // Who has it open has checked it and writes to it now.
        if !is_new && !is_in_use && !clean::is_clean(&path) {
            check_pages(&path)?;
        }
        clean::unmark(&path).map_err(unusable)?;
        if !is_in_use {
            reserve(&path, readers).map_err(|error| OpenError::directory("lmdb", &path, &error))?;
        }
        Ok(Self { path, _lock: lock, is_new })
    }

    /// Removes what a failed opening has left of a store that was not there before: for want of room it may be half a
    /// store, which the next start would take for a damaged one.
    pub(super) fn remove_new_files(self) {
        if self.is_new {
            for file in [DATA, LOCK] {
                if let Err(error) = fs::remove_file(self.path.join(file)) {
                    debug!(tier = "lmdb", file, %error, "the rest of a store could not be removed");
                }
            }
        }
    }
}

/// Checks the store in `path`.
fn check_pages(path: &Path) -> Result<(), OpenError> {
    if !layout::KNOWS_LAYOUT {
        return Ok(());
    }
    let bytes = fs::metadata(path.join(DATA)).map_or(0, |file| file.len());
    if bytes > LARGE {
        info!(tier = "lmdb", path = %path.display(), bytes, "the store was not closed cleanly; its pages are checked");
    }
    let started = Instant::now();
    let outcome = check::check(&path.join(DATA), &DATABASES);
    let took = started.elapsed();
    match outcome {
        Ok(CheckOutcome::Whole) => {
            info!(tier = "lmdb", bytes, ?took, "the store was not closed cleanly; its pages are whole");
            Ok(())
        }
        Ok(CheckOutcome::Unknown) => {
            debug!(tier = "lmdb", "the store was not checked: it is not of this version");
            Ok(())
        }
        Err(damage) => Err(OpenError::store("lmdb", path, &damage)),
    }
}

/// Locks `path` against other servers that open a store in it. Of several, one checks it and the others wait.
#[cfg(unix)]
fn lock_directory(path: &Path) -> io::Result<Option<File>> {
    let directory = File::open(path)?;
    match directory.try_lock() {
        Ok(()) => return Ok(Some(directory)),
        Err(fs::TryLockError::WouldBlock) => info!(tier = "lmdb", "another server opens the store; waiting for it"),
        Err(fs::TryLockError::Error(error)) => return Err(error),
    }
    directory.lock().map(|()| Some(directory))
}

/// A directory cannot be locked here.
#[cfg(not(unix))]
fn lock_directory(_path: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

/// Whether another process has the store in `path` open: LMDB holds a lock on the first byte of its lock file as long.
#[cfg(unix)]
fn is_in_use(path: &Path) -> bool {
    use rustix::process::{Flock, FlockType, fcntl_getlk};
    let Ok(file) = File::open(path.join(LOCK)) else { return false };
    let first_byte = Flock { length: 1, ..Flock::from(FlockType::WriteLock) };
    match fcntl_getlk(&file, &first_byte) {
        Ok(holder) => holder.is_some(),
        Err(error) => {
            warn!(tier = "lmdb", %error, "whether another server uses the store cannot be found out; taken for unused");
            false
        }
    }
}

/// Here another process that has it open holds its files, so that they cannot be opened anew.
#[cfg(not(unix))]
fn is_in_use(_path: &Path) -> bool {
    false
}

/// Takes room on the disk for the whole lock file. LMDB makes it as long without taking any, and writes to it through a map:
/// where the disk has no room then, the system kills the process. Only while nobody uses it.
fn reserve(path: &Path, readers: u32) -> io::Result<()> {
    /// Of a reader, and more than what stands before the readers.
    const READER: u64 = 64;
    const HEADER: u64 = 4096;
    let length = u64::from(readers) * READER + HEADER;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    // As LMDB makes it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path.join(LOCK))?;
    let length = file.metadata()?.len().max(length);
    fill(&file, length)
}

/// Takes room on the disk for the first `length` bytes of `file`, whose content nobody needs.
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
