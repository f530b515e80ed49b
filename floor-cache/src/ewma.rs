//! The exponentially weighted moving average used by the policy and the cost estimates.

/// An exponentially weighted moving average. The first values have equal weight, so that the first, which may have
/// opened a connection, does not dominate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ewma {
    value: f64,
    count: u32,
}

impl Ewma {
    pub(crate) const fn new() -> Self {
        Self { value: 0.0, count: 0 }
    }

    /// Adds `sample` with `weight` (0 to 1) against all earlier values.
    pub(crate) fn add(&mut self, sample: f64, weight: f64) {
        self.count = self.count.saturating_add(1);
        self.value += weight.max(1.0 / f64::from(self.count)) * (sample - self.value);
    }

    /// The average; `None` before the first value.
    pub(crate) fn get(self) -> Option<f64> {
        (self.count > 0).then_some(self.value)
    }
}
