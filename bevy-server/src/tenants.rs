//! Tenants: the namespaces of the configuration that tokens may name. A tenant has a chain of its own (`cache`) and a
//! quota of generation (`generation`).

use std::sync::Arc;

/// The most tenants. Each has a share of the stores and series of metrics.
pub const MAX_TENANTS: usize = 16;
/// The largest length of a name.
const MAX_NAME: usize = 32;

/// Whether `name` may be the name of a tenant: `[a-z][a-z0-9-]{0,31}`.
#[must_use]
pub fn is_name(name: &str) -> bool {
    name.len() <= MAX_NAME
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// A tenant, by its place among the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TenantId(u8);

impl TenantId {
    /// Its place among the names.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The names of the tenants, in order. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TenantNames(Arc<[Box<str>]>);

impl TenantNames {
    /// The first [`MAX_TENANTS`] of `names`.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self(names.into_iter().take(MAX_TENANTS).map(Box::from).collect())
    }

    /// The tenant with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<TenantId> {
        // At most `MAX_TENANTS`, which a byte holds.
        self.0.iter().position(|known| **known == *name).map(|place| TenantId(place as u8))
    }

    /// The name of a tenant.
    #[must_use]
    pub fn name(&self, tenant: TenantId) -> &str {
        &self.0[tenant.index()]
    }

    /// The tenants and their names.
    pub fn iter(&self) -> impl Iterator<Item = (TenantId, &str)> {
        (0..).map(TenantId).zip(self.0.iter().map(|name| &**name))
    }

    /// Whether there is no tenant.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names for a message: `a, b and c`, or that there is none.
    #[must_use]
    pub fn list(&self) -> String {
        if self.is_empty() {
            "the configuration has none".to_owned()
        } else {
            format!("there are {}", self.0.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_labels_in_lower_case() {
        for good in ["a", "acme", "acme-2", &"a".repeat(32)] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "2acme", "-a", "Acme", "a_b", "a.b", "a/b", "t\u{fc}rme", &"a".repeat(33)] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn a_tenant_is_found_by_its_name() {
        let names = TenantNames::new(["acme", "globex"]);
        let (first, second) = (names.find("acme").unwrap(), names.find("globex").unwrap());
        assert_ne!(first, second);
        assert_eq!((names.name(second), names.find("initech")), ("globex", None));
        assert_eq!(names.list(), "there are acme, globex");
    }
}
