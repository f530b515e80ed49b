//! Writes the test vectors of the wire format: `cargo run -p floor-pack --features authored --example vectors -- proto/vectors`.
//!
//! `proto/vectors/README.md` describes the files. `crates/floor-pack/tests/vectors.rs` checks that they are current.
#![forbid(unsafe_code)]

mod set;

use std::{env, error::Error, fs, path::PathBuf, process::ExitCode};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let Some(folder) = env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: vectors FOLDER, such as proto/vectors");
        return Ok(ExitCode::from(2));
    };
    // Files of vectors that no longer exist would fail the test.
    for folder in set::FOLDERS.map(|name| folder.join(name)) {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
    }
    let files = set::files();
    for (path, bytes) in &files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&folder))?;
        fs::write(path, bytes)?;
    }
    println!("{} files, {} bytes", files.len(), files.values().map(Vec::len).sum::<usize>());
    Ok(ExitCode::SUCCESS)
}
