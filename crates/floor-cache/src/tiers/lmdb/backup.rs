//! Copies a store that is in use into a directory beside its own.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use heed::{CompactionOption, Env, WithoutTls};
use tracing::warn;

use super::{DATA, NAME};
use crate::{
    tier::Backup,
    tiers::{directory, quarantine},
};

/// Bytes that a copy leaves free on the disk, for what the store itself writes meanwhile.
const RESERVE: u64 = 64 << 20;

/// Copies the store of `env`, whose pages in use have `used` bytes, to `NAME.backup-DATE` in the same parent, without its
/// free pages. The copy is the state at one moment; reads and writes go on. Blocks. Until it is complete, its name ends
/// in `.incomplete`.
pub(super) fn back_up(env: &Env<WithoutTls>, used: u64) -> Result<Backup, Box<dyn Error + Send + Sync>> {
    let path = quarantine::dated(env.path(), "backup")?;
    check_space(&path, used)?;
    let incomplete = with_suffix(&path, ".incomplete");
    directory::create(NAME, &incomplete)?;
    let copied = copy(env, &incomplete.join(DATA)).and_then(|bytes| {
        fs::rename(&incomplete, &path)?;
        Ok(bytes)
    });
    match copied {
        Ok(bytes) => Ok(Backup { path, bytes }),
        Err(error) => {
            if let Err(error) = fs::remove_dir_all(&incomplete) {
                warn!(tier = NAME, path = %incomplete.display(), %error, "an incomplete backup could not be removed");
            }
            Err(error.into())
        }
    }
}

/// An error unless the disk of `path` has space for `used` bytes and the reserve.
fn check_space(path: &Path, used: u64) -> Result<(), Box<dyn Error + Send + Sync>> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    let (free, needed) = (directory::space(parent)?.free, used.saturating_add(RESERVE));
    if free < needed {
        let parent = parent.display();
        return Err(
            format!("{parent} has {free} bytes free; a copy needs {needed}, of which it leaves {RESERVE}").into()
        );
    }
    Ok(())
}

/// Copies the pages in use to the file `to` and makes it durable. Returns its length.
fn copy(env: &Env<WithoutTls>, to: &Path) -> Result<u64, heed::Error> {
    let file = env.copy_to_path(to, CompactionOption::Enabled)?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
