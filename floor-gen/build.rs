//! Reads the vault library, so that a broken file stops the build and says where.

extern crate alloc;

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

#[path = "src/vaults/format.rs"]
#[allow(dead_code, unreachable_pub, reason = "the build reads vaults, the generator places them")]
mod format;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=vaults");
    println!("cargo::rerun-if-changed=src/vaults/format.rs");
    let mut files: Vec<_> =
        fs::read_dir("vaults")?.collect::<Result<Vec<_>, _>>()?.iter().map(fs::DirEntry::path).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    let root = env::var("CARGO_MANIFEST_DIR")?;
    let mut library = format!("pub(crate) const LIBRARY: [(&str, &str); {}] = [\n", files.len());
    for file in &files {
        let text = fs::read_to_string(file)?;
        if let Err(error) = format::Vault::parse(&text) {
            println!("cargo::error={}:{error}", file.display());
        }
        let path = Path::new(&root).join(file);
        writeln!(library, "    ({:?}, include_str!({:?})),", file.file_name().unwrap_or_default(), path)?;
    }
    library.push_str("];\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("library.rs"), library)?;
    Ok(())
}
