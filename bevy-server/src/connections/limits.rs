//! How many connections there may be, in total and from one address.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use floor_cache::CallerId;
use prometheus::IntGauge;

use crate::{callers::caller_id, metrics::Limit};

/// Admits connections up to a number in total and from one address. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionLimiter(Arc<Limiter>);

#[derive(Debug)]
struct Limiter {
    total: usize,
    per_address: usize,
    open: Mutex<Open>,
    /// The open connections; `None` for a listener without a metric.
    gauge: Option<IntGauge>,
}

#[derive(Debug, Default)]
struct Open {
    total: usize,
    /// The most that were open since [`take_peak`](ConnectionLimiter::take_peak).
    peak: usize,
    of: HashMap<CallerId, usize>,
}

/// Why a connection is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    Total,
    PerAddress,
}

impl Refusal {
    pub(crate) const fn limit(self) -> Limit {
        match self {
            Self::Total => Limit::Connections,
            Self::PerAddress => Limit::ConnectionsPerIp,
        }
    }

    /// The configuration key of the limit.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Total => "grpc.max_connections",
            Self::PerAddress => "grpc.max_connections_per_ip",
        }
    }
}

/// An admitted connection, counted until it is dropped.
#[derive(Debug)]
pub(crate) struct Admitted {
    limiter: ConnectionLimiter,
    address: CallerId,
}

impl ConnectionLimiter {
    /// Admits at most `total` connections, and `per_address` from one address; `None` for no limit.
    pub(crate) fn new(total: usize, per_address: Option<usize>, gauge: Option<IntGauge>) -> Self {
        let per_address = per_address.unwrap_or(usize::MAX);
        Self(Arc::new(Limiter { total, per_address, open: Mutex::default(), gauge }))
    }

    /// Admits a connection from `address`. `is_exempt`: the limit of one address does not apply to it.
    pub(crate) fn admit(&self, address: IpAddr, is_exempt: bool) -> Result<Admitted, Refusal> {
        let address = caller_id(address);
        let mut open = self.lock();
        if open.total >= self.0.total {
            return Err(Refusal::Total);
        }
        let of_address = open.of.entry(address).or_default();
        if *of_address >= self.0.per_address && !is_exempt {
            return Err(Refusal::PerAddress);
        }
        *of_address += 1;
        open.total += 1;
        open.peak = open.peak.max(open.total);
        drop(open);
        self.0.gauge.iter().for_each(IntGauge::inc);
        Ok(Admitted { limiter: self.clone(), address })
    }

    /// The open connections, and the most that were open since the last call.
    pub(crate) fn take_peak(&self) -> (usize, usize) {
        let mut open = self.lock();
        let now = open.total;
        (now, std::mem::replace(&mut open.peak, now))
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut open = self.limiter.lock();
        open.total -= 1;
        if let Some(count) = open.of.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.of.remove(&self.address);
            }
        }
        drop(open);
        self.limiter.0.gauge.iter().for_each(IntGauge::dec);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_limited_in_total_and_per_address() {
        let limiter = ConnectionLimiter::new(4, Some(2), None);
        let address = |last: u8| IpAddr::from([10, 0, 0, last]);
        let first: Vec<_> = (0..2).map(|_| limiter.admit(address(1), false).unwrap()).collect();
        assert_eq!(limiter.admit(address(1), false).unwrap_err(), Refusal::PerAddress);
        let exempt = limiter.admit(address(1), true).unwrap();
        let other = limiter.admit(address(2), false).unwrap();
        assert_eq!(limiter.admit(address(3), true).unwrap_err(), Refusal::Total);
        drop((first, exempt, other));
        assert!(limiter.lock().of.is_empty());
        assert!(limiter.admit(address(1), false).is_ok());
    }
}
