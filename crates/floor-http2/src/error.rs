//! Why streams and connections end.

use std::io;

/// Why a stream was reset or a connection closed (RFC 9113, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Reason {
    /// No error.
    NoError = 0,
    /// The peer broke the protocol.
    ProtocolError = 1,
    /// The sender failed.
    InternalError = 2,
    /// The peer sent more than its window.
    FlowControlError = 3,
    /// A frame arrived for a closed stream.
    StreamClosed = 5,
    /// A frame has an invalid size.
    FrameSizeError = 6,
    /// The server did no work for the stream, so it may be tried again.
    RefusedStream = 7,
    /// The stream is not needed any more.
    Cancel = 8,
    /// A header block could not be decoded.
    CompressionError = 9,
    /// The peer causes too much load.
    EnhanceYourCalm = 11,
}

impl Reason {
    pub(crate) const fn code(self) -> u32 {
        self as u32
    }
}

/// An error that ends a connection. The client has been told in a `GOAWAY` frame, if the protocol was at fault.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The client broke the protocol, or sends too many frames that cost work and lead to nothing.
    #[error("the client broke the protocol ({reason:?}): {text}")]
    Protocol {
        /// The reason that the client was told.
        reason: Reason,
        /// What was wrong.
        text: &'static str,
    },
    /// The socket failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ConnectionError {
    pub(crate) const fn protocol(text: &'static str) -> Self {
        Self::new(Reason::ProtocolError, text)
    }

    pub(crate) const fn new(reason: Reason, text: &'static str) -> Self {
        Self::Protocol { reason, text }
    }
}

/// The stream has ended: the client has reset it or left, or the server has reset it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the client has reset the call or left")]
pub struct StreamEnded;
