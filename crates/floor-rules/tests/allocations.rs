//! A turn allocates nothing.
#![allow(unsafe_code, reason = "counting allocations takes a global allocator, which is an unsafe trait")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use floor_gen::Kind;
use floor_rules::{Hero, Level};
use support::Player;

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

/// One test, so that no other thread allocates meanwhile.
#[test]
fn a_turn_allocates_nothing() {
    let hero = Hero { health: u32::MAX, most_health: u32::MAX, gold: 10_000, ..Hero::default() };
    for kind in Kind::ALL {
        let floor = support::floor(7, 40, 100, 100, Some(kind));
        let mut level = Level::new(&floor, hero.clone(), 7).unwrap();
        let (mut player, mut acts) = (Player::new(7), 0);
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for _ in 0..5_000 {
            acts += u32::from(level.act(player.choose()).is_ok());
        }
        assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), before, "{kind}");
        assert!(acts > 1_000 || level.is_left(), "{kind}: {acts} acts");
    }
}
