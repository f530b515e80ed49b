//! Connections between clients and callers that do anything. The fuzz target `http2_frames` does the same for longer.

mod simulation;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_must_hold_holds_for_any_client_and_caller(program in prop::collection::vec(any::<u8>(), 0..400)) {
        simulation::run(&program);
    }
}
