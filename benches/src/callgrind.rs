//! Reads the file that valgrind's callgrind writes. The bench `instructions` takes its counts from here.

use std::collections::HashMap;

use anyhow::{Context, bail};

/// The functions of the C library's allocator.
const ALLOCATOR: [&str; 7] = ["malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "memalign", "free"];

/// The instructions in `text`, a file of callgrind, without those of the allocator.
///
/// How many the allocator executes depends on the free blocks of the heap, and so on everything that ran before, such
/// as threads, the length of paths and the environment. The file cannot say how often it was called: callgrind counts
/// calls also while it does not collect.
///
/// # Errors
/// When `text` is not in callgrind's format.
pub fn instructions(text: &str) -> anyhow::Result<u64> {
    let (mut names, mut total, mut allocator) = (Names::default(), None, 0);
    let (mut caller, mut callee) = ("", "");
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("fn=") {
            caller = names.resolve(name)?;
        } else if let Some(name) = line.strip_prefix("cfn=") {
            callee = names.resolve(name)?;
        } else if line.starts_with("calls=") {
            // The next line has the position of the call and its cost with all that it called.
            let cost = lines.next().and_then(|line| line.split_whitespace().nth(1)).context("a call without a cost")?;
            if ALLOCATOR.contains(&callee) && !ALLOCATOR.contains(&caller) {
                allocator += number(cost)?;
            }
        } else if let Some(count) = line.strip_prefix("totals:") {
            total = Some(number(count.trim())?);
        }
    }
    let total: u64 = total.context("callgrind's file has no total")?;
    total.checked_sub(allocator).context("the allocator has more instructions than all functions")
}

fn number(digits: &str) -> anyhow::Result<u64> {
    digits.parse().with_context(|| format!("no number: {digits:?}"))
}

/// The names of functions. Callgrind writes `(7) name` once and `(7)` from then on.
#[derive(Default)]
struct Names<'a>(HashMap<&'a str, &'a str>);

impl<'a> Names<'a> {
    fn resolve(&mut self, name: &'a str) -> anyhow::Result<&'a str> {
        let Some((id, name)) = name.split_once(')') else { bail!("a function without a number: {name:?}") };
        match name.trim_start() {
            "" => self.0.get(id).copied().with_context(|| format!("function {id}) has no name")),
            name => {
                self.0.insert(id, name);
                Ok(name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lookup that calls malloc, free, realloc, which calls malloc, and memcpy.
    const FILE: &str = "\
events: Ir
ob=(1) /bench
fl=(1) lookup.rs
fn=(1) lookup
10 100
cob=(2) /libc.so.6
cfi=(2) malloc.c
cfn=(2) malloc
calls=2 0
11 50
cob=(2)
cfn=(3) free
calls=1 0
+1 7
cob=(2)
cfn=(4) realloc
calls=1 0
+1 30
cfn=(5) memcpy
calls=1 0
* 9

ob=(2)
fn=(2)
1 50
fn=(4)
1 10
cfn=(2)
calls=1 0
2 20
totals: 196
";

    #[test]
    fn the_allocator_is_left_out_once() {
        assert_eq!(instructions(FILE).unwrap(), 196 - 50 - 7 - 30);
    }

    #[test]
    fn what_callgrind_did_not_write_is_an_error() {
        for text in ["", "totals: many", "fn=(1)\ntotals: 1", "calls=1 0\n3\ntotals: 1", "fn=lookup\ntotals: 1"] {
            assert!(instructions(text).is_err(), "{text:?}");
        }
    }
}
