//! The mark of a clean close: a file `clean` beside the data with the state of the data file. The next start trusts
//! matching data without a check.

use std::{
    fs::{self, File, Metadata},
    io,
    path::Path,
    thread,
    time::Duration,
};

use super::DATA;

/// Exists while nothing has been written since the last clean close.
const CLEAN: &str = "clean";

/// The coarsest resolution of file times. A later write within it would not change the time.
const TIME_STEP: Duration = Duration::from_millis(20);

/// Whether the data in `path` are unchanged since the last clean close.
pub(super) fn is_clean(path: &Path) -> bool {
    let state = fs::metadata(path.join(DATA)).map(|file| state(&file));
    matches!((state, fs::read_to_string(path.join(CLEAN))), (Ok(state), Ok(mark)) if state == mark)
}

/// Marks `data`, the file in `path`, as cleanly closed. The data must be durable, and no process may write them. Waits
/// for one step of the file system's clock, so that the next write changes the time.
pub(super) fn mark(path: &Path, data: &File) -> io::Result<()> {
    let state = state(&data.metadata()?);
    thread::sleep(TIME_STEP);
    fs::write(path.join(CLEAN), state)
}

/// Removes the mark durably: after a system crash it must not exist beside newer data.
pub(super) fn unmark(path: &Path) -> io::Result<()> {
    match fs::remove_file(path.join(CLEAN)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(()) => sync_directory(path),
    }
}

#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// The length, modification time and inode of the data, as the mark stores them.
#[cfg(unix)]
fn state(file: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt;
    format!("size {} modified {}.{:09} inode {}\n", file.len(), file.mtime(), file.mtime_nsec(), file.ino())
}

#[cfg(not(unix))]
fn state(file: &Metadata) -> String {
    format!("size {} modified {:?}\n", file.len(), file.modified().ok())
}
