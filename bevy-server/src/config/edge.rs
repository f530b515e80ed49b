//! The settings of the gRPC port's edge: connections, the addresses of clients, browsers, quotas.

use std::{fmt, net::IpAddr, time::Duration};

use figment::value::Value;
use http::{HeaderValue, Uri};
use ipnet::IpNet;

use super::{
    formats::{Format, OneOf, Span, quote_all, text, whole},
    nonzero,
    reader::Reader,
};

/// The greatest limit of connections: beyond the descriptors of a process.
const MAX_CONNECTIONS: usize = 1_000_000;

/// What connections may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Open connections; `None`: derived from the process's limit on descriptors.
    pub max_connections: Option<usize>,
    /// Open connections of one address; `None` for no limit.
    pub max_connections_per_ip: Option<usize>,
    /// How long a connection may exist before it is told to go away; `None` for no limit.
    pub max_connection_age: Option<Duration>,
}

/// How the address of a client is found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallerIdentity {
    /// The networks of proxies whose `x-forwarded-for` names the client.
    pub trusted_proxies: Vec<IpNet>,
}

impl CallerIdentity {
    /// Whether `peer` is a trusted proxy.
    #[must_use]
    pub fn is_trusted(&self, peer: IpAddr) -> bool {
        // A listener for both IP versions reports IPv4 addresses as mapped ones.
        let peer = peer.to_canonical();
        self.trusted_proxies.iter().any(|network| network.contains(&peer))
    }
}

/// Who may send `cache-control: no-cache`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoCache {
    /// Every caller.
    All,
    /// Callers that have proved who they are.
    Authenticated,
    /// Callers on this machine.
    Loopback,
    /// No caller.
    None,
}

impl NoCache {
    const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Authenticated => "authenticated",
            Self::Loopback => "loopback",
            Self::None => "none",
        }
    }
}

impl fmt::Display for NoCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The origins of web pages whose scripts may call the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CorsOrigins {
    /// Every origin.
    Any,
    /// These origins, as browsers send them.
    Listed(Vec<HeaderValue>),
}

pub(super) fn connection_limits(reader: &mut Reader<'_>) -> ConnectionLimits {
    let connections = || whole(0..=MAX_CONNECTIONS);
    ConnectionLimits {
        max_connections: nonzero(
            reader.key("grpc.max_connections", connections().note("; 0 for a limit derived from that on descriptors")),
        ),
        max_connections_per_ip: nonzero(
            reader.key("grpc.max_connections_per_ip", connections().note("; 0 for no limit")),
        ),
        max_connection_age: nonzero(reader.key("grpc.max_connection_age", Span::Any)),
    }
}

pub(super) fn no_cache() -> OneOf<NoCache> {
    OneOf {
        values: [NoCache::All, NoCache::Authenticated, NoCache::Loopback, NoCache::None]
            .map(|value| (value.name(), value))
            .to_vec(),
        expected: "write \"all\", \"authenticated\" (callers that have proved who they are), \"loopback\" (callers on \
             this machine) or \"none\"",
    }
}

/// Addresses and networks.
pub(super) struct Networks;

impl Format for Networks {
    type Output = Vec<IpNet>;

    fn expected(&self) -> String {
        "write a list of addresses and networks, as in [\"10.0.0.7\", \"192.168.0.0/16\", \"fd00::/8\"]; [] for none"
            .to_owned()
    }

    fn parse(&self, value: &Value) -> Option<Vec<IpNet>> {
        value.as_array()?.iter().map(network).collect()
    }

    fn show(&self, networks: &Vec<IpNet>) -> String {
        quote_all(networks)
    }
}

/// A network, or an address as the network that contains only it.
fn network(value: &Value) -> Option<IpNet> {
    let text = text(value)?;
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

/// `["*"]` or a list of origins.
pub(super) struct Origins;

impl Format for Origins {
    type Output = CorsOrigins;

    fn expected(&self) -> String {
        "write [\"*\"] for every origin, or a list of origins as browsers send them, as in [\"https://game.example\", \
         \"http://localhost:8080\"]: in lower case, without a path and without the default port"
            .to_owned()
    }

    fn parse(&self, value: &Value) -> Option<CorsOrigins> {
        match value.as_array()? {
            [Value::String(_, any)] if any == "*" => Some(CorsOrigins::Any),
            listed => listed.iter().map(origin).collect::<Option<_>>().map(CorsOrigins::Listed),
        }
    }

    fn show(&self, origins: &CorsOrigins) -> String {
        match origins {
            CorsOrigins::Any => quote_all(["*"]),
            CorsOrigins::Listed(origins) => quote_all(origins.iter().filter_map(|origin| origin.to_str().ok())),
        }
    }
}

/// An origin exactly as a browser sends it: another spelling would never match.
fn origin(value: &Value) -> Option<HeaderValue> {
    let text = text(value)?;
    let uri: Uri = text.parse().ok()?;
    let (scheme, authority) = (uri.scheme_str()?, uri.authority()?);
    let in_host = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._:[]".contains(&byte);
    let is_plain = !authority.host().is_empty() && authority.as_str().bytes().all(in_host);
    let port = authority.as_str().strip_prefix(authority.host())?;
    let default_port = match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    };
    let port_fits = match port.strip_prefix(':') {
        None => port.is_empty(),
        Some(port) => port.parse::<u16>().is_ok_and(|port| Some(port) != default_port),
    };
    let is_origin = is_plain && port_fits && text == format!("{scheme}://{authority}");
    HeaderValue::try_from(text).ok().filter(|_| is_origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: &[&str]) -> Value {
        Value::from(items.iter().map(|item| Value::from(*item)).collect::<Vec<_>>())
    }

    #[test]
    fn trusted_proxies_are_addresses_and_networks() {
        let networks = list(&["10.0.0.7", "192.168.0.0/16", "fd00::/8"]);
        let identity = CallerIdentity { trusted_proxies: Networks.parse(&networks).unwrap() };
        for (peer, is_trusted) in [
            ("10.0.0.7", true),
            ("10.0.0.8", false),
            ("192.168.3.4", true),
            ("::ffff:192.168.3.4", true),
            ("fd00::1", true),
            ("2001:db8::1", false),
        ] {
            assert_eq!(identity.is_trusted(peer.parse().unwrap()), is_trusted, "{peer}");
        }
        assert_eq!(Networks.show(&identity.trusted_proxies), r#"["10.0.0.7/32", "192.168.0.0/16", "fd00::/8"]"#);
        for wrong in ["10.0.0", "10.0.0.0/33", "proxy.example", ""] {
            assert_eq!(Networks.parse(&list(&[wrong])), None, "{wrong}");
        }
    }

    #[test]
    fn an_origin_is_accepted_only_as_browsers_send_it() {
        assert_eq!(Origins.parse(&list(&["*"])), Some(CorsOrigins::Any));
        assert_eq!(Origins.parse(&list(&[])), Some(CorsOrigins::Listed(Vec::new())));
        let right = ["https://game.example", "http://localhost:8080", "http://[::1]:8080", "tauri://localhost"];
        let origins = Origins.parse(&list(&right)).unwrap();
        assert_eq!(origins, CorsOrigins::Listed(right.map(HeaderValue::from_static).to_vec()));
        for wrong in [
            "game.example",
            "https://",
            "https://game.example/",
            "https://game.example/play",
            "https://game.example:443",
            "https://game.example:",
            "https://game.example:99999",
            "https://Game.example",
            "https://me@game.example",
            "https://*.game.example",
            "null",
            "",
        ] {
            assert_eq!(Origins.parse(&list(&[wrong])), None, "{wrong}");
        }
        assert_eq!(Origins.parse(&list(&["*", "https://game.example"])), None);
    }

    #[test]
    fn the_message_lists_every_name() {
        let format = no_cache();
        assert!(format.values.iter().all(|(name, _)| format.expected.contains(name)));
    }
}
