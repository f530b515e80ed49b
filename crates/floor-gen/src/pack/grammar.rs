//! Sentences, and the parts that stand in their places, as stages use them.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use super::name_id::NameId;

/// The lists of sentences: names of floors, their hooks, names of landmarks and of other rooms.
pub(crate) const SENTENCES: [&str; 4] = ["floor", "hook", "landmark", "room"];
/// The most places of a sentence.
pub(crate) const MAX_PLACES: usize = 6;

/// Sentences and parts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grammar {
    /// First [`SENTENCES`], then lists of parts by name.
    pub(crate) lists: Vec<List>,
    /// The archetypes that sections ask for: those of bit `i` of [`When::has`].
    pub(super) asked: Vec<NameId>,
    /// By the number of a name: its bit of [`When::has`], counted from 1; 0 where no section asks for it. It may be shorter
    /// than the names are many.
    pub(crate) asked_bits: Vec<u8>,
}

/// Texts of one purpose.
#[derive(Debug, Clone, Default)]
pub(crate) struct List {
    pub(crate) name: String,
    pub(crate) sections: Vec<Section>,
    /// By theme: the sections that ask for no set, and not for other themes. A draw looks at these alone.
    pub(crate) by_theme: Vec<Vec<u16>>,
    /// The sections that ask for sets, sorted by those.
    pub(crate) by_set: Vec<(NameId, u16)>,
}

/// Texts with the same conditions.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    /// The conditions, as the file writes them.
    pub(crate) path: String,
    pub(crate) when: When,
    pub(crate) texts: Vec<Phrase>,
}

/// Conditions; all of them have to hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct When {
    pub(super) themes: Vec<String>,
    /// One of these, each a bit by its index. 0, and all bits once the pack is read: any. The same below.
    pub(crate) theme: u64,
    pub(crate) kind: u32,
    pub(crate) role: u32,
    pub(crate) has: u128,
    pub(crate) sets: Vec<NameId>,
    /// Bits of [`Fact`].
    pub(crate) with: u64,
    pub(crate) without: u64,
    /// How many there are, without those of `without`: what is not there says little.
    pub(super) count: u32,
}

/// A sentence, or a part, which has no places.
#[derive(Debug, Clone, Default)]
pub(crate) struct Phrase {
    pub(crate) id: String,
    pub(crate) text: String,
    /// The text as it stands in a title, if it is a part.
    pub(crate) title: String,
    /// The first letters of its words, if it is a part.
    pub(crate) starts: Vec<[u8; 4]>,
    pub(crate) places: Vec<Place>,
}

/// A place in a sentence.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Its bytes in the text, with the braces.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(super) name: String,
    /// The list of its parts.
    pub(crate) list: usize,
    /// The indefinite article: `a` or `A`.
    pub(crate) article: Option<char>,
    /// Whether words begin with capitals, as in a title.
    pub(crate) is_title: bool,
    pub(crate) is_possessive: bool,
}

/// Defines [`Fact`] from one list of variants and names.
macro_rules! facts {
    ($($Fact:ident $name:literal,)+) => {
        /// Something that is so on a floor, or about the room that is named.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Fact {
            $($Fact,)+
        }

        impl Fact {
            pub(crate) const NAMES: [&'static str; [$($name),+].len()] = [$($name),+];
        }
    };
}

// docs/packs.md says what each means.
facts! {
    Locks "locks",
    OneLock "one_lock",
    TwoLocks "two_locks",
    ThreeLocks "three_locks",
    ManyLocks "many_locks",
    ExitLocked "exit_locked",
    Boss "boss",
    Vault "vault",
    Secret "secret",
    Shop "shop",
    Shrine "shrine",
    Treasure "treasure",
    Water "water",
    Lava "lava",
    Chasm "chasm",
    Shallows "shallows",
    Grass "grass",
    Rubble "rubble",
    Pillars "pillars",
    Bridge "bridge",
    Traps "traps",
    Sleepers "sleepers",
    Patrols "patrols",
    Guards "guards",
    Loops "loops",
    StairsNear "stairs_near",
    LongWay "long_way",
    Small "small",
    Large "large",
    First "first",
    ExitNorth "exit_north",
    ExitEast "exit_east",
    ExitSouth "exit_south",
    ExitWest "exit_west",
    EntryNorth "entry_north",
    EntryEast "entry_east",
    EntrySouth "entry_south",
    EntryWest "entry_west",
    LandmarkNorth "landmark_north",
    LandmarkEast "landmark_east",
    LandmarkSouth "landmark_south",
    LandmarkWest "landmark_west",
    InWater "in_water",
    InLava "in_lava",
    InChasm "in_chasm",
    InShallows "in_shallows",
    InGrass "in_grass",
    InRubble "in_rubble",
    InPillars "in_pillars",
    Great "great",
    DeadEnd "dead_end",
    Crossing "crossing",
    BehindLock "behind_lock",
    BossHere "boss_here",
}

impl When {
    /// Texts for the room's set count before those for its role, and those before all others.
    pub(crate) fn rank(&self) -> u32 {
        if self.sets.is_empty() { u32::from(self.role != u32::MAX) } else { 2 }
    }

    /// How often each of the texts is drawn: more often, the more it says about the floor.
    pub(crate) const fn weight(&self) -> u32 {
        (self.count + 1) * (self.count + 1)
    }

    /// Whether it holds on every floor.
    const fn is_empty(&self) -> bool {
        self.count == 0 && self.without == 0
    }
}

impl Section {
    /// How often one of its texts is drawn.
    pub(crate) const fn weight(&self) -> u32 {
        self.when.weight() * self.texts.len() as u32
    }
}

impl Grammar {
    /// The list of that name. A new one of parts stands in the order of names, which does not depend on the parser's.
    pub(super) fn list(&mut self, name: &str) -> &mut List {
        let i = self.lists.iter().position(|list| list.name == name).unwrap_or_else(|| {
            let first = SENTENCES.len().min(self.lists.len());
            let i = first + self.lists[first..].partition_point(|list| *list.name < *name);
            self.lists.insert(i, List { name: name.to_owned(), ..List::default() });
            i
        });
        &mut self.lists[i]
    }

    /// Adds a text to the section of `path`. Sections stand in the order of their paths, and texts in that of their ids.
    pub(super) fn add(&mut self, list: &str, path: &str, when: &When, text: Phrase) {
        let sections = &mut self.list(list).sections;
        let i = sections.partition_point(|section| *section.path < *path);
        if sections.get(i).is_none_or(|section| section.path != path) {
            sections.insert(i, Section { path: path.to_owned(), when: when.clone(), texts: Vec::new() });
        }
        let texts = &mut sections[i].texts;
        texts.insert(texts.partition_point(|other| other.id < text.id), text);
    }

    pub(super) fn remove(&mut self, id: &str) {
        for section in self.lists.iter_mut().flat_map(|list| &mut list.sections) {
            section.texts.retain(|text| text.id != id);
        }
    }

    /// The names of the lists of parts, in alphabetical order.
    pub(super) fn parts(&self) -> Vec<String> {
        self.lists[SENTENCES.len()..].iter().map(|list| list.name.clone()).collect()
    }

    /// Finds the lists of all places among those of [`parts`](Self::parts). Returns places without a list, each with the id
    /// of its sentence.
    pub(super) fn resolve(&mut self, parts: &[&str]) -> Vec<(String, String)> {
        let mut missing = Vec::new();
        let sections = self.lists.iter_mut().flat_map(|list| &mut list.sections);
        for text in sections.flat_map(|section| &mut section.texts) {
            for place in &mut text.places {
                match parts.binary_search(&&*place.name) {
                    Ok(part) => place.list = SENTENCES.len() + part,
                    Err(_) => missing.push((text.id.clone(), place.name.clone())),
                }
            }
        }
        missing
    }

    /// A text of the list that fits every floor, with parts that do.
    pub(crate) fn sure(&self, list: usize) -> Option<&Phrase> {
        let mut texts = self.lists.get(list)?.sections.iter().filter(|s| s.when.is_empty()).flat_map(|s| &s.texts);
        texts.find(|text| text.places.iter().all(|place| self.sure(place.list).is_some()))
    }
}
