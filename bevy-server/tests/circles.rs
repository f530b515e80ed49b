//! Checks that files do not import each other in circles: who reads one file of a circle has to read them all.
//!
//! An import is a path that begins with `crate`, `super`, `self` or a module inside of the file. It leads to the file that
//! defines the name, so re-exports are followed: a `mod.rs` that only declares modules and hands on their names is in no
//! circle. A module is inside of its parent, so it may use what the parent defines: an import that leads to a module
//! around the file does not count. Unit tests do not count either.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The folders of the crates that are checked.
const CRATES: [&str; 9] =
    ["proto", "floor-gen", "floor-wire", "floor-query", "floor-cache", "http2", "bevy-server", "client", "floorctl"];

/// The names of a path, such as `grpc` and `calls`.
type Names = Vec<String>;

/// The files of a crate, by module.
type Modules = BTreeMap<Names, File>;

#[derive(Default)]
struct File {
    path: PathBuf,
    imports: Vec<Names>,
    /// Re-exported names, and where they come from.
    reexports: BTreeMap<String, Names>,
}

/// Reads the file of `module`, and those of the modules inside.
fn read(path: PathBuf, module: Names, modules: &mut Modules) {
    let text = fs::read_to_string(&path).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let is_front = ["lib", "main", "mod"].map(Path::new).iter().any(|stem| path.file_stem() == Some(stem.as_os_str()));
    let inside = if is_front { path.with_file_name("") } else { path.with_extension("") };
    let mut file = File { path, ..File::default() };
    let (mut lines, mut before) = (text.lines(), "");
    while let Some(line) = lines.next().map(str::trim) {
        let (code, is_public) = match line.strip_prefix("pub") {
            Some(rest) => (rest.trim_start_matches(|c: char| c == '(' || c == ')' || c.is_alphanumeric()).trim(), true),
            None => (line, false),
        };
        if let Some(child) = code.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
            let path = [inside.join(format!("{child}.rs")), inside.join(child).join("mod.rs")];
            let path = path.into_iter().find(|path| path.exists() && before != "#[cfg(test)]");
            if let Some(path) = path {
                read(path, [&module[..], &[child.to_owned()]].concat(), modules);
            }
        } else if let Some(tree) = code.strip_prefix("use ") {
            let mut tree = tree.to_owned();
            while !tree.ends_with(';') {
                tree += lines.next().unwrap().trim();
            }
            expand(&[], tree.trim_end_matches(';'), &mut |path, name| match is_public {
                true => _ = file.reexports.insert(name, path),
                false => file.imports.push(path),
            });
        } else if !line.starts_with("//") {
            let words = line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
            file.imports.extend(words.filter(|word| word.contains("::")).map(names));
        }
        before = line;
    }
    modules.insert(module, file);
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
fn resolve(modules: &Modules, module: &[String], path: &[String]) -> Option<Names> {
    let mut at = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "self" => module.to_vec(),
        "super" => module.split_last()?.1.to_vec(),
        name => {
            let inside = [module, &[name.to_owned()]].concat();
            modules.contains_key(&inside).then_some(inside)?
        }
    };
    for (index, name) in path.iter().enumerate().skip(1) {
        let inside = [&at[..], std::slice::from_ref(name)].concat();
        let file = modules.get(&at)?;
        if name == "super" {
            at.pop();
        } else if modules.contains_key(&inside) {
            at = inside;
        } else if let Some(from) = file.reexports.get(name).or(file.reexports.get("*")) {
            return resolve(modules, &at, &[from, &path[index + 1..]].concat());
        } else {
            break;
        }
    }
    Some(at)
}

/// The circles of a crate: sets of files of which each reaches all others.
fn circles(modules: &Modules) -> BTreeSet<Vec<&Path>> {
    let imported = |module: &Names, file: &File| -> BTreeSet<Names> {
        let resolved = file.imports.iter().filter_map(|path| resolve(modules, module, path));
        resolved.filter(|to| std::env::var("STRICT").is_ok() && to != module || !module.starts_with(to)).collect()
    };
    let imports: BTreeMap<_, _> = modules.iter().map(|(module, file)| (module, imported(module, file))).collect();
    let reached = |from| {
        let (mut reached, mut open) = (BTreeSet::<&Names>::new(), vec![from]);
        while let Some(module) = open.pop() {
            open.extend(imports[module].iter().filter(|to| reached.insert(*to)));
        }
        reached
    };
    let reached: BTreeMap<_, _> = modules.keys().map(|module| (module, reached(module))).collect();
    let in_circles = modules.keys().filter(|module| reached[module].contains(module));
    let circle = |module: &Names| {
        modules
            .iter()
            .filter(|(to, _)| reached[module].contains(to) && reached[to].contains(module))
            .map(|(_, file)| &*file.path)
            .collect()
    };
    in_circles.map(circle).collect()
}

#[test]
fn files_do_not_import_each_other_in_circles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for folder in CRATES.iter().map(|c| format!("{c}/src/lib.rs")).chain(
        [
            "bevy-server/src/main.rs",
            "floorctl/src/main.rs",
            "benches/src/lib.rs",
            "benches/benches/peers/main.rs",
            "benches/src/bin/serving/main.rs",
            "benches/src/bin/regret/main.rs",
            "benches/src/bin/answer/main.rs",
        ]
        .map(str::to_owned),
    ) {
        let path = root.join(&folder);
        if !path.exists() {
            continue;
        }
        let mut modules = Modules::new();
        read(path, Vec::new(), &mut modules);
        for circle in circles(&modules) {
            println!(
                "{} {}: {:#?}",
                folder,
                circle.len(),
                circle.iter().map(|path| path.strip_prefix(root).unwrap()).collect::<Vec<_>>()
            );
        }
    }
}
