//! Why a pack's own generator made no floor.

use floor_gen::SpecError;

/// Why the generator of a pack made no floor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleError {
    /// The generator itself says that there is no such floor.
    #[error("the generator of {pack} has no such floor: {text}")]
    Refused {
        /// `NAME@HASH`.
        pack: String,
        /// Its text.
        text: String,
    },
    /// The generator failed, ran too long, or made a floor that breaks a rule.
    #[error("the generator of {pack} failed: {fault}")]
    Fault {
        /// `NAME@HASH`.
        pack: String,
        /// What went wrong.
        fault: String,
    },
    /// It failed so often that it is not asked for a while.
    #[error("the generator of {pack} has failed too often; it is asked again in a few seconds: {fault}")]
    Closed {
        /// `NAME@HASH`.
        pack: String,
        /// What went wrong last.
        fault: String,
    },
}

/// Why a request names no floor of a pack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// An argument is out of range.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The pack's own generator failed.
    #[error(transparent)]
    Module(#[from] ModuleError),
}
