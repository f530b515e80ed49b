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
#[non_exhaustive]
pub struct Space {
    /// What this user may still write.
    pub free: u64,
    /// Its size.
    pub total: u64,
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

/// The size in bytes of the file system that has `path`, or will have it when it is created; `None` if the system does not
/// tell.
pub fn disk_size(path: &Path) -> Option<u64> {
    let existing = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("."));
    space(existing).ok().map(|space| space.total)
}

/// Checks that this user could open a store in `path`: it is a directory that can be written, or can be created, and of
/// `files` those that are there can be written. Creates nothing.
pub(crate) fn check(tier: &'static str, path: &Path, files: &[&str]) -> Result<(), OpenError> {
    check_nearest(path).map_err(|error| OpenError::directory(tier, path, &error))?;
    files.iter().try_for_each(|file| {
        let unusable = |error| io::Error::other(format!("its file {file}: {error}"));
        check_file(&path.join(file)).map_err(|error| OpenError::directory(tier, path, &unusable(error)))
    })
}

/// Checks the nearest of `path` and its ancestors that exists.
fn check_nearest(path: &Path) -> io::Result<()> {
    for ancestor in path.ancestors() {
        // The last ancestor of a relative path is empty: the working directory.
        let ancestor = if ancestor.as_os_str().is_empty() { Path::new(".") } else { ancestor };
        match fs::metadata(ancestor) {
            Ok(found) if found.is_dir() => return check_directory(ancestor),
            Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if fs::symlink_metadata(ancestor).is_ok() {
                    return Err(io::Error::other(format!("{} is a link to nothing", ancestor.display())));
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// Checks that `file`, if it is there, is a file that can be read and written.
fn check_file(file: &Path) -> io::Result<()> {
    match fs::metadata(file) {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => check_writable(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(target_os = "linux")]
fn check_directory(directory: &Path) -> io::Result<()> {
    /// The type of /sys, as linux/magic.h has it.
    const SYSFS_MAGIC: rustix::fs::FsWord = 0x6265_6572;

    let found = rustix::fs::statfs(directory)?.f_type;
    if [rustix::fs::PROC_SUPER_MAGIC, SYSFS_MAGIC].contains(&found) {
        return Err(io::Error::other("its file system holds no files of users"));
    }
    check_access(directory, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn check_directory(directory: &Path) -> io::Result<()> {
    check_access(directory, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
}

#[cfg(unix)]
fn check_writable(file: &Path) -> io::Result<()> {
    check_access(file, rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK)
}

/// Whether this process, by its effective user, has `access`. Opens nothing, because closing a file gives up its locks.
#[cfg(unix)]
fn check_access(path: &Path, access: rustix::fs::Access) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, accessat};

    Ok(accessat(CWD, path, access, AtFlags::EACCESS)?)
}

#[cfg(not(unix))]
fn check_directory(directory: &Path) -> io::Result<()> {
    check_writable(directory)
}

#[cfg(not(unix))]
fn check_writable(path: &Path) -> io::Result<()> {
    match fs::metadata(path)?.permissions().readonly() {
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

    #[test]
    fn what_cannot_hold_a_store_is_found() {
        use std::os::unix::fs::PermissionsExt;

        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("store");
        let check = || check("lmdb", &path, &["data"]).map_err(|error| error.to_string());
        assert_eq!(check(), Ok(()), "it can be created");
        assert!(!path.exists());
        std::os::unix::fs::symlink("nowhere", &path).expect("a link");
        assert!(check().is_err_and(|error| error.contains("is a link to nothing")));
        fs::remove_file(&path).expect("it is there");
        fs::create_dir_all(path.join("data")).expect("directories");
        assert!(check().is_err_and(|error| error.contains("its file data: is a directory")));
        fs::remove_dir(path.join("data")).expect("it is empty");
        fs::write(path.join("data"), "").expect("a file");
        assert_eq!(check(), Ok(()));
        if rustix::process::geteuid().is_root() {
            println!("skipped: root may write every file");
            return;
        }
        fs::set_permissions(path.join("data"), fs::Permissions::from_mode(0o400)).expect("our file");
        assert!(check().is_err_and(|error| error.contains("its file data: Permission denied")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn file_systems_of_the_kernel_hold_no_store() {
        for path in ["/proc/store", "/sys/store"] {
            let error = check("lmdb", Path::new(path), &[]).expect_err("no directory can be created there");
            assert!(error.to_string().contains("holds no files of users"), "{error}");
        }
    }
}
