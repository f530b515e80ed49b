//! Counts the instructions and allocations of a hit, a miss, a batch, encoding and generating, and compares them with
//! the committed baseline: `cargo bench -p benches --bench instructions`. Needs valgrind.
//!
//! Each case runs in a process of its own under callgrind, which counts only inside [`counted`] and only in the thread
//! that calls it. The instructions of the allocator are left out; allocations are counted instead, without valgrind.

mod cases;

use std::{
    collections::BTreeMap,
    env, fs,
    path::Path,
    process::{Command, ExitCode},
    thread,
};

use anyhow::{Context, bail, ensure};
use benches::{
    callgrind,
    counts::{Baseline, Counts, TOLERANCE},
    report::{self, output_of, processor},
};
use cases::{CASES, Case};
use clap::Parser;

#[derive(Debug, Parser)]
#[command(about = "Compares the instructions and allocations of fixed operations with the committed baseline")]
struct Args {
    /// Replace the baseline with these counts
    #[arg(long)]
    update: bool,
    /// Do the operations of one case, for callgrind
    #[arg(long, hide = true)]
    case: Option<String>,
    /// Cargo passes this to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

/// The file of the baseline.
const BASELINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/records/instructions.json");

/// The function inside which callgrind counts.
const COUNTED: &str = "*instructions::counted*";

/// Processes in which a case is counted; the least count is the result. The memory tier hashes keys with other seeds in
/// each process, so the number of collisions differs a little.
const PROCESSES: usize = 3;

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    if let Some(name) = &args.case {
        let case = CASES.iter().find(|case| case.name == name).with_context(|| format!("no case is named {name:?}"))?;
        do_case(case);
        return Ok(ExitCode::SUCCESS);
    }
    report::ensure_release()?;
    let valgrind = output_of("valgrind", &["--version"]);
    if valgrind.is_empty() {
        eprintln!("skipped: instruction counts need valgrind, which is not on the PATH");
        return Ok(ExitCode::SUCCESS);
    }
    let mut counts = BTreeMap::new();
    for case in &CASES {
        eprintln!("counting {}", case.name);
        counts.insert(case.name.to_owned(), count(case).context(case.name)?);
    }
    // Counts depend on the compiler, the processor and the C library.
    let machine = format!("{}, {}", processor(), output_of("getconf", &["GNU_LIBC_VERSION"]));
    let now = Baseline { rustc: output_of("rustc", &["--version"]), valgrind, machine, cases: counts };
    if args.update {
        now.write(Path::new(BASELINE))?;
        println!("the baseline is now {}; commit it with the change that it belongs to", BASELINE);
        return Ok(ExitCode::SUCCESS);
    }
    let then = Baseline::read(Path::new(BASELINE))?;
    let comparison = then.compare(&now)?;
    println!("an operation, compared with the baseline ({}, {})\n\n{}", then.machine, then.valgrind, comparison.table);
    if comparison.failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!(
        "\nmore than {} % over the baseline: {}. If the change is worth that, accept it with `cargo bench -p benches \
         --bench instructions -- --update` and commit {}. Counts of this machine: {}, {}.",
        TOLERANCE * 100.0,
        comparison.failed.join("; "),
        BASELINE,
        now.machine,
        now.valgrind
    );
    // Another processor, C library or compiler executes other instructions.
    let is_comparable = (&now.rustc, &now.valgrind, &now.machine) == (&then.rustc, &then.valgrind, &then.machine);
    if !is_comparable {
        eprintln!("not judged: the baseline is of another machine or compiler");
    }
    Ok(if is_comparable { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Does the operations of `case` in a thread of its own. The stack of the first thread begins after the arguments and
/// the environment, whose length decides how it is aligned. The C library copies and compares with other instructions
/// for another alignment.
fn do_case(case: &'static Case) {
    let work = move || counted(&mut *case.operation(), case.operations);
    thread::spawn(work).join().expect("the thread prints why it panics");
}

/// Does operations 0 .. `operations`. Callgrind finds it by its name.
#[inline(never)]
fn counted(operation: &mut dyn FnMut(u64), operations: u64) {
    (0..operations).for_each(operation);
}

fn count(case: &Case) -> anyhow::Result<Counts> {
    let mut operation = case.operation();
    let allocated = allocation_counter::measure(|| counted(&mut *operation, case.operations));
    drop(operation);
    let mut instructions = u64::MAX;
    for _ in 0..PROCESSES {
        instructions = instructions.min(instructions_of(case)?);
    }
    Ok(Counts { operations: case.operations, instructions, allocations: allocated.count_total })
}

/// The instructions of the counted operations of `case` in a process of their own.
fn instructions_of(case: &Case) -> anyhow::Result<u64> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("callgrind.out");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--quiet", "--collect-atstart=no"]);
    valgrind.arg(format!("--toggle-collect={COUNTED}")).arg(format!("--callgrind-out-file={}", file.display()));
    valgrind.arg(env::current_exe()?).args(["--case", case.name]);
    let output = valgrind.output().context("valgrind does not start")?;
    if !output.status.success() {
        bail!("valgrind ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    let instructions = callgrind::instructions(&fs::read_to_string(&file).context("callgrind wrote no counts")?)?;
    ensure!(instructions > case.operations, "callgrind counted {instructions} instructions: it did not find {COUNTED}");
    Ok(instructions)
}
