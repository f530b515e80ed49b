//! The server that a load calls, and the protocol that its clients speak.

use std::{net::SocketAddr, sync::Arc};

use floor_proto::FRAME_PREFIX_BYTES;
use rustls::ClientConfig;

/// The number of the status OK of gRPC.
pub(crate) const OK: u8 = 0;

/// The protocol of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// gRPC: messages have a frame prefix.
    #[default]
    Grpc,
    /// Connect, with messages in protobuf.
    Connect,
    /// Connect, with messages in JSON.
    Json,
    /// GET of a file at the path of the RPC, whatever the message is.
    File,
}

impl Protocol {
    /// Bytes before each message.
    pub const fn prefix_bytes(self) -> usize {
        match self {
            Self::Grpc => FRAME_PREFIX_BYTES,
            Self::Connect | Self::Json | Self::File => 0,
        }
    }

    /// Of its requests; `None` if they have no content.
    pub(crate) const fn content_type(self) -> Option<&'static str> {
        match self {
            Self::Grpc => Some("application/grpc"),
            Self::Connect => Some("application/proto"),
            Self::Json => Some("application/json"),
            Self::File => None,
        }
    }
}

/// A server, and what its clients present.
#[derive(Debug, Clone)]
pub struct Target {
    /// The address.
    pub address: SocketAddr,
    /// How to speak TLS; `None` for plaintext. The name of the server is `localhost`.
    pub tls: Option<Arc<ClientConfig>>,
    /// The bearer token of every call.
    pub token: Option<String>,
    /// What its clients speak.
    pub protocol: Protocol,
    /// Whether clients offer the largest flow-control windows, which take no updates, or the initial ones of HTTP/2.
    pub has_large_windows: bool,
}

impl From<SocketAddr> for Target {
    /// gRPC in plaintext and with large windows, without a token.
    fn from(address: SocketAddr) -> Self {
        Self { address, tls: None, token: None, protocol: Protocol::Grpc, has_large_windows: true }
    }
}
