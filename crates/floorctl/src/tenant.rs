//! The flag `--tenant` of the commands that call the operations port, and how tiers of tenants are named.

use clap::Args;

/// Whose stores a command is about.
#[derive(Debug, Clone, Args)]
pub(crate) struct Whose {
    /// The tenant; "" is callers without one. By default all of them
    #[arg(long, value_name = "NAME", value_parser = name)]
    tenant: Option<String>,
}

impl Whose {
    /// `path` with the tenant in its query.
    pub(crate) fn path(&self, path: &str) -> String {
        let Some(tenant) = &self.tenant else { return path.to_owned() };
        let separator = if path.contains('?') { '&' } else { '?' };
        format!("{path}{separator}tenant={tenant}")
    }
}

/// The name of a tier, or of a floor, with that of the tenant whose it is: `acme/lru`.
pub(crate) fn owned(tenant: Option<&str>, name: &str) -> String {
    tenant.map_or_else(|| name.to_owned(), |tenant| format!("{tenant}/{name}"))
}

/// A name that needs no escapes in a URL.
fn name(name: &str) -> Result<String, String> {
    let is_name = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    is_name.then(|| name.to_owned()).ok_or_else(|| "write the name of a tenant, as acme".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_the_tenant() {
        let whose = |tenant: Option<&str>| Whose { tenant: tenant.map(str::to_owned) };
        assert_eq!(whose(None).path("/stats"), "/stats");
        assert_eq!(whose(Some("acme")).path("/stats"), "/stats?tenant=acme");
        assert_eq!(whose(Some("")).path("/backup?tier=lmdb"), "/backup?tier=lmdb&tenant=");
        assert!(name("a&b").is_err());
    }
}
