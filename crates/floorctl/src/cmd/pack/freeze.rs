//! `floorctl pack freeze`: writes a pack together with the generator of this program.

use std::{io::Write as _, path::PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use floor_gen::{
    Pack, PackHash,
    pack::{Checks, Files},
};
use floor_pack::{LoadedPack, pack_files::EXTENSION};
use floor_proto::{
    floor_json::FLOOR,
    pack::{BUILT_IN, PackRef, is_name},
};
use prost::Message as _;

use super::build::write_whole;
use crate::{failure::UsageError, output, pack_source::PackSource};

const AFTER_HELP: &str = "\
Writes the pack as one file, with the generator of this program in it as a WebAssembly module. A server of any later \
version that has the file serves the pack's floors as they are now. Give it another name than the pack has now: a game \
that asks for the old name then gets floors of the newer generator, and one that asks for the new name the old floors. \
Prints NAME@HASH. docs/operators.md has the steps of an upgrade.

Examples:
  floorctl pack freeze tower -o tower-5.floorpack
  floorctl pack freeze mine -o mine-2026.floorpack";

/// The generator of this program, built by web/build.
const GENERATOR: &[u8] = include_bytes!("../../../../floor-frozen/generator.wasm");
/// Later programs may have other rules for what a floor contains.
const CHECKS: &str = "checks = \"structure\"\n";
const SERVERS: &str = "Servers that read it must be releases or images, or be built with `--features modules`.";
const MANIFEST: &str = "pack.toml";

/// Write a pack with the generator that its floors are made by now
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Freeze {
    /// The folder of the pack, a .floorpack file, or tower
    #[arg(value_name = "PATH")]
    source: PackSource,
    /// The file to write, NAME.floorpack: the frozen pack gets this name
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

impl Freeze {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let name = self.name()?;
        let loaded = self.source.read()?;
        if loaded.pack().generator().is_some() {
            bail!("{} has a generator already: it is frozen", self.source);
        }
        let files = frozen(&loaded, name)?;
        // A program without the feature cannot run the generator, and need not.
        let pack = Pack::read(files)?;
        write_whole(&self.output, &pack.files().to_bytes())
            .with_context(|| format!("cannot write {}", self.output.display()))?;
        writeln!(output::stderr(), "wrote {}\n{SERVERS}", self.output.display())?;
        output::print(PackRef { name, hash: Some(pack.hash().0) })
    }

    /// The name of the frozen pack: that of the file.
    fn name(&self) -> Result<&str, UsageError> {
        let file = self.output.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name = file.strip_suffix(EXTENSION).filter(|name| is_name(name) && *name != BUILT_IN);
        name.ok_or_else(|| {
            let file = self.output.display();
            UsageError(format!(
                "--output {file} must end in NAME{EXTENSION}, where NAME is a name other than {BUILT_IN}"
            ))
        })
    }
}

/// The files of the pack under another name, with the generator. Its authored floors are complete in them: what their files
/// leave out, a later program could add in another way.
fn frozen(loaded: &LoadedPack, name: &str) -> anyhow::Result<Files> {
    let (pack, mut files) = (loaded.pack(), Files::new());
    for (path, floor) in loaded.authored() {
        let mut json = Vec::new();
        FLOOR.encode(&floor.encode_to_vec()[..], &mut json)?;
        files.insert(&path, &json)?;
    }
    if pack.hash() == PackHash::BUILT_IN {
        // What it does not say is as in the built-in pack of the generator in it.
        let manifest = format!("name = \"{name}\"\ndescription = \"{}\"\n", pack.description());
        files.insert(MANIFEST, manifest.as_bytes())?;
    } else {
        for (path, content) in pack.files().iter() {
            match std::str::from_utf8(content) {
                Ok(text) if path == MANIFEST => files.insert(path, renamed(text, pack.name(), name)?.as_bytes())?,
                _ if files.get(path).is_some() => {}
                _ => files.insert(path, content)?,
            }
        }
    }
    files.insert(Checks::FILE, CHECKS.as_bytes())?;
    files.insert(Pack::GENERATOR, GENERATOR)?;
    Ok(files)
}

/// pack.toml with another name. Everything else stays as it is, comments too.
fn renamed(text: &str, old: &str, new: &str) -> anyhow::Result<String> {
    let mut document: toml_edit::DocumentMut = text.parse()?;
    let value = document.get_mut("name").and_then(|item| item.as_value_mut());
    let value = value.with_context(|| format!("{MANIFEST} of {old} has no name"))?;
    let decor = value.decor().clone();
    *value = toml_edit::Value::from(new);
    *value.decor_mut() = decor;
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use floor_gen::Generator;
    use floor_proto::{floor_json, v1};

    use super::*;

    fn files(list: &[(&str, &[u8])]) -> Files {
        let mut files = Files::new();
        for (path, content) in list {
            files.insert(path, content).unwrap();
        }
        files
    }

    #[test]
    fn a_frozen_pack_has_the_files_of_the_pack_and_its_new_name() {
        let pack = Pack::read(frozen(LoadedPack::built_in(), "tower-4").unwrap()).unwrap();
        assert_eq!((pack.name(), pack.description()), ("tower-4", Pack::tower().description()));
        assert_eq!((pack.generator(), pack.checks()), (Some(GENERATOR), Checks::Structure));
        let mine = files(&[(MANIFEST, b"# mine\nname = \"mine\" # short\n"), ("notes.txt", b"text\n")]);
        let pack = Pack::read(frozen(&LoadedPack::read(mine).unwrap(), "other").unwrap()).unwrap();
        assert_eq!(pack.files().get(MANIFEST), Some(&b"# mine\nname = \"other\" # short\n"[..]));
        assert_eq!((pack.name(), pack.files().get("notes.txt")), ("other", Some(&b"text\n"[..])));
    }

    #[test]
    fn authored_floors_are_written_out_in_full() {
        let spec = floor_gen::FloorSpec::resolve(1, 3, 32, 24, None).unwrap();
        let mut bare = floor_wire::message(&floor_gen::generate(&spec));
        (bare.theme, bare.landing, bare.generator_version) = (String::new(), None, 1);
        bare.spawns.iter_mut().for_each(|spawn| spawn.behaviour = 0);
        let mut json = Vec::new();
        FLOOR.encode(&bare.encode_to_vec()[..], &mut json).unwrap();
        let readme = ("floors/README.md", &b"mine\n"[..]);
        let mine =
            [(MANIFEST, &b"name = \"mine\"\n"[..]), ("floors/11.json", &json), ("floors/4-11.json", &json), readme];
        let mine = LoadedPack::read(files(&mine)).unwrap();
        let files = frozen(&mine, "other").unwrap();
        assert_eq!(files.get(readme.0), Some(readme.1));
        let served = mine.message(&mut Generator::new(), &mine.resolve(4, 11, 0, 0, None).unwrap()).unwrap();
        assert_eq!((served.theme.as_str(), served.generator_version), ("warren", floor_gen::GENERATOR_VERSION));
        let written = floor_json::parse(files.get("floors/4-11.json").unwrap()).unwrap();
        let spec = v1::FloorSpec { pack: String::new(), ..served.spec.clone().unwrap() };
        assert_eq!(written, v1::Floor { spec: Some(spec), pack_hash: 0, ..served });
        let common = floor_json::parse(files.get("floors/11.json").unwrap()).unwrap();
        assert_eq!((common.spec.unwrap().seed, common.terrain), (0, written.terrain));
    }
}
