//! Prints the figures of `docs/benchmarks.md` that are medians: `cargo run --release -p benches --bin figures`.
//!
//! Criterion times one thing in a loop; this asks for the median, or the p99, over a thousand different floors, and
//! starts the real server.

mod chain;
mod floors;
mod serving;

use benches::machine::Machine;
use comfy_table::{Table, presets::ASCII_MARKDOWN};

/// One line of the table.
struct Figure {
    what: &'static str,
    measured: String,
    /// What it should be, as `docs/benchmarks.md` has it.
    aim: &'static str,
}

impl Figure {
    fn new(what: &'static str, measured: impl Into<String>, aim: &'static str) -> Self {
        Self { what, measured: measured.into(), aim }
    }
}

fn main() -> anyhow::Result<()> {
    if cfg!(debug_assertions) {
        anyhow::bail!("figures of a debug build mean nothing; run `cargo run --release -p benches --bin figures`");
    }
    let mut table = Table::new();
    table.load_preset(ASCII_MARKDOWN).set_header(["what", "measured", "aim"]);
    let figures = floors::measure().into_iter().chain(chain::measure()?).chain(serving::measure()?);
    for figure in figures {
        table.add_row([figure.what.to_owned(), figure.measured, figure.aim.to_owned()]);
    }
    println!("{}\n\n{table}", Machine::here());
    Ok(())
}

/// Nanoseconds as a reader likes them.
fn show(nanos: f64) -> String {
    match nanos {
        n if n < 1e3 => format!("{n:.0} ns"),
        n if n < 1e6 => format!("{:.1} us", n / 1e3),
        n => format!("{:.1} ms", n / 1e6),
    }
}
