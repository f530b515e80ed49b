//! How the messages of a call are framed and encoded, and the content types that say so.

use floor_proto::rpc::Rpc;
use http::{HeaderMap, HeaderValue, header};

/// How messages are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Proto,
    Json,
}

/// The framing of a call to the floor service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// gRPC: messages with a prefix, and trailers.
    Grpc,
    /// gRPC-Web: as gRPC, and the trailers are the last frame of the body.
    GrpcWeb(Web),
    /// A unary call of Connect by POST: a message without a prefix.
    ConnectUnary(Encoding),
    /// A unary call of Connect by GET, or by HEAD, whose answer the transport sends without its body.
    ConnectGet(Encoding),
    /// A stream of Connect: messages with a prefix, of which the last is the end of the stream.
    ConnectStream(Encoding),
}

impl Framing {
    pub(super) const fn encoding(self) -> Encoding {
        match self {
            Self::Grpc | Self::GrpcWeb(_) => Encoding::Proto,
            Self::ConnectUnary(encoding) | Self::ConnectGet(encoding) | Self::ConnectStream(encoding) => encoding,
        }
    }

    /// The content type of an answer.
    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Grpc => "application/grpc",
            Self::GrpcWeb(Web { answer, .. }) => answer.content_type(),
            Self::ConnectUnary(Encoding::Proto) | Self::ConnectGet(Encoding::Proto) => "application/proto",
            Self::ConnectUnary(Encoding::Json) | Self::ConnectGet(Encoding::Json) => "application/json",
            Self::ConnectStream(Encoding::Proto) => "application/connect+proto",
            Self::ConnectStream(Encoding::Json) => "application/connect+json",
        }
    }

    /// Whether messages have a prefix: flags and their length.
    pub(super) const fn has_prefixes(self) -> bool {
        matches!(self, Self::Grpc | Self::GrpcWeb(_) | Self::ConnectStream(_))
    }
}

/// How the bodies of gRPC-Web are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WebEncoding {
    Binary,
    Base64,
}

impl WebEncoding {
    fn of(media_type: &[u8]) -> Option<Self> {
        if is_one_of(media_type, [b"application/grpc-web", b"application/grpc-web+proto"]) {
            Some(Self::Binary)
        } else {
            let is_text = is_one_of(media_type, [b"application/grpc-web-text", b"application/grpc-web-text+proto"]);
            is_text.then_some(Self::Base64)
        }
    }

    /// The content type of an answer.
    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Binary => "application/grpc-web+proto",
            Self::Base64 => "application/grpc-web-text+proto",
        }
    }
}

/// How the two bodies of a call of gRPC-Web are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Web {
    pub(super) request: WebEncoding,
    pub(super) answer: WebEncoding,
}

impl Web {
    /// What the media type of a request and its `accept` say. `None` for another media type.
    pub(super) fn of(media_type: &[u8], headers: &HeaderMap) -> Option<Self> {
        let request = WebEncoding::of(media_type)?;
        let accepted = headers.get(header::ACCEPT).map_or(&b""[..], HeaderValue::as_bytes);
        let mut accepted = accepted.split(|byte| matches!(byte, b',' | b';')).map(<[u8]>::trim_ascii);
        let answer = accepted.find_map(WebEncoding::of).unwrap_or(WebEncoding::Binary);
        Some(Self { request, answer })
    }
}

/// A content type without its parameters.
pub(super) fn media_type(content_type: &[u8]) -> &[u8] {
    content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii()
}

fn is_one_of(media_type: &[u8], types: [&[u8]; 2]) -> bool {
    types.iter().any(|one| media_type.eq_ignore_ascii_case(one))
}

/// Whether the content type is protobuf in gRPC frames, the only one of gRPC that is supported.
pub(super) fn is_grpc(content_type: &[u8]) -> bool {
    // Libraries send it in this form, which is compared first.
    let is_exact = matches!(content_type, b"application/grpc" | b"application/grpc+proto");
    is_exact || is_one_of(media_type(content_type), [b"application/grpc", b"application/grpc+proto"])
}

/// The framing of Connect that posts messages of this type.
pub(super) fn connect(is_stream: bool, media_type: &[u8]) -> Option<Framing> {
    if is_stream {
        encoding(media_type, b"application/connect+proto", b"application/connect+json").map(Framing::ConnectStream)
    } else {
        encoding(media_type, b"application/proto", b"application/json").map(Framing::ConnectUnary)
    }
}

/// Whether the RPC answers GET and HEAD: if it is unary and changes nothing.
pub(super) const fn answers_get(rpc: Rpc) -> bool {
    match rpc {
        Rpc::GetFloor | Rpc::BatchGetFloors | Rpc::GetServerInfo | Rpc::GetPack | Rpc::ListPacks => true,
        Rpc::StreamFloors => false,
    }
}

fn encoding(media_type: &[u8], proto: &[u8], json: &[u8]) -> Option<Encoding> {
    if media_type.eq_ignore_ascii_case(proto) {
        Some(Encoding::Proto)
    } else {
        media_type.eq_ignore_ascii_case(json).then_some(Encoding::Json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_type_and_accept_say_how_the_bodies_of_grpc_web_are_written() {
        use WebEncoding::{Base64, Binary};
        let web = |media_type: &str, accept: &'static str| {
            let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
            Web::of(media_type.as_bytes(), &headers).map(|web| (web.request, web.answer))
        };
        assert_eq!(web("Application/gRPC-Web", ""), Some((Binary, Binary)));
        assert_eq!(web("application/grpc-web-text+proto", "*/*"), Some((Base64, Binary)));
        assert_eq!(web("application/grpc-web+proto", "text/html, application/grpc-web-text"), Some((Binary, Base64)));
        assert_eq!(web("application/grpc-web+json", ""), None);
    }
}
