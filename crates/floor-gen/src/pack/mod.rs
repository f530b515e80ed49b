//! A pack: everything about floors that a designer may change, as text files.

pub(crate) mod content;
pub(crate) mod error;
mod files;
pub(crate) mod generator;
pub(crate) mod grammar;
mod keys;
mod look;
mod name_id;
mod names;
pub(crate) mod params;
mod read;
mod reference;
mod schedule;
pub(crate) mod vault;

use alloc::boxed::Box;
use alloc::string::String;

use once_cell::race::OnceBox;

pub use content::{Shown, Theme};
pub use error::{PackError, PackErrors};
pub use files::{FileError, Files, is_device};
pub use generator::Checks;
pub(crate) use keys::MAX_SETS;
pub use look::{Hatch, Look, Paint};
pub use params::{PARAMS, Param};
pub(crate) use read::MAX_VAULTS;
pub use vault::Vault;

use crate::spec::{FloorSpec, Kind, PackHash, SpecError};
use content::Content;
use read::Read;

// The build script, which reads them too, writes `const TOWER: [(&str, &str); N]`: the paths and texts of the built-in pack.
include!(concat!(env!("OUT_DIR"), "/tower.rs"));

/// The content of floors.
#[derive(Debug)]
pub struct Pack {
    name: String,
    description: String,
    hash: PackHash,
    files: Files,
    checks: Checks,
    pub(crate) content: Content,
}

/// A sentence or a part of names.toml.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackText<'p> {
    /// The list that it is in: `floor`, `hook`, `landmark` and `room` hold sentences, others the parts for their places.
    pub list: &'p str,
    /// What must hold, such as `theme.crypt.with.boss`.
    pub when: &'p str,
    /// Its id.
    pub id: &'p str,
    /// The text, with the places of a sentence.
    pub text: &'p str,
}

impl Pack {
    /// The built-in pack, `tower`.
    #[must_use]
    pub fn tower() -> &'static Self {
        static TOWER_PACK: OnceBox<Pack> = OnceBox::new();
        TOWER_PACK.get_or_init(|| {
            let mut files = Files::new();
            for (path, text) in TOWER {
                files.insert(path, text.as_bytes()).expect("the build script inserted it");
            }
            let read = read::read(&files, None).expect("the build script read it");
            Box::new(Self::of(read, PackHash::BUILT_IN, files))
        })
    }

    /// The file with the generator of a pack that brings its own, as WebAssembly.
    pub const GENERATOR: &str = "generator.wasm";

    /// Reads a pack. What it does not say is as in [`Pack::tower`]. Of a pack with a [generator](Self::generator) of its
    /// own only the name and the description have to be right.
    ///
    /// # Errors
    /// Everything that is wrong with its files.
    pub fn read(files: Files) -> Result<Self, PackErrors> {
        let tower = Self::tower();
        let (read, checks) = match files.get(Self::GENERATOR) {
            Some(_) => (read::read_foreign(&files, &tower.content)?, Checks::read(&files)?),
            None => (read::read(&files, Some(&tower.content))?, Checks::default()),
        };
        let hash = if files == tower.files { PackHash::BUILT_IN } else { PackHash(files.hash()) };
        Ok(Self { checks, ..Self::of(read, hash, files) })
    }

    fn of(Read { name, description, content }: Read, hash: PackHash, files: Files) -> Self {
        Self { name, description, hash, files, checks: Checks::default(), content }
    }

    /// The WebAssembly module that makes this pack's floors, if it is not this crate.
    #[must_use]
    pub fn generator(&self) -> Option<&[u8]> {
        self.files.get(Self::GENERATOR)
    }

    /// Which rules the floors of [`generator`](Self::generator) have to follow.
    #[must_use]
    pub const fn checks(&self) -> Checks {
        self.checks
    }

    /// What a player's view of its floors shows.
    #[must_use]
    pub const fn shown(&self) -> Shown {
        self.content.shown
    }

    /// Its name, `[a-z][a-z0-9-]{0,31}`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What a person reads in a list of packs.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Its version.
    #[must_use]
    pub const fn hash(&self) -> PackHash {
        self.hash
    }

    /// Its files.
    #[must_use]
    pub const fn files(&self) -> &Files {
        &self.files
    }

    /// Its themes. The built-in pack has them in the order of the floors.
    #[must_use]
    pub fn themes(&self) -> &[Theme] {
        &self.content.themes
    }

    /// How floors of the theme of this name look; as nothing says if the pack has none of that name.
    #[must_use]
    pub fn look(&self, theme: &str) -> Look {
        self.themes().iter().find(|other| other.name() == theme).map(Theme::look).unwrap_or_default()
    }

    /// All texts of which names and hooks are made: those of names.toml, and those of the built-in pack that it keeps.
    pub fn texts(&self) -> impl Iterator<Item = PackText<'_>> {
        let sections = self.content.grammar.lists.iter().flat_map(|list| list.sections.iter().map(move |s| (list, s)));
        sections.flat_map(|(list, section)| {
            section.texts.iter().map(|text| PackText {
                list: &list.name,
                when: &section.path,
                id: &text.id,
                text: &text.text,
            })
        })
    }

    /// The index of the theme of floor `number`.
    #[must_use]
    pub fn theme_of(&self, number: u32) -> usize {
        self.content.theme_of(number)
    }

    /// Its vaults, those of the built-in pack first. Observers get their indices.
    #[must_use]
    pub fn vaults(&self) -> &[Vault] {
        &self.content.vaults
    }

    /// Resolves a request for a floor of this pack: a side of 0 becomes that of the pack's schedule, and `None` becomes
    /// the kind that the pack's schedule gives the number.
    ///
    /// # Errors
    /// The first argument that is out of range.
    pub fn resolve(
        &self,
        seed: u64,
        number: u32,
        width: u32,
        height: u32,
        kind: Option<Kind>,
    ) -> Result<FloorSpec, SpecError> {
        let kind = || kind.unwrap_or_else(|| schedule::kind_of(&self.content, seed, number));
        let schedule = self.content.params(Kind::Standard).schedule;
        let (width, height) = match (width, height) {
            (0, 0) => (schedule.width, schedule.height),
            (0, height) => (schedule.width, height),
            (width, 0) => (width, schedule.height),
            sides => sides,
        };
        FloorSpec::checked(self.hash, seed, number, width, height, kind)
    }
}

impl FloorSpec {
    /// The floor of these numbers in the version `pack`. A side of 0 becomes [`FloorSpec::DEFAULT_SIDE`].
    ///
    /// # Errors
    /// The first argument that is out of range.
    pub fn of_pack(
        pack: PackHash,
        seed: u64,
        number: u32,
        width: u32,
        height: u32,
        kind: Kind,
    ) -> Result<Self, SpecError> {
        Self::checked(pack, seed, number, width, height, || kind)
    }

    /// [`Pack::resolve`] of the built-in pack.
    ///
    /// # Errors
    /// The first argument that is out of range.
    pub fn resolve(seed: u64, number: u32, width: u32, height: u32, kind: Option<Kind>) -> Result<Self, SpecError> {
        Pack::tower().resolve(seed, number, width, height, kind)
    }
}
