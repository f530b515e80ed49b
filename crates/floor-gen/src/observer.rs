//! Who is told of each stage of a generation. Without an observer each stage costs one branch.

use crate::floor::Point;

/// Receives what a generator does, while it does it. The observer has its own clock: a stage ends when the next begins.
pub trait Observer {
    /// A layout begins; the first has number 0.
    fn attempt(&self, _number: u32) {}

    /// A stage begins.
    fn stage(&self, _name: &'static str) {}

    /// The current stage reports a value.
    fn note(&self, _what: &'static str, _value: usize) {}

    /// The current stage drew one of several things that a pack weighs against each other, by its key in the pack.
    fn chose(&self, _what: &'static str, _key: &'static str) {}

    /// The layout holds a vault: its index in the pack's vaults, and its north-west and south-east cells.
    fn vault_placed(&self, _vault: usize, _min: Point, _max: Point) {}

    /// A vault that was drawn is not on the layout.
    fn vault_rejected(&self, _vault: usize, _why: &'static str) {}

    /// A room of the finished floor, by its id, is furnished as the pack's set of that name.
    fn furnished(&self, _room: u8, _set: &str) {}

    /// The floor is finished, from the last layout or from the fallback.
    fn finished(&self, _is_fallback: bool) {}

    /// The layout is rejected.
    fn rejected(&self, _why: &'static str) {}
}
