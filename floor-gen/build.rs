//! Parses the vault library, so that a broken file stops the build with its line and column.

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
    let mut library = String::from("/// Every vault of the library.\n");
    writeln!(library, "pub static LIBRARY: [Vault<'static>; {}] = [", files.len())?;
    for file in &files {
        let text = fs::read_to_string(file)?;
        match format::Vault::parse(&text) {
            Ok(vault) => writeln!(library, "    {vault:?},")?,
            Err(error) => println!("cargo::error={}:{error}", file.display()),
        }
    }
    library.push_str("];\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("library.rs"), library)?;
    Ok(())
}
