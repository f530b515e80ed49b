//! Reads the built-in pack, so that a broken file stops the build with its line and column, and embeds its files.

#![allow(dead_code, unreachable_pub, missing_docs, reason = "the build reads the pack, the generator uses it")]

extern crate alloc;

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

#[path = "src/form.rs"]
mod form;
#[path = "src/pack"]
mod pack {
    pub mod content;
    pub mod error;
    pub mod files;
    pub mod generator;
    pub mod grammar;
    pub mod keys;
    pub mod look;
    pub mod name_id;
    pub mod names;
    pub mod params;
    pub mod read;
    pub mod vault;
}
#[path = "src/role.rs"]
mod role;
#[path = "src/spec.rs"]
mod spec;
#[path = "src/terrain.rs"]
mod terrain;

const PACK: &str = "packs/tower";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed={PACK}");
    println!("cargo::rerun-if-changed=src");
    let mut paths = vec!["pack.toml".to_owned(), "names.toml".to_owned()];
    for entry in fs::read_dir(Path::new(PACK).join("vaults"))? {
        paths.push(format!("vaults/{}", entry?.file_name().to_str().ok_or("a file name is not UTF-8")?));
    }
    paths.sort();
    let mut files = pack::files::Files::new();
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join(PACK);
    let mut list = format!("const TOWER: [(&str, &str); {}] = [\n", paths.len());
    for path in &paths {
        files.insert(path, &fs::read(Path::new(PACK).join(path))?)?;
        writeln!(list, "    ({path:?}, include_str!({:?})),", root.join(path))?;
    }
    list.push_str("];\n");
    if let Err(errors) = pack::read::read(&files, None) {
        for error in errors.list() {
            println!("cargo::error={PACK}/{error}");
        }
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("tower.rs"), list)?;
    Ok(())
}
