//! Content types, which name a codec.

use super::Encoding;

/// A content type without its parameters.
pub(in crate::grpc) fn media_type(content_type: &[u8]) -> &[u8] {
    content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii()
}

/// Whether `media_type` is one of `types`.
pub(super) fn is_one_of(media_type: &[u8], types: [&[u8]; 2]) -> bool {
    types.iter().any(|one| media_type.eq_ignore_ascii_case(one))
}

/// Whether the content type is protobuf in gRPC frames, the only one of gRPC that is supported.
pub(in crate::grpc) fn is_grpc(content_type: &[u8]) -> bool {
    // Libraries send it in this form, which is compared first.
    let is_exact = matches!(content_type, b"application/grpc" | b"application/grpc+proto");
    is_exact || is_one_of(media_type(content_type), [b"application/grpc", b"application/grpc+proto"])
}

/// The encoding for which `media_type` stands: `proto`, `json`, or neither.
pub(super) fn encoding(media_type: &[u8], proto: &[u8], json: &[u8]) -> Option<Encoding> {
    if media_type.eq_ignore_ascii_case(proto) {
        Some(Encoding::Proto)
    } else {
        media_type.eq_ignore_ascii_case(json).then_some(Encoding::Json)
    }
}
