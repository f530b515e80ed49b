//! Unary calls by GET or HEAD: the message is in the URL, so that caches know the answer by it.

use std::time::Duration;

use bytes::Bytes;
use floor_proto::rpc::Rpc;
use http::{HeaderMap, HeaderValue, Response, header};
use http_body::Body;
use tonic::Status;

use super::{caching, error, headers, json, query::Query, unary};
use crate::grpc::{
    admission::discard,
    body::FloorBody,
    codecs::{Codec, Encoding, Incoming, Outgoing, UnaryCodec},
};

/// Unary calls of Connect by GET.
#[derive(Debug, Default)]
pub(in crate::grpc) struct ConnectGet {
    /// What the query says. Errors before that are JSON, as all of Connect are.
    encoding: Option<Encoding>,
    /// Whether the caller named the generator version.
    names_version: bool,
    /// The `if-none-match` of the request.
    known: Vec<HeaderValue>,
}

/// Whether the RPC answers GET and HEAD: if it is unary, and no step of a climb, whose time counts.
pub(in crate::grpc) const fn answers_get(rpc: Rpc) -> bool {
    !rpc.is_stream() && !matches!(rpc, Rpc::StartClimb | Rpc::SubmitFloor)
}

impl ConnectGet {
    fn encoding(&self) -> Encoding {
        self.encoding.unwrap_or(Encoding::Json)
    }
}

impl Codec for ConnectGet {
    fn content_type(&self) -> &'static str {
        unary::content_type(self.encoding())
    }

    fn timeout(&self, headers: &HeaderMap) -> Result<Option<Duration>, Status> {
        headers::timeout(headers, &header::CONTENT_ENCODING)
    }

    async fn decode(
        &mut self,
        Incoming { rpc, uri, body, charge, offload }: Incoming<'_, impl Body<Data = Bytes, Error = Status> + Unpin>,
    ) -> Result<Bytes, Status> {
        discard(body).await;
        let Query { message, encoding, names_version } = Query::parse(uri.query().unwrap_or_default())?;
        self.known = charge.head.get_all(header::IF_NONE_MATCH).iter().cloned().collect();
        (self.encoding, self.names_version) = (Some(encoding), names_version);
        match encoding {
            Encoding::Proto => Ok(message),
            Encoding::Json | Encoding::FullJson => json::request(rpc, message, charge, offload).await,
        }
    }

    fn failed(&self, status: Status) -> Response<FloorBody> {
        error::failed(&status)
    }
}

impl UnaryCodec for ConnectGet {
    async fn encode(&self, mut outgoing: Outgoing<'_>) -> Result<Response<FloorBody>, Status> {
        match caching::add(&mut outgoing, self.encoding(), self.names_version, &self.known) {
            Some(not_modified) => Ok(not_modified),
            None => unary::encode(self.encoding(), outgoing).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use prost_types::{FileDescriptorSet, method_options::IdempotencyLevel};

    use super::*;

    #[test]
    fn the_rpcs_that_are_declared_to_change_nothing_answer_get() {
        let files = FileDescriptorSet::decode(floor_proto::FILE_DESCRIPTOR_SET).unwrap().file;
        for method in files.iter().flat_map(|file| &file.service).flat_map(|service| &service.method) {
            let level = method.options.as_ref().map(|options| options.idempotency_level());
            let changes_nothing = level == Some(IdempotencyLevel::NoSideEffects);
            let rpc = Rpc::ALL.into_iter().find(|rpc| rpc.name() == method.name()).unwrap();
            assert_eq!(answers_get(rpc), changes_nothing && !rpc.is_stream(), "{}", method.name());
        }
    }
}
