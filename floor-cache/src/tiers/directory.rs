//! The directory of a store: how it is created, whether a start could use it, and how much space its disk has.

use std::{fs, io, path::Path};

use crate::open_error::OpenError;

/// Creates the directory `path` and its missing parents for a store of `tier`. Only this user may enter what is
/// created.
pub(super) fn create(tier: &'static str, path: &Path) -> Result<(), OpenError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|error| OpenError::directory(tier, path, &error))
}

/// Less free space than this is a full disk. Errors ask operators to free as much.
const FULL: u64 = 1 << 20;

/// The space of a file system, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Space {
    /// What this user may still write.
    pub(crate) free: u64,
    /// Its size.
    pub(crate) total: u64,
}

/// Whether the file system that has `directory` is full; `false` if the system does not tell.
pub(crate) fn is_full(directory: &Path) -> bool {
    space(directory).is_ok_and(|space| space.free < FULL)
}

/// The space of the file system that has `directory`.
#[cfg(unix)]
pub(crate) fn space(directory: &Path) -> io::Result<Space> {
    let found = rustix::fs::statvfs(directory)?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Ok(Space { free: bytes(found.f_bavail), total: bytes(found.f_blocks) })
}

/// Unsupported on this system.
#[cfg(not(unix))]
pub(crate) fn space(_directory: &Path) -> io::Result<Space> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Checks that `path` is a directory that this user can write, or that it can be created. Creates nothing.
pub(crate) fn check(tier: &'static str, path: &Path) -> Result<(), OpenError> {
    check_nearest(path).map_err(|error| OpenError::directory(tier, path, &error))
}

/// Checks the nearest of `path` and its ancestors that exists.
fn check_nearest(path: &Path) -> io::Result<()> {
    for ancestor in path.ancestors() {
        // The last ancestor of a relative path is empty: the working directory.
        let ancestor = if ancestor.as_os_str().is_empty() { Path::new(".") } else { ancestor };
        match fs::metadata(ancestor) {
            Ok(found) if found.is_dir() => return check_writable(ancestor),
            Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

#[cfg(unix)]
fn check_writable(directory: &Path) -> io::Result<()> {
    use rustix::fs::{Access, access};

    Ok(access(directory, Access::WRITE_OK | Access::EXEC_OK)?)
}

#[cfg(not(unix))]
fn check_writable(directory: &Path) -> io::Result<()> {
    match fs::metadata(directory)?.permissions().readonly() {
        true => Err(io::ErrorKind::PermissionDenied.into()),
        false => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_space_and_a_missing_one_is_an_error() {
        let directory = tempfile::tempdir().expect("a directory");
        let found = space(directory.path()).expect("its file system");
        assert!(0 < found.free && found.free <= found.total, "{found:?}");
        assert!(space(&directory.path().join("missing")).is_err());
    }
}
