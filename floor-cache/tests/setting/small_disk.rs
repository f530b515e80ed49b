//! A file system in memory that is full when a test wants it to be.

use std::{
    env,
    fs::{self, File},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

/// Mounted on a directory of its own; gone when dropped.
pub(crate) struct SmallDisk(TempDir);

impl SmallDisk {
    /// A disk of `bytes`. Mounting it takes a right that not every machine gives: then it says that the test is skipped, or
    /// fails if `FLOORS_TEST_DISK=required`.
    pub(crate) fn mount(bytes: u64) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a directory");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"])
            .arg(directory.path())
            .stderr(Stdio::null())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(directory));
        }
        let required = env::var("FLOORS_TEST_DISK").is_ok_and(|value| value == "required");
        assert!(!required, "FLOORS_TEST_DISK=required, but there is no right to mount a small file system here");
        println!("skipped: no right to mount a small file system");
        None
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Fills it up to the last `free` bytes, a multiple of the page size.
    pub(crate) fn fill(&self, free: u64) {
        let mut file = File::create(self.ballast()).expect("a file can be made");
        let full = loop {
            if let Err(error) = file.write_all(&[0xA5; 4096]) {
                break error;
            }
        };
        assert_eq!(full.kind(), ErrorKind::StorageFull, "{full}");
        let length = file.metadata().expect("it is there").len();
        file.set_len(length - free).expect("it can be cut");
    }

    /// Gives back the room that [`fill`](Self::fill) took.
    pub(crate) fn free(&self) -> io::Result<()> {
        fs::remove_file(self.ballast())
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: sled's own threads hold its files for a moment longer.
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}
