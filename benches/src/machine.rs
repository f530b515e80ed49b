//! Describes the machine, the toolchain and the commit of a measurement. Every record begins with it.

use std::{fmt, fs, process::Command};

/// A machine, its toolchain, and the commit of the source.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The name of the processor.
    pub cpu: String,
    /// Processors that this process may use.
    pub cores: usize,
    /// Name and release of the kernel.
    pub kernel: String,
    /// The version of rustc.
    pub toolchain: String,
    /// The commit, with `+` when the work tree differs from it.
    pub commit: String,
    /// The load average over the last minute.
    pub load: String,
}

impl Machine {
    /// This machine, now.
    #[must_use]
    pub fn current() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let cpu = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let commit = output_of("git", &["rev-parse", "--short", "HEAD"]);
        let clean = output_of("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty();
        Self {
            cpu: cpu.map_or_else(|| "unknown CPU".to_owned(), |(_, name)| name.to_owned()),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            kernel: output_of("uname", &["-sr"]),
            toolchain: output_of("rustc", &["--version"]),
            commit: format!("{commit}{}", if clean { "" } else { "+" }),
            load: fs::read_to_string("/proc/loadavg")
                .ok()
                .and_then(|load| load.split(' ').next().map(str::to_owned))
                .unwrap_or_default(),
        }
    }
}

impl Machine {
    /// Today's date, as in 2026-11-21.
    #[must_use]
    pub fn today() -> String {
        output_of("date", &["+%F"])
    }
}

/// The output of `command`; empty when it does not start.
fn output_of(command: &str, args: &[&str]) -> String {
    let output = Command::new(command).args(args).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cpu, cores, kernel, toolchain, commit, load } = self;
        write!(f, "{cpu}, {cores} cores, {kernel}, {toolchain}, commit {commit}, load average {load}")
    }
}
