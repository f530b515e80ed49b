//! The spans of a traced call: the call, its lookups, and in each lookup its tiers, the waits for a worker and the
//! generations.

use std::{
    borrow::Cow,
    time::{Duration, Instant, SystemTime},
};

use floor_cache::{Outcome, Step, TierKind};
use floor_proto::v1::floor_service_server::SERVICE_NAME;
use opentelemetry::{
    InstrumentationScope, KeyValue,
    trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState},
};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SpanData, SpanEvents, SpanLinks};
use tonic::Code;

use super::call::{Found, Lookup, TierPart, TracedCall};

/// Makes spans.
#[derive(Debug)]
pub(super) struct SpanMaker {
    ids: RandomIdGenerator,
    scope: InstrumentationScope,
}

impl SpanMaker {
    pub(super) fn new() -> Self {
        let scope = InstrumentationScope::builder("bevy-server").with_version(env!("CARGO_PKG_VERSION")).build();
        Self { ids: RandomIdGenerator::default(), scope }
    }

    /// Appends the spans of `call` to `spans`.
    pub(super) fn append(&self, call: &TracedCall, spans: &mut Vec<SpanData>) {
        let mut trace = Trace { maker: self, id: call.origin.trace_id, clock: Clock::now(), spans };
        trace.add_call(call);
    }
}

/// The spans of one call.
struct Trace<'a> {
    maker: &'a SpanMaker,
    id: TraceId,
    clock: Clock,
    spans: &'a mut Vec<SpanData>,
}

impl Trace<'_> {
    fn add_call(&mut self, call: &TracedCall) {
        let name = call.rpc.path().trim_start_matches('/');
        let mut attributes = vec![
            KeyValue::new("rpc.system", "grpc"),
            KeyValue::new("rpc.service", SERVICE_NAME),
            KeyValue::new("rpc.method", call.rpc.name()),
            KeyValue::new("rpc.grpc.status_code", i64::from(call.code as i32)),
            KeyValue::new("client.address", call.caller.to_string()),
            KeyValue::new("floors.count", integer(call.floors)),
            KeyValue::new("floors.bytes", i64::try_from(call.bytes).unwrap_or(i64::MAX)),
        ];
        if let Some(name) = &call.name {
            attributes.push(KeyValue::new("enduser.id", name.clone()));
        }
        if !call.served_by.is_empty() {
            attributes.push(KeyValue::new("floors.served_by", call.served_by.clone()));
        }
        let parent = call.origin.parent.as_ref();
        let id = self.add(NewSpan {
            parent: parent.map_or(SpanId::INVALID, SpanContext::span_id),
            kind: SpanKind::Server,
            name,
            started: call.started,
            ended: call.started + call.took,
            attributes,
        });
        if let Some(span) = self.spans.last_mut() {
            span.parent_span_is_remote = parent.is_some();
            span.status = status(call);
            if let Some(parent) = parent {
                // Only this span carries the state of the caller, since a trace may have hundreds.
                span.span_context = context(self.id, id, parent.trace_state().clone());
            }
        }
        for lookup in &call.lookups {
            self.add_lookup(id, lookup);
        }
    }

    fn add_lookup(&mut self, call: SpanId, lookup: &Lookup) {
        let attributes = match &lookup.found {
            Some(found) => vec![
                KeyValue::new("floors.count", integer(found.floors)),
                KeyValue::new("floors.coalesced", integer(found.coalesced)),
                KeyValue::new("floors.generated", integer(found.generated)),
            ],
            None => Vec::new(),
        };
        let ended = lookup.started + lookup.took;
        let span = NewSpan::internal(call, "lookup", lookup.started, ended, attributes);
        let id = self.add(span);
        let Some(Found { tiers, generations, .. }) = &lookup.found else {
            if let Some(span) = self.spans.last_mut() {
                span.status = Status::error("the lookup failed or was cut off");
            }
            return;
        };
        for part in tiers {
            self.add_tier(id, part);
        }
        for step in generations {
            self.add_generation(id, step);
        }
    }

    fn add_tier(&mut self, lookup: SpanId, part: &TierPart) {
        let mut attributes = vec![KeyValue::new("floors.tier", part.tier)];
        let counts = part.outcomes.iter().map(|(outcome, count)| KeyValue::new(count_of(*outcome), integer(*count)));
        attributes.extend(counts);
        if part.is_coalesced {
            attributes.push(KeyValue::new("floors.is_coalesced", true));
        }
        let error = error_of(part);
        attributes.extend(error.map(|error| KeyValue::new("error.type", error)));
        let mut span = NewSpan::internal(lookup, part.tier, part.started, part.ended, attributes);
        if is_remote(part) {
            span.kind = SpanKind::Client;
            span.attributes.push(KeyValue::new("db.system", TierKind::Redis.name()));
        }
        self.add(span);
        if let Some((span, error)) = self.spans.last_mut().zip(error) {
            span.status = Status::error(part.error.as_deref().unwrap_or(error).to_owned());
        }
    }

    fn add_generation(&mut self, lookup: SpanId, step: &Step) {
        let queued = step.started.checked_sub(step.waited).unwrap_or(step.started);
        self.add(NewSpan::internal(lookup, "generation queue", queued, step.started, Vec::new()));
        self.add(NewSpan::internal(lookup, "generation", step.started, step.started + step.took, Vec::new()));
    }

    /// Adds a span and returns its id.
    fn add(&mut self, span: NewSpan) -> SpanId {
        let id = self.maker.ids.new_span_id();
        self.spans.push(SpanData {
            span_context: context(self.id, id, TraceState::NONE),
            parent_span_id: span.parent,
            parent_span_is_remote: false,
            span_kind: span.kind,
            name: Cow::Borrowed(span.name),
            start_time: self.clock.date(span.started),
            end_time: self.clock.date(span.ended),
            attributes: span.attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: self.maker.scope.clone(),
        });
        id
    }
}

/// What differs between spans.
struct NewSpan {
    parent: SpanId,
    kind: SpanKind,
    name: &'static str,
    started: Instant,
    ended: Instant,
    attributes: Vec<KeyValue>,
}

impl NewSpan {
    const fn internal(
        parent: SpanId,
        name: &'static str,
        started: Instant,
        ended: Instant,
        attributes: Vec<KeyValue>,
    ) -> Self {
        Self { parent, kind: SpanKind::Internal, name, started, ended, attributes }
    }
}

fn context(trace: TraceId, span: SpanId, state: TraceState) -> SpanContext {
    SpanContext::new(trace, span, TraceFlags::SAMPLED, false, state)
}

/// The status of the call's span: an error for the codes that are the server's fault, as the semantic conventions of
/// gRPC say for server spans.
fn status(call: &TracedCall) -> Status {
    match call.code {
        Code::Unknown
        | Code::DeadlineExceeded
        | Code::Unimplemented
        | Code::Internal
        | Code::Unavailable
        | Code::DataLoss => Status::error(call.message.clone().unwrap_or_default()),
        _ => Status::Unset,
    }
}

/// Why a tier failed, if it did.
fn error_of(part: &TierPart) -> Option<&'static str> {
    let errors = [Outcome::Error, Outcome::Timeout];
    errors.into_iter().find(|error| part.outcomes.iter().any(|(outcome, _)| outcome == error)).map(Outcome::as_str)
}

/// Whether another server was asked.
fn is_remote(part: &TierPart) -> bool {
    let is_asked = |outcome: Outcome| !matches!(outcome, Outcome::Bypass | Outcome::Open);
    part.tier == TierKind::Redis.name() && part.outcomes.iter().any(|(outcome, _)| is_asked(*outcome))
}

/// The attribute with the number of floors of an outcome.
const fn count_of(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Hit => "floors.hit",
        Outcome::Miss => "floors.miss",
        Outcome::Error => "floors.error",
        Outcome::Timeout => "floors.timeout",
        Outcome::Bypass => "floors.bypass",
        Outcome::Open => "floors.open",
        _ => "floors.other",
    }
}

fn integer(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Converts times of the monotonic clock to dates, so that the spans of a call fit together if the date jumps.
struct Clock {
    instant: Instant,
    date: SystemTime,
}

impl Clock {
    fn now() -> Self {
        Self { instant: Instant::now(), date: SystemTime::now() }
    }

    fn date(&self, instant: Instant) -> SystemTime {
        let age: Duration = self.instant.saturating_duration_since(instant);
        self.date.checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH)
    }
}
