//! Which packs a caller may use: those that no tenant lists, and those that its own tenant lists. The built-in pack is for
//! all.

use std::collections::BTreeSet;

use floor_proto::pack::BUILT_IN;

use super::TenantPacks;
use crate::tenants::TenantId;

/// The packs of each kind of caller. It stays the same while the server runs.
#[derive(Debug)]
pub(super) struct Access {
    /// Of callers without a tenant, then of those of each tenant.
    callers: Box<[View]>,
    pub(super) operator: View,
}

/// The packs of one kind of caller.
#[derive(Debug)]
pub(super) struct View {
    pub(super) default: String,
    pub(super) default_is_built_in: bool,
    /// The names of packs that it may not use.
    hidden: BTreeSet<String>,
}

impl Access {
    /// `default` is the pack of requests that name none, of callers without a tenant.
    pub(super) fn new(default: &str, tenants: &[TenantPacks]) -> Self {
        let listed: BTreeSet<_> = tenants.iter().flat_map(|tenant| tenant.own.iter().cloned()).collect();
        let of_tenant = |tenant: &TenantPacks| {
            let others = listed.iter().filter(|name| !tenant.own.contains(*name)).cloned();
            View::new(&tenant.default, others.collect())
        };
        let callers = tenants.iter().map(of_tenant);
        Self {
            callers: [View::new(default, listed.clone())].into_iter().chain(callers).collect(),
            operator: View::all(default),
        }
    }

    #[inline]
    pub(super) fn of(&self, tenant: Option<TenantId>) -> &View {
        &self.callers[tenant.map_or(0, |tenant| 1 + tenant.index())]
    }
}

impl View {
    fn new(default: &str, hidden: BTreeSet<String>) -> Self {
        Self { default: default.to_owned(), default_is_built_in: default == BUILT_IN, hidden }
    }

    /// Every pack.
    pub(super) fn all(default: &str) -> Self {
        Self::new(default, BTreeSet::new())
    }

    /// Whether the pack `name` is one of them, in all its versions.
    pub(super) fn shows(&self, name: &str) -> bool {
        !self.hidden.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenants::TenantNames;

    #[test]
    fn a_listed_pack_is_for_those_who_list_it() {
        let tenant = |name: &str, own: &[&str], default: &str| TenantPacks {
            name: name.to_owned(),
            own: own.iter().map(|&name| name.to_owned()).collect(),
            default: default.to_owned(),
        };
        let tenants = [tenant("acme", &["mine", "both"], "mine"), tenant("globex", &["both"], "tower")];
        let access = Access::new("tower", &tenants);
        let names = TenantNames::new(["acme", "globex"]);
        let shown = |view: &View| ["mine", "both", "free", "tower"].map(|name| view.shows(name));
        assert_eq!(shown(access.of(None)), [false, false, true, true]);
        assert_eq!(shown(access.of(names.find("acme"))), [true; 4]);
        assert_eq!(shown(access.of(names.find("globex"))), [false, true, true, true]);
        assert_eq!(shown(&access.operator), [true; 4]);
        let of_acme = access.of(names.find("acme"));
        assert_eq!((of_acme.default.as_str(), of_acme.default_is_built_in), ("mine", false));
        assert!(access.of(names.find("globex")).default_is_built_in);
    }
}
