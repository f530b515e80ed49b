//! Clients: who calls, and how much memory each may use. The gRPC port looks a client up for each connection, or for
//! each call behind a trusted proxy.

mod budget;
mod warnings;

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use bevy::prelude::*;
use floor_cache::ClientId;
use http::HeaderMap;

pub(crate) use budget::ClientUse;
pub use budget::{Budget, Reserved};
pub(crate) use warnings::WarningLimiter;

use crate::config::{ClientIdentity, NoCache};

/// The header in which a proxy names the client.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// The clients of the server. Cheap to clone.
///
/// A client is an address: of IPv4 the whole, of IPv6 the /64 network, since one host commonly has all of that.
#[derive(Resource, Debug, Clone)]
pub struct Clients(Arc<Registry>);

#[derive(Debug)]
struct Registry {
    /// The clients with a connection or a call, so that its size is bounded by theirs.
    clients: Mutex<HashMap<ClientId, Weak<ClientState>>>,
    identity: ClientIdentity,
}

/// A client. Cheap to clone; the registry forgets it when its last clone is dropped.
#[derive(Debug, Clone)]
pub struct Client(Arc<ClientState>);

#[derive(Debug)]
struct ClientState {
    id: ClientId,
    address: IpAddr,
    registry: Weak<Registry>,
    /// Bytes of responses that wait to be sent.
    unsent: ClientUse,
    /// Bytes of large requests that are being received.
    receiving: ClientUse,
}

impl Clients {
    /// No clients yet.
    #[must_use]
    pub fn new(identity: ClientIdentity) -> Self {
        Self(Arc::new(Registry { clients: Mutex::default(), identity }))
    }

    /// The client at `address`.
    #[must_use]
    pub fn at(&self, address: IpAddr) -> Client {
        let id = client_id(address);
        let mut clients = self.0.lock();
        if let Some(client) = clients.get(&id).and_then(Weak::upgrade) {
            return Client(client);
        }
        let (unsent, receiving) = (ClientUse::default(), ClientUse::default());
        let client = Arc::new(ClientState { id, address, registry: Arc::downgrade(&self.0), unsent, receiving });
        clients.insert(id, Arc::downgrade(&client));
        Client(client)
    }

    /// The client that stands for all whose address is unknown.
    #[must_use]
    pub fn unknown(&self) -> Client {
        self.at(Ipv4Addr::UNSPECIFIED.into())
    }

    /// Whether `address` belongs to a trusted proxy.
    #[must_use]
    pub fn is_trusted_proxy(&self, address: IpAddr) -> bool {
        self.0.identity.is_trusted(address)
    }

    /// The client that a trusted proxy names in `headers`: the last address in `x-forwarded-for` that is not a trusted
    /// proxy itself. `None` without such an address.
    #[must_use]
    pub fn forwarded(&self, headers: &HeaderMap) -> Option<Client> {
        let values = headers.get_all(FORWARDED_FOR);
        let hops = values.iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
        let addresses: Vec<_> = hops.map(hop_address).collect();
        // A hop that is no address hides those before it, which anyone may have written.
        let known = addresses.into_iter().rev().map_while(|address| address);
        let client = known.into_iter().find(|address| !self.is_trusted_proxy(*address))?;
        Some(self.at(client))
    }
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, HashMap<ClientId, Weak<ClientState>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client {
    /// Its identifier, the same for as long as the server runs.
    #[must_use]
    pub fn id(&self) -> ClientId {
        self.0.id
    }

    /// Its address. For IPv6, that of one of its hosts.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.0.address.to_canonical()
    }

    /// Whether it runs on this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.0.address.to_canonical().is_loopback()
    }

    /// Whether it may skip the cache. `is_forwarded`: a proxy that is not trusted says that it forwards the call.
    #[must_use]
    pub fn may_skip_cache(&self, allowed: NoCache, is_forwarded: bool) -> bool {
        match allowed {
            NoCache::All => true,
            NoCache::Loopback => self.is_loopback() && !is_forwarded,
            // No client proves who it is before the server has tokens and certificates.
            NoCache::Authenticated | NoCache::None => false,
        }
    }

    pub(crate) fn unsent(&self) -> &ClientUse {
        &self.0.unsent
    }

    pub(crate) fn receiving(&self) -> &ClientUse {
        &self.0.receiving
    }
}

impl Drop for ClientState {
    fn drop(&mut self) {
        let Some(registry) = self.registry.upgrade() else { return };
        let mut clients = registry.lock();
        // A new state may have replaced this one between the drop of its last handle and now.
        if clients.get(&self.id).is_some_and(|client| client.strong_count() == 0) {
            clients.remove(&self.id);
        }
    }
}

/// The address in a hop of `x-forwarded-for`. Some proxies add the port.
fn hop_address(hop: &str) -> Option<IpAddr> {
    let hop = hop.trim();
    hop.parse().ok().or_else(|| hop.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

/// The identifier of the client at `address`. 0 is no client: it stands for the server itself.
pub(crate) fn client_id(address: IpAddr) -> ClientId {
    match address.to_canonical() {
        IpAddr::V4(address) => ClientId(u64::from(u32::from(address)).max(1)),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments().map(u64::from);
            // The network ::/64 has the addresses of IPv4 and of loopback.
            ClientId((a << 48 | b << 32 | c << 16 | d).max(1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (http::HeaderName::from_static(FORWARDED_FOR), value.parse().unwrap())).collect()
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_client_is_one_address_or_one_ipv6_network() {
        let same = |a, b| client_id(address(a)) == client_id(address(b));
        assert!(same("10.0.0.1", "::ffff:10.0.0.1"));
        assert!(!same("10.0.0.1", "10.0.0.2"));
        assert!(same("2001:db8:1:2::1", "2001:db8:1:2:ffff::9"));
        assert!(!same("2001:db8:1:2::1", "2001:db8:1:3::1"));
    }

    #[test]
    fn a_client_is_forgotten_with_its_last_handle() {
        let clients = Clients::new(ClientIdentity::default());
        let first = clients.at(address("10.0.0.1"));
        let again = clients.at(address("10.0.0.1"));
        assert!(Arc::ptr_eq(&first.0, &again.0));
        drop((first, again));
        assert!(clients.0.lock().is_empty());
    }

    #[test]
    fn only_hops_behind_trusted_proxies_count() {
        let clients = Clients::new(ClientIdentity { trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()] });
        let forwarded = |values: &[&'static str]| clients.forwarded(&headers(values)).map(|client| client.0.address);
        assert_eq!(forwarded(&["198.51.100.7"]), Some(address("198.51.100.7")));
        assert_eq!(forwarded(&["203.0.113.9, 198.51.100.7, 10.1.2.3"]), Some(address("198.51.100.7")));
        assert_eq!(forwarded(&["203.0.113.9", "198.51.100.7"]), Some(address("198.51.100.7")));
        assert_eq!(forwarded(&["203.0.113.9, 198.51.100.7:4711"]), Some(address("198.51.100.7")));
        assert_eq!(forwarded(&["[2001:db8::7]:4711"]), Some(address("2001:db8::7")));
        assert_eq!(forwarded(&["203.0.113.9, nonsense, 10.1.2.3"]), None);
        assert_eq!(forwarded(&["10.1.2.3"]), None);
        assert_eq!(forwarded(&[]), None);
        assert!(clients.is_trusted_proxy(address("::ffff:10.9.9.9")));
        assert!(!clients.is_trusted_proxy(address("11.0.0.1")));
    }
}
