//! The settings of logs and traces.

use figment::value::Value;
use floor_cache::tls::Certificates;
use http::Uri;

use super::{
    files,
    formats::{Format, OneOf, Redaction, number, quote, text, whole},
    log_filter::LogFilter,
    reader::Reader,
};

const TRACE_CA: &str = "trace.ca";
/// How the address of a collector without TLS begins, and of one with TLS.
const PLAINTEXT: &str = "http://";
const ENCRYPTED: &str = "https://";

/// How the server logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// The form of an event.
    pub format: LogFormat,
    /// Which events are logged.
    pub filter: LogFilter,
    /// One call in this many is in the access log; 0: there is none.
    pub access: u32,
}

/// The form of an event in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// A line of text.
    Text,
    /// A line with a JSON object.
    Json,
}

/// Where traces go, and of which calls.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceSettings {
    /// The collector, as `http://127.0.0.1:4317`, or with TLS as `https://collector.example:4317`.
    pub endpoint: String,
    /// The authorities that sign the certificate of a collector with TLS; `None`: those of the system.
    pub ca: Option<Certificates>,
    /// The share of calls without a `traceparent` that are traced, 0 to 1.
    pub sample: f64,
}

impl TraceSettings {
    /// Whether the connection to the collector is encrypted.
    pub(crate) fn has_tls(&self) -> bool {
        self.endpoint.starts_with(ENCRYPTED)
    }
}

pub(super) fn log(reader: &mut Reader<'_>) -> LogSettings {
    LogSettings {
        format: reader.key("log.format", log_format()),
        filter: reader.key("log.level", Filter),
        access: reader.key("log.access", whole(0..=u32::MAX).note("; 0 for no access log, 1 for every call")),
    }
}

/// `None` if there are no traces.
pub(super) fn trace(reader: &mut Reader<'_>) -> Option<TraceSettings> {
    let endpoint = reader.key("trace.endpoint", Collector);
    let ca = reader.key(TRACE_CA, files::CA).map(|file| file.contents);
    if ca.is_some() && endpoint.starts_with(PLAINTEXT) {
        let advice = "write https:// in trace.endpoint if the collector speaks TLS, else \"\" here";
        reader.refuse(TRACE_CA, "names a file, and trace.endpoint is without TLS", advice);
    }
    let sample = reader.key("trace.sample", Share);
    Some(TraceSettings { endpoint, ca, sample }).filter(|settings| !settings.endpoint.is_empty())
}

fn log_format() -> OneOf<LogFormat> {
    OneOf {
        values: vec![("text", LogFormat::Text), ("json", LogFormat::Json)],
        expected: "write \"text\" or \"json\" (a JSON object per line)",
    }
}

/// A log filter.
struct Filter;

impl Format for Filter {
    type Output = LogFilter;

    fn expected(&self) -> String {
        "write a level (off, error, warn, info, debug or trace), levels of targets, or both, as in \
         \"info,floor_cache=debug\""
            .to_owned()
    }

    fn parse(&self, value: &Value) -> Option<LogFilter> {
        LogFilter::new(&text(value)?).ok()
    }

    fn show(&self, filter: &LogFilter) -> String {
        quote(filter)
    }
}

/// The address of a collector, or empty.
struct Collector;

impl Format for Collector {
    type Output = String;

    const REDACTION: Redaction = Redaction::Part(floor_proto::url::redacted);

    fn expected(&self) -> String {
        "write the address of an OTLP collector for gRPC, as in \"http://127.0.0.1:4317\", or with TLS \
         \"https://collector.example:4317\"; \"\" for no traces"
            .to_owned()
    }

    fn parse(&self, value: &Value) -> Option<String> {
        let text = text(value)?;
        if text.is_empty() {
            return Some(text);
        }
        let uri: Uri = text.parse().ok()?;
        let is_known = [PLAINTEXT, ENCRYPTED].iter().any(|scheme| text.starts_with(scheme));
        let is_host = is_known && uri.host().is_some_and(|host| !host.is_empty());
        let is_alone = matches!(uri.path(), "" | "/") && uri.query().is_none();
        // `Uri` drops a fragment, which may be a part of a password.
        let has_more = text.contains(['@', '#']);
        (is_host && is_alone && !has_more).then_some(text)
    }

    fn show(&self, endpoint: &String) -> String {
        quote(endpoint)
    }
}

/// A share of calls.
struct Share;

impl Format for Share {
    type Output = f64;

    fn expected(&self) -> String {
        "write a share from 0 (none) to 1 (all), as in 0.01".to_owned()
    }

    fn parse(&self, value: &Value) -> Option<f64> {
        number(value)?.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share))
    }

    fn show(&self, share: &f64) -> String {
        format!("{share:?}")
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::config::Config;

    #[test]
    fn traces_need_the_address_of_a_collector() {
        for right in ["http://127.0.0.1:4317", "http://collector", "http://[::1]:4317/", "https://collector:4317"] {
            assert_eq!(Collector.parse(&Value::from(right)), Some(right.to_owned()));
        }
        for wrong in ["127.0.0.1:4317", "ftp://collector:4317", "https://", "https://c/v1/traces", "http://me@c:4317"] {
            assert_eq!(Collector.parse(&Value::from(wrong)), None, "{wrong}");
        }
    }

    #[test]
    fn authorities_are_for_a_collector_with_tls() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let certificate = rcgen::generate_simple_self_signed(["collector".to_owned()]).unwrap();
        fs::write(file.path(), certificate.cert.pem()).unwrap();
        let trace = |endpoint: &str, ca: &Path| {
            let text = format!("[trace]\nendpoint = {endpoint:?}\nca = {ca:?}\n");
            Config::from_toml(&text).map(|config| config.trace).map_err(|error| error.to_string())
        };
        let settings = trace("https://c:4317", file.path()).unwrap().unwrap();
        assert!(settings.has_tls());
        assert_eq!(settings.ca.unwrap().path(), file.path());
        assert!(!trace("http://c:4317", Path::new("")).unwrap().unwrap().has_tls());
        assert_eq!(trace("", file.path()).unwrap(), None);
        let error = trace("http://c:4317", file.path()).unwrap_err();
        assert!(error.contains("trace.ca names a file, and trace.endpoint is without TLS"), "{error}");
        let error = trace("https://c:4317", Path::new("missing.pem")).unwrap_err();
        assert!(error.contains("trace.ca is \"missing.pem\""), "{error}");
    }

    #[test]
    fn a_share_is_a_number_from_0_to_1() {
        let sample = |value: &str| {
            let text = format!("[trace]\nendpoint = \"http://c:4317\"\nsample = {value}\n");
            Config::from_toml(&text).ok().and_then(|config| config.trace).map(|trace| trace.sample)
        };
        assert_eq!(
            [sample("0"), sample("0.25"), sample("1"), sample("1.0")],
            [Some(0.0), Some(0.25), Some(1.0), Some(1.0)]
        );
        assert_eq!([sample("-0.1"), sample("1.01"), sample("nan"), sample("\"all\"")], [None; 4]);
        assert_eq!(Config::from_toml("").unwrap().trace, None);
    }

    #[test]
    fn a_misspelt_level_is_an_error() {
        let error = Config::from_toml("[log]\nlevel = \"inof\"\n").unwrap_err().to_string();
        assert!(error.contains("log.level is \"inof\""), "{error}");
    }
}
