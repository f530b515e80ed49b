//! What a pack says about names, in names.toml: sentences, and the parts that stand in their places. It is a file of its own,
//! because it is text to be written and translated, and pack.toml is numbers.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use toml::de::{DeTable, DeValue};

use super::content::{Content, Theme};
use super::error::{PackError, is_name, listed, nearest, place, shortened};
use super::grammar::{Fact, Grammar, MAX_PLACES, Phrase, Place, SENTENCES, When};
use super::name_id::NameId;
use crate::role::RoomRole;
use crate::spec::Kind;

/// The file.
pub(crate) const FILE: &str = "names.toml";
/// The most bytes of the file, texts of all lists, characters of a sentence, and of a part.
const MAX_FILE: usize = 256 << 10;
const MAX_TEXTS: usize = 4_000;
const MAX_SENTENCE: usize = 160;
const MAX_PART: usize = 40;
/// What a section may ask for.
const CONDITIONS: [&str; 7] = ["theme", "kind", "role", "set", "has", "with", "without"];

/// Reads the file, and adds what it says to what `content` has, that is, to what tower says.
pub(super) fn read(file: Option<&[u8]>, content: &mut Content, knows_themes: bool) -> Vec<PackError> {
    let Ok(text) = core::str::from_utf8(file.unwrap_or_default()) else {
        return Vec::from(
            [PackError::new(FILE, 0, 0, "the file is not UTF-8".to_owned()).expecting("a text in UTF-8")],
        );
    };
    let mut grammar = core::mem::take(&mut content.grammar);
    SENTENCES.into_iter().for_each(|list| _ = grammar.list(list));
    let known = content.names.len();
    let mut reader = Reader { text, content, known, knows_themes, grammar, ids: BTreeMap::new(), errors: Vec::new() };
    reader.file();
    let Reader { mut grammar, errors, .. } = reader;
    fit(&mut grammar, &content.themes);
    content.grammar = grammar;
    errors
}

/// Sets what depends on the pack's themes.
fn fit(grammar: &mut Grammar, themes: &[Theme]) {
    for section in grammar.lists.iter_mut().flat_map(|list| &mut list.sections) {
        let when = &mut section.when;
        let named = themes.iter().enumerate().filter(|(_, theme)| when.themes.contains(&theme.name));
        when.theme = named.fold(0, |bits, (i, _)| bits | 1 << i);
        // None of the themes that it asks for is in the pack.
        if when.theme == 0 && !when.themes.is_empty() {
            section.texts.clear();
        }
        // A draw tests all without branches.
        when.theme = if when.themes.is_empty() { u64::MAX } else { when.theme };
        when.kind = if when.kind == 0 { u32::MAX } else { when.kind };
        when.role = if when.role == 0 { u32::MAX } else { when.role };
        when.has = if when.has == 0 { u128::MAX } else { when.has };
    }
    for list in &mut grammar.lists {
        list.sections.retain(|section| !section.texts.is_empty());
        // There are at most 4,000 texts, so no more sections.
        let sections = || (0u16..).zip(&list.sections);
        let fits = |theme: usize, when: &When| when.theme >> theme & 1 == 1;
        // By rank, because a draw may stop at the end of one.
        let open = |theme| {
            [1, 0].into_iter().flat_map(move |rank| {
                sections().filter(move |(_, section)| section.when.rank() == rank && fits(theme, &section.when))
            })
        };
        list.by_theme = (0..themes.len()).map(|theme| open(theme).map(|(i, _)| i).collect()).collect();
        let by_set = sections().flat_map(|(i, section)| section.when.sets.iter().map(move |set| (*set, i)));
        let mut by_set: Vec<u64> = by_set.map(|(set, i)| u64::from(set.0) << 16 | u64::from(i)).collect();
        by_set.sort_unstable();
        list.by_set = by_set.into_iter().map(|key| (NameId((key >> 16) as u16), key as u16)).collect();
    }
    let names = grammar.asked.iter().map(|id| usize::from(id.0) + 1).max().unwrap_or_default();
    grammar.asked_bits = alloc::vec![0; names];
    grammar.asked.iter().zip(1..).for_each(|(id, bit)| grammar.asked_bits[usize::from(id.0)] = bit);
}

struct Reader<'t, 'c> {
    text: &'t str,
    content: &'c mut Content,
    /// How many names the pack has without those of this file.
    known: usize,
    knows_themes: bool,
    grammar: Grammar,
    /// The ids of this file, and where they stand.
    ids: BTreeMap<String, usize>,
    errors: Vec<PackError>,
}

impl<'t> Reader<'t, '_> {
    fn error(&mut self, at: usize, what: String, expected: &str, nearest: Option<String>) {
        let (line, column) = place(self.text, at);
        self.errors.push(PackError { nearest, ..PackError::new(FILE, line, column, what).expecting(expected) });
    }

    fn file(&mut self) {
        if self.text.len() > MAX_FILE {
            let what = format!("the file has {} bytes", self.text.len());
            return self.errors.push(PackError::new(FILE, 0, 0, what).expecting(&format!("at most {MAX_FILE}")));
        }
        let (file, errors) = DeTable::parse_recoverable(self.text);
        for error in &errors {
            self.error(error.span().unwrap_or_default().start, error.message().to_owned(), "", None);
        }
        // What recovery makes of broken text says nothing.
        if !errors.is_empty() {
            return;
        }
        if file.get_ref().get("tower_names").and_then(|keeps| keeps.get_ref().as_bool()) == Some(false) {
            // A place for a list that is tower's alone is an error then.
            self.grammar.lists.truncate(SENTENCES.len());
            self.grammar.lists.iter_mut().for_each(|list| list.sections.clear());
        }
        for (key, value) in file.get_ref() {
            let name = key.get_ref().as_ref();
            match (value.get_ref(), value.get_ref().as_bool()) {
                (_, Some(_)) if name == "tower_names" => {}
                (DeValue::Table(inner), _) if is_name(name, '_') => self.section(name, "", &When::default(), inner),
                _ => {
                    let what = format!("`{}` is no list", shortened(name));
                    self.error(key.span().start, what, "a table `[LIST]` of texts, or `tower_names = false`", None);
                }
            }
        }
        let count: usize = self.grammar.lists.iter().flat_map(|list| &list.sections).map(|s| s.texts.len()).sum();
        if count > MAX_TEXTS {
            let what = format!("the pack has {count} texts");
            self.errors.push(PackError::new(FILE, 0, 0, what).expecting(&format!("at most {MAX_TEXTS}")));
        }
        self.check(file.get_ref());
    }

    /// Takes the texts of a section, and the sections in it.
    fn section(&mut self, list: &str, path: &str, when: &When, inner: &DeTable<'_>) {
        for (key, value) in inner {
            let name = key.get_ref().as_ref();
            match value.get_ref() {
                DeValue::String(text) => {
                    self.phrase(list, path, when, (name, key.span().start), (text, value.span().start));
                }
                DeValue::Table(words) if CONDITIONS.contains(&name) => {
                    for (word, value) in words {
                        let path = format!("{path}{}{name}.{}", if path.is_empty() { "" } else { "." }, word.get_ref());
                        match value.get_ref().as_table() {
                            Some(inner) => {
                                if let Some(when) = self.condition(when, name, word.get_ref(), word.span().start) {
                                    self.section(list, &path, &when, inner);
                                }
                            }
                            None => {
                                let what = format!("`{list}.{path}` holds no texts");
                                self.error(value.span().start, what, &format!("a table `[{list}.{path}]`"), None);
                            }
                        }
                    }
                }
                DeValue::Table(_) => {
                    let what = format!("`{list}` has no condition `{}`", shortened(name));
                    self.error(key.span().start, what, &listed(&CONDITIONS), nearest(name, &CONDITIONS));
                }
                other => {
                    let what = format!("`{list}.{}` is a value of type {}", shortened(name), other.type_str());
                    self.error(value.span().start, what, "a text, such as drowned = \"drowned\"", None);
                }
            }
        }
    }

    /// The conditions, and that the floor or the room has one of the words, which `|` parts.
    fn condition(&mut self, when: &When, name: &str, words: &str, at: usize) -> Option<When> {
        let mut next = When { count: when.count + u32::from(name != "without"), ..when.clone() };
        let had = [!when.themes.is_empty(), when.kind != 0, when.role != 0, !when.sets.is_empty(), when.has != 0];
        if had.iter().zip(CONDITIONS).any(|(had, other)| *had && other == name) {
            self.error(at, format!("`{name}` stands twice in one section"), "one, as `theme.\"crypt|mire\"`", None);
            return None;
        }
        for word in words.split('|') {
            let names: Vec<&str> = match name {
                "theme" => self.content.themes.iter().map(|theme| &*theme.name).collect(),
                "kind" => Kind::NAMES.to_vec(),
                "role" => RoomRole::NAMES.to_vec(),
                "has" => self.content.names[..self.known].iter().map(|name| &**name).collect(),
                "set" => self.content.furniture.iter().map(|set| self.content.name(set.name)).collect(),
                _ => Fact::NAMES.to_vec(),
            };
            let found = names.iter().position(|other| *other == word);
            if found.is_none() && (name != "theme" || self.knows_themes) {
                let (line, column) = place(self.text, at);
                self.errors.push(PackError::unknown(FILE, line, column, name, word, &names));
                return None;
            }
            let bit = found.unwrap_or_default();
            match name {
                "theme" => next.themes.push(word.to_owned()),
                "kind" => next.kind |= 1 << (bit + 1),
                "role" => next.role |= 1 << (bit + 1),
                "with" => next.with |= 1 << bit,
                "without" => next.without |= 1 << bit,
                "set" => next.sets.push(self.content.furniture[bit].name),
                _ => {
                    let asked = &mut self.grammar.asked;
                    let id = NameId(bit as u16);
                    let i = asked.iter().position(|other| *other == id).unwrap_or_else(|| {
                        asked.push(id);
                        asked.len() - 1
                    });
                    if i >= 127 {
                        self.error(at, "the pack asks for too many archetypes".to_owned(), "at most 127", None);
                        return None;
                    }
                    next.has |= 1 << i;
                }
            }
        }
        if name.starts_with("with") && words.contains('|') {
            self.error(at, format!("`{words}` are several facts"), "a section for each", None);
            return None;
        }
        Some(next)
    }

    /// Takes a text, which replaces that of tower with its id. One without a character only removes that.
    fn phrase(&mut self, list: &str, path: &str, when: &When, (id, at): (&str, usize), (text, start): (&str, usize)) {
        if !is_name(id, '_') {
            self.error(at, format!("`{}` is no id", shortened(id)), "a letter, then letters, digits or `_`", None);
            return;
        }
        if let Some(before) = self.ids.insert(id.to_owned(), at) {
            let (line, _) = place(self.text, before.min(at));
            return self.error(
                at.max(before),
                format!("`{id}` is an id of line {line} too"),
                "an id once in the file",
                None,
            );
        }
        self.grammar.remove(id);
        if text.is_empty() {
            return;
        }
        let is_sentence = SENTENCES.contains(&list);
        let most = if is_sentence { MAX_SENTENCE } else { MAX_PART };
        if text.chars().count() > most || text.contains(char::is_control) {
            return self.error(
                start,
                format!("`{id}` is too long"),
                &format!("at most {most} characters, on a line"),
                None,
            );
        }
        let places = match places(text) {
            Ok(places) if places.is_empty() || is_sentence => places,
            Ok(_) => return self.error(start, format!("`{id}` is a part, and has a place"), "no `{`", None),
            Err(wrong) => {
                let what = format!("`{id}` has the place `{}`", shortened(wrong));
                return self.error(start, what, "`{LIST}`, `{List}`, `{a LIST}`, `{A LIST}` or `{LIST's}`", None);
            }
        };
        if places.len() > MAX_PLACES {
            return self.error(
                start,
                format!("`{id}` has {} places", places.len()),
                &format!("at most {MAX_PLACES}"),
                None,
            );
        }
        let words = text.split([' ', '-']).filter(|_| !is_sentence);
        let starts = words.filter_map(|word| word.as_bytes().first_chunk::<4>());
        let starts = starts.map(|start| start.map(|letter| letter.to_ascii_lowercase()));
        let starts = starts.collect();
        let phrase = Phrase { id: id.to_owned(), text: text.to_owned(), title: title(text), starts, places };
        self.grammar.add(list, path, when, phrase);
    }

    /// Checks what depends on all texts.
    fn check(&mut self, file: &DeTable<'t>) {
        let parts = self.grammar.parts();
        let names: Vec<&str> = parts.iter().map(|name| &**name).collect();
        let missing = self.grammar.resolve(&names);
        for (id, place) in &missing {
            let at = self.ids.get(id).copied();
            let what = format!("`{id}` has a place for `{place}`, which is no list of parts");
            let expected = format!("a table `[{place}]`, or {}", listed(&names));
            self.error(at.unwrap_or_default(), what, &expected, nearest(place, &names));
        }
        let used: Vec<bool> = {
            let sentences = self.grammar.lists.iter().flat_map(|list| &list.sections).flat_map(|s| &s.texts);
            let places: Vec<usize> = sentences.flat_map(|text| &text.places).map(|place| place.list).collect();
            (SENTENCES.len()..self.grammar.lists.len()).map(|list| places.contains(&list)).collect()
        };
        for (key, _) in file {
            let name = key.get_ref().as_ref();
            if names.iter().zip(&used).any(|(other, used)| *other == name && !used) {
                let others: Vec<&str> = names.iter().zip(&used).filter(|(_, used)| **used).map(|(n, _)| *n).collect();
                let others = [&SENTENCES[..], &others].concat();
                let what = format!("no sentence has a place for `{name}`");
                self.error(key.span().start, what, &format!("`{{{name}}}` in a sentence"), nearest(name, &others));
            }
        }
        if missing.is_empty() && self.errors.is_empty() {
            for (i, list) in SENTENCES.into_iter().enumerate().take(SENTENCES.len() - 1) {
                if self.grammar.sure(i).is_none() {
                    let what = format!("`{list}` has no sentence for every floor");
                    let expected = format!("in `[{list}]` one without conditions, whose parts have none");
                    self.errors.push(PackError::new(FILE, 0, 0, what).expecting(&expected));
                }
            }
        }
    }
}

/// Begins each word with a capital, but for small words inside.
fn title(part: &str) -> String {
    const SMALL: [&str; 8] = ["of", "the", "and", "in", "a", "an", "to", "at"];
    let mut text = String::with_capacity(part.len());
    for (i, word) in part.split(' ').enumerate() {
        if i > 0 {
            text.push(' ');
        }
        for (j, piece) in word.split('-').enumerate() {
            if j > 0 {
                text.push('-');
            }
            let mut letters = piece.chars();
            match letters.next().filter(|_| i + j == 0 || !SMALL.contains(&piece)) {
                Some(first) => {
                    text.extend(first.to_uppercase());
                    text.push_str(letters.as_str());
                }
                None => text.push_str(piece),
            }
        }
    }
    text
}

/// The places of a sentence, or the first that is wrong.
fn places(text: &str) -> Result<Vec<Place>, &str> {
    let mut places = Vec::new();
    let mut end = 0;
    while let Some(start) = text[end..].find(['{', '}']).map(|start| end + start) {
        let inner = text[start..].strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(inner, _)| inner);
        let inner = inner.ok_or(&text[start..])?;
        end = start + inner.len() + 2;
        let article = inner.strip_prefix("a ").map(|_| 'a').or_else(|| inner.strip_prefix("A ").map(|_| 'A'));
        let name = if article.is_some() { &inner[2..] } else { inner };
        let (name, is_possessive) = name.strip_suffix("'s").map_or((name, false), |name| (name, true));
        let is_title = name.starts_with(|first: char| first.is_ascii_uppercase());
        let mut name = name.to_owned();
        name.get_mut(..1).into_iter().for_each(str::make_ascii_lowercase);
        if !is_name(&name, '_') {
            return Err(&text[start..end]);
        }
        places.push(Place { start, end, name, list: 0, article, is_title, is_possessive });
    }
    Ok(places)
}
