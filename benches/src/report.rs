//! Records: where and how a run was made, every sample as soon as it is measured, and the tables at the end.

use std::{
    env, fmt, fs,
    io::Write as _,
    num::NonZero,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use anyhow::{Context, ensure};
use clap::Args;
use serde::Serialize;

use crate::{
    sample::{Sample, Samples},
    server,
};

/// Fails in a debug build, whose figures mean nothing.
pub fn ensure_release() -> anyhow::Result<()> {
    ensure!(!cfg!(debug_assertions), "figures of a debug build mean nothing; add --release");
    Ok(())
}

/// Where a command writes its record.
#[derive(Debug, Clone, Args)]
pub struct RecordArgs {
    /// Directory for the record; without it no record is written
    #[arg(long = "record", value_name = "DIRECTORY", global = true)]
    directory: Option<PathBuf>,
}

/// The record of a run: `DIRECTORY/DATE/NAME.jsonl`, which begins with the origin of the run and has a line for each
/// sample, and the tables in `NAME.md` beside it.
#[derive(Debug)]
pub struct Record {
    /// Where and how the run was made.
    pub origin: Origin,
    /// The samples so far.
    pub samples: Samples,
    /// The file of samples, with its path.
    files: Option<(PathBuf, fs::File)>,
}

impl Record {
    /// Starts the record `name` of this process, which is the binary `binary`.
    pub fn start(args: &RecordArgs, binary: &str, name: &str) -> anyhow::Result<Self> {
        let origin = Origin::of(binary);
        let files = match &args.directory {
            None => None,
            Some(directory) => {
                let directory = directory.join(origin.date());
                fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
                let path = directory.join(format!("{name}.jsonl"));
                let file = fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
                Some((path, file))
            }
        };
        let mut record = Self { origin: origin.clone(), samples: Samples::default(), files };
        record.line(&origin)?;
        Ok(record)
    }

    /// Writes and keeps a sample.
    pub fn add(&mut self, sample: Sample) -> anyhow::Result<()> {
        self.line(&sample)?;
        self.samples.push(sample);
        Ok(())
    }

    /// Writes a line of samples, if there is a directory for records.
    pub fn line(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        let Some((path, file)) = &mut self.files else { return Ok(()) };
        let line = serde_json::to_string(value)? + "\n";
        file.write_all(line.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Prints the origin and `text`, and writes them with the heading `title`.
    pub fn finish(&self, title: &str, text: &str) -> anyhow::Result<()> {
        let text = format!("{}\n\n{text}", self.origin);
        println!("{text}");
        let Some((path, _)) = &self.files else { return Ok(()) };
        let path = path.with_extension("md");
        let text = format!("# {title}, {}\n\n{text}", self.origin.date());
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// The machine, command and time of a run. Every report begins with it.
#[derive(Debug, Clone, Serialize)]
pub struct Origin {
    /// When it started, in UTC, as in 2026-11-21T17:04:05Z.
    pub started: String,
    /// The machine, the toolchain and the commit.
    pub machine: String,
    /// The command line, after the environment variables that change what is measured.
    pub command: String,
}

impl Origin {
    /// The origin of a run of this process, which is the binary `name`.
    pub fn of(name: &str) -> Self {
        let variables = env::vars().filter(|(name, _)| name.starts_with("FLOORS_"));
        let mut command: Vec<String> = variables.map(|(name, value)| format!("{name}={}", quoted(&value))).collect();
        command.push(format!("cargo run --release -p benches --bin {name} --"));
        command.extend(env::args().skip(1).map(|argument| quoted(&argument)));
        let command = command.join(" ").trim_end_matches(" --").to_owned();
        Self { started: output_of("date", &["-u", "+%FT%TZ"]), machine: machine(), command }
    }

    /// The day of the start.
    pub fn date(&self) -> &str {
        self.started.split('T').next().unwrap_or_default()
    }
}

/// `argument` as a shell takes it.
fn quoted(argument: &str) -> String {
    let is_plain =
        !argument.is_empty() && argument.chars().all(|c| c.is_ascii_alphanumeric() || "-_=./,:@+".contains(c));
    if is_plain { argument.to_owned() } else { format!("'{}'", argument.replace('\'', r"'\''")) }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n\n`{}`, started {}.", self.machine, self.command, self.started)
    }
}

/// This machine, now, in one line: processor, cores that this process may use, kernel, rustc, commit (marked where the
/// work tree differs from it, and where the server beside this program was not built from the work tree as it is) and
/// the load average over the last minute.
fn machine() -> String {
    let cpu = processor();
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let (kernel, toolchain) = (output_of("uname", &["-sr"]), output_of("rustc", &["--version"]));
    let commit = output_of("git", &["rev-parse", "--short", "HEAD"]);
    let is_clean = output_of("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty();
    let changed = if is_clean { "" } else { " with uncommitted changes" };
    let tree = PathBuf::from(output_of("git", &["rev-parse", "--show-toplevel"]));
    let is_current = server::binary().ok().is_none_or(|server| is_built_from(&server, &tree));
    let build = if is_current { "" } else { ", but the server is not built from it" };
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    format!("{cpu}, {cores} cores, {kernel}, {toolchain}, commit {commit}{changed}{build}, load average {load}")
}

/// Whether `program` is built from the sources in `tree` as they are: cargo writes beside it which files it depends on.
/// A program without that list is not judged.
fn is_built_from(program: &Path, tree: &Path) -> bool {
    let Ok(list) = fs::read_to_string(program.with_extension("d")) else { return true };
    let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let built = modified(program);
    // A space in a path is written as `\ `.
    let list = list.replace("\\ ", "\0");
    let mut sources = list.split_whitespace().skip(1).map(|source| PathBuf::from(source.replace('\0', " ")));
    // What build scripts generate stands beside the program.
    let is_ours = |source: &Path| source.starts_with(tree) || program.parent().is_some_and(|d| source.starts_with(d));
    sources.all(|source| is_ours(&source) && modified(&source).is_some_and(|at| Some(at) <= built))
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sample::RATE;

    #[test]
    fn a_record_has_every_sample_before_it_is_finished() {
        let directory = tempfile::tempdir().unwrap();
        let args = RecordArgs { directory: Some(directory.path().to_owned()) };
        let mut record = Record::start(&args, "serving", "test").unwrap();
        for rate in [100.0, 200.0, 300.0] {
            record.add(Sample { load: "hit".to_owned(), who: "ours".to_owned(), rate, ..Sample::default() }).unwrap();
        }
        let path = directory.path().join(record.origin.date()).join("test.jsonl");
        let lines = fs::read_to_string(&path).unwrap();
        assert_eq!(lines.lines().count(), 4);
        assert!(lines.contains("--bin serving") && lines.contains("\"started\"") && lines.contains("\"rate\":300.0"));
        record.finish("Test", &record.samples.table("hit", &[RATE], &[]).to_string()).unwrap();
        let text = fs::read_to_string(path.with_extension("md")).unwrap();
        assert!(text.starts_with("# Test, ") && text.contains("200 (100 .. 300)"), "{text}");
    }

    #[test]
    fn a_program_of_other_or_newer_sources_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let (tree, program) = (directory.path().join("a tree"), directory.path().join("program"));
        fs::create_dir(&tree).unwrap();
        let source = tree.join("main.rs");
        fs::write(&source, "").unwrap();
        fs::write(&program, "").unwrap();
        assert!(is_built_from(&program, &tree), "nothing says what it was built from");
        let escaped = source.display().to_string().replace(' ', "\\ ");
        fs::write(program.with_extension("d"), format!("{}: {escaped}\n", program.display())).unwrap();
        assert!(is_built_from(&program, &tree));
        let elsewhere = tree.join("target");
        fs::create_dir(&elsewhere).unwrap();
        let moved = elsewhere.join("program");
        fs::copy(&program, &moved).unwrap();
        fs::copy(program.with_extension("d"), moved.with_extension("d")).unwrap();
        assert!(!is_built_from(&moved, &directory.path().join("another")));
        let later = fs::metadata(&program).unwrap().modified().unwrap() + Duration::from_secs(1);
        fs::File::options().write(true).open(&source).unwrap().set_modified(later).unwrap();
        assert!(!is_built_from(&program, &tree));
        fs::remove_file(&source).unwrap();
        assert!(!is_built_from(&program, &tree));
    }

    #[test]
    fn arguments_are_quoted_where_a_shell_would_split_them() {
        assert_eq!(quoted("--load=zipf"), "--load=zipf");
        assert_eq!(quoted("climb, paced"), "'climb, paced'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
