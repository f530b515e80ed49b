//! Forms of rooms with their weights.

use crate::form::Form;

/// Up to one weight for each form, in the order in which the pack lists them: the draw depends on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Forms {
    pub(crate) forms: [Form; Form::ALL.len()],
    pub(crate) weights: [u32; Form::ALL.len()],
}

impl Default for Forms {
    fn default() -> Self {
        Self { forms: [Form::Hall; Form::ALL.len()], weights: [0; Form::ALL.len()] }
    }
}
