//! What the viewer's page calls: floors as wire bytes, and the search of `floorctl search`.
//!
//! No bindings generator: functions take numbers, and texts and bytes pass through two buffers. [`buffers::input`] makes
//! room for a text, which the page writes into the memory; [`buffers::output`] and [`buffers::output_len`] say where a
//! result lies. Each instance of the module has one of each, and one open pack.
#![cfg(target_family = "wasm")]
#![allow(unsafe_code, reason = "an export without its mangled name counts as unsafe; there is no other")]

pub mod buffers;
#[cfg(feature = "modules")]
mod guests;
pub mod pack;

use std::cell::{Cell, RefCell};

use floor_gen::{
    GENERATOR_VERSION, Generator, Kind, Theme, View,
    pack::{Hatch, Paint},
};
use floor_pack::{LoadedPack, ModuleError, ResolveError};
use floor_query::{Candidate, Condition, Fact};

use buffers::{read, respond};
use pack::with_pack;

thread_local! {
    static GENERATOR: RefCell<Generator> = RefCell::default();
    static CONDITION: RefCell<Option<Condition>> = const { RefCell::new(None) };
    static GENERATED: Cell<u32> = const { Cell::new(0) };
    static FAILED: Cell<u32> = const { Cell::new(0) };
}

/// The version of the generator in this module.
#[unsafe(no_mangle)]
pub extern "C" fn generator_version() -> u32 {
    GENERATOR_VERSION
}

/// Generates a floor of the open pack; 0 as `width`, `height`, `kind` or `view` as in a request. Returns 1; 0 if there is no such
/// floor, 2 if the pack's own generator failed. The output is the encoded `floors.v1.Floor`, or the error.
#[unsafe(no_mangle)]
pub extern "C" fn floor(seed: u64, number: u32, width: u32, height: u32, kind: u32, view: u32) -> u32 {
    let bytes = with_pack(|pack| {
        let spec = pack.resolve(seed, number, width, height, Kind::from_number(kind))?;
        let spec = spec.with_view(View::from_number(view).unwrap_or_default());
        let framed = GENERATOR.with_borrow_mut(|generator| pack.framed(generator, &spec))?;
        Ok(floor_wire::unframed(&framed).to_vec())
    });
    let is_fault = matches!(bytes, Err(ResolveError::Module(ModuleError::Fault { .. })));
    let fine = respond(bytes.map_err(|error: ResolveError| error.to_string()));
    u32::from(fine) + 2 * u32::from(is_fault)
}

/// The names that a condition may use: a line each of facts, kinds and themes.
#[unsafe(no_mangle)]
pub extern "C" fn names() {
    let facts = Fact::ALL.map(Fact::name).join(" ");
    let kinds = Kind::ALL.map(Kind::name).join(" ");
    let themes = with_pack(|pack| pack.pack().themes().iter().map(Theme::name).collect::<Vec<_>>().join(" "));
    respond(Ok(format!("{facts}\n{kinds}\n{themes}").into_bytes()));
}

/// The looks of the themes of the open pack: a line for each, with its name, its colours as hexadecimal in the order of
/// [`Paint::ALL`], and its hatching.
#[unsafe(no_mangle)]
pub extern "C" fn looks() {
    let line = |theme: &Theme| {
        let look = theme.look();
        let colours: String = Paint::ALL.iter().map(|paint| format!(" {:06x}", look.colour(*paint))).collect();
        format!("{}{colours} {}\n", theme.name(), Hatch::NAMES[look.hatch as usize])
    };
    let lines: String = with_pack(|pack| pack.pack().themes().iter().map(line).collect());
    respond(Ok(lines.into_bytes()));
}

/// Parses the condition in the input on floors of the open pack, for [`scan`]. Whether it is valid; if not, the output is the error.
#[unsafe(no_mangle)]
pub extern "C" fn condition() -> bool {
    let text = read(|input| String::from_utf8_lossy(input).into_owned());
    let parsed = with_pack(|pack| Condition::of_pack(pack.pack(), &text));
    respond(parsed.map(|parsed| {
        CONDITION.set(Some(parsed));
        Vec::new()
    }))
}

/// Looks for floors of the open pack that meet the condition: `count` of them from index `first`, of the floors `from` to
/// `from + numbers - 1` of tower `seed`, then of the next tower, and so on. The output has a line for each match: seed,
/// number, kind, and each fact of the condition with its value.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "an export takes numbers")]
pub extern "C" fn scan(
    seed: u64,
    from: u32,
    numbers: u32,
    width: u32,
    height: u32,
    kind: u32,
    first: u64,
    count: u32,
) -> bool {
    let Some(condition) = CONDITION.take() else { return respond(Err("there is no condition".to_owned())) };
    let facts = condition.facts();
    let (mut generated, mut failed) = (0, 0);
    let mut lines = String::new();
    let scan = |pack: &LoadedPack| {
        for index in first..first + u64::from(count) {
            let numbers = u64::from(numbers.max(1));
            let number = from.saturating_add((index % numbers) as u32);
            let seed = seed.wrapping_add(index / numbers);
            let spec = match pack.resolve(seed, number, width, height, Kind::from_number(kind)) {
                Ok(spec) => spec,
                Err(ResolveError::Module(error)) => {
                    failed += u32::from(is_fault(&error));
                    continue;
                }
                Err(error) => return Err(error.to_string()),
            };
            GENERATOR.with(|generator| {
                let candidate = Candidate::new(pack, spec, generator);
                if condition.holds(&candidate) == Some(true) {
                    let facts = facts.iter().map(|fact| format!("\t{} {}", fact.name(), fact.display(&candidate)));
                    let line =
                        format!("{}\t{}\t{}{}\n", spec.seed(), spec.number(), spec.kind(), facts.collect::<String>());
                    // To tell the facts can show that there is no such floor.
                    lines += if candidate.error().is_none() { &line } else { "" };
                }
                generated += u32::from(candidate.was_generated());
                failed += u32::from(candidate.error().is_some_and(is_fault));
            });
        }
        Ok(lines.into_bytes())
    };
    let found = with_pack(scan);
    CONDITION.set(Some(condition));
    GENERATED.set(generated);
    FAILED.set(failed);
    respond(found)
}

/// Whether the pack's own generator failed. If it says that there is no such floor, it did not.
fn is_fault(error: &ModuleError) -> bool {
    !matches!(error, ModuleError::Refused { .. })
}

/// How many floors the last [`scan`] generated. It generates none whose spec decides.
#[unsafe(no_mangle)]
pub extern "C" fn generated() -> u32 {
    GENERATED.get()
}

/// How many floors of the last [`scan`] the pack's own generator failed to make.
#[unsafe(no_mangle)]
pub extern "C" fn failed() -> u32 {
    FAILED.get()
}
