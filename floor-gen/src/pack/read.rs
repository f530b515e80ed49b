//! Reads the files of a pack: `pack.toml` and `vaults/*.txt`. Reports every error, and not the first alone.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use toml_spans::Spanned;
use toml_spans::de::{DeTable, DeValue};

use super::content::{Choice, Content, DRAWN, Ground, MonsterPack, NameId, Part, Theme};
use super::error::{PackError, PackErrors, nearest};
use super::files::Files;
use super::forms::Forms;
use super::params::{FORMS, PACK_WIDE, PARAMS, Params};
use crate::form::Form;
use crate::spec::{FloorSpec, Kind};
use crate::terrain::Terrain;
use crate::vault::Vault;

/// The file with all values.
const MAIN: &str = "pack.toml";
/// The most bytes of it.
const MAX_MAIN: usize = 256 << 10;
/// The most characters of a description.
const MAX_DESCRIPTION: usize = 200;
/// The most themes, entries of `schedule.themes`, names of a list, monster packs and vaults.
pub(crate) const MAX_THEMES: usize = 64;
const MAX_ORDER: usize = 255;
pub(crate) const MAX_LIST: usize = 64;
pub(crate) const MAX_VAULTS: usize = 256;
/// The greatest weight.
pub(crate) const MAX_WEIGHT: u32 = 1_000;

/// Keys of groups that hold no number.
pub(crate) const LISTS: [(&str, &str); 9] = [
    ("schedule", "first"),
    ("schedule", "themes"),
    ("items", "plain"),
    ("items", "fine"),
    ("items", "key"),
    ("items", "hint"),
    ("items", "blessing"),
    ("monsters", "packs"),
    ("monsters", "guards"),
];
const TRAPS: (&str, &str) = ("traps", "archetypes");
/// Keys of the file that are no group.
const TOP: [&str; 5] = ["name", "description", "tower_vaults", "kinds", "themes"];
/// Keys of a theme besides its parts.
const THEME: [&str; 3] = ["weights", "deep", "cover"];
/// Keys of an entry of a list of names.
const CHOICE: [&str; 3] = ["name", "weight", "from"];

/// The names of impassable and of passable ground.
pub(crate) static DEEP: [(&str, Terrain); 3] =
    [("chasm", Terrain::Chasm), ("deep_water", Terrain::DeepWater), ("lava", Terrain::Lava)];
pub(crate) static COVER: [(&str, Terrain); 3] =
    [("grass", Terrain::Grass), ("rubble", Terrain::Rubble), ("shallow_water", Terrain::ShallowWater)];

/// What `files` say. `base` gives what they do not say; without it they have to say everything.
pub(crate) fn read(files: &Files, base: Option<&Content>) -> Result<(String, String, Content), PackErrors> {
    let text = files.get(MAIN).unwrap_or_default();
    let text = core::str::from_utf8(text).unwrap_or_default();
    let mut reader = Reader {
        text,
        errors: Vec::new(),
        content: base.cloned().unwrap_or_default(),
        names: BTreeMap::new(),
        name: String::new(),
        description: String::new(),
        said: Vec::new(),
        is_whole: base.is_none(),
        keep_vaults: true,
    };
    for (i, name) in reader.content.names.iter().enumerate() {
        reader.names.insert(name.clone(), NameId(i as u16));
    }
    if files.get(MAIN).is_none() {
        reader.file_error(MAIN, "the pack has no `pack.toml`", "a file with at least `name = \"...\"`");
    } else if text.len() > MAX_MAIN {
        let what = format!("the file has {} bytes", text.len());
        reader.file_error(MAIN, &what, &format!("at most {MAX_MAIN}"));
    } else {
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            reader.error(error.span().unwrap_or_default(), error.message().to_owned(), String::new(), None);
        }
        // What recovery makes of broken text says nothing.
        if errors.is_empty() {
            reader.main(table.get_ref());
        }
    }
    reader.vaults(files);
    match PackErrors::of(reader.errors) {
        Some(errors) => Err(errors),
        None => Ok((reader.name, reader.description, reader.content)),
    }
}

type Value<'i> = Spanned<DeValue<'i>>;

struct Reader<'i> {
    text: &'i str,
    errors: Vec<PackError>,
    content: Content,
    names: BTreeMap<String, NameId>,
    name: String,
    description: String,
    /// Indices of the numbers that the file says.
    said: Vec<(usize, &'static str)>,
    is_whole: bool,
    keep_vaults: bool,
}

impl<'i> Reader<'i> {
    fn error(&mut self, span: Range<usize>, what: String, expected: String, nearest: Option<String>) {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        self.errors.push(PackError { file: MAIN.to_owned(), line, column, what, expected, nearest });
    }

    fn file_error(&mut self, file: &str, what: &str, expected: &str) {
        let (file, what, expected) = (file.to_owned(), what.to_owned(), expected.to_owned());
        self.errors.push(PackError { file, line: 0, column: 0, what, expected, nearest: None });
    }

    /// The error of a value of another type.
    fn mistyped(&mut self, key: &str, value: &Value<'i>, expected: &str) {
        let what = match value.get_ref() {
            DeValue::String(text) => format!("`{key}` is \"{}\"", shortened(text)),
            DeValue::Integer(number) => format!("`{key}` is {}", shortened(number.as_str())),
            DeValue::Float(number) => format!("`{key}` is {}", shortened(number.as_str())),
            DeValue::Boolean(truth) => format!("`{key}` is {truth}"),
            other => format!("`{key}` is a value of type {}", other.type_str()),
        };
        self.error(value.span(), what, expected.to_owned(), None);
    }

    fn unknown(&mut self, span: Range<usize>, what: &str, found: &str, names: &[&str]) {
        let expected = if names.len() <= 12 { listed(names) } else { format!("one of {} names", names.len()) };
        let near = nearest(found, names.iter().copied());
        self.error(span, format!("{what} `{}`", shortened(found)), expected, near);
    }

    fn table<'t>(&mut self, key: &str, value: &'t Value<'i>) -> Option<&'t DeTable<'i>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.mistyped(key, value, "a table");
        }
        table
    }

    /// The elements of a list of `1 ..= most`, or none.
    fn list<'t>(&mut self, key: &str, value: &'t Value<'i>, most: usize, of: &str) -> &'t [Value<'i>] {
        match value.get_ref().as_array() {
            Some(list) if (1..=most).contains(&list.len()) => list,
            Some(list) => {
                let what = format!("`{key}` has {} entries", list.len());
                self.error(value.span(), what, format!("1 to {most} {of}"), None);
                &[]
            }
            None => {
                self.mistyped(key, value, &format!("a list of 1 to {most} {of}"));
                &[]
            }
        }
    }

    fn number(&mut self, key: &str, value: &Value<'i>, (least, greatest): (u32, u32), unit: &str) -> Option<u32> {
        let integer = value.get_ref().as_integer();
        let number = integer.and_then(|integer| u32::from_str_radix(integer.as_str(), integer.radix()).ok());
        let number = number.filter(|number| (least..=greatest).contains(number));
        if number.is_none() {
            self.mistyped(key, value, &format!("a whole number from {least} to {greatest} ({unit})"));
        }
        number
    }

    fn text<'t>(&mut self, key: &str, value: &'t Value<'i>, expected: &str) -> Option<&'t str> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            self.mistyped(key, value, expected);
        }
        text
    }

    /// One of a few names.
    fn one_of<T: Copy>(&mut self, key: &str, value: &Value<'i>, choices: &[(&str, T)]) -> Option<T> {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let text = self.text(key, value, &listed(&names))?;
        let found = choices.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice);
        if found.is_none() {
            let near = nearest(text, names.iter().copied());
            self.error(value.span(), format!("`{key}` is \"{}\"", shortened(text)), listed(&names), near);
        }
        found
    }

    fn name_id(&mut self, name: &str) -> NameId {
        if let Some(id) = self.names.get(name) {
            return *id;
        }
        // At most 64 lists for each of six parts of 64 themes, and a few more: fewer than 65,536 names.
        let id = NameId(self.content.names.len() as u16);
        self.content.names.push(name.to_owned());
        self.names.insert(name.to_owned(), id);
        id
    }

    fn archetype(&mut self, key: &str, value: &Value<'i>) -> Option<NameId> {
        const EXPECTED: &str = "a name: a letter, then up to 31 letters, digits or `_`, in lower case";
        let text = self.text(key, value, EXPECTED)?;
        if is_name(text, b'_') {
            return Some(self.name_id(text));
        }
        self.mistyped(key, value, EXPECTED);
        None
    }

    /// The whole file.
    fn main(&mut self, table: &DeTable<'i>) {
        let mut groups: Vec<&'static str> = PARAMS.iter().map(|param| param.group).collect();
        groups.dedup();
        groups.retain(|group| Kind::from_name(group).is_none());
        let known: Vec<&str> = TOP.into_iter().chain(groups.iter().copied()).collect();
        if !table.contains_key("name") {
            self.file_error(MAIN, "`name` is missing", "name = \"...\"");
        }
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match name {
                "name" => self.pack_name(value),
                "description" => {
                    let expected = format!("a text of at most {MAX_DESCRIPTION} characters on one line");
                    let text = self.text(name, value, &expected).map(str::to_owned);
                    match text {
                        Some(text) if text.chars().count() > MAX_DESCRIPTION || text.contains(char::is_control) => {
                            self.mistyped(name, value, &expected);
                        }
                        text => self.description = text.unwrap_or_default(),
                    }
                }
                "tower_vaults" => match value.get_ref().as_bool() {
                    Some(keep) => self.keep_vaults = keep,
                    None => self.mistyped(name, value, "true or false"),
                },
                // Themes and kinds follow what they refer to.
                "themes" | "kinds" => {}
                _ => match groups.iter().find(|group| **group == name) {
                    Some(group) => self.group(group, None, value),
                    None => self.unknown(key.span(), "unknown key", name, &known),
                },
            }
        }
        if let Some(kinds) = table.get("kinds").and_then(|value| self.table("kinds", value)) {
            self.kinds(kinds, &groups);
        }
        self.themes(table);
        for kind in Kind::ALL {
            self.check_sums(kind, table);
        }
        self.check_missing();
    }

    fn pack_name(&mut self, value: &Value<'i>) {
        const EXPECTED: &str = "a name: a letter, then up to 31 letters, digits or `-`, in lower case";
        match self.text("name", value, EXPECTED).map(str::to_owned) {
            Some(name) if is_name(&name, b'-') => self.name = name,
            Some(_) => self.mistyped("name", value, EXPECTED),
            None => {}
        }
    }

    /// A group of values: for all kinds, or for one.
    fn group(&mut self, group: &'static str, kind: Option<Kind>, value: &Value<'i>) {
        if let Some(table) = self.table(group, value) {
            for (key, value) in table {
                let name = key.get_ref().as_ref();
                if !self.value(group, kind, name, value) {
                    let names = keys(group, kind);
                    self.unknown(key.span(), &format!("`{group}` has no key"), name, &names);
                }
            }
        }
    }

    /// One value of a group; false if it has no such key.
    fn value(&mut self, group: &'static str, kind: Option<Kind>, name: &str, value: &Value<'i>) -> bool {
        let full = format!("{group}.{name}");
        let at = PARAMS.iter().position(|param| param.group == group && param.name == name);
        if let Some(i) = at {
            let param = &PARAMS[i];
            if let Some(number) = self.number(&full, value, (param.least, param.greatest), param.unit) {
                self.each(kind, |params| *(param.place)(params) = number);
            }
            self.said.push((i, group));
            return true;
        }
        if name == "forms"
            && let Some(param) = FORMS.iter().find(|param| param.group == group)
        {
            if let Some(forms) = self.forms(&full, value) {
                self.each(kind, |params| *(param.place)(params) = forms);
            }
            return true;
        }
        if kind.is_some() {
            return false;
        }
        let mut list = Vec::new();
        match (group, name) {
            ("schedule", "first") => {
                let names: Vec<(&str, Option<Kind>)> =
                    Kind::ALL.map(|kind| (kind.name(), Some(kind))).into_iter().chain([("", None)]).collect();
                if let Some(first) = self.one_of(&full, value, &names) {
                    self.content.first = first;
                }
            }
            // Read with the themes.
            ("schedule", "themes") => {}
            ("items", "key" | "hint" | "blessing") => {
                if let Some(id) = self.archetype(&full, value) {
                    match name {
                        "key" => self.content.key = id,
                        "hint" => self.content.hint = id,
                        _ => self.content.blessing = id,
                    }
                }
            }
            ("items", "plain") => _ = self.choices(&full, value).map(|list| self.content.plain = list),
            ("items", "fine") => _ = self.choices(&full, value).map(|list| self.content.fine = list),
            TRAPS => _ = self.choices(&full, value).map(|list| self.content.traps = list),
            ("monsters", "packs") => self.packs(&full, value),
            ("monsters", "guards") => {
                for element in self.list(&full, value, 8, "parts") {
                    list.extend(self.one_of(&full, element, &parts()));
                }
                self.content.guards = list;
            }
            _ => return false,
        }
        true
    }

    fn each(&mut self, kind: Option<Kind>, mut change: impl FnMut(&mut Params)) {
        match kind {
            Some(kind) => change(&mut self.content.params[kind as usize - 1]),
            None => self.content.params.iter_mut().for_each(change),
        }
    }

    /// Names with weights: `"gold"`, or `{ name = "gold", weight = 2, from = 10 }`.
    fn choices(&mut self, key: &str, value: &Value<'i>) -> Option<Vec<Choice>> {
        let mut list = Vec::new();
        let before = self.errors.len();
        for element in self.list(key, value, MAX_LIST, "names") {
            let mut choice = Choice { name: NameId(0), weight: 1, from: FloorSpec::MIN_NUMBER };
            match element.get_ref().as_table() {
                None => choice.name = self.archetype(key, element).unwrap_or_default(),
                Some(table) => {
                    if !table.contains_key("name") {
                        let what = format!("an entry of `{key}` has no `name`");
                        self.error(element.span(), what, "{ name = \"...\" }".to_owned(), None);
                    }
                    for (inner, value) in table {
                        let numbers = (1, FloorSpec::MAX_NUMBER);
                        match inner.get_ref().as_ref() {
                            "name" => choice.name = self.archetype(key, value).unwrap_or_default(),
                            "weight" => {
                                let number = self.number("weight", value, (1, MAX_WEIGHT), "weight");
                                choice.weight = number.unwrap_or(1);
                            }
                            "from" => choice.from = self.number("from", value, numbers, "floor number").unwrap_or(1),
                            other => self.unknown(inner.span(), "an entry has no key", other, &CHOICE),
                        }
                    }
                }
            }
            list.push(choice);
        }
        if self.errors.len() == before && !list.iter().any(|choice| choice.from == FloorSpec::MIN_NUMBER) {
            let what = format!("`{key}` has no name for floor 1");
            self.error(value.span(), what, "at least one entry without `from`".to_owned(), None);
        }
        (self.errors.len() == before).then_some(list)
    }

    fn packs(&mut self, key: &str, value: &Value<'i>) {
        let mut list = Vec::new();
        for element in self.list(key, value, MAX_LIST, "packs") {
            let Some(table) = self.table(key, element) else { continue };
            let (mut leader, mut follower, mut weight) = (None, None, Some(1));
            for (inner, value) in table {
                match inner.get_ref().as_ref() {
                    "leader" => leader = self.one_of("leader", value, &parts()),
                    "follower" => follower = self.one_of("follower", value, &parts()),
                    "weight" => weight = self.number("weight", value, (1, MAX_WEIGHT), "weight"),
                    other => self.unknown(inner.span(), "a pack has no key", other, &["leader", "follower", "weight"]),
                }
            }
            for needed in ["leader", "follower"].into_iter().filter(|needed| !table.contains_key(*needed)) {
                self.error(element.span(), format!("a pack has no `{needed}`"), listed(&PART_NAMES), None);
            }
            if let (Some(leader), Some(follower), Some(weight)) = (leader, follower, weight) {
                list.push(MonsterPack { leader, follower, weight });
            }
        }
        self.content.packs = list;
    }

    /// Forms with weights: `[["hall", 36], ["cross", 20]]`.
    fn forms(&mut self, key: &str, value: &Value<'i>) -> Option<Forms> {
        let choices = Form::ALL.map(|form| (form.name(), form));
        let (mut forms, mut count) = (Forms::default(), 0);
        for element in self.list(key, value, Form::ALL.len(), "pairs of a form and its weight") {
            let Some([name, weight]) = element.get_ref().as_array().map(|pair| &pair[..]) else {
                self.mistyped(key, element, "a pair of a form and its weight, such as [\"hall\", 36]");
                continue;
            };
            let form = self.one_of(key, name, &choices);
            let weight = self.number("weight", weight, (1, MAX_WEIGHT), "weight");
            let (Some(form), Some(weight)) = (form, weight) else { continue };
            if forms.forms[..count].contains(&form) {
                self.error(name.span(), format!("`{key}` lists `{}` twice", form.name()), String::new(), None);
            } else {
                (forms.forms[count], forms.weights[count]) = (form, weight);
                count += 1;
            }
        }
        (count > 0).then_some(forms)
    }

    fn kinds(&mut self, kinds: &DeTable<'i>, groups: &[&'static str]) {
        for (key, value) in kinds {
            let Some(kind) = Kind::from_name(key.get_ref()) else {
                self.unknown(key.span(), "unknown kind", key.get_ref(), &Kind::ALL.map(Kind::name));
                continue;
            };
            let Some(table) = self.table(kind.name(), value) else { continue };
            for (key, value) in table {
                let name = key.get_ref().as_ref();
                let shared = groups.iter().find(|group| **group == name && !PACK_WIDE.contains(group));
                if let Some(group) = shared {
                    self.group(group, Some(kind), value);
                } else if !self.value(kind.name(), Some(kind), name, value) {
                    let own = keys(kind.name(), Some(kind));
                    let shared = groups.iter().copied().filter(|group| !PACK_WIDE.contains(group));
                    let names: Vec<&str> = own.into_iter().chain(shared).collect();
                    self.unknown(key.span(), &format!("`kinds.{kind}` has no key"), name, &names);
                }
            }
        }
    }

    /// The themes and their order.
    fn themes(&mut self, table: &DeTable<'i>) {
        let order = table.get("schedule").and_then(|schedule| schedule.get_ref().as_table()?.get("themes"));
        let own = table.get("themes").and_then(|value| self.table("themes", value));
        let base = core::mem::take(&mut self.content.themes);
        // The themes in order, each with the place where it is named.
        let mut named: Vec<(String, Range<usize>)> = Vec::new();
        match order {
            Some(value) => {
                for element in self.list("schedule.themes", value, MAX_ORDER, "themes") {
                    if let Some(name) = self.text("schedule.themes", element, "the name of a theme") {
                        named.push((name.to_owned(), element.span()));
                    }
                }
            }
            None => {
                let names = self.content.order.iter().map(|&theme| base[usize::from(theme)].name.clone());
                named = names.map(|name| (name, 0..0)).collect();
            }
        }
        for (key, value) in own.into_iter().flatten() {
            let name = key.get_ref().as_ref();
            if !is_name(name, b'_') {
                let expected = "a letter, then up to 31 letters, digits or `_`, in lower case";
                self.error(
                    key.span(),
                    format!("the theme `{}` has no valid name", shortened(name)),
                    expected.into(),
                    None,
                );
            } else if !named.iter().any(|(other, _)| other == name) {
                let what = format!("the theme `{name}` is on no floor");
                self.error(key.span(), what, "its name in `schedule.themes`".to_owned(), None);
            }
            _ = self.table(name, value);
        }
        self.content.order.clear();
        for (name, span) in named {
            if let Some(known) = self.content.themes.iter().position(|theme| theme.name == name) {
                self.content.order.push(known as u8);
                continue;
            }
            if self.content.themes.len() == MAX_THEMES {
                self.error(span, "the pack has too many themes".to_owned(), format!("at most {MAX_THEMES}"), None);
                return;
            }
            let inherited = base.iter().find(|theme| theme.name == name).cloned();
            let said = own.and_then(|own| own.get(name.as_str()));
            if inherited.is_none() && said.is_none() {
                let names: Vec<&str> =
                    own.into_iter().flat_map(|own| own.keys().map(|key| key.get_ref().as_ref())).collect();
                let all = names.into_iter().chain(base.iter().map(|theme| theme.name.as_str()));
                let near = nearest(&name, all);
                self.error(
                    span,
                    format!("unknown theme `{}`", shortened(&name)),
                    format!("a table `[themes.{}]`", shortened(&name)),
                    near,
                );
                continue;
            }
            let theme = self.theme(name, inherited, said);
            self.content.order.push(self.content.themes.len() as u8);
            self.content.themes.push(theme);
        }
    }

    fn theme(&mut self, name: String, inherited: Option<Theme>, said: Option<&Value<'i>>) -> Theme {
        let is_new = inherited.is_none();
        let mut theme = inherited.unwrap_or_else(|| Theme {
            name: name.clone(),
            weights: [0; DRAWN.len()],
            ground: Ground::default(),
            roster: Default::default(),
        });
        let Some((said, table)) = said.and_then(|said| Some((said, said.get_ref().as_table()?))) else { return theme };
        let names: Vec<&str> = THEME.into_iter().chain(PART_NAMES).collect();
        for (key, value) in table {
            let inner = key.get_ref().as_ref();
            let full = format!("themes.{name}.{inner}");
            match inner {
                "weights" => self.weights(&full, value, &mut theme.weights),
                "deep" => theme.ground.deep = self.one_of(&full, value, &DEEP).unwrap_or(Terrain::Chasm),
                "cover" => {
                    let cover: Vec<Terrain> = self
                        .list(&full, value, 2, "kinds of passable ground")
                        .iter()
                        .filter_map(|element| self.one_of(&full, element, &COVER))
                        .collect();
                    if let [first, ..] = cover[..] {
                        theme.ground.cover = [first, cover.get(1).copied().unwrap_or(first)];
                    }
                }
                _ => match PART_NAMES.iter().position(|part| *part == inner) {
                    Some(part) => _ = self.choices(&full, value).map(|list| theme.roster[part] = list),
                    None => self.unknown(key.span(), &format!("`themes.{name}` has no key"), inner, &names),
                },
            }
        }
        if is_new {
            for missing in names.iter().filter(|name| !table.contains_key(**name)) {
                let what = format!("`themes.{name}.{missing}` is missing");
                self.error(said.span(), what, "every key of a new theme".to_owned(), None);
            }
        }
        theme
    }

    fn weights(&mut self, key: &str, value: &Value<'i>, weights: &mut [u32; DRAWN.len()]) {
        let Some(table) = self.table(key, value) else { return };
        *weights = [0; DRAWN.len()];
        for (inner, value) in table {
            match DRAWN.iter().position(|kind| kind.name() == inner.get_ref().as_ref()) {
                Some(kind) => weights[kind] = self.number(key, value, (0, MAX_WEIGHT), "weight").unwrap_or(1),
                None => self.unknown(inner.span(), "no drawn kind is called", inner.get_ref(), &DRAWN.map(Kind::name)),
            }
        }
        if weights.iter().sum::<u32>() == 0 {
            self.error(value.span(), format!("all of `{key}` are 0"), "one weight of at least 1".to_owned(), None);
        }
    }

    /// Values that depend on each other.
    fn check_sums(&mut self, kind: Kind, table: &DeTable<'i>) {
        let params = *self.content.params(kind);
        let scenery = params.scenery;
        let chances = scenery.pond + scenery.rift + scenery.pillars + scenery.cover + scenery.second_cover;
        let own = table.get("kinds").and_then(|kinds| kinds.get_ref().as_table()?.get(kind.name()));
        // The kind's own words, else those for all kinds.
        let at = |group: &str| match own.and_then(|own| own.get_ref().as_table()?.get(group)) {
            Some(said) => (said.span(), format!(" on {kind} floors")),
            None => (table.get(group).or(own).map_or(0..0, Spanned::span), String::new()),
        };
        let mut check = |is_right: bool, group: &str, what: String, expected: &str| {
            if !is_right {
                let (span, floors) = at(group);
                self.error(span, format!("{what}{floors}"), expected.to_owned(), None);
            }
        };
        check(
            chances <= 100,
            "scenery",
            format!("pond, rift, pillars and covers are {chances} per cent"),
            "at most 100",
        );
        let arena = scenery.pools + scenery.moat + scenery.colonnade + scenery.piers;
        check(arena > 0, "scenery", "pools, moat, colonnade and piers are 0".to_owned(), "one weight of at least 1");
        let court = params.event.hedge + params.event.colonnade + params.event.moat;
        check(
            kind != Kind::Event || court > 0,
            "event",
            "hedge, colonnade and moat are 0".to_owned(),
            "one weight of at least 1",
        );
        for (name, group, least, most) in [
            ("width", "rooms", params.rooms.width_least, params.rooms.width_most),
            ("height", "rooms", params.rooms.height_least, params.rooms.height_most),
            ("width", "lakes", params.lakes.width_least, params.lakes.width_most),
            ("height", "lakes", params.lakes.height_least, params.lakes.height_most),
            ("arena", "boss", params.boss.arena_least, params.boss.arena_most),
            ("fill", "cyclic", params.cyclic.fill_least, params.cyclic.fill_most),
        ] {
            // The numbers of a kind count on its floors only.
            let own = Kind::from_name(group).is_none_or(|own| own == kind);
            let what = format!("`{group}.{name}_least` is {least} and `{group}.{name}_most` is {most}");
            check(!own || least <= most, group, what, "no least value above its greatest");
        }
        let halls = params.halls;
        let what = format!("`halls.least` is {} and `halls.most` is {}", halls.least, halls.most);
        check(kind != Kind::Halls || halls.least <= halls.most, "halls", what, "no least value above its greatest");
        if kind == Kind::Standard {
            let schedule = params.schedule;
            let offset = schedule.story_interval == 0 || schedule.story_offset < schedule.story_interval;
            let what = format!("`schedule.story_offset` is {}", schedule.story_offset);
            check(offset, "schedule", what, "less than `schedule.story_interval`");
        }
    }

    /// Without a base every value has to stand in the file.
    fn check_missing(&mut self) {
        if !self.is_whole {
            return;
        }
        for (i, param) in PARAMS.iter().enumerate() {
            if !self.said.contains(&(i, param.group)) {
                self.file_error(MAIN, &format!("`{}.{}` is missing", param.group, param.name), "every value");
            }
        }
        let content = &self.content;
        let lists = [content.plain.len(), content.fine.len(), content.traps.len(), content.packs.len()];
        if lists.contains(&0) || content.order.is_empty() || content.guards.is_empty() {
            self.file_error(MAIN, "a list is missing", "every value");
        }
    }

    fn vaults(&mut self, files: &Files) {
        let mut vaults = if self.keep_vaults { core::mem::take(&mut self.content.vaults) } else { Vec::new() };
        let inherited = vaults.len();
        let mut own: Vec<Vault> = Vec::new();
        for (path, text) in files.iter() {
            let Some(name) = path.strip_prefix("vaults/") else { continue };
            if !name.ends_with(".txt") || name.contains('/') {
                self.file_error(path, "the file is no vault", "vaults/NAME.txt");
                continue;
            }
            match Vault::parse(core::str::from_utf8(text).unwrap_or_default()) {
                Ok(vault) => {
                    if own.iter().any(|other| other.name == vault.name) {
                        self.file_error(path, &format!("two vaults are called `{}`", vault.name), "one name a vault");
                    }
                    for theme in &vault.themes {
                        if !self.content.themes.iter().any(|known| known.name == *theme) {
                            let names: Vec<&str> =
                                self.content.themes.iter().map(|known| known.name.as_str()).collect();
                            let error = PackError {
                                file: path.to_owned(),
                                line: line_of(text, b"themes:"),
                                column: 9,
                                what: format!("unknown theme `{}`", shortened(theme)),
                                expected: listed(&names),
                                nearest: nearest(theme, names.iter().copied()),
                            };
                            self.errors.push(error);
                        }
                    }
                    own.push(vault);
                }
                Err(errors) => {
                    for error in errors {
                        let near = nearest(&error.found, error.names.iter().copied());
                        self.errors.push(PackError {
                            file: path.to_owned(),
                            line: error.line,
                            column: error.column,
                            what: error.what,
                            expected: String::new(),
                            nearest: near.filter(|_| !error.names.is_empty()),
                        });
                    }
                }
            }
        }
        // A vault of the pack takes the place of the built-in one with its name.
        vaults.retain(|vault| !own.iter().any(|other| other.name == vault.name));
        vaults.append(&mut own);
        if vaults.len() > MAX_VAULTS {
            let what = format!("the pack has {} vaults, {inherited} of them built in", vaults.len());
            self.file_error("vaults", &what, &format!("at most {MAX_VAULTS}"));
        }
        for vault in &mut vaults {
            let bit = |name: &String| self.content.themes.iter().position(|theme| theme.name == *name);
            vault.theme_bits = match vault.themes[..] {
                [] => u64::MAX,
                _ => vault.themes.iter().filter_map(bit).fold(0, |bits, theme| bits | 1 << theme),
            };
        }
        if !vaults.iter().any(|vault| vault.kinds.contains(&Kind::Event) && vault.width.max(vault.height) <= 8) {
            let expected = "a vault of at most 8x8 cells for event floors, so that the smallest floor has one";
            self.file_error("vaults", "no vault fits the smallest event floor", expected);
        }
        self.content.vaults = vaults;
    }
}

pub(crate) const PART_NAMES: [&str; Part::ALL.len()] = {
    let mut names = [""; Part::ALL.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = Part::ALL[i].name();
        i += 1;
    }
    names
};

fn parts() -> [(&'static str, Part); Part::ALL.len()] {
    Part::ALL.map(|part| (part.name(), part))
}

/// The keys of a group.
fn keys(group: &str, kind: Option<Kind>) -> Vec<&'static str> {
    let numbers = PARAMS.iter().filter(|param| param.group == group).map(|param| param.name);
    let forms = FORMS.iter().filter(|param| param.group == group).map(|_| "forms");
    let lists = LISTS.iter().chain([&TRAPS]).filter(|(of, _)| *of == group && kind.is_none()).map(|(_, name)| *name);
    numbers.chain(forms).chain(lists).collect()
}

fn is_name(name: &str, other: u8) -> bool {
    let rest = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == other);
    rest && name.len() <= 32 && name.starts_with(|first: char| first.is_ascii_lowercase())
}

fn listed(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("one of {}", names.join(", "))
}

/// The start of a text, so that an error fits a line.
fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(40).is_some() {
        short.push('…');
    }
    short
}

/// The first line that begins with `start`.
fn line_of(text: &[u8], start: &[u8]) -> usize {
    text.split(|&byte| byte == b'\n').position(|line| line.starts_with(start)).map_or(1, |line| line + 1)
}
