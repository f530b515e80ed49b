//! Memory budgets that clients share.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use super::Client;

/// What a client without other bytes may have of an exhausted budget: a floor, so that others cannot shut it out.
const ALWAYS_ALLOWED: usize = 64 << 10;

/// A memory budget that clients share. A client gets at most as much as it leaves free, so that one client never takes
/// all of it (dynamic thresholds: A. Choudhury and E. Hahne, "Dynamic Queue Length Thresholds", 1998). Cheap to clone.
#[derive(Debug, Clone)]
pub struct Budget(Arc<BudgetState>);

#[derive(Debug)]
struct BudgetState {
    /// In bytes.
    limit: usize,
    used: AtomicUsize,
    /// The most that was in use since [`take_peak`](Budget::take_peak).
    peak: AtomicUsize,
    /// Selects the counter of a client.
    of_client: fn(&Client) -> &ClientUse,
}

/// The bytes that one client has of a budget.
#[derive(Debug, Default)]
pub(crate) struct ClientUse(AtomicUsize);

/// Bytes of a budget, returned when dropped.
#[derive(Debug)]
pub struct Reserved {
    budget: Budget,
    client: Client,
    bytes: usize,
}

impl Budget {
    /// A budget of `limit` bytes for responses that wait to be sent.
    #[must_use]
    pub fn unsent(limit: usize) -> Self {
        Self::new(limit, Client::unsent)
    }

    /// A budget of `limit` bytes for requests that are being received.
    #[must_use]
    pub fn receiving(limit: usize) -> Self {
        Self::new(limit, Client::receiving)
    }

    fn new(limit: usize, of_client: fn(&Client) -> &ClientUse) -> Self {
        Self(Arc::new(BudgetState { limit, used: AtomicUsize::new(0), peak: AtomicUsize::new(0), of_client }))
    }

    /// Reserves `bytes` for `client`. `None` if the client would then have more than is left free. A client that has
    /// nothing else gets 64 KiB even of an exhausted budget.
    #[must_use]
    pub fn try_reserve(&self, client: &Client, bytes: usize) -> Option<Reserved> {
        let reserved = self.reserve(client, bytes);
        let used = self.0.used.load(Relaxed);
        let of_client = (self.0.of_client)(client).0.load(Relaxed);
        // What a client has alone may take all that is free.
        let is_alone = of_client == bytes;
        let threshold = if is_alone { bytes } else { self.0.limit.saturating_sub(used) };
        let is_allowed = used <= self.0.limit && of_client <= threshold;
        (is_allowed || (is_alone && bytes <= ALWAYS_ALLOWED)).then_some(reserved)
    }

    /// Whether `client` has more than is left free.
    pub(crate) fn is_exceeded_by(&self, client: &Client) -> bool {
        let free = self.0.limit.saturating_sub(self.0.used.load(Relaxed));
        (self.0.of_client)(client).0.load(Relaxed) > free
    }

    /// Counts `bytes` that cannot be refused any more.
    #[must_use]
    pub(crate) fn reserve(&self, client: &Client, bytes: usize) -> Reserved {
        let used = self.0.used.fetch_add(bytes, Relaxed) + bytes;
        // Mostly only read.
        if used > self.0.peak.load(Relaxed) {
            self.0.peak.fetch_max(used, Relaxed);
        }
        (self.0.of_client)(client).0.fetch_add(bytes, Relaxed);
        Reserved { budget: self.clone(), client: client.clone(), bytes }
    }

    /// Bytes in use, and the most that were in use since the last call.
    pub(crate) fn take_peak(&self) -> (usize, usize) {
        let used = self.used();
        (used, self.0.peak.swap(used, Relaxed))
    }

    /// Bytes in use.
    #[must_use]
    pub fn used(&self) -> usize {
        self.0.used.load(Relaxed)
    }
}

impl Reserved {
    /// Splits off `bytes`, or as many as there are.
    #[must_use]
    pub fn split(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self { budget: self.budget.clone(), client: self.client.clone(), bytes }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.budget.0.used.fetch_sub(self.bytes, Relaxed);
        (self.budget.0.of_client)(&self.client).0.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clients::Clients, config::ClientIdentity};

    #[test]
    fn one_client_gets_half_and_others_still_get_some() {
        let clients = Clients::new(ClientIdentity::default());
        let client = |last: u8| clients.at(std::net::IpAddr::from([10, 0, 0, last]));
        let budget = Budget::unsent(1000);
        let fill = |client: &Client| std::iter::from_fn(|| budget.try_reserve(client, 10)).collect::<Vec<_>>();
        let first = fill(&client(1));
        assert_eq!(first.len(), 50);
        assert!(!budget.is_exceeded_by(&client(1)));
        let beyond = budget.reserve(&client(1), 1);
        assert!(budget.is_exceeded_by(&client(1)) && !budget.is_exceeded_by(&client(2)));
        drop(beyond);
        let second = fill(&client(2));
        assert_eq!(second.len(), 25);
        let third = fill(&client(3));
        assert!(!third.is_empty(), "a third client gets some");
        drop((first, second, third));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_single_response_may_take_all_that_is_free_and_no_more() {
        let clients = Clients::new(ClientIdentity::default());
        let client = clients.at(std::net::IpAddr::from([10, 0, 0, 1]));
        let budget = Budget::receiving(1_000_000);
        assert!(budget.try_reserve(&client, 1_000_001).is_none());
        let mut all = budget.try_reserve(&client, 1_000_000).unwrap();
        assert!(budget.try_reserve(&client, 1).is_none());
        let part = all.split(400_000);
        drop(all);
        assert_eq!(budget.used(), 400_000);
        drop(part);
        assert_eq!(budget.used(), 0);
    }
}
