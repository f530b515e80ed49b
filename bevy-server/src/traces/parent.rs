//! The caller's span, from the headers of W3C Trace Context (<https://www.w3.org/TR/trace-context/>).

use http::HeaderMap;
use opentelemetry::{
    Context,
    propagation::{Extractor, TextMapPropagator},
    trace::{SpanContext, TraceContextExt},
};
use opentelemetry_sdk::propagation::TraceContextPropagator;

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";

/// The longest `tracestate` that is exported: what the specification asks everyone to propagate. A longer one is
/// ignored, since each traced call keeps its own.
const MAX_STATE_BYTES: usize = 512;

/// The span that `headers` name; `None` without a valid one.
pub(super) fn from_headers(headers: &HeaderMap) -> Option<SpanContext> {
    headers.get(TRACEPARENT)?;
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &Headers(headers));
    let parent = context.span().span_context().clone();
    parent.is_valid().then_some(parent)
}

/// The headers of trace contexts.
struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        let value = self.0.get(key)?.to_str().ok()?;
        (key != TRACESTATE || value.len() <= MAX_STATE_BYTES).then_some(value)
    }

    fn keys(&self) -> Vec<&str> {
        vec![TRACEPARENT, TRACESTATE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|&(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()));
        pairs.collect()
    }

    #[test]
    fn a_caller_is_read_and_nonsense_is_ignored() {
        let right = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let parent = from_headers(&headers(&[("traceparent", right), ("tracestate", "game=7")])).unwrap();
        assert!(parent.is_sampled() && parent.is_remote());
        assert_eq!(parent.trace_state().get("game"), Some("7"));
        assert!(from_headers(&HeaderMap::new()).is_none());
        for wrong in [
            "",
            "00",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-xyz-b7ad6b7169203331-01",
        ] {
            assert!(from_headers(&headers(&[("traceparent", wrong)])).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn a_long_state_is_ignored() {
        let right = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let long = format!("game={}", "7".repeat(MAX_STATE_BYTES));
        let parent = from_headers(&headers(&[("traceparent", right), ("tracestate", &long)])).unwrap();
        assert_eq!(parent.trace_state().header(), "");
    }
}
