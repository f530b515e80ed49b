//! Callers: who calls, and how much each may use. The gRPC port looks a caller up for each connection, or for
//! each call with a token or behind a trusted proxy.

mod budget;
mod frames;
mod quota;
mod recent;
mod warnings;

use std::{
    collections::HashMap,
    fmt,
    hash::{BuildHasher, RandomState},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    thread,
    time::Duration,
};

use bevy::prelude::*;
use floor_cache::CallerId;
use floor_gen::View;
use frames::FrameBudgets;
use http::HeaderMap;
use recent::RecentUse;
use tokio::sync::Semaphore;

pub use budget::Budgets;
pub(crate) use budget::{Budget, CallerUse, Reserved};
pub(crate) use quota::{Charge, Quota, Quotas};
pub(crate) use recent::CallerActivity;
pub(crate) use warnings::WarningLimiter;

use crate::{
    config::{CallerIdentity, NoCache},
    headers::X_FORWARDED_FOR,
    tenants::TenantId,
};

/// Limit for the stored part of a name: a certificate may have a long subject. All of it identifies the caller.
const MAX_NAME_CHARS: usize = 256;
/// The address that stands for an unknown one.
pub(crate) const UNKNOWN_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// The places of a caller in the lines for work beside the threads of connections, short and long.
#[derive(Debug)]
pub(crate) struct Turns {
    pub(crate) short: Arc<Semaphore>,
    pub(crate) long: Arc<Semaphore>,
}

impl Turns {
    /// As many places as all callers have together.
    pub(crate) fn new() -> Self {
        // One core remains for other calls, if there are several.
        let places = thread::available_parallelism().map_or(1, |cores| (cores.get() - 1).max(1));
        Self { short: Arc::new(Semaphore::new(places)), long: Arc::new(Semaphore::new(places)) }
    }
}

/// Adds [`Callers`].
#[derive(Debug)]
pub struct CallersPlugin(pub Callers);

impl Plugin for CallersPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(self.0.clone());
    }
}

/// The callers of the server. Cheap to clone.
///
/// A caller is the name of a token, or else the subject of a certificate, or else an address: of IPv4 the whole, of
/// IPv6 the /64 network, since one host commonly has all of that.
#[derive(Resource, Debug, Clone)]
pub struct Callers(Arc<Registry>);

#[derive(Debug)]
struct Registry {
    /// The callers with a connection or a call, so that its size is bounded by theirs.
    callers: Mutex<HashMap<CallerId, Weak<CallerState>>>,
    identity: CallerIdentity,
    /// Hashes names to identifiers. Its random key keeps a caller from choosing a certificate subject whose hash is the
    /// identifier of another caller.
    name_hasher: RandomState,
    frames: FrameBudgets,
    recent: RecentUse,
    /// Of floors that are refused.
    warnings: Mutex<WarningLimiter>,
}

/// How a caller has proved who it is. The variant is a part of the hash of a name, so that a token and a certificate of
/// the same name are two callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Proof {
    Token,
    Certificate,
    /// Not a caller: the tenant as a whole, in the queue of generation.
    Tenant,
}

/// A caller, and the address from which it calls. Cheap to clone; the registry forgets a caller when its last clone is
/// dropped.
///
/// Clones of one `Caller` count their references apart from others of the same caller, so that connections on several
/// cores do not write one count for each call.
#[derive(Debug, Clone)]
pub struct Caller(Arc<Calling>);

#[derive(Debug)]
struct Calling {
    state: Arc<CallerState>,
    /// A caller with a name may call from several addresses.
    address: IpAddr,
    /// Those of its token. Not of the state: a changed tokens file may move a token to another tenant.
    tenant: Option<TenantId>,
    only: Option<View>,
}

#[derive(Debug)]
struct CallerState {
    id: CallerId,
    /// What it has proved, and its name. `None` for an address.
    name: Option<(Proof, Arc<str>)>,
    registry: Weak<Registry>,
    /// Bytes of responses that wait to be sent.
    unsent: CallerUse,
    /// Bytes of requests that are being received.
    receiving: CallerUse,
    /// Bytes of watches of health.
    watches: CallerUse,
    turns: Turns,
}

impl Callers {
    /// No callers yet.
    #[must_use]
    pub fn new(identity: CallerIdentity) -> Self {
        Self(Arc::new(Registry {
            callers: Mutex::default(),
            identity,
            name_hasher: RandomState::new(),
            frames: FrameBudgets::new(),
            recent: RecentUse::new(),
            warnings: Mutex::default(),
        }))
    }

    /// The caller at `address`.
    #[must_use]
    pub fn at(&self, address: IpAddr) -> Caller {
        self.find_or_add(caller_id(address), None, address)
    }

    /// The caller whose token is named `name`, at `address`.
    #[must_use]
    pub fn named(&self, name: &str, address: IpAddr) -> Caller {
        self.find_or_add(self.named_id(name), Some((Proof::Token, name)), address)
    }

    /// The caller whose certificate has `subject`, at `address`. The certificate was checked before.
    #[must_use]
    pub fn certified(&self, subject: &str, address: IpAddr) -> Caller {
        let id = self.proved_id(Proof::Certificate, subject);
        self.find_or_add(id, Some((Proof::Certificate, subject)), address)
    }

    /// The identifier of the caller whose token is named `name`, the same for as long as the server runs.
    #[must_use]
    pub fn named_id(&self, name: &str) -> CallerId {
        self.proved_id(Proof::Token, name)
    }

    /// The identifier under which all callers of the tenant `name` generate.
    #[must_use]
    pub(crate) fn tenant_id(&self, name: &str) -> CallerId {
        self.proved_id(Proof::Tenant, name)
    }

    /// The caller that stands for all whose address is unknown.
    #[must_use]
    pub fn unknown(&self) -> Caller {
        self.at(UNKNOWN_ADDRESS)
    }

    fn proved_id(&self, proof: Proof, name: &str) -> CallerId {
        // 0 is the server itself, and the greatest stands for all whose quota is not remembered.
        CallerId(self.0.name_hasher.hash_one((proof, name)).clamp(1, u64::MAX - 1))
    }

    fn find_or_add(&self, id: CallerId, name: Option<(Proof, &str)>, address: IpAddr) -> Caller {
        let mut callers = self.0.lock();
        if let Some(state) = callers.get(&id).and_then(Weak::upgrade) {
            return Caller::new(state, address, None, None);
        }
        let name = name.map(|(proof, name)| (proof, name.chars().take(MAX_NAME_CHARS).collect::<String>().into()));
        let [unsent, receiving, watches] = [(); 3].map(|()| CallerUse::default());
        let (registry, turns) = (Arc::downgrade(&self.0), Turns::new());
        let state = Arc::new(CallerState { id, name, registry, unsent, receiving, watches, turns });
        callers.insert(id, Arc::downgrade(&state));
        Caller::new(state, address, None, None)
    }

    /// Whether `address` belongs to a trusted proxy.
    #[must_use]
    pub fn is_trusted_proxy(&self, address: IpAddr) -> bool {
        self.0.identity.is_trusted(address)
    }

    /// The caller that a trusted proxy names in `headers`: the last address in `x-forwarded-for` that is not a trusted
    /// proxy itself. `None` without such an address.
    #[must_use]
    pub fn forwarded(&self, headers: &HeaderMap) -> Option<Caller> {
        self.forwarded_address(headers).map(|address| self.at(address))
    }

    /// The address of the caller that a trusted proxy names in `headers`, as [`forwarded`](Self::forwarded).
    #[must_use]
    pub fn forwarded_address(&self, headers: &HeaderMap) -> Option<IpAddr> {
        let values = headers.get_all(&X_FORWARDED_FOR).iter().rev();
        let hops = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.rsplit(','));
        // A hop that is no address hides those before it, which anyone may have written.
        hops.map_while(hop_address).find(|address| !self.is_trusted_proxy(*address))
    }

    /// The caller that a trusted proxy names in `headers`, or the one that stands for all that are unknown.
    #[must_use]
    pub(crate) fn forwarded_id(&self, headers: &HeaderMap) -> CallerId {
        caller_id(self.forwarded_address(headers).unwrap_or(UNKNOWN_ADDRESS))
    }

    /// Takes from the budget of `caller` an HTTP/2 frame that leads to nothing. False if none is left.
    #[must_use]
    pub(crate) fn take_frame(&self, caller: CallerId) -> bool {
        self.0.frames.take(caller)
    }

    /// As [`take_frame`](Self::take_frame), also if none is left. [`beyond_budget`](Self::beyond_budget) then tells.
    pub(crate) fn charge_frame(&self, caller: CallerId) {
        self.0.frames.charge(caller);
    }

    /// How long the caller that a trusted proxy names in `headers` is beyond its budget for frames that lead to nothing.
    #[must_use]
    pub(crate) fn beyond_budget(&self, headers: &HeaderMap) -> Option<Duration> {
        if !self.0.frames.may_be_exceeded() {
            return None;
        }
        self.0.frames.beyond(self.forwarded_id(headers))
    }

    /// Counts a floor of `cells` that is generated for `caller`.
    pub(crate) fn count_generated(&self, caller: CallerId, cells: u64) {
        self.0.recent.generated(caller, cells, || self.state(caller).map(|state| state.label()));
    }

    /// Counts a floor that is not generated for `caller`, and warns of it with the `reason`. Returns the name of the
    /// caller's token.
    pub(crate) fn report_refused(&self, caller: CallerId, reason: &'static str) -> Option<Arc<str>> {
        let state = self.state(caller);
        let name = self.0.recent.refused(caller, || state.as_ref().map(|state| state.label()));
        let suppressed = self.0.warnings.lock().unwrap_or_else(PoisonError::into_inner).admit();
        if let Some(suppressed) = suppressed {
            tracing::warn!(client = &*name, reason, suppressed, "a floor was refused");
        }
        match &state?.name {
            Some((Proof::Token, name)) => Some(Arc::clone(name)),
            _ => None,
        }
    }

    /// The callers that had the most generated and were refused the most in the last one to two minutes.
    pub(crate) fn most_active(&self) -> Vec<CallerActivity> {
        self.0.recent.most_active()
    }

    /// The state of `caller`. `None` if it has no connection and no call.
    fn state(&self, caller: CallerId) -> Option<Arc<CallerState>> {
        self.0.lock().get(&caller).and_then(Weak::upgrade)
    }
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, HashMap<CallerId, Weak<CallerState>>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caller {
    fn new(state: Arc<CallerState>, address: IpAddr, tenant: Option<TenantId>, only: Option<View>) -> Self {
        Self(Arc::new(Calling { state, address, tenant, only }))
    }

    /// Its identifier, the same for as long as the server runs.
    #[must_use]
    pub fn id(&self) -> CallerId {
        self.0.state.id
    }

    /// The address from which it calls.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.0.address
    }

    /// The name of its token, or the subject of its certificate. `None` for a caller that is an address.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.0.state.name.as_ref().map(|(_, name)| &**name)
    }

    /// Whether it has proved who it is, by a token or a certificate.
    #[must_use]
    pub fn is_authenticated(&self) -> bool {
        self.0.state.name.is_some()
    }

    /// The tenant of its token. `None` for a caller without one.
    #[must_use]
    pub fn tenant(&self) -> Option<TenantId> {
        self.0.tenant
    }

    /// The only view of floors that its token allows. `None`: any.
    #[must_use]
    pub fn only(&self) -> Option<View> {
        self.0.only
    }

    /// The same caller, with what its token says: its tenant, and the only view of floors that it gets.
    #[must_use]
    pub fn with_token(self, tenant: Option<TenantId>, only: Option<View>) -> Self {
        Self::new(Arc::clone(&self.0.state), self.0.address, tenant, only)
    }

    /// The same caller, calling from `address`.
    pub(crate) fn calling_from(&self, address: IpAddr) -> Self {
        if address == self.0.address {
            return self.clone();
        }
        Self::new(Arc::clone(&self.0.state), address, self.0.tenant, self.0.only)
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
            NoCache::Authenticated => self.is_authenticated(),
            NoCache::None => false,
        }
    }

    pub(crate) fn unsent(&self) -> &CallerUse {
        &self.0.state.unsent
    }

    pub(crate) fn receiving(&self) -> &CallerUse {
        &self.0.state.receiving
    }

    pub(crate) fn watches(&self) -> &CallerUse {
        &self.0.state.watches
    }

    pub(crate) fn turns(&self) -> &Turns {
        &self.0.state.turns
    }

    /// Counts `time` of work for its calls, beside generation.
    pub(crate) fn count_offloaded(&self, time: Duration) {
        if let Some(registry) = self.0.state.registry.upgrade() {
            registry.recent.offloaded(self.0.state.id, time, || Some(self.0.state.label()));
        }
    }
}

/// Its name, or else its address.
impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => fmt::Display::fmt(&self.0.address, f),
        }
    }
}

impl CallerState {
    /// Its name, or else its address or network.
    fn label(&self) -> Arc<str> {
        self.name.as_ref().map_or_else(|| address_name(self.id).into(), |(_, name)| Arc::clone(name))
    }
}

impl Drop for CallerState {
    fn drop(&mut self) {
        let Some(registry) = self.registry.upgrade() else { return };
        let mut callers = registry.lock();
        // A new state may have replaced this one between the drop of its last handle and now.
        if callers.get(&self.id).is_some_and(|caller| caller.strong_count() == 0) {
            callers.remove(&self.id);
        }
    }
}

/// The address in a hop of `x-forwarded-for`. Some proxies add the port.
fn hop_address(hop: &str) -> Option<IpAddr> {
    let hop = hop.trim();
    hop.parse().ok().or_else(|| hop.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

/// The identifier of the caller at `address`. 0 is no caller: it stands for the server itself.
pub(crate) fn caller_id(address: IpAddr) -> CallerId {
    match address.to_canonical() {
        IpAddr::V4(address) => CallerId(u64::from(u32::from(address)).max(1)),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments().map(u64::from);
            // The network ::/64 has the addresses of IPv4 and of loopback.
            CallerId((a << 48 | b << 32 | c << 16 | d).max(1))
        }
    }
}

/// The address or the network whose identifier is `caller`, which is the inverse of [`caller_id`].
fn address_name(caller: CallerId) -> String {
    match (caller.0, u32::try_from(caller.0)) {
        (1, _) => "::1 or unknown".to_owned(),
        (_, Ok(address)) => Ipv4Addr::from(address).to_string(),
        (network, Err(_)) => format!("{}/64", Ipv6Addr::from(u128::from(network) << 64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (X_FORWARDED_FOR.clone(), value.parse().unwrap())).collect()
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_client_is_one_address_or_one_ipv6_network() {
        let same = |a, b| caller_id(address(a)) == caller_id(address(b));
        assert!(same("10.0.0.1", "::ffff:10.0.0.1"));
        assert!(!same("10.0.0.1", "10.0.0.2"));
        assert!(same("2001:db8:1:2::1", "2001:db8:1:2:ffff::9"));
        assert!(!same("2001:db8:1:2::1", "2001:db8:1:3::1"));
    }

    #[test]
    fn an_operator_sees_clients_by_their_names_or_addresses() {
        let callers = Callers::new(CallerIdentity::default());
        let here = address("10.0.0.1");
        let known =
            [callers.at(here), callers.at(address("2001:db8:1:2::9")), callers.named("game", here), callers.unknown()];
        for (cells, caller) in (1..).zip(&known) {
            callers.count_generated(caller.id(), cells);
        }
        callers.count_generated(CallerId(77), 1);
        callers.report_refused(known[2].id(), "queue");
        let shown = callers.most_active();
        let mut rows: Vec<_> = shown.iter().map(|row| (&*row.name, row.floors, row.cells, row.refusals)).collect();
        // Of equal rows the order is random.
        rows[3..].sort_unstable();
        let expected = [("::1 or unknown", 1, 4, 0), ("game", 1, 3, 1), ("2001:db8:1:2::/64", 1, 2, 0)];
        assert_eq!(rows[..3], expected);
        assert_eq!(rows[3..], [("10.0.0.1", 1, 1, 0), ("others", 1, 1, 0)]);
    }

    #[test]
    fn a_client_is_forgotten_with_its_last_handle() {
        let callers = Callers::new(CallerIdentity::default());
        let first = callers.at(address("10.0.0.1"));
        let again = callers.at(address("10.0.0.1"));
        assert!(Arc::ptr_eq(&first.0.state, &again.0.state));
        drop((first, again));
        assert!(callers.0.lock().is_empty());
    }

    #[test]
    fn clients_with_the_same_name_and_different_proofs_are_different() {
        let callers = Callers::new(CallerIdentity::default());
        let (here, there) = (address("10.0.0.1"), address("10.0.0.2"));
        let (token, certificate) = (callers.named("game", here), callers.certified("game", here));
        let ids = [callers.at(here).id(), token.id(), certificate.id()];
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");
        assert_eq!(callers.named("game", there).id(), token.id(), "a name is one client at any address");
        assert_ne!(callers.named("other", here).id(), token.id());
        assert_eq!((callers.named_id("game"), token.name(), token.address()), (token.id(), Some("game"), here));
        assert_eq!((token.calling_from(there).address(), token.calling_from(there).id()), (there, token.id()));
    }

    #[test]
    fn who_may_skip_the_cache_depends_on_address_and_proof() {
        let callers = Callers::new(CallerIdentity::default());
        let (loopback, elsewhere) = (address("127.0.0.1"), address("10.0.0.1"));
        let certified = callers.certified("CN=game", elsewhere);
        for (caller, allowed, may) in [
            (callers.at(loopback), NoCache::Loopback, true),
            (callers.at(elsewhere), NoCache::Loopback, false),
            (callers.named("game", loopback), NoCache::Loopback, true),
            (callers.named("game", elsewhere), NoCache::Loopback, false),
            (callers.at(loopback), NoCache::Authenticated, false),
            (callers.named("game", elsewhere), NoCache::Authenticated, true),
            (certified, NoCache::Authenticated, true),
            (callers.named("game", loopback), NoCache::None, false),
        ] {
            assert_eq!(caller.may_skip_cache(allowed, false), may, "{caller} {allowed}");
        }
    }

    #[test]
    fn only_hops_behind_trusted_proxies_count() {
        let callers = Callers::new(CallerIdentity { trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()] });
        let forwarded = |values: &[&'static str]| callers.forwarded(&headers(values)).map(|caller| caller.address());
        assert_eq!(forwarded(&["198.51.100.7"]), Some(address("198.51.100.7")));
        assert_eq!(forwarded(&["203.0.113.9, 198.51.100.7, 10.1.2.3"]), Some(address("198.51.100.7")));
        assert_eq!(forwarded(&["203.0.113.9", "198.51.100.7"]), Some(address("198.51.100.7")));
        assert_eq!(forwarded(&["203.0.113.9, 198.51.100.7:4711"]), Some(address("198.51.100.7")));
        assert_eq!(forwarded(&["[2001:db8::7]:4711"]), Some(address("2001:db8::7")));
        assert_eq!(forwarded(&["203.0.113.9, nonsense, 10.1.2.3"]), None);
        assert_eq!(forwarded(&["10.1.2.3"]), None);
        assert_eq!(forwarded(&[]), None);
        assert!(callers.is_trusted_proxy(address("::ffff:10.9.9.9")));
        assert!(!callers.is_trusted_proxy(address("11.0.0.1")));
    }
}
