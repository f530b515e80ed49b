//! Parses the floors in a query: `seed=42&first=1&count=100`, or `seed=42&number=7` where a page takes one floor; each
//! optionally with `width`, `height`, `kind`, `view` and `pack`. Or `tower=42`, `all=true` and `pack=NAME`, where a page takes every
//! stored floor. A query may also name whose stores it is about, by `tenant`.

use std::borrow::Cow;

use floor_cache::KeyPattern;
use floor_gen::{FloorSpec, Kind, PackHash, View};
use floor_pack::ResolveError;
use floor_proto::{
    limits::{MAX_BATCH, MAX_FLOOR},
    pack::{BUILT_IN, PackRef},
};

use crate::{
    key,
    packs::{FoundPack, Packs, UnknownPack, VisiblePacks},
    tenants::{TenantId, TenantNames},
};

/// The valid parameters of a range.
const RANGE: [&str; 9] = ["seed", "first", "count", "width", "height", "kind", VIEW, PACK, TENANT];
/// The parameter for whose stores a query is about.
const TENANT: &str = "tenant";
/// The valid parameters of one floor.
const ONE: [&str; 7] = ["seed", "number", "width", "height", "kind", VIEW, PACK];

/// The valid parameters of every stored floor: of a tower, of all towers, of a pack; one of the first three.
const STORED: [&str; 4] = ["tower", "all", PACK, TENANT];
/// The parameter for what of a floor is wanted.
const VIEW: &str = "view";
/// The parameter for a pack.
const PACK: &str = "pack";
/// The parameter for a tier.
const TIER: &str = "tier";

/// Whether a page has this parameter in its query.
pub(super) fn is_parameter(name: &str) -> bool {
    [&RANGE[..], &ONE, &STORED, &[TIER]].concat().contains(&name)
}

/// Whose stores a query is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// Of all callers: the query does not say.
    All,
    /// Of callers without a tenant: `tenant=`.
    Common,
    /// Of those of one tenant.
    Tenant(TenantId),
}

impl Whose {
    /// The tenants, `None` being callers without one, who come first.
    pub(super) fn callers(self, tenants: &TenantNames) -> impl Iterator<Item = Option<TenantId>> {
        let all = [None].into_iter().chain(tenants.iter().map(|(tenant, _)| Some(tenant)));
        all.filter(move |tenant| match self {
            Self::All => true,
            Self::Common => tenant.is_none(),
            Self::Tenant(of) => *tenant == Some(of),
        })
    }
}

/// The floors of a query, as callers of a tenant name them.
#[derive(Debug)]
pub(super) struct FloorsOf {
    /// `None`: of callers without one.
    pub(super) tenant: Option<TenantId>,
    /// The pack of all of them.
    pub(super) pack: FoundPack,
    pub(super) specs: Vec<FloorSpec>,
}

/// An invalid query: the parameter, and what would be valid.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{parameter} {problem}")]
pub(super) struct QueryError {
    parameter: String,
    problem: String,
}

impl QueryError {
    fn new(parameter: &str, problem: impl Into<String>) -> Self {
        Self { parameter: parameter.to_owned(), problem: problem.into() }
    }
}

/// The floors of `query`: at most one batch, which bounds the work of a call. And whose they are, among `tenants`. A query
/// that names no pack is about the floors that callers of each tenant get without naming one, so they are a list for each
/// kind of caller.
pub(super) fn parse(query: &str, packs: &Packs, tenants: &TenantNames) -> Result<Vec<FloorsOf>, QueryError> {
    let query = Query::parse(query, &RANGE)?;
    let names_pack = query.text(PACK).is_some_and(|pack| !pack.is_empty());
    let of = |tenant| {
        let packs = if names_pack { packs.for_operator() } else { packs.for_caller(tenant) };
        let pack = query.pack(packs)?;
        Ok(FloorsOf { tenant, specs: query.range(&pack)?, pack })
    };
    query.whose(tenants)?.callers(tenants).map(of).collect()
}

/// Whose stores `query`, which has no other parameter, is about.
pub(super) fn parse_whose(query: &str, tenants: &TenantNames) -> Result<Whose, QueryError> {
    Query::parse(query, &[TENANT])?.whose(tenants)
}

/// The tier that `query` names, and whose it is.
pub(super) fn parse_tier(query: &str, tenants: &TenantNames) -> Result<(String, Whose), QueryError> {
    let query = Query::parse(query, &[TIER, TENANT])?;
    let tier = query.text(TIER).filter(|tier| !tier.is_empty());
    let tier = tier.ok_or_else(|| QueryError::new(TIER, "is missing"))?;
    Ok((tier.to_owned(), query.whose(tenants)?))
}

/// The stored floors that `tower=SEED`, `all=true` or `pack=NAME` alone names, as patterns of their keys; `None` if the query
/// has none of them, so it names floors. Without `first`, a query with `seed` is an error: whoever forgets `first` must not
/// lose a tower.
pub(super) fn parse_stored(
    query: &str,
    packs: &Packs,
    tenants: &TenantNames,
) -> Result<Option<(Vec<KeyPattern>, Whose)>, QueryError> {
    let [tower, all, pack, _] = STORED;
    let has = |names: &[&str]| form_urlencoded::parse(query.as_bytes()).any(|(name, _)| names.contains(&&*name));
    let of_floors = RANGE.into_iter().filter(|name| ![PACK, TENANT].contains(name)).collect::<Vec<_>>();
    let is_pack = has(&[pack]) && !has(&of_floors);
    if !has(&[tower, all]) && !is_pack {
        return Ok(None);
    }
    let query = Query::parse(query, &STORED)?;
    let seed = query.number::<u64>(tower)?;
    let patterns = match (seed, query.text(all), query.text(pack)) {
        (Some(_), Some(_), _) => Err(QueryError::new(all, "cannot be used with tower")),
        (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
            Err(QueryError::new(pack, "cannot be used with tower or all; alone it is every floor of the pack"))
        }
        (Some(seed), None, None) => Ok(vec![key::tower(seed)]),
        (None, None, Some(named)) => Ok(versions(named, packs)?.into_iter().map(key::pack).collect()),
        (None, Some("true"), None) => Ok(vec![KeyPattern::ALL]),
        (None, other, None) => Err(QueryError::new(all, format!("is {:?}; write all=true", other.unwrap_or_default()))),
    };
    Ok(Some((patterns?, query.whose(tenants)?)))
}

/// The versions of packs that `named` is about: with a hash that one, also if the server does not hold it any more, and
/// without one all that it holds.
fn versions(named: &str, packs: &Packs) -> Result<Vec<PackHash>, QueryError> {
    let wrong = |problem: String| QueryError::new(PACK, problem);
    let PackRef { name, hash } = PackRef::parse(named).map_err(|error| wrong(format!("is {named:?}; {error}")))?;
    let Some(hash) = hash.map(PackHash) else {
        // For its error, if there is no such pack.
        let held = packs.for_operator().held().into_iter().map(|held| held.pack);
        let held: Vec<_> = held.filter(|pack| pack.pack().name() == name).map(|pack| pack.pack().hash()).collect();
        return if held.is_empty() {
            Query(vec![(PACK.into(), name.into())]).pack(packs.for_operator()).map(|_| held)
        } else {
            Ok(held)
        };
    };
    // The hash alone is in the keys, so a wrong name would remove the floors of another pack.
    let owner = match packs.of(hash) {
        Some(pack) => Some(pack.pack().name().to_owned()),
        None => (name == BUILT_IN).then(String::new),
    };
    match owner {
        Some(owner) if owner.is_empty() => Err(wrong(format!("is {named}; the built-in pack has no versions"))),
        Some(owner) if owner != name => Err(wrong(format!("is {named}, and this is a version of {owner}"))),
        _ => Ok(vec![hash]),
    }
}

/// The one floor of `query`, for callers with `packs`.
pub(super) fn parse_one(packs: VisiblePacks<'_>, query: &str) -> Result<FloorSpec, QueryError> {
    let query = Query::parse(query, &ONE)?;
    let seed = query.seed()?;
    let number =
        query.number("number")?.ok_or_else(|| QueryError::new("number", "is missing; it is a floor number"))?;
    let (width, height) = (query.number("width")?.unwrap_or(0), query.number("height")?.unwrap_or(0));
    let pack = query.pack(packs)?;
    let spec =
        pack.resolve(seed, number, width, height, query.kind()?).map_err(|error| unresolved(&error, "number"))?;
    Ok(spec.with_view(query.view()?))
}

/// Why a query names no floor; `number` is its parameter of that name.
fn unresolved(error: &ResolveError, number: &str) -> QueryError {
    match error {
        ResolveError::Spec(error) if error.field() != "number" => {
            QueryError::new(error.field(), format!("is wrong: {error}"))
        }
        ResolveError::Spec(error) => QueryError::new(number, format!("is wrong: {error}")),
        error => QueryError::new(PACK, format!("cannot be asked: {error}")),
    }
}

/// Parameters and values, decoded as libraries encode them. No parameter occurs twice.
struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    fn parse(query: &'a str, parameters: &[&str]) -> Result<Self, QueryError> {
        let mut pairs: Vec<(Cow<'_, str>, Cow<'_, str>)> = Vec::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if !parameters.contains(&&*name) {
                return Err(QueryError::new(&name, format!("is no parameter; there are {}", parameters.join(", "))));
            }
            if pairs.iter().any(|(known, _)| *known == name) {
                return Err(QueryError::new(&name, "is given twice"));
            }
            pairs.push((name, value));
        }
        Ok(Self(pairs))
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    fn range(&self, pack: &FoundPack) -> Result<Vec<FloorSpec>, QueryError> {
        let seed = self.seed()?;
        let first =
            self.number::<u32>("first")?.ok_or_else(|| QueryError::new("first", "is missing; it is a floor number"))?;
        let count = self.number::<u32>("count")?.unwrap_or(1);
        if !(1..=MAX_BATCH as u32).contains(&count) {
            return Err(QueryError::new("count", format!("is {count}; a call takes 1 ..= {MAX_BATCH} floors")));
        }
        if u64::from(first) + u64::from(count) > u64::from(MAX_FLOOR) + 1 {
            return Err(QueryError::new(
                "count",
                format!("is {count}; from {first} on that passes floor {MAX_FLOOR}, the last of a tower"),
            ));
        }
        let (width, height) = (self.number("width")?.unwrap_or(0), self.number("height")?.unwrap_or(0));
        let kind = self.kind()?;
        let view = self.view()?;
        let resolve = |number| Ok(pack.resolve(seed, number, width, height, kind)?.with_view(view));
        (first..first + count).map(resolve).collect::<Result<_, _>>().map_err(|error| unresolved(&error, "first"))
    }

    fn whose(&self, tenants: &TenantNames) -> Result<Whose, QueryError> {
        match self.text(TENANT) {
            None => Ok(Whose::All),
            Some("") => Ok(Whose::Common),
            Some(name) => tenants.find(name).map(Whose::Tenant).ok_or_else(|| {
                let problem = format!("{name:?} is no tenant; {}; tenant= is callers without one", tenants.list());
                QueryError::new(TENANT, problem)
            }),
        }
    }

    fn view(&self) -> Result<View, QueryError> {
        match self.text(VIEW) {
            None | Some("everything") => Ok(View::Everything),
            Some("player") => Ok(View::Player),
            Some(other) => Err(QueryError::new(VIEW, format!("is {other:?}; write player, or leave it out"))),
        }
    }

    fn seed(&self) -> Result<u64, QueryError> {
        self.number("seed")?.ok_or_else(|| QueryError::new("seed", "is missing; it is the tower"))
    }

    fn number<N: std::str::FromStr>(&self, name: &str) -> Result<Option<N>, QueryError> {
        let wrong = |text: &str| QueryError::new(name, format!("is {text:?}; write a whole number in decimal digits"));
        self.text(name).map(|text| text.parse().map_err(|_| wrong(text))).transpose()
    }

    fn pack(&self, packs: VisiblePacks<'_>) -> Result<FoundPack, QueryError> {
        let requested = self.text(PACK).unwrap_or_default();
        packs.find(requested).map_err(|unknown| {
            let problem = match unknown {
                UnknownPack::Invalid(error) => format!("is {requested:?}; {error}"),
                UnknownPack::Unknown { known } => format!("is {requested}; there are {}", known.join(", ")),
                UnknownPack::Broken { name } => format!("is {name}, whose files are wrong; /readyz names the errors"),
            };
            QueryError::new(PACK, problem)
        })
    }

    fn kind(&self) -> Result<Option<Kind>, QueryError> {
        let offered = || Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
        let wrong = |text: &str| QueryError::new("kind", format!("is {text:?}; there are {}", offered()));
        let kind = |text: &str| Kind::from_name(text).ok_or_else(|| wrong(text));
        self.text("kind").map(kind).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<Vec<FloorSpec>, QueryError> {
        super::parse(query, &Packs::built_in(), &TenantNames::default()).map(|mut floors| floors.remove(0).specs)
    }

    #[test]
    fn a_query_names_floors_by_tower_and_range() {
        let specs = parse("seed=42&first=7&count=3").unwrap();
        let expected: Vec<_> = (7..10).map(|number| FloorSpec::resolve(42, number, 0, 0, None).unwrap()).collect();
        assert_eq!(specs, expected);
        let one = parse("kind=maze&height=48&width=64&first=1000000&seed=18446744073709551615").unwrap();
        assert_eq!(one, [FloorSpec::resolve(u64::MAX, 1_000_000, 64, 48, Some(Kind::Maze)).unwrap()]);
        assert_eq!(parse("seed=0&first=1&count=256").unwrap().len(), 256);
        for encoded in
            ["seed=%342&first=7&count=3", "&seed=42&&first=7&c%6fun%74=3&", "seed=42&first=7&count=3&pack=t%6fwer"]
        {
            assert_eq!(parse(encoded).as_ref(), Ok(&specs), "{encoded}");
        }
    }

    #[test]
    fn a_query_names_whose_stores_it_is_about() {
        let tenants = TenantNames::new(["acme"]);
        let whose = |query| parse_whose(query, &tenants);
        let acme = Whose::Tenant(tenants.find("acme").unwrap());
        assert_eq!((whose(""), whose("tenant="), whose("tenant=acme")), (Ok(Whose::All), Ok(Whose::Common), Ok(acme)));
        assert_eq!(parse_tier("tier=lmdb&tenant=acme", &tenants), Ok(("lmdb".to_owned(), acme)));
        let wrong = whose("tenant=globex").unwrap_err().to_string();
        assert!(wrong.starts_with("tenant \"globex\" is no tenant; there are acme"), "{wrong}");
        assert!(parse_tier("tenant=acme", &tenants).unwrap_err().to_string().starts_with("tier is missing"));
    }

    #[test]
    fn a_query_names_one_floor() {
        let spec = FloorSpec::resolve(42, 7, 64, 0, Some(Kind::Maze)).unwrap();
        assert_eq!(parse_one(Packs::built_in().for_caller(None), "seed=42&number=7&width=64&kind=maze"), Ok(spec));
        for (query, expected) in [
            ("seed=1", "number is missing"),
            ("number=1", "seed is missing"),
            ("seed=1&number=0", "number is wrong: floor number 0"),
            ("seed=1&number=1&count=2", "count is no parameter; there are seed, number"),
        ] {
            let wrong = parse_one(Packs::built_in().for_caller(None), query).unwrap_err().to_string();
            assert!(wrong.contains(expected), "{query}: {wrong}");
        }
    }

    #[test]
    fn a_query_names_a_tower_a_pack_or_everything() {
        let packs = Packs::built_in();
        let parse_stored = |query| super::parse_stored(query, &packs, &TenantNames::new(["acme"]));
        assert_eq!(parse_stored("tower=42"), Ok(Some((vec![key::tower(42)], Whose::All))));
        assert_eq!(parse_stored("all=true&tenant="), Ok(Some((vec![KeyPattern::ALL], Whose::Common))));
        let built_in = vec![key::pack(PackHash::BUILT_IN)];
        assert_eq!(parse_stored("pack=tower&tenant="), Ok(Some((built_in.clone(), Whose::Common))));
        assert_eq!(parse_stored("pack=tower@0000000000000000"), Ok(Some((built_in, Whose::All))));
        let gone = Ok(Some((vec![key::pack(PackHash(255))], Whose::All)));
        assert_eq!(parse_stored("pack=mine@00000000000000ff"), gone, "a version that is not held");
        for floors in [
            "",
            "seed=42",
            "seed=42&first=1",
            "seed=42&first=1&count=9",
            "pack=tower&seed=42",
            "pack=tower&first=1",
            "pack=tower&kind=maze",
        ] {
            assert_eq!(parse_stored(floors), Ok(None), "{floors}");
        }
        for (query, expected) in [
            ("all", "all is \"\"; write all=true"),
            ("all=false", "all is \"false\"; write all=true"),
            ("tower=x", "tower is \"x\"; write a whole number"),
            ("tower=", "tower is \"\"; write a whole number"),
            ("tower=42&all=true", "all cannot be used with tower"),
            ("tower=42&pack=tower", "pack cannot be used with tower or all"),
            ("all=true&pack=tower", "pack cannot be used with tower or all"),
            ("all=true&tenant=globex", "globex"),
            ("tower=42&first=1", "first is no parameter; there are tower, all"),
            ("tower=42&tower=43", "tower is given twice"),
            ("pack=", "pack is \"\"; a pack is NAME or NAME@HASH"),
            ("pack=mine", "pack is mine; there are tower"),
            ("pack=mine@0000000000000000", "pack is mine@0000000000000000, and this is a version of tower"),
            ("pack=tower@00000000000000ff", "the built-in pack has no versions"),
            ("pack=tower&pack=tower", "pack is given twice"),
        ] {
            let wrong = parse_stored(query).unwrap_err().to_string();
            assert!(wrong.contains(expected), "{query}: {wrong}");
        }
    }

    #[test]
    fn errors_name_the_wrong_parameter() {
        for (query, expected) in [
            ("", "seed is missing"),
            ("seed=1", "first is missing"),
            ("seed=x&first=1", "seed is \"x\""),
            ("seed=1&first=1&count=0", "count is 0; a call takes 1 ..= 256"),
            ("seed=1&first=1&count=257", "count is 257"),
            ("seed=1&first=0", "first is wrong: floor number 0 is not in 1 ..= 1000000"),
            ("seed=1&first=999999&count=3", "count is 3; from 999999 on that passes floor 1000000"),
            ("seed=1&first=4294967295&count=256", "count is 256"),
            ("seed=1&first=1&width=600", "width is wrong: width 600 is not in 16 ..= 512"),
            ("seed=1&first=1&kind=hut", "kind is \"hut\"; there are standard, keep"),
            ("seed=1&first=1&first=2", "first is given twice"),
            ("seed=1&first=1&f%69rst=2", "first is given twice"),
            ("seed=1%20&first=1", "seed is \"1 \""),
            ("seed=+1&first=1", "seed is \" 1\""),
            ("seed=1e3&first=1", "seed is \"1e3\""),
            ("seed=0x2a&first=1", "seed is \"0x2a\""),
            ("seed=1\u{200b}&first=1", "seed is \"1\\u{200b}\""),
            ("seed=1&amp;first=1", "amp;first is no parameter"),
            ("Seed=1&first=1", "Seed is no parameter"),
            ("seed=1&first=1&kind=Maze", "kind is \"Maze\""),
            ("seed=1&from=1", "from is no parameter; there are seed, first"),
        ] {
            let wrong = parse(query).unwrap_err().to_string();
            assert!(wrong.contains(expected), "{query}: {wrong}");
        }
    }
}
