//! What a request says: the call options in its headers, its message, and the floors that the message names.

use std::{
    fmt::Display,
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
    time::{Duration, Instant},
};

use bytes::{Buf, Bytes, BytesMut};
use floor_cache::{ClientId, Options, Priority};
use floor_gen::{FloorSpec, GENERATOR_VERSION, Kind, SpecError};
use floor_pack::ResolveError;
use floor_proto::{FRAME_PREFIX_BYTES, limits::DEFAULT_MESSAGE_BYTES, pack::BUILT_IN, v1};
use http::{HeaderMap, HeaderValue, header};
use http_body::Body;
use http_body_util::BodyExt;
use prost::Message as _;
use tonic::{Status, metadata::MetadataValue};

use super::ServiceState;
use crate::{
    clients::{Client, Reserved},
    config::NoCache,
    grpc::{
        Rpc,
        connect::{self, MAX_JSON_BYTES},
        framing::{Encoding, Framing, Web, WebEncoding},
        offload::INLINE,
        request_body::Charge,
        status::{self, Violation},
        web::TextBody,
    },
    headers::{FLOOR_GENERATOR_VERSION, FLOOR_TRACE, GRPC_ENCODING, GRPC_TIMEOUT, X_FORWARDED_FOR},
    packs::{FoundPack, UnknownPack, VisiblePacks},
    tenants::TenantId,
};

/// A message up to this length is charged with its call, a longer one by itself.
const UNBUDGETED_BYTES: usize = 1 << 10;

/// The options of one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) framing: Framing,
    /// When the server received the headers.
    pub(super) started: Instant,
    client: ClientId,
    /// The tenant of the client, whose chain has its floors.
    pub(super) tenant: Option<TenantId>,
    /// When the client stops waiting.
    deadline: Option<Instant>,
    /// `cache-control: no-cache`
    no_cache: bool,
    /// `floor-trace: 1`
    pub(super) trace: bool,
    /// Whether the steps of lookups are recorded.
    is_traced: bool,
}

impl Call {
    /// The options in `headers` for a call of `rpc`, as far as `client` may use them.
    pub(super) fn from_headers(
        headers: &HeaderMap,
        framing: Framing,
        started: Instant,
        client: &Client,
        rpc: Rpc,
        may_skip_cache: NoCache,
    ) -> Result<Self, Status> {
        let timeout = match framing {
            Framing::Grpc | Framing::GrpcWeb(_) => {
                check_encoding(headers)?;
                grpc_timeout(headers)?
            }
            _ => {
                connect::check_headers(headers, framing)?;
                connect::timeout(headers)?
            }
        };
        // A deadline that the clock cannot represent is no deadline.
        let deadline = timeout.and_then(|timeout| started.checked_add(timeout));
        let no_cache = headers.get_all(header::CACHE_CONTROL).iter().any(has_no_cache);
        if no_cache {
            // A proxy on this machine forwards calls of others.
            let is_forwarded = headers.contains_key(&X_FORWARDED_FOR) && client.is_loopback();
            if !client.may_skip_cache(may_skip_cache, is_forwarded) {
                return Err(status::no_cache_not_allowed(may_skip_cache));
            }
        }
        let trace = floor_headers(headers, rpc)?;
        let (client, tenant) = (client.id(), client.tenant());
        Ok(Self { framing, started, client, tenant, deadline, no_cache, trace, is_traced: false })
    }

    /// The call, of whose lookups the steps are recorded if `is_traced`.
    pub(super) const fn traced(self, is_traced: bool) -> Self {
        Self { is_traced, ..self }
    }

    /// When the client stops waiting; `None` for no deadline.
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    pub(super) const fn options(&self) -> Options {
        let trace = self.trace || self.is_traced;
        Options { no_cache: self.no_cache, trace, priority: Priority::Foreground, client: self.client }
    }

    /// The result of `work`, or DEADLINE_EXCEEDED if the deadline comes first.
    pub(super) async fn with_deadline<T>(&self, work: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
        match self.deadline {
            None => work.await,
            Some(deadline) => tokio::time::timeout_at(deadline.into(), work)
                .await
                .unwrap_or_else(|_| Err(status::deadline_exceeded())),
        }
    }

    /// DEADLINE_EXCEEDED if the deadline has passed.
    pub(super) fn check_deadline(&self) -> Result<(), Status> {
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(status::deadline_exceeded()),
            _ => Ok(()),
        }
    }
}

/// Whether a `cache-control` value contains the directive `no-cache` (RFC 9111, section 5.2).
fn has_no_cache(value: &HeaderValue) -> bool {
    value
        .as_bytes()
        .split(|byte| *byte == b',')
        .any(|directive| directive.trim_ascii().eq_ignore_ascii_case(b"no-cache"))
}

/// Whether the caller asks for the trace. Fails if it wants floors of another generator version.
///
/// One pass over the few headers of a call costs as much as the lookup of one name.
fn floor_headers(headers: &HeaderMap, rpc: Rpc) -> Result<bool, Status> {
    let mut trace = false;
    for (name, value) in headers {
        if !name.as_str().starts_with("floor-") {
            continue;
        }
        if *name == FLOOR_TRACE {
            trace |= is_on(value)?;
        } else if *name == FLOOR_GENERATOR_VERSION && !matches!(rpc, Rpc::GetServerInfo | Rpc::ListPacks) {
            check_generator_version(value)?;
        }
    }
    Ok(trace)
}

/// Whether a `floor-trace` switches the trace on.
fn is_on(value: &HeaderValue) -> Result<bool, Status> {
    match value.as_bytes() {
        b"1" => Ok(true),
        b"" | b"0" => Ok(false),
        word if word.eq_ignore_ascii_case(b"true") => Ok(true),
        word if word.eq_ignore_ascii_case(b"false") => Ok(false),
        _ => Err(Status::invalid_argument(format!("{FLOOR_TRACE} {value:?} is neither 1 nor 0"))),
    }
}

fn check_generator_version(value: &HeaderValue) -> Result<(), Status> {
    let version = value.to_str().ok().and_then(|value| value.parse().ok()).ok_or_else(|| {
        Status::invalid_argument(format!("{FLOOR_GENERATOR_VERSION} {value:?} is no number, as {GENERATOR_VERSION} is"))
    })?;
    if version == GENERATOR_VERSION { Ok(()) } else { Err(status::other_generator_version(version)) }
}

/// UNIMPLEMENTED for a compression, also for one that the call's message does without.
fn check_encoding(headers: &HeaderMap) -> Result<(), Status> {
    match headers.get(&GRPC_ENCODING) {
        Some(encoding) if !encoding.as_bytes().eq_ignore_ascii_case(b"identity") => {
            let message = format!("grpc-encoding {encoding:?} is not supported; this server takes identity only");
            let mut status = Status::unimplemented(message);
            status.metadata_mut().insert("grpc-accept-encoding", MetadataValue::from_static("identity"));
            Err(status)
        }
        _ => Ok(()),
    }
}

/// The timeout in `grpc-timeout`.
fn grpc_timeout(headers: &HeaderMap) -> Result<Option<Duration>, Status> {
    let Some(value) = headers.get(&GRPC_TIMEOUT) else { return Ok(None) };
    let timeout = value.to_str().ok().and_then(timeout).ok_or_else(|| {
        Status::invalid_argument(format!("grpc-timeout {value:?} is not 1 to 8 digits and one of H, M, S, m, u, n"))
    })?;
    Ok(Some(timeout))
}

/// Parses a `grpc-timeout`: at most eight digits and a unit (gRPC over HTTP/2 specification).
fn timeout(value: &str) -> Option<Duration> {
    let (digits, unit) = value.split_at_checked(value.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(count * 3600)),
        "M" => Some(Duration::from_secs(count * 60)),
        "S" => Some(Duration::from_secs(count)),
        "m" => Some(Duration::from_millis(count)),
        "u" => Some(Duration::from_micros(count)),
        "n" => Some(Duration::from_nanos(count)),
        _ => None,
    }
}

/// The request message. It mostly arrives with the headers, and then no timer is needed.
pub(super) async fn receive(
    call: &Call,
    body: impl Body<Data = Bytes, Error = Status> + Unpin,
    charge: Charge<'_>,
) -> Result<Bytes, Status> {
    if let Framing::GrpcWeb(Web { request: WebEncoding::Base64, .. }) = call.framing {
        // Boxed to keep the futures of other calls small.
        return Box::pin(receive_in_time(call, TextBody::new(body), charge)).await;
    }
    receive_in_time(call, body, charge).await
}

async fn receive_in_time(
    call: &Call,
    body: impl Body<Data = Bytes, Error = Status>,
    charge: Charge<'_>,
) -> Result<Bytes, Status> {
    let mut message = pin!(read(call.framing, body, charge));
    if let Poll::Ready(message) = poll_fn(|cx| Poll::Ready(message.as_mut().poll(cx))).await {
        return message;
    }
    call.with_deadline(message).await
}

/// Reads a request body to its end. Returns its message, without the frame prefix if it has one.
async fn read(
    framing: Framing,
    body: impl Body<Data = Bytes, Error = Status>,
    charge: Charge<'_>,
) -> Result<Bytes, Status> {
    let mut body = pin!(body);
    let limit = match framing.encoding() {
        Encoding::Proto => DEFAULT_MESSAGE_BYTES,
        Encoding::Json => MAX_JSON_BYTES,
    };
    let mut assembler = MessageAssembler { received: BytesMut::new(), limit, charge, reserved: None };
    if !framing.has_prefixes() {
        return read_unframed(body, assembler).await;
    }
    let message = loop {
        let Some(frame) = body.as_mut().frame().await else {
            return Err(match assembler.received.len() {
                0 => Status::unimplemented("the call has no message; this method takes one"),
                received => {
                    Status::invalid_argument(format!("the request ended after {received} bytes of its message"))
                }
            });
        };
        if let Ok(data) = frame?.into_data()
            && let Some(whole) = assembler.push(data)?
        {
            break whole;
        }
    };
    let Whole { mut message, mut surplus } = message;
    if !body.is_end_stream() {
        message = assembler.detach(&message)?;
        surplus += read_to_end(body).await?;
    }
    match surplus {
        0 => Ok(message),
        1..FRAME_PREFIX_BYTES => Err(Status::internal(format!("{surplus} bytes follow the request message"))),
        _ => Err(Status::unimplemented("the call has more than one message; this method takes one")),
    }
}

/// Reads a body that is the message. A body beyond the limit is read on for a while, so that its client reads the error
/// instead of a reset.
async fn read_unframed(
    mut body: Pin<&mut impl Body<Data = Bytes, Error = Status>>,
    mut assembler: MessageAssembler<'_>,
) -> Result<Bytes, Status> {
    while let Some(data) = next_data(body.as_mut()).await? {
        // Mostly the only chunk, which is passed on as it is.
        if assembler.received.is_empty() && data.len() <= assembler.limit && body.is_end_stream() {
            return Ok(data);
        }
        if let Err(status) = assembler.extend(&data) {
            drop(assembler);
            discard(body).await;
            return Err(status);
        }
    }
    Ok(assembler.received.freeze())
}

/// The next data of a body. Trailers are none.
async fn next_data(mut body: Pin<&mut impl Body<Data = Bytes, Error = Status>>) -> Result<Option<Bytes>, Status> {
    let Some(frame) = body.as_mut().frame().await else { return Ok(None) };
    Ok(Some(frame?.into_data().unwrap_or_default()))
}

/// Reads the rest of a refused request: a response that is sent before its request has ended is followed by a reset,
/// which some clients report instead of the response. `body` limits the time.
pub(in crate::grpc) async fn discard(body: impl Body<Data = Bytes, Error = Status>) {
    let mut body = pin!(body);
    while !body.is_end_stream() && matches!(body.as_mut().frame().await, Some(Ok(_))) {}
}

/// Reads the rest of a body and counts its bytes, mostly none. A response that is sent before the end of its request
/// resets the call, which some clients report as an error.
async fn read_to_end(mut body: Pin<&mut impl Body<Data = Bytes, Error = Status>>) -> Result<usize, Status> {
    let mut surplus = 0;
    while !body.is_end_stream()
        && let Some(frame) = body.as_mut().frame().await
    {
        surplus += frame?.into_data().map_or(0, |data| data.len());
        if surplus > DEFAULT_MESSAGE_BYTES {
            return Err(Status::out_of_range(format!(
                "more than {DEFAULT_MESSAGE_BYTES} bytes follow the request message"
            )));
        }
    }
    Ok(surplus)
}

/// Assembles a message from the chunks of a body. Mostly there is one chunk.
struct MessageAssembler<'a> {
    received: BytesMut,
    /// The most bytes that a message may have.
    limit: usize,
    /// Who pays for a large message.
    charge: Charge<'a>,
    /// The memory of a large message.
    reserved: Option<Reserved>,
}

/// A whole message.
struct Whole {
    message: Bytes,
    /// Bytes that came behind it.
    surplus: usize,
}

impl MessageAssembler<'_> {
    fn push(&mut self, mut data: Bytes) -> Result<Option<Whole>, Status> {
        if self.received.is_empty()
            && let Some(length) = self.length(&data)?
            && data.len() >= FRAME_PREFIX_BYTES + length
        {
            data.advance(FRAME_PREFIX_BYTES);
            let surplus = data.len() - length;
            data.truncate(length);
            return Ok(Some(Whole { message: data, surplus }));
        }
        self.received.extend_from_slice(&data);
        match self.length(&self.received)? {
            Some(length) if self.received.len() >= FRAME_PREFIX_BYTES + length => {
                self.received.advance(FRAME_PREFIX_BYTES);
                let message = self.received.split_to(length).freeze();
                Ok(Some(Whole { message, surplus: self.received.len() }))
            }
            Some(length) if length > UNBUDGETED_BYTES && self.reserved.is_none() => {
                self.reserve(length)?;
                // Reserve once, so that the buffer does not double.
                self.received.reserve(FRAME_PREFIX_BYTES + length - self.received.len());
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Appends to a message whose length is unknown. Its memory is reserved in powers of two.
    fn extend(&mut self, data: &[u8]) -> Result<(), Status> {
        let length = self.received.len() + data.len();
        if length > self.limit {
            return Err(too_large(length, self.limit));
        }
        if length > UNBUDGETED_BYTES.max(self.received.capacity()) {
            let capacity = length.next_power_of_two();
            self.reserve(capacity)?;
            self.received.reserve(capacity - self.received.len());
        }
        self.received.extend_from_slice(data);
        Ok(())
    }

    /// A copy of a message, to be kept while the end of its request is awaited: the chunk in which it came may be a whole
    /// read buffer.
    fn detach(&mut self, message: &Bytes) -> Result<Bytes, Status> {
        if message.len() > UNBUDGETED_BYTES && self.reserved.is_none() {
            self.reserve(message.len())?;
        }
        Ok(Bytes::copy_from_slice(message))
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), Status> {
        let reserved = self.charge.budget.try_reserve(self.charge.client, bytes);
        self.reserved = Some(reserved.ok_or_else(status::request_budget_exhausted)?);
        Ok(())
    }

    /// The message length in a frame prefix. `None` if the prefix is incomplete.
    fn length(&self, data: &[u8]) -> Result<Option<usize>, Status> {
        let Some((prefix, _)) = data.split_first_chunk::<FRAME_PREFIX_BYTES>() else {
            return Ok(None);
        };
        let [compressed, length @ ..] = *prefix;
        match compressed {
            0 => {}
            // The headers were checked before.
            1 => return Err(Status::internal("the message is marked as compressed, and the headers name no encoding")),
            flag => {
                return Err(Status::invalid_argument(format!("the message begins with flag {flag}, which must be 0")));
            }
        }
        let (length, limit) = (u32::from_be_bytes(length) as usize, self.limit);
        if length > limit {
            return Err(Status::out_of_range(format!("the request message has {length} bytes; the limit is {limit}")));
        }
        Ok(Some(length))
    }
}

fn too_large(length: usize, limit: usize) -> Status {
    Status::out_of_range(format!("the request message has {length} bytes or more; the limit is {limit}"))
}

/// Why a request names no floors.
#[derive(Debug)]
pub(super) enum Refused {
    /// They do not exist.
    Status(Box<Status>),
    /// It takes so long to find out, and less was allowed.
    TakesLong(Duration),
}

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        Self::Status(Box::new(status))
    }
}

impl From<Refused> for Status {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Status(status) => *status,
            Refused::TakesLong(time) => Self::internal(format!("no thread has {time:?} for this request")),
        }
    }
}

/// Why a spec names no floor.
#[derive(Debug)]
pub(super) enum Unresolved {
    /// Its fields are wrong.
    Invalid(Vec<Violation>),
    /// The server has no such pack, or the pack's own generator has no such floor or takes long.
    Refused(Refused),
}

impl Unresolved {
    /// Why the request is refused; `invalid` makes a status of violations.
    pub(super) fn or_invalid(self, invalid: impl FnOnce(Vec<Violation>) -> Status) -> Refused {
        match self {
            Self::Invalid(violations) => invalid(violations).into(),
            Self::Refused(refused) => refused,
        }
    }
}

/// What `decode` reads of `message`, with the packs of the caller and within a time. If resolving takes longer than a thread
/// of connections has, `decode` runs again in another.
pub(super) async fn decoded<T: Send + 'static>(
    state: &ServiceState,
    client: &Client,
    call: &Call,
    message: Bytes,
    decode: fn(VisiblePacks<'_>, &[u8], Duration) -> Result<T, Refused>,
) -> Result<T, Status> {
    let packs = &state.deps.packs;
    match decode(packs.for_caller(call.tenant), &message, INLINE) {
        Err(Refused::TakesLong(time)) => {
            let (packs, tenant) = (packs.clone(), call.tenant);
            let decode = move || decode(packs.for_caller(tenant), &message, Duration::MAX);
            // Boxed because it is rare.
            Ok(call.with_deadline(Box::pin(state.offload.run(client, time, decode))).await??)
        }
        decoded => Ok(decoded?),
    }
}

/// The pack that `field` of the request names.
#[inline]
pub(super) fn find_pack(
    packs: VisiblePacks<'_>,
    requested: &str,
    field: impl Display,
) -> Result<FoundPack, Unresolved> {
    packs.find(requested).map_err(|unknown| match unknown {
        UnknownPack::Invalid(error) => Unresolved::Invalid(vec![Violation::new(field.to_string(), error.to_string())]),
        UnknownPack::Unknown { known } => Unresolved::Refused(status::unknown_pack(requested, &known).into()),
        UnknownPack::Broken { name } => Unresolved::Refused(status::broken_pack(&name).into()),
    })
}

/// Whether the request names the versions of all its packs, so that its answer depends on the generator version alone.
pub(super) fn names_packs(packs: VisiblePacks<'_>, rpc: Rpc, message: &[u8]) -> bool {
    let is_version = |pack: &str| match pack {
        "" => packs.default_is_built_in(),
        pack => pack == BUILT_IN || pack.contains('@'),
    };
    match rpc {
        Rpc::GetFloor => v1::GetFloorRequest::decode(message)
            .is_ok_and(|request| request.spec.is_some_and(|spec| is_version(&spec.pack))),
        Rpc::BatchGetFloors => v1::BatchGetFloorsRequest::decode(message)
            .is_ok_and(|request| request.specs.iter().all(|spec| is_version(&spec.pack))),
        Rpc::GetPack => v1::GetPackRequest::decode(message).is_ok_and(|request| is_version(&request.pack)),
        Rpc::StreamFloors | Rpc::GetServerInfo | Rpc::ListPacks => false,
    }
}

/// Resolves the spec in `field` of the request, if that takes no longer than `allowed`, from which it takes its time. What is
/// resolved is valid, and no code behind checks it again.
pub(super) fn resolve(
    packs: VisiblePacks<'_>,
    requested: Option<&v1::FloorSpec>,
    field: impl Display,
    allowed: &mut Duration,
) -> Result<FloorSpec, Unresolved> {
    let Some(requested) = requested else {
        return Err(Unresolved::Invalid(vec![Violation::new(field.to_string(), "missing: it must name a floor")]));
    };
    let kind = match requested.kind {
        0 => Some(None),
        number => u32::try_from(number).ok().and_then(Kind::from_number).map(Some),
    };
    let pack = match find_pack(packs, &requested.pack, format_args!("{field}.pack")) {
        Ok(pack) => pack,
        Err(Unresolved::Invalid(mut wrong)) => {
            wrong.extend(field_violations(requested, kind.is_some(), &field));
            return Err(Unresolved::Invalid(wrong));
        }
        Err(unknown) => return Err(unknown),
    };
    let time = pack.resolving_time();
    *allowed = allowed.checked_sub(time).ok_or(Unresolved::Refused(Refused::TakesLong(time)))?;
    let resolved =
        kind.map(|kind| pack.resolve(requested.seed, requested.number, requested.width, requested.height, kind));
    match resolved {
        Some(Ok(spec)) => Ok(spec),
        Some(Err(ResolveError::Module(error))) => {
            Err(Unresolved::Refused(status::from_module_error(&packs.note(error)).into()))
        }
        _ => Err(Unresolved::Invalid(field_violations(requested, kind.is_some(), &field))),
    }
}

/// The violations of every invalid field. Each is checked with valid values for the others.
fn field_violations(requested: &v1::FloorSpec, kind_is_valid: bool, field: &impl Display) -> Vec<Violation> {
    let alone = |number, width, height| FloorSpec::resolve(requested.seed, number, width, height, None).err();
    let errors = [alone(requested.number, 0, 0), alone(1, requested.width, 0), alone(1, 0, requested.height)];
    let wrong = |error: SpecError| Violation::new(format!("{field}.{}", error.field()), error.to_string());
    let mut wrong: Vec<_> = errors.into_iter().flatten().map(wrong).collect();
    if !kind_is_valid {
        let description = format!("{} is not a FloorKind; offered: {}", requested.kind, offered());
        wrong.push(Violation::new(format!("{field}.kind"), description));
    }
    wrong
}

fn offered() -> String {
    Kind::ALL.iter().map(|kind| format!("{} ({})", *kind as u8, kind)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_follow_the_grpc_specification() {
        assert_eq!(timeout("100m"), Some(Duration::from_millis(100)));
        assert_eq!(timeout("99999999H"), Some(Duration::from_secs(99_999_999 * 3600)));
        assert_eq!(timeout("0n"), Some(Duration::ZERO));
        for wrong in ["", "m", "1", "1x", "-1S", "123456789S", "1.5S", "1µ"] {
            assert_eq!(timeout(wrong), None, "{wrong:?}");
        }
    }
}
