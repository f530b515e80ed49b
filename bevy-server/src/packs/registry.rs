//! The versions of packs that the server holds.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock},
    time::Duration,
};

use bevy::prelude::Resource;
use floor_gen::PackHash;
use floor_pack::{LoadedPack, ModuleError, pack_files::Fingerprint};
use floor_proto::pack::{BUILT_IN, InvalidPackRef, PackRef};
use prometheus::{
    IntGaugeVec, Opts, Registry,
    core::{Collector, Desc},
    proto::MetricFamily,
};

use super::{
    access::{Access, View},
    folder::{self, ByHash, Directory, MAX_VERSIONS, PackLoadError},
    settings::{PackSettings, TenantPacks},
};
use crate::{
    follow::Follower,
    metrics::{Reloaded, Reloads},
    tenants::TenantId,
};

/// How often the files are looked at.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// The packs of the server. Cheap to clone; clones share the packs.
#[derive(Resource, Debug, Clone)]
pub struct Packs(Arc<State>);

#[derive(Debug)]
struct State {
    settings: PackSettings,
    access: Access,
    table: RwLock<Arc<Table>>,
    /// A reader holds its lock until its packs are in use, so that an older version never replaces a newer one.
    follower: Mutex<Follower<Fingerprint>>,
    /// What was wrong when the packs were last read.
    problem: Mutex<Option<PackLoadError>>,
    /// Failures of packs' own generators, by pack.
    faults: Mutex<BTreeMap<String, u64>>,
    reloads: OnceLock<Reloads>,
}

/// The versions in use, except the built-in pack.
#[derive(Debug, Default)]
struct Table {
    by_hash: ByHash,
    current: BTreeMap<String, PackHash>,
    /// The names whose files are wrong, and which have no version in use.
    broken: BTreeSet<String>,
}

/// A pack that a request names.
#[derive(Debug, Clone)]
pub enum FoundPack {
    /// The built-in one.
    BuiltIn,
    /// One that was read.
    Read(Arc<LoadedPack>),
}

/// A version that the server holds.
pub(crate) struct HeldPack {
    pub(crate) pack: FoundPack,
    /// Whether its name alone names it.
    pub(crate) is_current: bool,
}

/// Why a request names no pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UnknownPack {
    /// It is not written as one.
    Invalid(InvalidPackRef),
    /// The server does not have it, but those.
    Unknown { known: Vec<String> },
    /// Its files are wrong.
    Broken { name: String },
}

impl Deref for FoundPack {
    type Target = LoadedPack;

    fn deref(&self) -> &LoadedPack {
        match self {
            Self::BuiltIn => LoadedPack::built_in(),
            Self::Read(pack) => pack,
        }
    }
}

impl Packs {
    /// Reads the packs that `settings` name. What is wrong in one keeps it alone from being used.
    ///
    /// # Errors
    /// If the directory cannot be read, there is no pack of a name in `settings`, or the default pack cannot be used.
    pub fn read(settings: PackSettings) -> Result<Self, PackLoadError> {
        let found = settings.dir.as_deref().map(folder::fingerprint).unwrap_or_default();
        let (table, problems) = read_table(&settings, &Table::default())?;
        for (name, hash) in &table.current {
            tracing::info!(pack = %name, version = %hash, "a pack is in use");
        }
        Ok(Self(Arc::new(State {
            access: Access::new(&settings.default, &settings.tenants),
            settings,
            table: RwLock::new(Arc::new(table)),
            follower: Mutex::new(Follower::new(found)),
            problem: Mutex::new(PackLoadError::of(problems)),
            faults: Mutex::default(),
            reloads: OnceLock::new(),
        })))
    }

    /// Registers the metrics of the packs.
    ///
    /// # Errors
    /// If `registry` already has these metrics.
    pub fn register(&self, registry: &Registry, reloads: Reloads) -> prometheus::Result<()> {
        registry.register(Box::new(PackInfo { packs: self.clone(), description: pack_info()?.desc()[0].clone() }))?;
        let _ = self.0.reloads.set(reloads);
        if self.has_directory() {
            self.record(self.problem().is_none());
        }
        Ok(())
    }

    /// The built-in pack alone.
    #[must_use]
    pub fn built_in() -> Self {
        Self::read(PackSettings::default()).expect("there is nothing to read")
    }

    /// Whether there is a directory of packs.
    #[must_use]
    pub fn has_directory(&self) -> bool {
        self.0.settings.dir.is_some()
    }

    /// The packs of callers of `tenant`, or of those without one.
    #[must_use]
    #[inline]
    pub fn for_caller(&self, tenant: Option<TenantId>) -> VisiblePacks<'_> {
        VisiblePacks { packs: self, view: self.0.access.of(tenant), only: None }
    }

    /// Every pack, for operators.
    #[must_use]
    pub fn for_operator(&self) -> VisiblePacks<'_> {
        VisiblePacks { packs: self, view: &self.0.access.operator, only: None }
    }

    /// The pack of resolved specs.
    #[must_use]
    pub fn of(&self, hash: PackHash) -> Option<FoundPack> {
        if hash == PackHash::BUILT_IN {
            return Some(FoundPack::BuiltIn);
        }
        self.table().by_hash.get(&hash).map(|pack| FoundPack::Read(Arc::clone(pack)))
    }

    /// Counts a failure of a pack's own generator, and returns it.
    pub(crate) fn note(&self, error: ModuleError) -> ModuleError {
        if let ModuleError::Fault { pack, .. } | ModuleError::Closed { pack, .. } = &error {
            *self.lock_faults().entry(pack.clone()).or_default() += 1;
        }
        error
    }

    /// How often each pack's own generator has failed: traps, floors that break a rule, and refusals because of earlier
    /// failures.
    pub(crate) fn faults(&self) -> BTreeMap<String, u64> {
        self.lock_faults().clone()
    }

    /// How many versions of packs the server holds, the built-in pack not counted.
    pub(crate) fn versions(&self) -> usize {
        self.table().by_hash.len()
    }

    fn lock_faults(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.0.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the packs in use are not those of the directory.
    pub(crate) fn problem(&self) -> Option<PackLoadError> {
        self.0.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the directory again. The version in use of a pack stays if anything is wrong in it. Waits for the disk.
    pub(crate) fn reload(&self) {
        let Some(dir) = &self.0.settings.dir else { return };
        let mut follower = self.follower();
        follower.take(folder::fingerprint(dir));
        self.read_again();
    }

    /// Looks at the files until the process ends. Changed files are used after two looks.
    pub(super) async fn follow_files(self) {
        loop {
            let pause = self.follower().pause(CHECK_INTERVAL);
            tokio::time::sleep(pause).await;
            let packs = self.clone();
            // A file system may take long to answer.
            let looked = tokio::task::spawn_blocking(move || packs.reload_if_changed()).await;
            if looked.is_err_and(|error| error.is_cancelled()) {
                // The runtime ends.
                return;
            }
        }
    }

    fn reload_if_changed(&self) {
        let Some(dir) = &self.0.settings.dir else { return };
        let mut follower = self.follower();
        if follower.look(folder::fingerprint(dir)).is_some() {
            self.read_again();
        }
    }

    /// Reads the directory beside the packs in use, and swaps. The caller holds the lock of the follower.
    fn read_again(&self) {
        let in_use = self.table();
        let read = read_table(&self.0.settings, &in_use);
        let found = match read {
            Ok((table, problems)) => {
                self.replace(&in_use, table);
                PackLoadError::of(problems)
            }
            Err(error) => Some(error),
        };
        if let Some(error) = &found {
            tracing::error!(%error, "not every pack was reloaded; what was in use of the others stays in use");
        }
        let succeeded = found.is_none();
        *self.0.problem.lock().unwrap_or_else(PoisonError::into_inner) = found;
        // Last: who sees the metric also finds the log's line and the packs in use.
        self.record(succeeded);
    }

    fn replace(&self, in_use: &Table, table: Table) {
        let changed: Vec<_> =
            table.current.iter().filter(|(name, hash)| in_use.current.get(*name) != Some(*hash)).collect();
        for (name, hash) in &changed {
            tracing::info!(pack = %name, version = %hash, "a pack was reloaded");
        }
        for name in in_use.current.keys().filter(|name| !table.current.contains_key(*name)) {
            tracing::warn!(pack = %name, "a pack has left packs.dir; its versions are served by their hashes");
        }
        if changed.is_empty() {
            tracing::info!("the packs were read again; no current version has changed");
        }
        *self.0.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
    }

    fn record(&self, succeeded: bool) {
        if let Some(reloads) = self.0.reloads.get() {
            reloads.record(Reloaded::Packs, succeeded);
        }
    }

    fn table(&self) -> Arc<Table> {
        Arc::clone(&self.0.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn follower(&self) -> MutexGuard<'_, Follower<Fingerprint>> {
        self.0.follower.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The packs that a caller may use. To it, the server has no others.
#[derive(Debug, Clone, Copy)]
pub struct VisiblePacks<'a> {
    packs: &'a Packs,
    view: &'a View,
    /// The only view of floors that the caller gets; `None`: any.
    only: Option<floor_gen::View>,
}

impl VisiblePacks<'_> {
    /// The same packs for a caller who gets floors in one view alone, unless that is `None`.
    #[must_use]
    pub(crate) const fn only(self, only: Option<floor_gen::View>) -> Self {
        Self { only, ..self }
    }

    /// Whether the caller may have floors in this view.
    pub(crate) fn allows(self, view: floor_gen::View) -> bool {
        self.only.is_none_or(|only| only == view)
    }

    /// As [`Packs::note`].
    pub(crate) fn note(self, error: ModuleError) -> ModuleError {
        self.packs.note(error)
    }

    /// The pack of specs that were resolved with one of these packs.
    pub(crate) fn of(self, hash: PackHash) -> Option<FoundPack> {
        self.packs.of(hash)
    }

    /// Whether a request that names no pack gets the built-in one.
    #[must_use]
    pub fn default_is_built_in(self) -> bool {
        self.view.default_is_built_in
    }

    /// The pack that `requested` names: a name, `NAME@HASH`, or nothing for the default.
    #[inline]
    pub(crate) fn find(self, requested: &str) -> Result<FoundPack, UnknownPack> {
        if requested.is_empty() && self.view.default_is_built_in {
            // It needs no lock.
            return Ok(FoundPack::BuiltIn);
        }
        self.find_named(if requested.is_empty() { &self.view.default } else { requested })
    }

    fn find_named(self, requested: &str) -> Result<FoundPack, UnknownPack> {
        let PackRef { name, hash } = PackRef::parse(requested).map_err(UnknownPack::Invalid)?;
        if name == BUILT_IN && hash.unwrap_or(0) == 0 {
            return Ok(FoundPack::BuiltIn);
        }
        let table = self.packs.table();
        let hash = hash.map(PackHash).or_else(|| table.current.get(name).copied());
        let pack = hash.and_then(|hash| table.by_hash.get(&hash));
        let pack = pack.filter(|pack| pack.pack().name() == name && self.view.shows(name));
        pack.map(|pack| FoundPack::Read(Arc::clone(pack))).ok_or_else(|| {
            match table.broken.contains(name) && self.view.shows(name) {
                true => UnknownPack::Broken { name: name.to_owned() },
                false => UnknownPack::Unknown { known: table.known(name, self.view) },
            }
        })
    }

    /// Every version that the server holds, by name, the current one first.
    pub(crate) fn held(self) -> Vec<HeldPack> {
        let table = self.packs.table();
        let visible = table.by_hash.iter().filter(|(_, pack)| self.view.shows(pack.pack().name()));
        let read = visible.map(|(hash, pack)| HeldPack {
            is_current: table.current.get(pack.pack().name()) == Some(hash),
            pack: FoundPack::Read(Arc::clone(pack)),
        });
        let mut held: Vec<_> = read.chain([HeldPack { pack: FoundPack::BuiltIn, is_current: true }]).collect();
        held.sort_by(|a, b| {
            let key = |held: &HeldPack| (!held.is_current, held.pack.pack().hash());
            a.pack.pack().name().cmp(b.pack.pack().name()).then_with(|| key(a).cmp(&key(b)))
        });
        held
    }
}

impl Table {
    /// The packs to name to a caller who asked for another: the versions of `name`, or else the names.
    fn known(&self, name: &str, view: &View) -> Vec<String> {
        let versions = self.by_hash.values().filter(|pack| pack.pack().name() == name && view.shows(name));
        let versions: Vec<_> = versions.map(|pack| pack.reference().to_owned()).collect();
        if !versions.is_empty() {
            return versions;
        }
        let visible = self.current.keys().filter(|name| view.shows(name));
        let mut names: Vec<_> = visible.cloned().chain([BUILT_IN.to_owned()]).collect();
        names.sort_unstable();
        names
    }

    /// The names of packs in `settings` that are none. A broken pack is one.
    fn check_names(&self, settings: &PackSettings) -> Vec<String> {
        let known = self.known("", &View::all(BUILT_IN)).join(", ");
        let mut wrong = Vec::new();
        let mut check = |key: &str, verb: &str, name: &str, is_known: bool| {
            if !is_known {
                wrong.push(format!("{key} {verb} {name}, which is no pack; there are {known}"));
            }
        };
        let is_current = |name: &str| name == BUILT_IN || self.current.contains_key(name) || self.broken.contains(name);
        check("packs.default", "is", &settings.default, is_current(&settings.default));
        for TenantPacks { name: tenant, own, default } in &settings.tenants {
            for name in own {
                // A pack of which only other versions are kept has no current one.
                let is_held = is_current(name) || self.by_hash.values().any(|pack| pack.pack().name() == name);
                check(&format!("tenants.{tenant}.packs"), "has", name, is_held);
            }
            // That of tenants without one is `packs.default`.
            if *default != settings.default {
                check(&format!("tenants.{tenant}.pack"), "is", default, is_current(default));
            }
        }
        wrong
    }
}

/// What the directory has, and the versions of `in_use`, which are not read again; and what is wrong in the directory. The
/// current version of a broken pack stays, and that of a pack that the settings name and the directory has no longer.
///
/// # Errors
/// As for [`Packs::read`].
fn read_table(settings: &PackSettings, in_use: &Table) -> Result<(Table, Vec<String>), PackLoadError> {
    let Directory { current, kept, broken, mut problems } =
        settings.dir.as_deref().map(|dir| folder::read(dir, &in_use.by_hash)).transpose()?.unwrap_or_default();
    let mut table = Table { by_hash: in_use.by_hash.clone(), ..Table::default() };
    for pack in current {
        let _ = table.current.insert(pack.pack().name().to_owned(), pack.pack().hash());
        table.by_hash.entry(pack.pack().hash()).or_insert(pack);
    }
    for pack in kept {
        table.by_hash.entry(pack.pack().hash()).or_insert(pack);
    }
    if table.by_hash.len() > MAX_VERSIONS {
        return Err(PackLoadError::one(folder::too_many(table.by_hash.len())));
    }
    for name in broken {
        match in_use.current.get(&name) {
            Some(&hash) => drop(table.current.insert(name, hash)),
            None => drop(table.broken.insert(name)),
        }
    }
    let tenants = settings.tenants.iter();
    let named = tenants.flat_map(|tenant| tenant.own.iter().chain([&tenant.default])).chain([&settings.default]);
    for name in named {
        if let Some(&hash) = in_use.current.get(name)
            && !table.current.contains_key(name)
        {
            let _ = table.current.insert(name.clone(), hash);
            problems.push(format!("the pack {name} has left packs.dir, and the configuration names it"));
        }
    }
    let mut fatal = table.check_names(settings);
    if table.broken.contains(&settings.default) {
        fatal.push(format!("packs.default is {}, which cannot be used", settings.default));
    }
    if fatal.is_empty() {
        return Ok((table, problems));
    }
    problems.append(&mut fatal);
    Err(PackLoadError::of(problems).expect("there are some"))
}

/// `floors_pack_info` of each current version.
struct PackInfo {
    packs: Packs,
    description: Desc,
}

fn pack_info() -> prometheus::Result<IntGaugeVec> {
    let help =
        "Always 1. The labels say which version of a pack is current, and whether requests that name none get it.";
    IntGaugeVec::new(Opts::new("floors_pack_info", help), &["pack", "hash", "default"])
}

impl Collector for PackInfo {
    fn desc(&self) -> Vec<&Desc> {
        vec![&self.description]
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let Ok(info) = pack_info() else { return Vec::new() };
        let packs = self.packs.for_operator();
        for held in packs.held().into_iter().filter(|held| held.is_current) {
            let pack = held.pack.pack();
            let default = (pack.name() == packs.view.default).to_string();
            info.with_label_values(&[pack.name(), &pack.hash().to_string(), &default]).set(1);
        }
        info.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(dir: &tempfile::TempDir, name: &str, text: &str) {
        let folder = dir.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("pack.toml"), text).unwrap();
    }

    fn load(dir: &tempfile::TempDir, default: &str) -> Result<Packs, PackLoadError> {
        let settings =
            PackSettings { dir: Some(dir.path().to_owned()), default: default.to_owned(), tenants: Vec::new() };
        Packs::read(settings)
    }

    #[test]
    fn replaced_versions_stay_and_bad_ones_change_nothing() {
        let dir = tempfile::tempdir().unwrap();
        write(&dir, "mine", "name = \"mine\"\n");
        let packs = load(&dir, "mine").unwrap();
        let old = packs.for_operator().find("").unwrap().reference().to_owned();
        write(&dir, "mine", "name = \"mine\"\ndescription = \"new\"\n");
        packs.reload();
        let new = packs.for_operator().find("mine").unwrap().reference().to_owned();
        assert_ne!(old, new);
        assert_eq!(packs.for_operator().find(&old).unwrap().reference(), old);
        write(&dir, "mine", "name = \"mine\"\nwidth = 1\n");
        packs.reload();
        assert_eq!(packs.for_operator().find("mine").unwrap().reference(), new);
        assert!(packs.problem().unwrap().to_string().contains("mine/pack.toml:2:1: "));
        write(&dir, "mine", "name = \"mine\"\n");
        packs.reload();
        assert_eq!((packs.for_operator().find("").unwrap().reference(), packs.problem()), (&*old, None));
        let held: Vec<_> =
            packs.for_operator().held().iter().map(|held| (held.pack.pack().hash(), held.is_current)).collect();
        let hash = |pack: &str| packs.for_operator().find(pack).unwrap().pack().hash();
        assert_eq!(held, [(hash(&old), true), (hash(&new), false), (PackHash::BUILT_IN, true)]);
    }

    #[test]
    fn a_broken_pack_keeps_no_other_from_being_used() {
        let dir = tempfile::tempdir().unwrap();
        write(&dir, "good", "name = \"good\"\n");
        write(&dir, "bad", "name = \"bad\"\nwidth = 1\n");
        let packs = load(&dir, "good").unwrap();
        assert!(packs.for_operator().find("").is_ok());
        assert_eq!(packs.for_operator().find("bad").unwrap_err(), UnknownPack::Broken { name: "bad".to_owned() });
        assert!(packs.problem().unwrap().to_string().contains("bad/pack.toml:2:1: "));
        // A good one that is changed beside it is used.
        let old = packs.for_operator().find("good").unwrap().reference().to_owned();
        write(&dir, "good", "name = \"good\"\ndescription = \"new\"\n");
        packs.reload();
        assert_ne!(packs.for_operator().find("good").unwrap().reference(), old);
        assert!(packs.problem().is_some());
        write(&dir, "bad", "name = \"bad\"\n");
        packs.reload();
        assert!(packs.for_operator().find("bad").is_ok() && packs.problem().is_none());
        // What the configuration names stays.
        fs::remove_dir_all(dir.path().join("good")).unwrap();
        packs.reload();
        assert!(packs.for_operator().find("").is_ok());
        assert!(packs.problem().unwrap().to_string().contains("the pack good has left packs.dir"));
        write(&dir, "bad", "name = \"bad\"\nwidth = 1\n");
        let error = load(&dir, "bad").unwrap_err();
        assert!(error.lines()[0].contains("bad/pack.toml:2:1: "), "{error}");
        assert_eq!(error.lines()[1], "packs.default is bad, which cannot be used");
    }

    #[test]
    fn an_unknown_pack_is_told_from_a_wrong_one() {
        let dir = tempfile::tempdir().unwrap();
        write(&dir, "mine", "name = \"mine\"\n");
        let packs = load(&dir, "tower").unwrap();
        assert!(matches!(packs.for_operator().find(""), Ok(FoundPack::BuiltIn)));
        assert!(matches!(packs.for_operator().find("tower@0000000000000000"), Ok(FoundPack::BuiltIn)));
        let known = |known: &[&str]| UnknownPack::Unknown { known: known.iter().map(|&one| one.into()).collect() };
        assert_eq!(packs.for_operator().find("yours").unwrap_err(), known(&["mine", "tower"]));
        let version = packs.for_operator().find("mine").unwrap().reference().to_owned();
        assert_eq!(packs.for_operator().find("mine@00000000000000ff").unwrap_err(), known(&[&version]));
        assert_eq!(packs.for_operator().find("Mine").unwrap_err(), UnknownPack::Invalid(InvalidPackRef));
        let error = load(&dir, "yours").unwrap_err().to_string();
        assert_eq!(error, "a pack is wrong: packs.default is yours, which is no pack; there are mine, tower");
    }

    #[test]
    fn more_versions_than_a_server_holds_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        write(&dir, "mine", "name = \"mine\"\n");
        let packs = load(&dir, "mine").unwrap();
        for version in 1..=MAX_VERSIONS {
            write(&dir, "mine", &format!("name = \"mine\"\ndescription = \"{version}\"\n"));
            packs.reload();
            assert_eq!(packs.problem().is_some(), version == MAX_VERSIONS, "{version}");
        }
        assert!(packs.problem().unwrap().to_string().contains("at most 64 versions"));
        assert_eq!(packs.for_operator().held().len(), MAX_VERSIONS + 1);
    }
}
