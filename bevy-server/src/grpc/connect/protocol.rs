//! Decides which protocol a request speaks, and who answers it.

use http::{Method, Request, Version};

use super::refusal::Refusal;
use crate::grpc::{Rpc, routing::rpc_from_path};

/// How messages are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::grpc) enum Encoding {
    Proto,
    Json,
}

/// The protocol of a call to the floor service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::grpc) enum Protocol {
    /// gRPC, and what tonic-web makes of gRPC-Web.
    Grpc,
    /// A unary call of Connect by POST.
    ConnectUnary(Encoding),
    /// A unary call of Connect by GET, or by HEAD, whose answer the transport sends without its body.
    ConnectGet(Encoding),
    /// A stream of Connect.
    ConnectStream(Encoding),
}

impl Protocol {
    pub(in crate::grpc) const fn encoding(self) -> Encoding {
        match self {
            Self::Grpc => Encoding::Proto,
            Self::ConnectUnary(encoding) | Self::ConnectGet(encoding) | Self::ConnectStream(encoding) => encoding,
        }
    }

    /// The content type of an answer, and of a message that is not sent by GET.
    pub(in crate::grpc) const fn content_type(self) -> &'static str {
        match self {
            Self::Grpc => "application/grpc",
            Self::ConnectUnary(Encoding::Proto) | Self::ConnectGet(Encoding::Proto) => "application/proto",
            Self::ConnectUnary(Encoding::Json) | Self::ConnectGet(Encoding::Json) => "application/json",
            Self::ConnectStream(Encoding::Proto) => "application/connect+proto",
            Self::ConnectStream(Encoding::Json) => "application/connect+json",
        }
    }

    /// Whether messages have a prefix: flags and their length.
    pub(in crate::grpc) const fn is_framed(self) -> bool {
        matches!(self, Self::Grpc | Self::ConnectStream(_))
    }
}

/// How a request of gRPC-Web is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::grpc) enum WebEncoding {
    Binary,
    Base64,
}

/// Who answers a request.
#[derive(Debug, Clone, Copy)]
pub(in crate::grpc) enum Route {
    /// The floor service.
    Floors(Protocol),
    /// tonic: health, reflection and preflights.
    Tonic,
    /// tonic: gRPC-Web for every service.
    Web(WebEncoding),
    Refused(Refusal),
}

/// Who answers a request with this content type that is no plain gRPC call to the floor service.
pub(in crate::grpc) fn route<B>(request: &Request<B>, content_type: &[u8]) -> Route {
    let media_type = media_type(content_type);
    let rpc = rpc_from_path(request.uri().path());
    // First, because it is the fastest call.
    if let Ok(rpc) = rpc
        && *request.method() == Method::POST
        && let Some(protocol) = protocol(rpc, media_type)
    {
        return Route::Floors(protocol);
    }
    if *request.method() == Method::OPTIONS {
        return Route::Tonic;
    }
    let is_post = *request.method() == Method::POST;
    if starts_with(media_type, b"application/grpc-web") {
        let encoding = web_encoding(media_type).filter(|_| is_post);
        return encoding.map_or(Route::Refused(Refusal::GrpcWeb), Route::Web);
    }
    if starts_with(media_type, b"application/grpc") {
        return match request.version() {
            Version::HTTP_2 if is_post && is_grpc(media_type) => Route::Tonic,
            Version::HTTP_2 => Route::Refused(Refusal::Grpc),
            _ => Route::Refused(Refusal::NeedsHttp2),
        };
    }
    let Ok(rpc) = rpc else {
        return Route::Refused(Refusal::Path);
    };
    if matches!(*request.method(), Method::GET | Method::HEAD) && answers_get(rpc) {
        // The query has the encoding; until it is parsed, only errors are sent, and they are JSON.
        return Route::Floors(Protocol::ConnectGet(Encoding::Json));
    }
    if !is_post {
        return Route::Refused(Refusal::Method(rpc));
    }
    Route::Refused(Refusal::ContentType(rpc))
}

/// Whether the RPC answers GET and HEAD: if it is unary and changes nothing.
pub(super) const fn answers_get(rpc: Rpc) -> bool {
    match rpc {
        Rpc::GetFloor | Rpc::BatchGetFloors | Rpc::GetServerInfo => true,
        Rpc::StreamFloors => false,
    }
}

/// The protocol of Connect that posts messages of this type.
fn protocol(rpc: Rpc, media_type: &[u8]) -> Option<Protocol> {
    if rpc.is_stream() {
        encoding(media_type, b"application/connect+proto", b"application/connect+json").map(Protocol::ConnectStream)
    } else {
        encoding(media_type, b"application/proto", b"application/json").map(Protocol::ConnectUnary)
    }
}

fn encoding(media_type: &[u8], proto: &[u8], json: &[u8]) -> Option<Encoding> {
    if media_type.eq_ignore_ascii_case(proto) {
        Some(Encoding::Proto)
    } else {
        media_type.eq_ignore_ascii_case(json).then_some(Encoding::Json)
    }
}

/// Whether the content type is protobuf in gRPC frames, the only one of gRPC that is supported.
pub(in crate::grpc) fn is_grpc(content_type: &[u8]) -> bool {
    // Libraries send it in this form, which is compared first.
    let is_exact = matches!(content_type, b"application/grpc" | b"application/grpc+proto");
    is_exact || is_one_of(media_type(content_type), [b"application/grpc", b"application/grpc+proto"])
}

fn web_encoding(media_type: &[u8]) -> Option<WebEncoding> {
    if is_one_of(media_type, [b"application/grpc-web", b"application/grpc-web+proto"]) {
        Some(WebEncoding::Binary)
    } else {
        let is_text = is_one_of(media_type, [b"application/grpc-web-text", b"application/grpc-web-text+proto"]);
        is_text.then_some(WebEncoding::Base64)
    }
}

fn is_one_of(media_type: &[u8], types: [&[u8]; 2]) -> bool {
    types.iter().any(|one| media_type.eq_ignore_ascii_case(one))
}

/// A content type without its parameters.
fn media_type(content_type: &[u8]) -> &[u8] {
    content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii()
}

fn starts_with(media_type: &[u8], prefix: &[u8]) -> bool {
    media_type.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route_of(version: Version, method: &str, path: &str, content_type: &str) -> String {
        let request = Request::builder().version(version).method(method).uri(path).header("content-type", content_type);
        format!("{:?}", route(&request.body(()).unwrap(), content_type.as_bytes()))
    }

    #[test]
    fn the_content_type_decides_the_protocol() {
        let (floor, stream) = (Rpc::GetFloor.path(), Rpc::StreamFloors.path());
        for (method, path, content_type, wanted) in [
            ("POST", floor, "application/json", "Floors(ConnectUnary(Json))"),
            ("POST", floor, "Application/JSON; charset=utf-8", "Floors(ConnectUnary(Json))"),
            ("POST", floor, "application/proto", "Floors(ConnectUnary(Proto))"),
            ("POST", stream, "application/connect+proto", "Floors(ConnectStream(Proto))"),
            ("POST", stream, "application/connect+json", "Floors(ConnectStream(Json))"),
            ("GET", floor, "", "Floors(ConnectGet(Json))"),
            ("HEAD", floor, "", "Floors(ConnectGet(Json))"),
            ("POST", floor, "application/grpc-web+proto", "Web(Binary)"),
            ("POST", floor, "Application/gRPC-Web", "Web(Binary)"),
            ("POST", floor, "application/grpc-web-text+proto; charset=utf-8", "Web(Base64)"),
            ("POST", "/grpc.health.v1.Health/Check", "application/grpc-web-text ", "Web(Base64)"),
            ("POST", floor, "application/grpc-web+json", "Refused(GrpcWeb)"),
            ("GET", floor, "application/grpc-web", "Refused(GrpcWeb)"),
            ("POST", floor, "application/connect+json; charset=utf-8", "Refused(ContentType(GetFloor))"),
            ("POST", stream, "application/connect+PROTO;x=y", "Floors(ConnectStream(Proto))"),
            ("OPTIONS", floor, "", "Tonic"),
            ("POST", "/grpc.health.v1.Health/Check", "application/grpc", "Tonic"),
            ("POST", "/grpc.health.v1.Health/Check", "Application/gRPC; charset=utf-8", "Tonic"),
            ("POST", floor, "application/grpc+json", "Refused(Grpc)"),
            ("DELETE", floor, "application/grpc", "Refused(Grpc)"),
            ("POST", "/grpc.health.v1.Health/Check", "application/json", "Refused(Path)"),
            ("GET", "/", "", "Refused(Path)"),
            ("POST", stream, "application/json", "Refused(ContentType(StreamFloors))"),
            ("POST", floor, "application/connect+json", "Refused(ContentType(GetFloor))"),
            ("POST", floor, "text/plain", "Refused(ContentType(GetFloor))"),
            ("GET", stream, "", "Refused(Method(StreamFloors))"),
            ("HEAD", stream, "", "Refused(Method(StreamFloors))"),
            ("DELETE", floor, "", "Refused(Method(GetFloor))"),
        ] {
            assert_eq!(route_of(Version::HTTP_2, method, path, content_type), wanted, "{method} {path} {content_type}");
        }
        assert_eq!(route_of(Version::HTTP_11, "POST", floor, "application/grpc"), "Refused(NeedsHttp2)");
        assert_eq!(route_of(Version::HTTP_11, "POST", floor, "application/json"), "Floors(ConnectUnary(Json))");
    }
}
