//! The server under valgrind's callgrind, which counts its instructions.

use std::{fs, process::Command};

use tempfile::TempDir;
use test_support::{Server, Setup};

pub(crate) struct CountedServer {
    pub(crate) server: Server,
    data: TempDir,
}

/// Counted instructions begin with this name, in the directory of the server.
const OUTPUT: &str = "callgrind.out";

impl CountedServer {
    /// Whether valgrind is installed.
    pub(crate) fn is_available() -> bool {
        Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success())
    }

    pub(crate) fn start(settings: impl FnOnce(Setup) -> Setup) -> Self {
        let data = TempDir::new().unwrap();
        let output = data.path().join(OUTPUT);
        let server = settings(Setup::under_callgrind(&output, &data)).start();
        let counted = Self { server, data };
        counted.control("--instr=on");
        counted
    }

    /// The instructions of the server while `work` runs, in all threads.
    pub(crate) fn count(&self, work: impl FnOnce()) -> u64 {
        self.control("--zero");
        work();
        self.control("--dump");
        let is_output = |name: &str| name.starts_with(OUTPUT) && name != OUTPUT;
        let files = fs::read_dir(self.data.path()).unwrap().map(|file| file.unwrap());
        let file = files.filter(|file| is_output(&file.file_name().to_string_lossy())).map(|file| file.path());
        let file = file.last().expect("callgrind writes a file");
        let text = fs::read_to_string(&file).unwrap();
        fs::remove_file(file).unwrap();
        let totals = text.lines().find_map(|line| line.strip_prefix("totals: ")).expect("the file has a total");
        totals.trim().parse().unwrap()
    }

    fn control(&self, option: &str) {
        let output = Command::new("callgrind_control").arg(option).arg(self.server.pid().to_string()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && text.contains("OK"), "callgrind_control {option}: {text}");
    }
}
