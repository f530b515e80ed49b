//! Reads the directory of packs. Every read is bounded before it begins, so that a wrong directory costs no memory.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use floor_gen::{
    PackHash,
    pack::{PackError, PackErrors},
};
use floor_pack::{
    LoadedPack,
    pack_files::{self, EXTENSION, Fingerprint},
};
use floor_proto::pack::PackRef;

/// The most versions of packs that a server holds besides the built-in pack.
pub(super) const MAX_VERSIONS: usize = 64;
/// The most entries that are read in the directory of packs.
const MAX_ENTRIES: usize = 1024;
/// How many errors are reported.
const MAX_ERRORS: usize = 100;

/// Why the packs cannot be used: every error, each with its file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PackLoadError(Vec<String>);

impl PackLoadError {
    pub(super) fn one(message: String) -> Self {
        Self(vec![message])
    }

    /// The error of `messages`, if there is one.
    pub(super) fn of(messages: Vec<String>) -> Option<Self> {
        (!messages.is_empty()).then_some(Self(messages))
    }

    /// The errors, a line each.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for PackLoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => write!(f, "a pack is wrong: {one}"),
            many => {
                write!(f, "the packs are wrong in {} places:", many.len())?;
                let (shown, rest) = many.split_at(many.len().min(MAX_ERRORS));
                shown.iter().try_for_each(|line| write!(f, "\n  {line}"))?;
                if rest.is_empty() { Ok(()) } else { write!(f, "\n  and {} more", rest.len()) }
            }
        }
    }
}

/// A pack in the directory.
struct Found {
    path: PathBuf,
    name: String,
    /// The version that the file's name states: it is kept, and not the current one.
    kept: Option<u64>,
    is_folder: bool,
}

/// The versions in a directory.
#[derive(Default)]
pub(super) struct Directory {
    /// The current version of each name.
    pub(super) current: Vec<Arc<LoadedPack>>,
    /// Other versions.
    pub(super) kept: Vec<Arc<LoadedPack>>,
    /// The names whose current version cannot be used.
    pub(super) broken: BTreeSet<String>,
    /// What is wrong, each with its file.
    pub(super) problems: Vec<String>,
}

/// The versions in use, by their hashes.
pub(super) type ByHash = BTreeMap<PackHash, Arc<LoadedPack>>;

/// Reads every pack in `directory`: what is wrong in one does not keep the others from being used. Files that are those of
/// a version in use are that version: to read it again may compile a generator.
///
/// # Errors
/// If the directory cannot be read, or has more than a server reads.
pub(super) fn read(directory: &Path, in_use: &ByHash) -> Result<Directory, PackLoadError> {
    let Listing { found, broken, problems } = list(directory)?;
    let mut packs = Directory { broken, problems, ..Directory::default() };
    for one in &found {
        match load(one, in_use) {
            Ok(pack) if one.kept.is_some() => packs.kept.push(pack),
            Ok(pack) => packs.current.push(pack),
            Err(wrong) => {
                packs.problems.extend(wrong.list().iter().map(|error| place(one, error)));
                packs.broken.extend(one.kept.is_none().then(|| one.name.clone()));
            }
        }
    }
    Ok(packs)
}

/// An error with the path of its file.
fn place(pack: &Found, error: &PackError) -> String {
    let path = pack.path.display();
    let separator = if pack.is_folder && !error.file.is_empty() { "/" } else { ": " };
    format!("{path}{separator}{error}")
}

/// What stands in a directory of packs.
#[derive(Default)]
struct Listing {
    /// By name; current ones first.
    found: Vec<Found>,
    broken: BTreeSet<String>,
    problems: Vec<String>,
}

fn list(directory: &Path) -> Result<Listing, PackLoadError> {
    let failed = |error: io::Error| {
        PackLoadError::one(format!("packs.dir {} cannot be read: {error}; name a directory", directory.display()))
    };
    let (mut found, mut listing) = (BTreeMap::new(), Listing::default());
    for (index, entry) in fs::read_dir(directory).map_err(failed)?.enumerate() {
        if index == MAX_ENTRIES {
            let path = directory.display();
            return Err(PackLoadError::one(format!("packs.dir {path} has more than {MAX_ENTRIES} entries")));
        }
        let path = entry.map_err(failed)?.path();
        let file_name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if pack_files::is_left_out(&file_name) {
            continue;
        }
        let is_folder = path.is_dir();
        let stem = if is_folder { Some(file_name.as_str()) } else { file_name.strip_suffix(EXTENSION) };
        let Some(stem) = stem else { continue };
        let reference = PackRef::parse(stem).ok().filter(|reference| !is_folder || reference.hash.is_none());
        let Some(PackRef { name, hash }) = reference else {
            let advice = "a pack is a directory NAME, or a file NAME.floorpack or NAME@HASH.floorpack";
            listing.problems.push(format!("{}: its name is none of a pack; {advice}", path.display()));
            continue;
        };
        let one = Found { path, name: name.to_owned(), kept: hash, is_folder };
        if let Some(other) = found.insert((name.to_owned(), hash), one) {
            let path = other.path.display();
            listing.problems.push(format!("{path}: there are {name} and {name}{EXTENSION}; remove one of them"));
            let _ = listing.broken.insert(name.to_owned());
        }
    }
    if found.len() > MAX_VERSIONS {
        return Err(PackLoadError::one(too_many(found.len())));
    }
    listing.found =
        found.into_values().filter(|one| one.kept.is_some() || !listing.broken.contains(&one.name)).collect();
    Ok(listing)
}

/// The error about too many versions.
pub(super) fn too_many(versions: usize) -> String {
    format!(
        "a server holds at most {MAX_VERSIONS} versions of packs, and these are {versions}; remove NAME@HASH.floorpack \
         files that no game needs, or restart the server to drop versions that were replaced"
    )
}

fn load(pack: &Found, in_use: &ByHash) -> Result<Arc<LoadedPack>, PackErrors> {
    let whole = |message: String| PackErrors::from(PackError::new("", 0, 0, message));
    let files = if pack.is_folder { pack_files::read_folder(&pack.path) } else { pack_files::read_archive(&pack.path) };
    let files = files.map_err(PackError::from)?;
    let loaded = match in_use.get(&PackHash(files.hash())) {
        Some(loaded) => Arc::clone(loaded),
        None => {
            let left_out = pack_files::left_out(&pack.path);
            if !left_out.is_empty() {
                tracing::info!(pack = %pack.name, entries = left_out.join(", "), "these are no part of the pack");
            }
            Arc::new(LoadedPack::read(files)?)
        }
    };
    let (name, hash) = (loaded.pack().name(), loaded.pack().hash());
    if name != pack.name {
        return Err(whole(format!("pack.toml names the pack {name}, and the file {}; rename one of them", pack.name)));
    }
    match pack.kept {
        Some(kept) if kept != hash.0 => Err(whole(format!(
            "the file's name states the version {kept:016x}, and its content is {hash}; rename it to \
             {name}@{hash}{EXTENSION}"
        ))),
        _ => Ok(loaded),
    }
}

/// Looks at the files of a directory of packs.
pub(super) fn fingerprint(directory: &Path) -> Fingerprint {
    let mut fingerprint = Fingerprint::default();
    for pack in list(directory).unwrap_or_default().found {
        if pack.is_folder {
            fingerprint.add_folder(&pack.path);
        }
        fingerprint.add(&pack.path);
    }
    fingerprint.add(directory);
    fingerprint
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        directory
    }

    fn errors(directory: &tempfile::TempDir) -> Vec<String> {
        let root = format!("{}/", directory.path().display());
        let found = read(directory.path(), &ByHash::new())
            .unwrap_or_else(|error| Directory { problems: error.lines().to_vec(), ..Directory::default() });
        found.problems.iter().map(|line| line.replace(&root, "")).collect()
    }

    #[test]
    fn folders_and_archives_are_packs() {
        let directory = directory(&[
            ("one/pack.toml", "name = \"one\"\n"),
            ("one/text/a.txt", "#\n"),
            ("one/.hidden", "x"),
            ("README.md", "text"),
        ]);
        let one = read(directory.path(), &ByHash::new()).unwrap().current.pop().unwrap();
        assert_eq!(one.pack().files().iter().map(|(path, _)| path).collect::<Vec<_>>(), ["pack.toml", "text/a.txt"]);
        let kept = format!("{}.floorpack", one.reference());
        fs::write(directory.path().join(kept), one.pack().files().to_bytes()).unwrap();
        let packs = read(directory.path(), &ByHash::new()).unwrap();
        assert_eq!((packs.current.len(), packs.kept[0].reference()), (1, one.reference()));
    }

    #[test]
    fn every_error_names_its_file() {
        let directory = directory(&[
            ("bad/pack.toml", "name = \"bad\"\nwidth = 3\ncolour = 2\n"),
            ("other/pack.toml", "name = \"one\"\n"),
            ("one@00000000000000ff.floorpack", "floorpack 1\nfile pack.toml 13\nname = \"one\"\n\n"),
            ("cut.floorpack", "floorpack 1\nfile pack.toml 99\nname"),
        ]);
        let errors = errors(&directory);
        assert!(errors[0].starts_with("bad/pack.toml:2:1: the file has no key `width`"), "{errors:?}");
        assert!(errors[1].starts_with("bad/pack.toml:3:1: the file has no key `colour`"), "{errors:?}");
        assert!(errors[2].starts_with("cut.floorpack: pack.toml: it ends before"), "{errors:?}");
        assert!(errors[3].starts_with("one@00000000000000ff.floorpack: the file's name states"), "{errors:?}");
        assert!(errors[4].starts_with("other: pack.toml names the pack one"), "{errors:?}");
        assert_eq!(errors.len(), 5);
    }

    #[test]
    fn names_and_numbers_of_packs_are_bounded() {
        let wrong = directory(&[
            ("Upper/pack.toml", ""),
            ("a/pack.toml", ""),
            ("a.floorpack", ""),
            ("b/pack.toml", "name = \"b\"\n"),
            ("lost+found/x", ""),
            ("b~/pack.toml", ""),
        ]);
        let mut found = errors(&wrong);
        found.sort_unstable_by_key(|line| !line.starts_with('a'));
        assert!(found[0].contains("there are a and a.floorpack; remove one of them"), "{found:?}");
        assert!(found[1].starts_with("Upper: its name"), "{found:?}");
        assert_eq!(found.len(), 2, "{found:?}");
        let read = read(wrong.path(), &ByHash::new()).unwrap();
        assert_eq!((read.current.len(), read.broken), (1, BTreeSet::from(["a".to_owned()])), "b is used");
        let names: Vec<_> = (0..65).map(|number| format!("p{number}.floorpack")).collect();
        let many = directory(&names.iter().map(|name| (name.as_str(), "")).collect::<Vec<_>>());
        assert!(errors(&many)[0].contains("at most 64 versions of packs, and these are 65"));
    }

    #[test]
    fn a_file_beyond_the_limits_is_not_read() {
        let directory = directory(&[("big/pack.toml", "name = \"big\"\n")]);
        let sparse = |name: &str| fs::File::create(directory.path().join(name)).unwrap().set_len(1 << 40).unwrap();
        sparse("big/notes.txt");
        sparse("huge.floorpack");
        let errors = errors(&directory);
        assert!(errors[0].starts_with("big/notes.txt: the files of a pack have at most 4193280 bytes"), "{errors:?}");
        assert!(errors[1].starts_with("huge.floorpack: the files of a pack have at most"), "{errors:?}");
    }

    #[cfg(unix)]
    #[test]
    fn links_to_files_are_followed_and_links_to_folders_are_errors() {
        use std::os::unix::fs::symlink;
        let directory = directory(&[("one/.data/pack.toml", "name = \"one\"\n"), ("one/text/a.txt", "#\n")]);
        symlink(directory.path().join("one/.data/pack.toml"), directory.path().join("one/pack.toml")).unwrap();
        assert_eq!(read(directory.path(), &ByHash::new()).unwrap().current.len(), 1);
        let before = fingerprint(directory.path());
        assert_eq!(before, fingerprint(directory.path()));
        symlink(directory.path().join("one"), directory.path().join("one/again")).unwrap();
        assert_ne!(before, fingerprint(directory.path()));
        assert!(errors(&directory)[0].starts_with("one/again: it is a symbolic link to a folder"));
    }
}
