//! Counts the instructions and allocations of a hit, a miss, a batch, encoding and generating, and compares them with
//! the committed baseline: `cargo bench -p benches --bench instructions`. Needs valgrind.
//!
//! Each case runs in a process of its own under callgrind, which counts only inside [`counted`] and only in the thread
//! that calls it. The instructions of the allocator are left out; allocations are counted instead, without valgrind.
//! `--plant 2` does 2 % more operations than it reports, to show that such a regression is found.

mod cases;
mod server;

use std::{
    collections::BTreeMap,
    env, fs,
    path::PathBuf,
    process::{Command, ExitCode},
    thread,
};

use anyhow::{Context, bail, ensure};
use benches::{
    callgrind,
    counts::{Baseline, Counts, TOLERANCE},
    report::{self, output_of, processor},
};
use cases::Case;
use clap::Parser;

#[derive(Debug, Parser)]
#[command(about = "Compares the instructions and allocations of fixed operations with the committed baseline")]
struct Args {
    /// Replace the baseline with these counts
    #[arg(long)]
    update: bool,
    /// File of the baseline
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/records/instructions.json"))]
    baseline: PathBuf,
    /// Do this percentage of operations more than is reported: a regression, to try the comparison
    #[arg(long, default_value_t = 0, value_name = "PERCENT", conflicts_with = "update")]
    plant: u64,
    /// Count only what clients send, and compare it with its bounds alone
    #[arg(long, conflicts_with = "update")]
    only_inputs: bool,
    /// Do the operations of one case, for callgrind
    #[arg(long, hide = true)]
    case: Option<String>,
    /// Do the operations of all inputs, for callgrind
    #[arg(long, hide = true)]
    inputs: bool,
    /// Cargo passes this to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

/// The function inside which callgrind counts.
const COUNTED: &str = "*instructions::counted*";
/// The same function, after which callgrind writes what it counted. It does one thing only for each pattern.
const DUMPED: &str = "*structions::counted*";

/// Processes in which a case is counted; the least count is the result. The memory tier hashes keys with other seeds in
/// each process, so the number of collisions differs a little.
const PROCESSES: usize = 3;

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    if args.inputs {
        do_inputs(args.plant);
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(name) = &args.case {
        let mut cases = cases::all().into_iter();
        let case = cases.find(|case| case.name == *name).with_context(|| format!("no case is named {name:?}"))?;
        do_case(case, args.plant);
        return Ok(ExitCode::SUCCESS);
    }
    report::ensure_release()?;
    let valgrind = output_of("valgrind", &["--version"]);
    if valgrind.is_empty() {
        eprintln!("skipped: instruction counts need valgrind, which is not on the PATH");
        return Ok(ExitCode::SUCCESS);
    }
    let (cases, mut counts) = (cases::all(), BTreeMap::new());
    eprintln!("counting what clients send");
    let inputs = cases.iter().filter(|case| case.input().is_some());
    for (case, instructions) in inputs.zip(instructions_of_inputs(args.plant)?) {
        counts.insert(case.name.to_owned(), counts_of(case, args.plant, instructions));
    }
    for case in cases.iter().filter(|case| case.input().is_none() && !args.only_inputs) {
        eprintln!("counting {}", case.name);
        let mut instructions = u64::MAX;
        for _ in 0..PROCESSES {
            instructions = instructions.min(instructions_of(case, args.plant).context(case.name)?);
        }
        counts.insert(case.name.to_owned(), counts_of(case, args.plant, instructions));
    }
    let too_expensive = print_inputs(&cases, &counts);
    if !too_expensive.is_empty() {
        eprintln!(
            "\na byte costs more than its bound in benches/src/input.rs: {}",
            too_expensive.join("; ")
        );
        return Ok(ExitCode::FAILURE);
    }
    if args.only_inputs {
        return Ok(ExitCode::SUCCESS);
    }
    // Counts depend on the compiler, the processor and the C library.
    let machine = format!("{}, {}", processor(), output_of("getconf", &["GNU_LIBC_VERSION"]));
    let now = Baseline { rustc: output_of("rustc", &["--version"]), valgrind, machine, cases: counts };
    if args.update {
        now.write(&args.baseline)?;
        println!("the baseline is now {}; commit it with the change that it belongs to", args.baseline.display());
        return Ok(ExitCode::SUCCESS);
    }
    let then = Baseline::read(&args.baseline)?;
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
        args.baseline.display(),
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

/// Prints what the input of clients costs, as the table of docs/benchmarks.md. Returns the cases whose bytes cost more
/// than their bounds.
fn print_inputs(cases: &[Case], counts: &BTreeMap<String, Counts>) -> Vec<&'static str> {
    println!("| what a client sends | bytes | instructions | for a byte | at most |\n|---|---|---|---|---|");
    let mut too_expensive = Vec::new();
    for (case, input) in cases.iter().filter_map(|case| Some((case, case.input()?))) {
        let Some(counts) = counts.get(case.name) else { continue };
        let Some(per_byte) = counts.per_byte() else { continue };
        let (bytes, instructions) = (counts.bytes / counts.operations, counts.instructions / counts.operations);
        println!("| {} | {bytes} | {instructions} | {per_byte:.1} | {} |", case.name, input.most);
        if per_byte > input.most as f64 {
            too_expensive.push(case.name);
        }
    }
    println!();
    too_expensive
}

/// Does the operations of `case` in a thread of its own. The stack of the first thread begins after the arguments and
/// the environment, whose length decides how it is aligned. The C library copies and compares with other instructions
/// for another alignment.
fn do_case(case: Case, plant: u64) {
    let operations = operations(&case, plant);
    let work = move || counted(&mut *case.operation(operations), operations);
    thread::spawn(work).join().expect("the thread prints why it panics");
}

/// Does operations 0 .. `operations`. Callgrind finds it by its name.
#[inline(never)]
fn counted(operation: &mut dyn FnMut(u64), operations: u64) {
    (0..operations).for_each(operation);
}

/// The operations that `case` does, with `plant` percent more than it reports.
fn operations(case: &Case, plant: u64) -> u64 {
    case.operations + case.operations * plant / 100
}

/// Does the operations of each input, one input after the other.
fn do_inputs(plant: u64) {
    let work = move || {
        for case in cases::all().into_iter().filter(|case| case.input().is_some()) {
            let operations = operations(&case, plant);
            counted(&mut *case.operation(operations), operations);
        }
    };
    thread::spawn(work).join().expect("the thread prints why it panics");
}

/// What `case` costs, with its `instructions`. Counts its allocations.
fn counts_of(case: &Case, plant: u64, instructions: u64) -> Counts {
    let operations = operations(case, plant);
    let mut operation = case.operation(operations);
    let allocated = allocation_counter::measure(|| counted(&mut *operation, operations));
    let bytes = case.input().map_or(0, |input| input.input().bytes() * case.operations);
    Counts { operations: case.operations, instructions, allocations: allocated.count_total, bytes }
}

/// The instructions of the counted operations of `case` in a process of their own.
fn instructions_of(case: &Case, plant: u64) -> anyhow::Result<u64> {
    let parts = callgrind_parts(&["--case", case.name, "--plant", &plant.to_string()])?;
    let instructions: u64 = parts.iter().sum();
    ensure!(instructions > case.operations, "callgrind counted {instructions} instructions: it did not find {COUNTED}");
    Ok(instructions)
}

/// The instructions of the counted operations of each input. One process does all of them: to start one takes longer
/// than an input.
fn instructions_of_inputs(plant: u64) -> anyhow::Result<Vec<u64>> {
    let mut parts = callgrind_parts(&["--inputs", "--plant", &plant.to_string()])?;
    // What comes after the last input.
    parts.pop_if(|last| *last == 0);
    let inputs = cases::all().iter().filter(|case| case.input().is_some()).count();
    ensure!(parts.len() == inputs, "callgrind counted {} of {inputs} inputs", parts.len());
    Ok(parts)
}

/// Runs this program under callgrind. Returns the instructions of each call of [`counted`].
fn callgrind_parts(args: &[&str]) -> anyhow::Result<Vec<u64>> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("callgrind.out");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--quiet", "--collect-atstart=no"]);
    valgrind.arg(format!("--toggle-collect={COUNTED}")).arg(format!("--dump-after={DUMPED}"));
    valgrind.arg(format!("--callgrind-out-file={}", file.display())).arg(env::current_exe()?).args(args);
    let output = valgrind.output().context("valgrind does not start")?;
    if !output.status.success() {
        bail!("valgrind ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    // Each part has a number as its extension, the last one none.
    let numbered = (1..).map(|number| directory.path().join(format!("callgrind.out.{number}")));
    let files =
        numbered.take_while(|path| path.exists()).chain([file.clone()].into_iter().filter(|path| path.exists()));
    files
        .map(|path| callgrind::instructions(&fs::read_to_string(&path).context("callgrind wrote no counts")?))
        .collect()
}
