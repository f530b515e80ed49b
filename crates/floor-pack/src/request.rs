//! What the generator that a pack brings along is asked for.

/// A floor as a module is asked for it: a side or a kind of 0 is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The tower.
    pub seed: u64,
    /// Its number.
    pub number: u32,
    /// In cells.
    pub width: u32,
    /// In cells.
    pub height: u32,
    /// The number of its kind.
    pub kind: u32,
}
