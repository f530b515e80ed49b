//! Space on the disk that only removals may use. LMDB never overwrites a page that a reader may see, so a removal needs some
//! new pages, and a full disk has none: without the reserve, nothing in a store on a full disk could be purged.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use tracing::debug;

use super::{NAME, open_guard};
use crate::tiers::directory;

/// The file beside the data.
pub(super) const FILE: &str = "reserve";

/// Bytes of the whole reserve, and of a part, which is enough for a few keys.
const WHOLE: u64 = 1 << 20;
const PART: u64 = WHOLE / 4;

/// The reserve is taken only while the disk has so many times more.
const PLENTY: u64 = 8;

/// The most keys to remove in one transaction with a part of the reserve.
pub(super) const KEYS: usize = 8;

/// The reserve of a store. Servers on one store share it.
#[derive(Debug)]
pub(super) struct Reserve {
    file: PathBuf,
    is_whole: AtomicBool,
}

impl Reserve {
    /// The reserve of the store in `path`.
    pub(super) fn of(path: &Path) -> Self {
        let reserve = Self { file: path.join(FILE), is_whole: AtomicBool::new(false) };
        reserve.restore();
        reserve
    }

    /// Takes what is missing of it if the disk has plenty of space.
    pub(super) fn restore(&self) {
        if self.is_whole.load(Relaxed) {
            return;
        }
        let take = || {
            let directory = self.file.parent().unwrap_or(Path::new("."));
            let is_whole = fs::metadata(&self.file).is_ok_and(|file| file.len() >= WHOLE);
            if !is_whole && directory::space(directory)?.free < PLENTY * WHOLE {
                return Ok(false);
            }
            open_guard::fill(&open(&self.file)?, WHOLE).map(|()| true)
        };
        match take() {
            Ok(is_whole) => self.is_whole.store(is_whole, Relaxed),
            Err(error) => {
                let error: io::Error = error;
                debug!(tier = NAME, %error, "no disk space could be reserved for removals");
            }
        }
    }

    /// Frees a part. Returns whether there was one.
    pub(super) fn release(&self) -> bool {
        self.is_whole.store(false, Relaxed);
        let release = || {
            let file = open(&self.file)?;
            let held = file.metadata()?.len();
            file.set_len(held.saturating_sub(PART)).map(|()| held > 0)
        };
        release().unwrap_or_else(|error: io::Error| {
            debug!(tier = NAME, %error, "the reserve could not be released");
            false
        })
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).open(path)
}
