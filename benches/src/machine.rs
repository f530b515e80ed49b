//! Describes the machine, the toolchain and the commit of a measurement. Every record begins with it.

use std::{fs, num::NonZero, process::Command, thread};

/// This machine, now, in one line: processor, cores that this process may use, kernel, rustc, commit (with `+` when the
/// work tree differs from it) and the load average over the last minute.
pub fn describe() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cpu = cpu.map_or("unknown CPU", |(_, name)| name);
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let (kernel, toolchain) = (output_of("uname", &["-sr"]), output_of("rustc", &["--version"]));
    let commit = output_of("git", &["rev-parse", "--short", "HEAD"]);
    let is_clean = output_of("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty();
    let changed = if is_clean { "" } else { "+" };
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    format!("{cpu}, {cores} cores, {kernel}, {toolchain}, commit {commit}{changed}, load average {load}")
}

/// Today's date, as in 2026-11-21.
pub fn today() -> String {
    output_of("date", &["+%F"])
}

/// The output of `command`; empty when it does not start.
fn output_of(command: &str, args: &[&str]) -> String {
    let output = Command::new(command).args(args).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}
