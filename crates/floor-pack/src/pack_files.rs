//! Reads the files of a pack from a disk, for the server and for floorctl. Every read is bounded before it begins, so that
//! a wrong directory costs no memory.

use std::{
    collections::BTreeMap,
    fs::{self, File, Metadata},
    io::{self, Read},
    path::{Path, PathBuf},
    time::SystemTime,
};

use floor_gen::pack::{FileError, Files};

/// The extension of a pack in one file.
pub const EXTENSION: &str = ".floorpack";
/// The most entries of folders in a pack, which are files or folders.
const MAX_ENTRIES: usize = 2 * Files::MAX_FILES;
/// The longest path of a file in a pack, in bytes.
const MAX_PATH: usize = 128;
/// Names that systems give to files and folders of their own, in small letters.
const OF_SYSTEMS: [&str; 6] = ["thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r", "__macosx", "lost+found"];
/// How the names of copies end that editors and version control leave, in small letters.
const OF_EDITORS: [&str; 6] = ["~", ".bak", ".orig", ".rej", ".swp", ".tmp"];

/// Whether an entry with this name is no part of a pack: hidden ones, and what editors and systems leave beside the files
/// of a designer.
#[must_use]
pub fn is_left_out(name: &str) -> bool {
    let small = name.to_ascii_lowercase();
    name.starts_with(['.', '~', '#'])
        || OF_SYSTEMS.contains(&small.as_str())
        || OF_EDITORS.iter().any(|end| small.ends_with(end))
}

/// The entries of a folder and of the folders in it that [`is_left_out`] leaves out of the pack, in order. Empty for an
/// archive.
#[must_use]
pub fn left_out(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    if folder.is_dir() {
        // What cannot be read is an error of `read_folder`.
        let _ = entries(folder, &mut |_, _, _| Ok(()), &mut |name| names.push(name));
        names.sort_unstable();
    }
    names
}

/// Reads the pack at `path`: a folder, or a `.floorpack` file.
///
/// # Errors
/// The first file that cannot be read or cannot belong to a pack.
pub fn read(path: &Path) -> Result<Files, FileError> {
    if path.is_dir() { read_folder(path) } else { read_archive(path) }
}

/// Reads a `.floorpack` file.
///
/// # Errors
/// If it cannot be read, or is no pack.
pub fn read_archive(path: &Path) -> Result<Files, FileError> {
    Files::from_bytes(&read_file(path, "", Files::MAX_BYTES as u64)?)
}

/// Reads the files of a folder and of the folders in it, except what [`is_left_out`].
///
/// # Errors
/// The first file that cannot be read or cannot belong to a pack.
pub fn read_folder(folder: &Path) -> Result<Files, FileError> {
    let mut files = Files::new();
    let mut bytes = 0;
    walk(folder, &mut |path, name, metadata| {
        let room = (Files::MAX_BYTES as u64).saturating_sub(bytes);
        if metadata.len() > room {
            return Err(too_long(name, Files::MAX_BYTES as u64));
        }
        let content = read_file(path, name, room)?;
        bytes += content.len() as u64;
        files.insert(name, &content)
    })?;
    Ok(files)
}

/// Calls `visit` with each file in `folder`: its path, its path in the pack, and its metadata. A symbolic link to a file
/// is followed if the file is in `folder` too, as where Kubernetes mounts files. Other links are errors.
///
/// # Errors
/// Those of `visit`, and the first entry that cannot be read or cannot belong to a pack.
pub fn walk(
    folder: &Path,
    visit: &mut impl FnMut(&Path, &str, &Metadata) -> Result<(), FileError>,
) -> Result<(), FileError> {
    entries(folder, visit, &mut drop)
}

/// As [`walk`]. Calls `leave_out` with the path in the pack of each entry that is no part of it.
fn entries(
    folder: &Path,
    visit: &mut impl FnMut(&Path, &str, &Metadata) -> Result<(), FileError>,
    leave_out: &mut impl FnMut(String),
) -> Result<(), FileError> {
    let root = fs::canonicalize(folder).map_err(|error| unreadable("", &error))?;
    let (mut folders, mut entries) = (vec![(folder.to_owned(), String::new())], 0);
    while let Some((folder, prefix)) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| unreadable(&prefix, &error))? {
            let entry = entry.map_err(|error| unreadable(&prefix, &error))?;
            entries += 1;
            if entries > MAX_ENTRIES {
                return Err(wrong("", format!("a pack has at most {} files, and folders for them", Files::MAX_FILES)));
            }
            let file_name = entry.file_name();
            let Some(file_name) = file_name.to_str() else {
                return Err(wrong(&prefix, format!("the name {} is not UTF-8", file_name.display())));
            };
            let name = format!("{prefix}{file_name}");
            if is_left_out(file_name) {
                leave_out(name);
                continue;
            }
            let path = entry.path();
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            if is_link && !is_inside(&root, &path).map_err(|error| unreadable(&name, &error))? {
                let what = "it is a symbolic link that leads out of the pack; put the file itself there";
                return Err(wrong(&name, what.to_owned()));
            }
            let metadata = fs::metadata(&path).map_err(|error| unreadable(&name, &error))?;
            if !metadata.is_dir() {
                visit(&path, &name, &metadata)?;
            } else if is_link {
                let what = "it is a symbolic link to a folder; put the folder itself there";
                return Err(wrong(&name, what.to_owned()));
            } else if name.len() > MAX_PATH {
                return Err(wrong(&name, "its path is longer than that of any file of a pack".to_owned()));
            } else {
                folders.push((path, format!("{name}/")));
            }
        }
    }
    Ok(())
}

/// What shows whether files have changed, without reading them: the length, the time and the number of each. What cannot be
/// looked at counts as no file: reading it says why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fingerprint(BTreeMap<PathBuf, (u64, Option<SystemTime>, u64)>);

impl Fingerprint {
    /// Looks at a file or at a folder itself.
    pub fn add(&mut self, path: &Path) {
        if let Ok(metadata) = fs::metadata(path) {
            self.insert(path, &metadata);
        }
    }

    /// Looks at the files of the pack in `folder`.
    pub fn add_folder(&mut self, folder: &Path) {
        let _ = walk(folder, &mut |path, _, metadata| {
            self.insert(path, metadata);
            Ok(())
        });
    }

    fn insert(&mut self, path: &Path, metadata: &Metadata) {
        self.0.insert(path.to_owned(), (metadata.len(), metadata.modified().ok(), inode(metadata)));
    }
}

/// Differs for a link that leads to another file than before.
#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
const fn inode(_: &Metadata) -> u64 {
    0
}

fn is_inside(root: &Path, link: &Path) -> io::Result<bool> {
    fs::canonicalize(link).map(|target: PathBuf| target.starts_with(root))
}

/// Reads a file of at most `limit` bytes.
fn read_file(path: &Path, name: &str, limit: u64) -> Result<Vec<u8>, FileError> {
    let metadata = fs::metadata(path).map_err(|error| unreadable(name, &error))?;
    // To open a pipe would wait.
    if !metadata.is_file() {
        return Err(wrong(name, "it is neither a file nor a folder".to_owned()));
    }
    let mut content = Vec::new();
    let read = File::open(path).and_then(|file| file.take(limit + 1).read_to_end(&mut content));
    read.map_err(|error| unreadable(name, &error))?;
    if content.len() as u64 > limit { Err(too_long(name, limit)) } else { Ok(content) }
}

fn unreadable(name: &str, error: &io::Error) -> FileError {
    wrong(name, format!("it cannot be read: {error}"))
}

fn too_long(name: &str, limit: u64) -> FileError {
    wrong(name, format!("the files of a pack have at most {limit} bytes together, and this one exceeds them"))
}

fn wrong(name: &str, what: String) -> FileError {
    FileError { path: name.to_owned(), what }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    #[test]
    fn a_folder_and_its_archive_are_the_same_files() {
        let folder = folder(&[("pack.toml", "name = \"one\"\r\n"), ("vaults/a.txt", "#"), (".git/x", "y")]);
        let files = read(folder.path()).unwrap();
        assert_eq!(files.iter().map(|(path, _)| path).collect::<Vec<_>>(), ["pack.toml", "vaults/a.txt"]);
        let archive = folder.path().join("one.floorpack");
        fs::write(&archive, files.to_bytes()).unwrap();
        assert_eq!(read(&archive), Ok(files));
    }

    #[test]
    fn what_editors_and_systems_leave_is_no_part_of_a_pack() {
        let files = [("pack.toml", "name = \"one\"\n"), ("vaults/well.txt", "#"), ("text/a.tmp.txt", "a")];
        let clean = read(folder(&files).path()).unwrap();
        let left = [
            ".DS_Store",
            ".git/config",
            "#pack.toml#",
            "__MACOSX/._pack.toml",
            "pack.toml.orig",
            "pack.toml.swp",
            "text/a.txt.rej",
            "text/desktop.ini",
            "vaults/Thumbs.db",
            "vaults/well.BAK",
            "vaults/well.txt~",
            "vaults/~$well.txt",
        ];
        let all: Vec<_> = files.into_iter().chain(left.map(|path| (path, "\0 junk"))).collect();
        let folder = folder(&all);
        assert_eq!(read(folder.path()).unwrap().hash(), clean.hash());
        let named = left.map(|path| match path.split_once('/') {
            Some((folder @ (".git" | "__MACOSX"), _)) => folder.to_owned(),
            _ => path.to_owned(),
        });
        let (mut found, mut named) = (left_out(folder.path()), named.to_vec());
        found.sort_unstable();
        named.sort_unstable();
        assert_eq!(found, named);
        let archive = folder.path().join("one.floorpack");
        fs::write(&archive, clean.to_bytes()).unwrap();
        assert!(left_out(&archive).is_empty());
    }

    #[test]
    fn a_file_beyond_the_limits_is_not_read() {
        let folder = folder(&[("pack.toml", "name = \"big\"\n")]);
        let sparse = |name: &str| File::create(folder.path().join(name)).unwrap().set_len(1 << 40).unwrap();
        sparse("big.bin");
        let error = read(folder.path()).unwrap_err();
        assert_eq!(error.path, "big.bin");
        assert!(error.what.contains("at most 4193280 bytes"), "{error}");
        sparse("big.floorpack");
        let error = read(&folder.path().join("big.floorpack")).unwrap_err();
        assert!(error.what.contains("at most"), "{error}");
        assert!(read(&folder.path().join("none")).unwrap_err().what.starts_with("it cannot be read"));
    }

    #[cfg(unix)]
    #[test]
    fn links_do_not_lead_out_of_the_pack() {
        use std::os::unix::fs::symlink;
        let outside = folder(&[("secret.txt", "secret")]);
        let folder = folder(&[("..data/pack.toml", "name = \"one\"\n")]);
        symlink("..data/pack.toml", folder.path().join("pack.toml")).unwrap();
        assert_eq!(read(folder.path()).unwrap().get("pack.toml"), Some(&b"name = \"one\"\n"[..]));
        symlink(outside.path().join("secret.txt"), folder.path().join("stolen.txt")).unwrap();
        let error = read(folder.path()).unwrap_err();
        assert_eq!(error.path, "stolen.txt");
        assert!(error.what.contains("leads out of the pack"), "{error}");
        fs::remove_file(folder.path().join("stolen.txt")).unwrap();
        symlink(".", folder.path().join("loop")).unwrap();
        assert!(read(folder.path()).unwrap_err().what.contains("a symbolic link to a folder"));
    }
}
