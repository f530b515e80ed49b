//! Reports: where and how a run was made, its samples, and the text that is printed at its end.

use std::{env, fs, num::NonZero, path::PathBuf, process::Command, thread};

use anyhow::ensure;

use crate::sample::{Sample, Samples};

/// Fails in a debug build, whose figures mean nothing.
pub fn ensure_release() -> anyhow::Result<()> {
    ensure!(!cfg!(debug_assertions), "figures of a debug build mean nothing; add --release");
    Ok(())
}

/// The report of a run.
#[derive(Debug)]
pub struct Report {
    /// When it started, in UTC, as in 2026-11-21T17:04:05Z.
    started: String,
    machine: String,
    /// The command line, after the environment variables that change what is measured.
    command: String,
    /// The samples so far.
    pub samples: Samples,
}

impl Report {
    /// Starts the report of this process, which is the binary `name`.
    pub fn start(name: &str) -> Self {
        let variables = env::vars().filter(|(name, _)| name.starts_with("FLOORS_"));
        let mut command: Vec<String> = variables.map(|(name, value)| format!("{name}={}", quoted(&value))).collect();
        command.push(format!("cargo run --release -p benches --bin {name} --"));
        command.extend(env::args().skip(1).map(|argument| quoted(&argument)));
        let command = command.join(" ").trim_end_matches(" --").to_owned();
        let started = output_of("date", &["-u", "+%FT%TZ"]);
        Self { started, machine: machine(), command, samples: Samples::default() }
    }

    /// Prints the heading `title`, the machine, the command and `text`.
    pub fn finish(&self, title: &str, text: &str) {
        println!("# {title}\n\n{}\n\n{text}", self.origin());
    }

    /// The machine, and in a second paragraph the command and when it started.
    pub fn origin(&self) -> String {
        let Self { started, machine, command, .. } = self;
        format!("{machine}\n\n`{command}`, started {started}.")
    }

    /// Keeps a sample.
    pub fn add(&mut self, sample: Sample) {
        self.samples.push(sample);
    }
}

/// The `main` of a bench: criterion's, which then names the page with criterion's pictures.
#[macro_export]
macro_rules! bench_main {
    ($group:path) => {
        fn main() {
            $group();
            criterion::Criterion::default().configure_from_args().final_summary();
            $crate::report::name_criterion_page();
        }
    };
}

/// Prints the path of the page with criterion's pictures to standard error, if there is one.
pub fn name_criterion_page() {
    let named = |variable| env::var_os(variable).map(PathBuf::from);
    // Benches are in TARGET/release/deps.
    let target = || named("CARGO_TARGET_DIR").or_else(|| Some(env::current_exe().ok()?.ancestors().nth(3)?.into()));
    let directory = named("CRITERION_HOME").or_else(|| Some(target()?.join("criterion")));
    if let Some(Ok(page)) = directory.map(|directory| directory.join("report/index.html").canonicalize()) {
        eprintln!("pictures: {}", page.display());
    }
}

/// `argument` as a shell takes it.
fn quoted(argument: &str) -> String {
    let is_plain =
        !argument.is_empty() && argument.chars().all(|c| c.is_ascii_alphanumeric() || "-_=./,:@+".contains(c));
    if is_plain { argument.to_owned() } else { format!("'{}'", argument.replace('\'', r"'\''")) }
}

/// This machine, now, in one line: processor, cores that this process may use, kernel, rustc, commit (marked where the
/// work tree differs from it) and the load average over the last minute.
fn machine() -> String {
    let cpu = processor();
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let (kernel, toolchain) = (output_of("uname", &["-sr"]), output_of("rustc", &["--version"]));
    let commit = output_of("git", &["rev-parse", "--short", "HEAD"]);
    let is_clean = output_of("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty();
    let changed = if is_clean { "" } else { " with uncommitted changes" };
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    format!("{cpu}, {cores} cores, {kernel}, {toolchain}, commit {commit}{changed}, load average {load}")
}

/// The name of the processor.
pub fn processor() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    cpu.map_or("unknown CPU", |(_, name)| name).to_owned()
}

/// The output of `command`; empty when it does not start.
pub fn output_of(command: &str, args: &[&str]) -> String {
    let output = Command::new(command).args(args).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}
