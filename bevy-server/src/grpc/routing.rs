//! Routing: the path, the method and the content type of a request decide who answers it.

use http::{HeaderValue, Method, Request, Version, header};

use super::{
    Rpc, SERVICE_NAME,
    codecs::{CodecKind, ConnectStream, ConnectUnary, Grpc, GrpcWeb, Refusal, answers_get, is_grpc, media_type},
};

/// Who answers a request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Route {
    /// The floor service.
    Floors(Rpc, CodecKind),
    /// Nobody: gRPC for a method that the floor service does not have.
    NoMethod,
    /// Health or reflection.
    Tonic,
    /// CORS.
    Preflight,
    /// No service.
    Refused(Refusal),
}

/// Who answers a request.
pub(super) fn route<B>(request: &Request<B>) -> Route {
    let content_type = request.headers().get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    // First, because it is the fastest call.
    if is_grpc(content_type) && is_for_floor_service(request) {
        let rpc = rpc_from_path(request.uri().path());
        return rpc.map_or(Route::NoMethod, |rpc| Route::Floors(rpc, CodecKind::Grpc(Grpc)));
    }
    let media_type = media_type(content_type);
    let (path, is_post) = (rpc_from_path(request.uri().path()), *request.method() == Method::POST);
    if let Ok(rpc) = path
        && is_post
        && let Some(codec) = connect(rpc, media_type)
    {
        return Route::Floors(rpc, codec);
    }
    if *request.method() == Method::OPTIONS {
        return Route::Preflight;
    }
    // A GET has no content, whatever its content type says.
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return match path {
            Ok(rpc) if answers_get(rpc) => Route::Floors(rpc, CodecKind::ConnectGet),
            Ok(rpc) => Route::Refused(Refusal::Method(rpc)),
            Err(_) => Route::Refused(Refusal::Path),
        };
    }
    if starts_with(media_type, b"application/grpc-web") {
        return match (GrpcWeb::of(media_type, request.headers()).filter(|_| is_post), path) {
            (Some(codec), Ok(rpc)) => Route::Floors(rpc, CodecKind::GrpcWeb(codec)),
            (Some(_), Err(_)) => Route::Refused(Refusal::GrpcWebPath),
            (None, _) => Route::Refused(Refusal::GrpcWeb),
        };
    }
    if starts_with(media_type, b"application/grpc") {
        return match request.version() {
            Version::HTTP_2 if is_post && is_grpc(media_type) => Route::Tonic,
            Version::HTTP_2 => Route::Refused(Refusal::Grpc),
            _ => Route::Refused(Refusal::NeedsHttp2),
        };
    }
    let Ok(rpc) = path else {
        return Route::Refused(Refusal::Path);
    };
    Route::Refused(if is_post { Refusal::ContentType(rpc) } else { Refusal::Method(rpc) })
}

/// The codec of Connect for posted messages of this type.
fn connect(rpc: Rpc, media_type: &[u8]) -> Option<CodecKind> {
    if rpc.is_stream() {
        ConnectStream::of(media_type).map(CodecKind::ConnectStream)
    } else {
        ConnectUnary::of(media_type).map(CodecKind::ConnectUnary)
    }
}

/// The RPC that a request path names, or else the unknown name in the path.
pub(super) fn rpc_from_path(path: &str) -> Result<Rpc, &str> {
    let name = path.strip_prefix('/').and_then(|path| path.strip_prefix(SERVICE_NAME)?.strip_prefix('/'));
    let name = name.unwrap_or_default();
    Rpc::ALL.into_iter().find(|rpc| rpc.name() == name).ok_or(name)
}

/// Whether this request is, with the content type of gRPC, a call to the floor service.
fn is_for_floor_service<B>(request: &Request<B>) -> bool {
    let path = request.uri().path().as_bytes();
    let is_floor_service = path
        .strip_prefix(b"/")
        .and_then(|path| path.strip_prefix(SERVICE_NAME.as_bytes()))
        .is_some_and(|rest| rest.starts_with(b"/"));
    is_floor_service && request.version() == Version::HTTP_2 && *request.method() == Method::POST
}

fn starts_with(media_type: &[u8], prefix: &[u8]) -> bool {
    media_type.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route_of(version: Version, method: &str, path: &str, content_type: &str) -> String {
        let request = Request::builder().version(version).method(method).uri(path).header("content-type", content_type);
        format!("{:?}", route(&request.body(()).unwrap()))
    }

    // Long because it is a table: a line for each head.
    #[test]
    fn the_content_type_decides_who_answers() {
        let (floor, stream) = (Rpc::GetFloor.path(), Rpc::StreamFloors.path());
        for (method, path, content_type, wanted) in [
            ("POST", floor, "application/json", "Floors(GetFloor, ConnectUnary(ConnectUnary(Json)))"),
            ("POST", floor, "Application/JSON; charset=utf-8", "Floors(GetFloor, ConnectUnary(ConnectUnary(Json)))"),
            ("POST", floor, "application/proto", "Floors(GetFloor, ConnectUnary(ConnectUnary(Proto)))"),
            ("POST", stream, "application/connect+proto", "Floors(StreamFloors, ConnectStream(ConnectStream(Proto)))"),
            ("POST", stream, "application/connect+json", "Floors(StreamFloors, ConnectStream(ConnectStream(Json)))"),
            ("GET", floor, "", "Floors(GetFloor, ConnectGet)"),
            ("HEAD", floor, "", "Floors(GetFloor, ConnectGet)"),
            (
                "POST",
                floor,
                "application/grpc-web+proto",
                "Floors(GetFloor, GrpcWeb(GrpcWeb { request: Binary, answer: Binary }))",
            ),
            (
                "POST",
                floor,
                "Application/gRPC-Web",
                "Floors(GetFloor, GrpcWeb(GrpcWeb { request: Binary, answer: Binary }))",
            ),
            (
                "POST",
                floor,
                "application/grpc-web-text; x=y",
                "Floors(GetFloor, GrpcWeb(GrpcWeb { request: Base64, answer: Binary }))",
            ),
            ("POST", "/grpc.health.v1.Health/Check", "application/grpc-web-text ", "Refused(GrpcWebPath)"),
            ("POST", floor, "application/grpc-web+json", "Refused(GrpcWeb)"),
            ("GET", floor, "application/grpc-web", "Floors(GetFloor, ConnectGet)"),
            ("GET", floor, "application/grpc", "Floors(GetFloor, ConnectGet)"),
            ("HEAD", floor, "application/connect+json", "Floors(GetFloor, ConnectGet)"),
            ("GET", stream, "application/grpc-web-text", "Refused(Method(StreamFloors))"),
            ("GET", "/grpc.health.v1.Health/Check", "application/grpc", "Refused(Path)"),
            ("DELETE", floor, "application/grpc-web", "Refused(GrpcWeb)"),
            ("POST", floor, "application/connect+json; charset=utf-8", "Refused(ContentType(GetFloor))"),
            (
                "POST",
                stream,
                "application/connect+PROTO;x=y",
                "Floors(StreamFloors, ConnectStream(ConnectStream(Proto)))",
            ),
            ("POST", floor, "application/grpc", "Floors(GetFloor, Grpc(Grpc))"),
            ("POST", "/floors.v1.FloorService/GetFlour", "application/grpc", "NoMethod"),
            ("OPTIONS", floor, "", "Preflight"),
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
        assert_eq!(
            route_of(Version::HTTP_11, "POST", floor, "application/json"),
            "Floors(GetFloor, ConnectUnary(ConnectUnary(Json)))"
        );
    }

    #[test]
    fn every_path_names_its_rpc() {
        for rpc in Rpc::ALL {
            assert_eq!(rpc_from_path(rpc.path()), Ok(rpc));
        }
        assert_eq!(rpc_from_path("/floors.v1.FloorService/GetFlour"), Err("GetFlour"));
        assert_eq!(rpc_from_path("/grpc.health.v1.Health/Check"), Err(""));
    }
}
