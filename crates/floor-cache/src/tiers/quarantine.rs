//! Stores that cannot be used: they are damaged, have ended the process, or are of another version. The directory is put
//! aside under another name, for inspection, and a new store is created: a cache never stops a start. One such directory is
//! kept for each store, so that a loop of crashes does not fill the disk. Names with a date are those of backups too.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use tracing::{debug, warn};

use crate::open_error::OpenError;

/// The names of directories that were put aside are `NAME.WHY-DATE`.
const DAMAGED: &str = "damaged";
const OTHER_VERSION: &str = "other-version";

/// Opens the store in `path` by `open`. One that cannot be used is put aside and a new one opened. Of the directories that
/// were put aside before, those are removed that have only files of a store, which `is_of_store` tells by their names.
///
/// Other errors are returned: a directory that cannot be written, and a store in use.
pub(super) fn open_or_put_aside<T>(
    path: &Path,
    is_of_store: impl Fn(&str) -> bool,
    open: impl Fn() -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    let (why, reason) = match open() {
        Ok(store) => return Ok(store),
        Err(error @ OpenError::Store { .. }) => (DAMAGED, error),
        Err(error @ OpenError::Version { .. }) => (OTHER_VERSION, error),
        Err(other) => return Err(other),
    };
    let put_aside = fs::canonicalize(path).and_then(|path| {
        let aside = put_aside(&path, why, &is_of_store)?;
        Ok((path, aside))
    });
    let (canonical, aside) = match put_aside {
        Ok(paths) => paths,
        Err(error) => {
            warn!(path = %path.display(), %error, "a store that cannot be used could not be put aside");
            return Err(reason);
        }
    };
    warn!(
        path = %path.display(),
        aside = %aside.display(),
        %reason,
        "a store was put aside, and a new one is created"
    );
    remove_all_but(&canonical, &aside, &is_of_store);
    open()
}

/// Renames the directory `path`, which is canonical, to `NAME.WHY-DATE` in the same parent. If it cannot be renamed, because a file system is
/// mounted there or its parent cannot be written, moves its files into a directory of that name inside of it.
fn put_aside(path: &Path, why: &str, is_of_store: impl Fn(&str) -> bool) -> io::Result<PathBuf> {
    let aside = dated(path, why)?;
    if fs::rename(path, &aside).is_ok() {
        return Ok(aside);
    }
    let inside = path.join(aside.file_name().unwrap_or_default());
    fs::create_dir(&inside)?;
    for name in names(path)?.into_iter().filter(|name| is_of_store(name)) {
        fs::rename(path.join(&name), inside.join(&name))?;
    }
    Ok(inside)
}

/// Removes what was put aside of the store in `path`, except `latest`.
fn remove_all_but(path: &Path, latest: &Path, is_of_store: impl Fn(&str) -> bool) {
    for old in all_aside(path).into_iter().filter(|old| old != latest) {
        let is_store = names(&old).is_ok_and(|names| names.iter().all(|name| is_of_store(name)));
        let removed = if is_store { fs::remove_dir_all(&old) } else { Err(io::ErrorKind::DirectoryNotEmpty.into()) };
        match removed {
            Ok(()) => warn!(path = %old.display(), "a store that was put aside before was removed"),
            Err(error) => warn!(path = %old.display(), %error, "a store that was put aside before was not removed"),
        }
    }
}

/// Bytes on the disk of what was put aside of the store in `path`.
pub(super) fn aside_bytes(path: &Path) -> u64 {
    let directories = fs::canonicalize(path).map(|path| all_aside(&path)).unwrap_or_default();
    let entries = directories.iter().filter_map(|directory| fs::read_dir(directory).ok()).flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|file| disk_bytes(&file)).sum()
}

/// Bytes of a file that are allocated on the disk.
pub(super) fn disk_bytes(file: &fs::Metadata) -> u64 {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::blocks(file) * 512;
    #[cfg(not(unix))]
    return file.len();
}

/// What was put aside of the store in `path`, which is canonical, beside it and inside of it.
fn all_aside(path: &Path) -> Vec<PathBuf> {
    let parents = [path.parent(), path.is_dir().then_some(path)].into_iter().flatten();
    let entries = parents.filter_map(|parent| {
        let read = fs::read_dir(parent).inspect_err(|error| debug!(path = %parent.display(), %error, "cannot be read"));
        read.ok()
    });
    let found = entries.flatten().flatten().filter(|entry| is_aside(path, &entry.file_name()));
    found.map(|entry| entry.path()).collect()
}

/// Whether `name` is that of something that was put aside of the store in `path`.
fn is_aside(path: &Path, name: &OsStr) -> bool {
    let store = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_string_lossy();
    let rest = name.strip_prefix(&*store).and_then(|rest| rest.strip_prefix('.'));
    rest.is_some_and(|rest| {
        [DAMAGED, OTHER_VERSION].iter().any(|why| {
            rest.strip_prefix(why).and_then(|date| date.strip_prefix('-')).is_some_and(|date| date.starts_with("20"))
        })
    })
}

fn names(directory: &Path) -> io::Result<Vec<String>> {
    fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// The path `NAME.WHAT-DATE` beside `path`, which is canonical.
pub(super) fn dated(path: &Path, what: &str) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    // Some file systems do not allow colons.
    let date = humantime::format_rfc3339_micros(SystemTime::now()).to_string().replace(':', "-");
    Ok(path.with_file_name(format!("{name}.{what}-{date}")))
}
