//! What is done with a store that cannot be opened: it is put aside for whoever wants to look, and a fresh one begun.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use tracing::error;

use crate::open_error::OpenError;

/// Opens a store in `path` by `open`; when what lies there is damaged, puts it aside and opens a fresh one.
///
/// Only damage is put aside. A directory that cannot be written, a store in use, and one of another version (which
/// another server may be about to use) are errors for the operator.
pub(super) fn open_or_quarantine<T>(path: &Path, open: impl Fn() -> Result<T, OpenError>) -> Result<T, OpenError> {
    let damage = match open() {
        Err(OpenError::Store { tier, path, reason }) => OpenError::Store { tier, path, reason },
        other => return other,
    };
    let Ok(aside) = quarantine(path) else { return Err(damage) };
    error!(
        path = %path.display(),
        aside = %aside.display(),
        %damage,
        "a store is damaged; it was put aside, and a fresh one is begun"
    );
    open()
}

/// Renames the directory `path` to `NAME.damaged-DATE` beside it.
fn quarantine(path: &Path) -> io::Result<PathBuf> {
    let path = fs::canonicalize(path)?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    // Without colons, which some file systems do not take.
    let date = humantime::format_rfc3339_micros(SystemTime::now()).to_string().replace(':', "-");
    let aside = path.with_file_name(format!("{name}.damaged-{date}"));
    fs::rename(&path, &aside)?;
    Ok(aside)
}
