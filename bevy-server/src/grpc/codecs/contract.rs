//! What every codec promises, with a client of each. A clause is a function that gets a codec; `every_codec_keeps` runs it
//! with all of them.

use std::{collections::BTreeSet, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use floor_proto::{FRAME_PREFIX_BYTES, v1};
use http::{HeaderMap, HeaderName, HeaderValue, Response, Uri};
use http_body_util::{BodyExt as _, StreamBody};
use prometheus::Registry;
use prost::Message as _;
use tonic::{Code, Status};

use super::{
    Codec, CodecKind, ConnectGet, ConnectStream, ConnectUnary, Encoding, Grpc, GrpcWeb, Incoming, Outgoing,
    StreamCodec, UnaryCodec, head,
};
use crate::{
    callers::{Budgets, Callers},
    config::{CallerIdentity, NoCache},
    grpc::{
        Rpc,
        admission::{Admission, Charge, InFlight, Offload},
        answer::Validity,
        body::FloorBody,
    },
    metrics::Refusals,
};

/// How a client writes its request and reads the answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wire {
    Framed,
    FramedBase64,
    Bare,
    Query,
}

#[derive(Clone, Copy)]
struct Case {
    kind: CodecKind,
    wire: Wire,
    encoding: Encoding,
}

/// All codecs, with both encodings of those that have two.
fn cases() -> Vec<Case> {
    use Encoding::{Json, Proto};
    let web = |media_type: &str| {
        let headers = HeaderMap::from_iter([(http::header::ACCEPT, HeaderValue::from_str(media_type).unwrap())]);
        CodecKind::GrpcWeb(GrpcWeb::of(media_type.as_bytes(), &headers).unwrap())
    };
    let case = |kind, wire, encoding| Case { kind, wire, encoding };
    let unary = |encoding| case(CodecKind::ConnectUnary(ConnectUnary(encoding)), Wire::Bare, encoding);
    let get = |encoding| case(CodecKind::ConnectGet, Wire::Query, encoding);
    let stream = |encoding| case(CodecKind::ConnectStream(ConnectStream(encoding)), Wire::Framed, encoding);
    vec![
        case(CodecKind::Grpc(Grpc), Wire::Framed, Proto),
        case(web("application/grpc-web"), Wire::Framed, Proto),
        case(web("application/grpc-web-text"), Wire::FramedBase64, Proto),
        unary(Proto),
        unary(Json),
        get(Proto),
        get(Json),
        stream(Proto),
        stream(Json),
    ]
}

/// Runs a clause with the codec of each case: of those of unary calls, of those of streams, or of both.
macro_rules! every_codec_keeps {
    (unary, $clause:ident) => {
        for case in cases() {
            match case.kind {
                CodecKind::Grpc(codec) => $clause(codec, case).await,
                CodecKind::GrpcWeb(codec) => $clause(codec, case).await,
                CodecKind::ConnectUnary(codec) => $clause(codec, case).await,
                CodecKind::ConnectGet => $clause(ConnectGet::default(), case).await,
                CodecKind::ConnectStream(_) => {}
            }
        }
    };
    (stream, $clause:ident) => {
        for case in cases() {
            match case.kind {
                CodecKind::Grpc(codec) => $clause(codec, case).await,
                CodecKind::GrpcWeb(codec) => $clause(codec, case).await,
                CodecKind::ConnectStream(codec) => $clause(codec, case).await,
                CodecKind::ConnectUnary(_) | CodecKind::ConnectGet => {}
            }
        }
    };
    ($clause:ident) => {
        every_codec_keeps!(unary, $clause);
        every_codec_keeps!(stream, $clause);
    };
}

impl Case {
    fn rpc(self) -> Rpc {
        if matches!(self.kind, CodecKind::ConnectStream(_)) { Rpc::StreamFloors } else { Rpc::GetFloor }
    }

    /// A request: as protobuf, and as this client sends it.
    fn request(self) -> (Vec<u8>, Uri, Vec<u8>) {
        let spec = Some(v1::FloorSpec { seed: 7, number: 3, ..Default::default() });
        let (message, json) = match self.rpc() {
            Rpc::StreamFloors => (
                v1::StreamFloorsRequest { first: spec, count: 2 }.encode_to_vec(),
                r#"{"first":{"seed":"7","number":3},"count":2}"#,
            ),
            _ => (v1::GetFloorRequest { spec }.encode_to_vec(), r#"{"spec":{"seed":"7","number":3}}"#),
        };
        let (name, sent) = match self.encoding {
            Encoding::Proto => ("proto", message.clone()),
            Encoding::Json | Encoding::FullJson => ("json", json.as_bytes().to_vec()),
        };
        let (uri, body) = match self.wire {
            Wire::Framed => ("/".to_owned(), framed(0, &sent)),
            Wire::FramedBase64 => ("/".to_owned(), STANDARD.encode(framed(0, &sent)).into_bytes()),
            Wire::Bare => ("/".to_owned(), sent),
            Wire::Query => {
                let message = STANDARD.encode(&sent).replace('+', "-").replace('/', "_");
                (format!("/?connect=v1&encoding={name}&base64=1&message={message}"), Vec::new())
            }
        };
        (message, uri.parse().unwrap(), body)
    }

    /// The floor as this client gets it.
    fn floor(self) -> Vec<u8> {
        match self.encoding {
            Encoding::Proto => floor().encode_to_vec(),
            Encoding::Json | Encoding::FullJson => br#"{"contentHash":"2748"}"#.to_vec(),
        }
    }
}

fn floor() -> v1::Floor {
    v1::Floor { content_hash: 0xabc, ..Default::default() }
}

fn framed(flag: u8, message: &[u8]) -> Vec<u8> {
    [&[flag][..], &u32::try_from(message.len()).unwrap().to_be_bytes(), message].concat()
}

fn with(name: &'static str, value: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))])
}

/// Decodes a body of these chunks.
async fn decode(
    codec: &mut impl Codec,
    rpc: Rpc,
    uri: &Uri,
    chunks: impl Iterator<Item = Vec<u8>>,
) -> Result<Bytes, Status> {
    let (callers, budgets) = (Callers::new(CallerIdentity::default()), Budgets::new(1 << 30, false));
    let (caller, head) = (callers.unknown(), HeaderMap::new());
    let frames = chunks.map(|chunk| Ok::<_, Status>(http_body::Frame::data(Bytes::from(chunk)))).collect::<Vec<_>>();
    let mut body = StreamBody::new(futures_util::stream::iter(frames));
    let charge = Charge { caller: &caller, budget: &budgets.receiving, head: &head };
    codec.decode(Incoming { rpc, uri, body: &mut body, charge, offload: &Offload::new() }).await
}

/// The bytes of a body, decoded if they are base64.
async fn bytes_of(case: Case, response: Response<FloorBody>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut body = response.into_body();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.unwrap().into_data() {
            bytes.extend_from_slice(&data.into_bytes());
        }
    }
    text_or_bytes(case, &bytes)
}

/// Base64 may have padding inside, behind each part that was encoded by itself.
fn text_or_bytes(case: Case, bytes: &[u8]) -> Vec<u8> {
    match case.wire {
        Wire::FramedBase64 => bytes.chunks(4).flat_map(|group| STANDARD.decode(group).unwrap()).collect(),
        _ => bytes.to_vec(),
    }
}

#[test]
fn no_codec_is_forgotten() {
    let tested: BTreeSet<_> = cases().iter().map(|case| case.kind.name()).collect();
    assert_eq!(tested, CodecKind::NAMES.iter().copied().collect(), "`cases` lacks a codec");
}

#[tokio::test]
async fn a_request_is_its_message_in_one_chunk_or_in_many() {
    async fn clause(mut codec: impl Codec, case: Case) {
        let (message, uri, body) = case.request();
        for size in [usize::MAX, 3, 1] {
            let chunks = body.chunks(size.min(body.len().max(1))).map(<[u8]>::to_vec);
            assert_eq!(decode(&mut codec, case.rpc(), &uri, chunks).await.unwrap(), message, "{:?}", case.kind);
        }
    }
    every_codec_keeps!(clause);
}

#[tokio::test]
async fn what_is_no_request_is_refused_with_a_message() {
    async fn clause(mut codec: impl Codec, case: Case) {
        let chunk = [vec![0xff; 12]].into_iter();
        let uri = Uri::from_static("/?connect=v1&encoding=json&message=%ff");
        let decoded = decode(&mut codec, case.rpc(), &uri, chunk).await;
        // A bare message in protobuf is checked by the service.
        if case.wire != Wire::Bare || case.encoding == Encoding::Json {
            let status = decoded.unwrap_err();
            assert!(matches!(status.code(), Code::InvalidArgument | Code::OutOfRange), "{:?}: {status:?}", case.kind);
            assert!(!status.message().is_empty());
        }
    }
    every_codec_keeps!(clause);
}

#[tokio::test]
async fn a_timeout_is_read_and_a_wrong_one_or_a_compression_refused() {
    async fn clause(codec: impl Codec, case: Case) {
        let (timeout, value, compression) = match case.kind {
            CodecKind::Grpc(_) | CodecKind::GrpcWeb(_) => ("grpc-timeout", "250m", "grpc-encoding"),
            CodecKind::ConnectStream(_) => ("connect-timeout-ms", "250", "connect-content-encoding"),
            _ => ("connect-timeout-ms", "250", "content-encoding"),
        };
        let code = |headers| codec.timeout(&headers).map_err(|status| status.code());
        assert_eq!(code(HeaderMap::new()), Ok(None), "{:?}", case.kind);
        assert_eq!(code(with(timeout, value)), Ok(Some(Duration::from_millis(250))), "{:?}", case.kind);
        assert_eq!(code(with(timeout, "soon")), Err(Code::InvalidArgument), "{:?}", case.kind);
        assert_eq!(code(with(compression, "identity")), Ok(None), "{:?}", case.kind);
        assert_eq!(code(with(compression, "gzip")), Err(Code::Unimplemented), "{:?}", case.kind);
    }
    every_codec_keeps!(clause);
}

#[tokio::test]
async fn a_failed_call_says_why() {
    async fn clause(codec: impl Codec, case: Case) {
        let response = codec.failed(Status::resource_exhausted("too many"));
        let (in_headers, headers) = (response.headers().contains_key("grpc-status"), response.headers().clone());
        let body = bytes_of(Case { wire: Wire::Bare, ..case }, response).await;
        if in_headers {
            assert_eq!(
                (&headers["grpc-status"], &headers["grpc-message"]),
                (&"8".parse().unwrap(), &"too%20many".parse().unwrap())
            );
        } else {
            let text = String::from_utf8_lossy(&body);
            assert!(text.contains("resource_exhausted") && text.contains("too many"), "{:?}: {text}", case.kind);
        }
    }
    every_codec_keeps!(clause);
}

#[tokio::test]
async fn a_unary_answer_is_the_stored_floor_with_its_metadata() {
    async fn clause(mut codec: impl UnaryCodec, case: Case) {
        let (_, uri, body) = case.request();
        decode(&mut codec, case.rpc(), &uri, [body].into_iter()).await.unwrap();
        let mut headers = head(codec.content_type());
        headers.insert("floor-served-by", HeaderValue::from_static("lru"));
        let stored = Bytes::from(framed(0, &floor().encode_to_vec()));
        let admission = Admission {
            in_flight: InFlight::default(),
            budgets: Budgets::new(1 << 30, false),
            refusals: Refusals::register(&Registry::new()).unwrap(),
            no_cache: NoCache::None,
        };
        let outgoing = Outgoing {
            rpc: Rpc::GetFloor,
            frame: stored.clone().into(),
            headers,
            validity: Validity::GeneratorVersion,
            is_private: false,
            admission: &admission,
            offload: &Offload::new(),
            caller: &Callers::new(CallerIdentity::default()).unknown(),
        };
        let response = codec.encode(outgoing).await.unwrap();
        assert_eq!(
            (&response.headers()["floor-served-by"], response.status().as_u16()),
            (&"lru".parse().unwrap(), 200)
        );
        assert_eq!(response.headers()["content-type"], codec.content_type());
        let bytes = bytes_of(case, response).await;
        let prefix = if matches!(case.wire, Wire::Framed | Wire::FramedBase64) { FRAME_PREFIX_BYTES } else { 0 };
        let (floor, end) = bytes[prefix..].split_at(case.floor().len());
        assert_eq!(floor, case.floor(), "{:?}", case.kind);
        // Only gRPC-Web has its trailers in the body.
        let trailers =
            if matches!(case.kind, CodecKind::GrpcWeb(_)) { framed(0x80, b"grpc-status:0\r\n") } else { Vec::new() };
        assert_eq!(end, trailers, "{:?}", case.kind);
    }
    every_codec_keeps!(unary, clause);
}

#[tokio::test]
async fn a_stream_has_its_floors_and_ends_with_its_metadata_and_its_error() {
    async fn clause(codec: impl StreamCodec, case: Case) {
        let (offload, caller) = (Offload::new(), Callers::new(CallerIdentity::default()).unknown());
        let stored = Bytes::from(framed(0, &floor().encode_to_vec()));
        let sent = codec.encode_floor(stored, &offload, &caller).await.unwrap();
        assert_eq!(text_or_bytes(case, &sent), framed(0, &case.floor()), "{:?}", case.kind);
        for (error, word) in [(None, "0"), (Some(Status::unavailable("closing")), "closing")] {
            let end = codec.end(error.as_ref(), with("floor-served-by", "lru=1"));
            let shown = match &end.message {
                None => format!("{:?}", end.trailers),
                Some(message) => String::from_utf8_lossy(&text_or_bytes(case, message)).into_owned(),
            };
            assert!(shown.contains("lru=1"), "{:?}: {shown}", case.kind);
            let is_connect = matches!(case.kind, CodecKind::ConnectStream(_));
            assert!(shown.contains(word) || is_connect && error.is_none(), "{:?}: {shown}", case.kind);
            assert_eq!(end.message.is_none(), matches!(case.kind, CodecKind::Grpc(_)));
        }
    }
    every_codec_keeps!(stream, clause);
}
