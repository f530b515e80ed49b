//! Checks that the modules of a crate do not import each other in circles: who reads one module of a circle has to read
//! them all.
//!
//! A module with files inside, a folder, counts as one with them: of the modules inside of one parent, files or folders,
//! none may lead back to itself. An import is a path that begins with `crate`, `super`, `self` or a module inside of the
//! file. It leads to the file that defines the name, so re-exports are followed: a `mod.rs` that only declares modules and
//! hands on their names is in no circle. A module is inside of its parent, so it may use what the parent defines: an import
//! that leads to a module around the file does not count. Unit tests do not count either.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Folders without sources of ours, or with those of tests.
const SKIPPED: [&str; 5] = ["target", "node_modules", "tests", "examples", ".git"];

/// The names of a path, such as `grpc` and `calls`.
type Names = Vec<String>;

#[derive(Default)]
struct File {
    path: PathBuf,
    imports: Vec<Names>,
    /// Re-exported names, and where they come from.
    reexports: BTreeMap<String, Names>,
}

/// Reads the file of `module`, and those of the modules inside.
fn read(path: PathBuf, module: &[String], modules: &mut BTreeMap<Names, File>) {
    let text = fs::read_to_string(&path).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let is_front = path.file_stem().is_some_and(|stem| ["lib", "main", "mod"].iter().any(|front| stem == *front));
    let inside = if is_front { path.with_file_name("") } else { path.with_extension("") };
    let mut file = File { path, ..File::default() };
    let (mut lines, mut before) = (text.lines(), "");
    while let Some(line) = lines.next().map(str::trim) {
        let public =
            line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub(super) ")).or(line.strip_prefix("pub "));
        let code = public.unwrap_or(line);
        if let Some(child) = code.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
            let paths = [inside.join(format!("{child}.rs")), inside.join(child).join("mod.rs")];
            if let Some(path) = paths.into_iter().find(|path| path.exists() && before != "#[cfg(test)]") {
                read(path, &[module, &[child.to_owned()]].concat(), modules);
            }
        } else if let Some(tree) = code.strip_prefix("use ") {
            let mut tree = tree.to_owned();
            while !tree.ends_with(';') {
                tree += lines.next().unwrap().trim();
            }
            expand(&[], tree.trim_end_matches(';'), &mut |path, name| match public {
                Some(_) => _ = file.reexports.insert(name, path),
                None => file.imports.push(path),
            });
        } else if !line.starts_with("//") {
            let words = line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
            file.imports.extend(words.filter(|word| word.contains("::")).map(names));
        }
        before = line;
    }
    modules.insert(module.to_vec(), file);
}

fn names(path: &str) -> Names {
    path.split("::").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Calls `found` with each path of a `use`, and with the name that it gets.
fn expand(prefix: &[String], tree: &str, found: &mut impl FnMut(Names, String)) {
    let Some((head, rest)) = tree.split_once('{') else {
        let (path, name) = tree.split_once(" as ").unwrap_or((tree, tree.rsplit("::").next().unwrap()));
        return found([prefix, &names(path)].concat(), name.trim().to_owned());
    };
    let (prefix, mut depth) = ([prefix, &names(head)].concat(), 0);
    let parts = rest[..rest.rfind('}').unwrap()].split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    parts.filter(|part| !part.trim().is_empty()).for_each(|part| expand(&prefix, part.trim(), found));
}

/// The module that defines what `path` names in `module`. `None` for another crate.
fn resolve(modules: &BTreeMap<Names, File>, module: &[String], path: &[String]) -> Option<Names> {
    let child = |of: &[String], name: &String| {
        Some([of, std::slice::from_ref(name)].concat()).filter(|at| modules.contains_key(at))
    };
    let mut at = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "self" => module.to_vec(),
        "super" => module.split_last()?.1.to_vec(),
        _ => child(module, &path[0])?,
    };
    for (index, name) in path.iter().enumerate().skip(1) {
        let reexports = &modules.get(&at)?.reexports;
        if name == "super" {
            at.pop();
        } else if let Some(inside) = child(&at, name) {
            at = inside;
        } else if let Some(from) = reexports.get(name).or(reexports.get("*")) {
            return resolve(modules, &at, &[from, &path[index + 1..]].concat());
        } else {
            break;
        }
    }
    Some(at)
}

/// The imports of a circle, as pairs of files.
type Circle = BTreeSet<(PathBuf, PathBuf)>;

/// The circles of the crate that begins with `root`: modules of one parent of which each reaches all others.
fn circles(root: PathBuf) -> Vec<Circle> {
    let mut modules = BTreeMap::new();
    read(root, &[], &mut modules);
    let mut imports: BTreeMap<Names, BTreeMap<Names, Circle>> = BTreeMap::new();
    for (from, file) in &modules {
        for to in file.imports.iter().filter_map(|path| resolve(&modules, from, path)) {
            let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
            // Where the paths part, a module imports its sibling. They do not part if one module is around the other.
            if let (Some(one), Some(other)) = (from.get(..=shared), to.get(..=shared)) {
                let found = imports.entry(one.to_vec()).or_default().entry(other.to_vec()).or_default();
                found.insert((file.path.clone(), modules[&to].path.clone()));
            }
        }
    }
    let reached = |from| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(module) = open.pop() {
            open.extend(imports.get(module).into_iter().flat_map(BTreeMap::keys).filter(|to| reached.insert(*to)));
        }
        reached
    };
    let reached: BTreeMap<_, _> = imports.keys().map(|module| (module, reached(module))).collect();
    let circle = |module: &Names| -> BTreeSet<_> {
        let both = reached.iter().filter(|(to, back)| reached[module].contains(*to) && back.contains(module));
        both.map(|(to, _)| *to).collect()
    };
    let found: BTreeSet<_> = imports.keys().map(circle).filter(|circle| !circle.is_empty()).collect();
    let imports_of = |circle: &BTreeSet<&Names>| {
        let inside = circle.iter().flat_map(|from| imports[*from].iter().filter(|(to, _)| circle.contains(to)));
        inside.flat_map(|(_, files)| files).cloned().collect()
    };
    found.iter().map(imports_of).collect()
}

/// The files in `folder` with which a crate begins.
fn roots(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() && !SKIPPED.iter().any(|skipped| path.ends_with(skipped)) {
            roots(&path, found);
        } else if path.ends_with("lib.rs") || path.ends_with("main.rs") {
            found.push(path);
        }
    }
}

#[test]
fn modules_do_not_import_each_other_in_circles() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    roots(workspace, &mut found);
    assert!(found.len() > 10, "{found:?}");
    let name = |path: &Path| path.strip_prefix(workspace).unwrap().display().to_string();
    let line = |(from, to): &(PathBuf, PathBuf)| format!("{} imports {}", name(from), name(to));
    if let Some(circle) = found.into_iter().flat_map(circles).next() {
        let imports: Vec<_> = circle.iter().map(line).collect();
        panic!("these imports are a circle: {imports:#?}");
    }
}

#[test]
fn a_circle_of_files_or_folders_is_found_through_reexports_and_paths_in_code() {
    let crate_dir = tempfile::tempdir().unwrap();
    let at = |name: &str| crate_dir.path().join(name);
    let write = |name: &str, text: &str| fs::write(at(name), text).unwrap();
    let found = || circles(at("lib.rs"));
    write("lib.rs", "mod a;\nmod b;\nmod c;\npub use b::{B, c as other};\nstruct Front;\n");
    write("a.rs", "use crate::{\n    Front,\n    B,\n};\n");
    write("b.rs", "fn f() -> super::c::C {}\n");
    write("c.rs", "use super::a::A;\n");
    let imports = [("a.rs", "b.rs"), ("b.rs", "c.rs"), ("c.rs", "a.rs")];
    assert_eq!(found(), [BTreeSet::from(imports.map(|(from, to)| (at(from), at(to))))]);
    write("c.rs", "use super::Front;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n");
    assert!(found().is_empty());
    // No file of the folder is in a circle; the folder is.
    fs::create_dir(at("c")).unwrap();
    write("c.rs", "mod inner;\nuse inner::Inner;\n");
    write("c/inner.rs", "use super::C;\n");
    assert!(found().is_empty());
    write("c/inner.rs", "use super::C;\nuse crate::a::A;\n");
    let imports = [("a.rs", "b.rs"), ("b.rs", "c.rs"), ("c/inner.rs", "a.rs")];
    assert_eq!(found(), [BTreeSet::from(imports.map(|(from, to)| (at(from), at(to))))]);
}
