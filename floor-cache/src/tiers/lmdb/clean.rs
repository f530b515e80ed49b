//! The mark of a clean end: a file `clean` beside the data. It names the state in which the data were closed, so that the
//! next start can trust them without a check.

use std::{
    fs::{self, File, Metadata},
    io,
    path::Path,
    thread,
    time::Duration,
};

use super::file::DATA;

/// Stands beside the data while nothing has been written since the last clean end.
const CLEAN: &str = "clean";

/// File systems keep times in steps of at most this. A write within the step of the last one would not show.
const TIME_STEP: Duration = Duration::from_millis(20);

/// Whether the data in `path` are as they were at the last clean end.
pub(super) fn is_clean(path: &Path) -> bool {
    let state = fs::metadata(path.join(DATA)).map(|file| state(&file));
    matches!((state, fs::read_to_string(path.join(CLEAN))), (Ok(state), Ok(mark)) if state == mark)
}

/// Marks `data`, the file in `path`, as closed in its present state. It must be durable, and nobody may write to it
/// meanwhile. Waits for one step of the file system's clock, so that the next write has another time.
pub(super) fn mark(path: &Path, data: &File) -> io::Result<()> {
    let state = state(&data.metadata()?);
    thread::sleep(TIME_STEP);
    fs::write(path.join(CLEAN), state)
}

/// Removes the mark, durably: after a crash of the system it must not stand beside data that were written later.
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

/// Length, time of the last write and identity of the data, as the mark has them.
#[cfg(unix)]
fn state(file: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt;
    format!("size {} modified {}.{:09} inode {}\n", file.len(), file.mtime(), file.mtime_nsec(), file.ino())
}

#[cfg(not(unix))]
fn state(file: &Metadata) -> String {
    format!("size {} modified {:?}\n", file.len(), file.modified().ok())
}
