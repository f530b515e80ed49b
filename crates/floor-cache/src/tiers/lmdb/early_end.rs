//! Counts unclean ends of the process soon after it opened a store. LMDB trusts its pages, so a damaged page can crash
//! the process, and would do so after each start.

use std::{
    convert::Infallible,
    fs, io,
    path::Path,
    sync::mpsc::{self, Sender},
    thread::{self, JoinHandle},
    time::Duration,
};

use tracing::{debug, warn};

use super::NAME;

/// A file beside the data: the number of early unclean ends in a row, the present run included. It is missing after a
/// clean end and after an end that was not early.
pub(super) const FILE: &str = "early-ends";

/// An end is early if it follows the opening within this time.
const EARLY: Duration = Duration::from_secs(60);

/// The early unclean ends in a row after which a store is not opened again.
pub(super) const MOST: u32 = 2;

/// The early unclean ends in a row before this run.
pub(super) fn count(path: &Path) -> u32 {
    fs::read_to_string(path.join(FILE)).ok().and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// While it exists, but no longer than a minute, an end of the process counts as early and unclean.
#[derive(Debug)]
pub(super) struct EarlyEnd {
    dropped: Option<Sender<Infallible>>,
    timer: Option<JoinHandle<()>>,
}

impl EarlyEnd {
    /// Counts the end of the process as the `number`th in a row.
    pub(super) fn begin(path: &Path, number: u32) -> io::Result<Self> {
        let file = path.join(FILE);
        fs::write(&file, format!("{number}\n"))?;
        let (dropped, wait) = mpsc::channel();
        let timer = move || {
            // Returns early when the other side is dropped.
            let _ = wait.recv_timeout(EARLY);
            match fs::remove_file(&file) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    debug!(tier = NAME, "the store was put aside while it was open");
                }
                Err(error) => warn!(tier = NAME, file = %file.display(), %error, "a file could not be removed"),
                Ok(()) => {}
            }
        };
        let timer = thread::Builder::new().name("lmdb-early-end".to_owned()).spawn(timer)?;
        Ok(Self { dropped: Some(dropped), timer: Some(timer) })
    }
}

impl Drop for EarlyEnd {
    fn drop(&mut self) {
        drop(self.dropped.take());
        if let Some(timer) = self.timer.take() {
            let _ = timer.join();
        }
    }
}
