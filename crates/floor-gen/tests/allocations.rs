//! A warm generator allocates only what a floor returns.
#![allow(unsafe_code, reason = "counting allocations takes a global allocator, which is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use floor_gen::{FloorSpec, Generator, Kind};

/// The system's allocator with a counter.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Two grids, rooms, connections, spawns, items, locks, traps and furniture.
const PARTS_OF_A_FLOOR: usize = 9;
/// A text and its parts for the floor, its hook and five rooms, and the list of these; and two rooms whose names another
/// room had already.
const NAMES_OF_A_FLOOR: usize = 7 * 2 + 1 + 2 * 2;

#[test]
fn a_warm_generator_allocates_only_what_a_floor_returns() {
    let mut generator = Generator::new();
    for kind in Kind::ALL {
        let spec = |seed| FloorSpec::resolve(seed, 7, 0, 0, Some(kind)).unwrap();
        // Warm-up: the memory grows to what this kind needs, but for rare outliers.
        for seed in 0..300 {
            let _ = generator.generate(&spec(seed));
        }
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for seed in 300..400 {
            let _ = generator.generate(&spec(seed));
        }
        let made = ALLOCATIONS.load(Ordering::Relaxed) - before;
        assert!(made <= 100 * (PARTS_OF_A_FLOOR + NAMES_OF_A_FLOOR) + 20, "{kind}: {made} allocations for 100 floors");
    }
}
