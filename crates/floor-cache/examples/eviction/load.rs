//! A load with Zipf-distributed requests.

/// Requests for floors below a count; the nth has the weight n to the power of minus the exponent.
#[derive(Clone)]
pub(crate) struct Zipf {
    cumulative: Vec<f64>,
    state: u64,
}

impl Zipf {
    pub(crate) fn new(floors: usize, exponent: f64) -> Self {
        let mut sum = 0.0;
        let weight = |rank: usize| {
            sum += (rank as f64).powf(-exponent);
            sum
        };
        Self { cumulative: (1..=floors).map(weight).collect(), state: 0 }
    }

    /// SplitMix64 (Steele, Lea and Flood, 2014).
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }
}

/// Infinite.
impl Iterator for Zipf {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let uniform = (self.random() >> 11) as f64 / (1_u64 << 53) as f64;
        let point = uniform * self.cumulative.last()?;
        Some(self.cumulative.partition_point(|sum| *sum < point))
    }
}
