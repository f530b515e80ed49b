//! Why a floor cannot be drawn or exported.

/// A picture that cannot be made or written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The picture would have too many pixels.
    #[error("a picture of {width}x{height} pixels is too large; lower the scale")]
    TooLarge {
        /// Pixels from west to east.
        width: u32,
        /// Pixels from north to south.
        height: u32,
    },
    /// The PNG cannot be written.
    #[error(transparent)]
    Png(#[from] png::EncodingError),
    /// The JSON cannot be written.
    #[error(transparent)]
    Json(#[from] std::io::Error),
}
