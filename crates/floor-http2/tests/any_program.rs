//! Connections between clients and callers that do anything. The fuzz target `http2_frames` does the same for longer.

mod simulation;

use std::fs;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_must_hold_holds_for_any_client_and_caller(program in prop::collection::vec(any::<u8>(), 0..400)) {
        simulation::run(&program);
    }
}

#[test]
fn what_must_hold_holds_for_the_seeds_of_the_fuzz_target() {
    let mut programs = 0;
    for file in fs::read_dir("../../fuzz/corpus/http2_frames").expect("the seeds") {
        simulation::run(&fs::read(file.expect("a file").path()).expect("a readable file"));
        programs += 1;
    }
    assert!(programs > 5, "{programs} seeds");
}

/// fuzz/README.md says how this file is made.
#[test]
fn what_must_hold_holds_for_what_the_fuzzer_has_found() {
    let text = fs::read_to_string("../../fuzz/corpus/http2_frames.hex").expect("the corpus");
    let digits = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hexadecimal");
    for line in text.lines() {
        simulation::run(&line.as_bytes().chunks(2).map(digits).collect::<Vec<u8>>());
    }
    assert!(text.lines().count() > 1000, "{} programs", text.lines().count());
}
