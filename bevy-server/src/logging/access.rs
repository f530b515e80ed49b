//! The access log: a line for a sample of the calls, and for those that failed or were slow.

use std::{
    net::IpAddr,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

use floor_cache::{Draw, Sampler};
use floor_proto::{rpc::Rpc, status::code_name};
use tonic::Code;

use crate::{config::LogSettings, rate_limit::RateLimit};

/// Lines a second for sampled calls, and as many for calls that failed or were slow. So neither a busy server nor a
/// hostile client can fill a disk, and failures do not displace the sample.
const LINES_PER_SECOND: u32 = 100;
/// How long a call takes that is slow.
const SLOW: Duration = Duration::from_secs(1);

/// The access log.
#[derive(Debug)]
pub(crate) struct AccessLog {
    /// One call in this many is sampled; 0: the log is off.
    one_in: AtomicU32,
    sampled: RateLimit,
    notable: RateLimit,
}

/// A call that has ended.
#[derive(Debug)]
pub(crate) struct AccessEntry<'a> {
    pub(crate) rpc: Rpc,
    pub(crate) code: Code,
    pub(crate) caller: IpAddr,
    /// The name of the client's token, or the subject of its certificate.
    pub(crate) name: Option<&'a str>,
    /// The name of the client's tenant.
    pub(crate) tenant: Option<&'a str>,
    /// Time inside the server; for a stream with the time that the client takes to read.
    pub(crate) took: Duration,
    /// As in the response metadata; empty if nothing was served.
    pub(crate) served_by: &'a str,
    pub(crate) floors: usize,
    /// Bytes of messages given to the transport.
    pub(crate) bytes: u64,
    /// The trace of the call, in hexadecimal digits, if it has one.
    pub(crate) trace_id: Option<String>,
}

/// Why a call is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Failed,
    Slow,
    Sampled,
}

impl Reason {
    const fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Slow => "slow",
            Self::Sampled => "sampled",
        }
    }
}

impl AccessLog {
    /// The access log of these settings.
    pub(crate) fn new(settings: &LogSettings) -> Self {
        let limit = || RateLimit::new(LINES_PER_SECOND, Duration::from_secs(1));
        Self { one_in: AtomicU32::new(settings.access), sampled: limit(), notable: limit() }
    }

    /// Takes over these settings, for the calls that end from now on.
    pub(crate) fn configure(&self, settings: &LogSettings) {
        self.one_in.store(settings.access, Relaxed);
    }

    /// Logs a call, if it is to be logged.
    pub(crate) fn log(&self, call: &AccessEntry<'_>) {
        let Some((reason, suppressed)) = self.admit(call, Draw::next()) else { return };
        tracing::info!(
            target: "floors::access",
            rpc = call.rpc.name(),
            code = code_name(call.code),
            client = %call.caller,
            name = call.name,
            tenant = call.tenant,
            duration_us = microseconds(call.took),
            served_by = call.served_by,
            floors = call.floors,
            bytes = call.bytes,
            trace_id = call.trace_id.as_deref(),
            reason = reason.name(),
            suppressed = (suppressed > 0).then_some(suppressed),
            "call"
        );
    }

    /// Why `call` is logged, and how many calls were suppressed before it. `None`: it is not logged.
    fn admit(&self, call: &AccessEntry<'_>, draw: Draw) -> Option<(Reason, u64)> {
        let one_in = self.one_in.load(Relaxed);
        if one_in == 0 {
            return None;
        }
        // The length of a stream depends on its reader.
        let is_slow = !call.rpc.is_stream() && call.took >= SLOW;
        let (reason, limit) = if call.code != Code::Ok {
            (Reason::Failed, &self.notable)
        } else if is_slow {
            (Reason::Slow, &self.notable)
        } else if Sampler::one_in(one_in).picks(draw) {
            (Reason::Sampled, &self.sampled)
        } else {
            return None;
        };
        Some((reason, limit.admit()?))
    }
}

fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::config::Config;

    fn access_log(text: &str) -> AccessLog {
        AccessLog::new(&Config::from_toml(text).unwrap().log)
    }

    fn call(rpc: Rpc, code: Code, took: Duration) -> AccessEntry<'static> {
        let caller = Ipv4Addr::LOCALHOST.into();
        let (name, tenant, trace_id) = (None, None, None);
        AccessEntry { rpc, code, caller, name, tenant, took, served_by: "lru", floors: 1, bytes: 1000, trace_id }
    }

    #[test]
    fn one_call_in_so_many_is_logged_and_every_failed_or_slow_one() {
        let log = access_log("");
        let failed = call(Rpc::GetFloor, Code::NotFound, Duration::ZERO);
        assert!(log.admit(&failed, Draw::next()).is_none(), "off by default");
        log.configure(&Config::from_toml("[log]\naccess = 100\n").unwrap().log);
        let reason = |rpc, code, took| log.admit(&call(rpc, code, took), Draw::next()).map(|(reason, _)| reason);
        let fast = (0..5000).filter(|_| reason(Rpc::GetFloor, Code::Ok, Duration::ZERO).is_some()).count();
        assert!((48..=52).contains(&fast), "{fast}");
        assert_eq!(reason(Rpc::GetFloor, Code::Ok, SLOW), Some(Reason::Slow));
        assert_eq!(reason(Rpc::GetFloor, Code::NotFound, Duration::ZERO), Some(Reason::Failed));
        let streams = (0..50).filter(|_| reason(Rpc::StreamFloors, Code::Ok, SLOW) == Some(Reason::Slow)).count();
        assert_eq!(streams, 0, "a slow reader is no slow call");
    }

    #[test]
    fn failures_and_samples_have_limits_of_their_own() {
        let log = access_log("[log]\naccess = 1\n");
        let count = |code| {
            (0..10_000)
                .filter(|_| log.admit(&call(Rpc::GetFloor, code, Duration::ZERO), Draw::next()).is_some())
                .count()
        };
        // A loop that takes longer than a second has a second window.
        let in_windows = |count: usize| count > 0 && count.is_multiple_of(LINES_PER_SECOND as usize) && count <= 1000;
        assert!(in_windows(count(Code::InvalidArgument)));
        assert!(in_windows(count(Code::Ok)));
    }
}
