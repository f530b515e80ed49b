//! Quarantine of stores that are damaged or that crash the process: the directory is renamed for later inspection, and a
//! new store is created. Its names with a date are those of backups too.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use tracing::warn;

use crate::open_error::OpenError;

/// Opens the store in `path` by `open`. A damaged store is quarantined and a new one opened.
///
/// Other errors are returned: a directory that cannot be written, a store in use, and a store of another version, which
/// another server may still use.
pub(super) fn open_or_quarantine<T>(path: &Path, open: impl Fn() -> Result<T, OpenError>) -> Result<T, OpenError> {
    let damage = match open() {
        Err(OpenError::Store { tier, path, reason }) => OpenError::Store { tier, path, reason },
        other => return other,
    };
    let Ok(aside) = quarantine(path) else { return Err(damage) };
    warn!(
        path = %path.display(),
        aside = %aside.display(),
        reason = %damage,
        "a store was put aside, and a new one is created"
    );
    open()
}

/// Renames the directory `path` to `NAME.damaged-DATE` in the same parent.
fn quarantine(path: &Path) -> io::Result<PathBuf> {
    let path = fs::canonicalize(path)?;
    let aside = dated(&path, "damaged")?;
    fs::rename(&path, &aside)?;
    Ok(aside)
}

/// The path `NAME.WHAT-DATE` beside `path`, which is canonical.
pub(super) fn dated(path: &Path, what: &str) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    // Some file systems do not allow colons.
    let date = humantime::format_rfc3339_micros(SystemTime::now()).to_string().replace(':', "-");
    Ok(path.with_file_name(format!("{name}.{what}-{date}")))
}
