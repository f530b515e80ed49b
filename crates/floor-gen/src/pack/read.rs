//! Reads the files of a pack: `pack.toml`, `vaults/*.txt` and `names.toml`. Reports every error, and not the first alone.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use core::slice;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::content::{
    Beat, Choice, Content, DRAWN, FurnitureSet, Ground, How, Layer, MonsterPack, Motif, NameId, Part, Put, Shown,
    StoryPart, Theme,
};
use super::error::{PackError, PackErrors, is_name, listed, nearest, place, shortened};
use super::files::Files;
use super::keys::{Key, MAX_SETS, MAX_THEMES, Need, Shape, Table, groups};
use super::look::{Hatch, Paint};
use super::names;
use super::params::Param;
use super::vault::Vault;
use crate::form::{Form, Forms};
use crate::spec::{FloorSpec, Kind};

/// The file with all values.
const MAIN: &str = "pack.toml";
/// Where the files stand that are read, here or by the engine.
const PLACES: [&str; 6] = [MAIN, names::FILE, "vaults/", "floors/", "generator.toml", "generator.wasm"];
/// The most bytes of it.
const MAX_MAIN: usize = 256 << 10;
/// The most vaults.
pub(crate) const MAX_VAULTS: usize = 256;

/// What the files of a pack say.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) content: Content,
}

/// What `files` say. `base` gives what they do not say; without it they have to say everything.
pub(crate) fn read(files: &Files, base: Option<&Content>) -> Result<Read, PackErrors> {
    let (read, errors) = read_recoverably(files, base);
    errors.map_or(Ok(read), Err)
}

/// The same for a pack whose floors another generator makes: of its files, the name and what is said of floors as a whole
/// have to be right. The rest is that generator's; if this program cannot read all of it, it is that of `base`.
pub(crate) fn read_foreign(files: &Files, base: &Content) -> Result<Read, PackErrors> {
    match read_recoverably(files, Some(base)) {
        (read, None) => Ok(read),
        (read, Some(errors)) if read.name.is_empty() => Err(errors),
        (read, Some(_)) => Ok(Read { content: base.clone(), ..read }),
    }
}

fn read_recoverably(files: &Files, base: Option<&Content>) -> (Read, Option<PackErrors>) {
    let text = files.get(MAIN).and_then(|text| core::str::from_utf8(text).ok()).unwrap_or_default();
    let content = base.cloned().unwrap_or_default();
    let mut reader = Reader {
        text,
        errors: Vec::new(),
        unplaced: Vec::new(),
        names: content.names.iter().enumerate().map(|(i, name)| (name.clone(), NameId(i as u16))).collect(),
        order: content.order.iter().map(|&i| (content.themes[usize::from(i)].name.clone(), 0..0)).collect(),
        content,
        name: String::new(),
        description: String::new(),
        theme: Theme::default(),
        set: FurnitureSet::default(),
        keep_vaults: true,
        keep_furniture: true,
        knows_order: false,
    };
    if files.get(MAIN).is_none() {
        reader.fail(MAIN, "the pack has no `pack.toml`".to_owned(), "a file with at least `name = \"...\"`");
    } else if text.len() > MAX_MAIN {
        reader.fail(MAIN, format!("the file has {} bytes", text.len()), &format!("at most {MAX_MAIN}"));
    } else {
        let (file, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            let span = error.span().unwrap_or_default();
            // People do not see it, or take it for another.
            let first = text.get(span.start..).and_then(|rest| rest.chars().next());
            let foreign = first.filter(|c| !c.is_ascii() || c.is_control() && *c != '\n');
            let foreign = foreign.map(|c| format!(" (here is U+{:04X})", u32::from(c))).unwrap_or_default();
            reader.error(span, format!("{}{foreign}", error.message()), "", None);
        }
        // What recovery makes of broken text says nothing.
        if errors.is_empty() {
            let schedule = file.get_ref().get("schedule").map(Spanned::get_ref);
            reader.knows_order = schedule.and_then(|schedule| schedule.get("themes")).is_none();
            reader.table(Table::FILE, "", file.get_ref(), 0..0, base.is_none());
            reader.themes(file.get_ref().get("themes"));
            reader.furniture(file.get_ref().get("furniture"));
            Kind::ALL.into_iter().for_each(|kind| reader.check_numbers(kind, file.get_ref()));
        }
    }
    reader.place_errors();
    reader.vaults(files);
    let errors = names::read(files.get(names::FILE), &mut reader.content, reader.knows_order);
    reader.errors.extend(errors);
    let Reader { name, description, mut content, names, errors, .. } = reader;
    content.ranks = alloc::vec![0; content.names.len()];
    names.values().zip(0..).for_each(|(id, rank)| content.ranks[usize::from(id.0)] = rank);
    (Read { name, description, content }, PackErrors::of(errors))
}

type Value<'i> = Spanned<DeValue<'i>>;

struct Reader<'i> {
    text: &'i str,
    errors: Vec<PackError>,
    /// Errors of pack.toml by the byte where they begin.
    unplaced: Vec<(usize, PackError)>,
    content: Content,
    names: BTreeMap<String, NameId>,
    name: String,
    description: String,
    /// The themes in the order of the floors, each with the place that names it.
    order: Vec<(String, Range<usize>)>,
    /// The theme that is being read.
    theme: Theme,
    /// The furniture set that is being read.
    set: FurnitureSet,
    keep_vaults: bool,
    keep_furniture: bool,
    /// Whether `order` is what pack.toml says. If it could not be read, any theme may be in it.
    knows_order: bool,
}

impl<'i> Reader<'i> {
    fn error(&mut self, span: Range<usize>, what: String, expected: &str, nearest: Option<String>) {
        let error = PackError { nearest, ..PackError::new(MAIN, 0, 0, what).expecting(expected) };
        self.unplaced.push((span.start, error));
    }

    /// Gives errors of pack.toml their lines and columns: the first ones, because each takes a pass over the text.
    fn place_errors(&mut self) {
        self.unplaced.sort_unstable();
        self.unplaced.dedup();
        for (start, error) in self.unplaced.drain(..).take(PackErrors::MOST) {
            let (line, column) = place(self.text, start);
            self.errors.push(PackError { line, column, ..error });
        }
    }

    /// An error of a whole file.
    fn fail(&mut self, file: &str, what: String, expected: &str) {
        self.errors.push(PackError::new(file, 0, 0, what).expecting(expected));
    }

    /// Checks the keys of a table and takes their values. `is_new`: the built-in pack does not have the table.
    fn table(&mut self, table: Table, path: &str, inner: &DeTable<'i>, span: Range<usize>, is_new: bool) {
        let keys = table.keys();
        for (key, _) in inner {
            let found = key.get_ref().as_ref();
            if !keys.iter().any(|key| key.name == found) {
                let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
                let table = if path.is_empty() { "the file".to_owned() } else { format!("`{path}`") };
                let what = format!("{table} has no key `{}`", shortened(found));
                self.error(key.span(), what, &listed(&names), nearest(found, &names));
            }
        }
        for key in &keys {
            let path = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
            match inner.get(key.name) {
                Some(value) if self.check(&path, value, key.shape, is_new) => self.take(table, key, &path, value),
                None if key.need == Need::Always || key.need == Need::IfNew && is_new => {
                    self.error(span.clone(), format!("`{path}` is missing"), &key.shape.expected(), None);
                }
                _ => {}
            }
        }
    }

    /// Whether a value has the right shape.
    fn check(&mut self, path: &str, value: &Value<'i>, shape: Shape, is_new: bool) -> bool {
        let before = self.unplaced.len();
        let text = value.get_ref().as_str();
        let list = value.get_ref().as_array().map(|list| &list[..]);
        let inner = value.get_ref().as_table();
        let is_right = match (shape, inner, list) {
            (Shape::Number(least, greatest, _), ..) => {
                whole(value).is_some_and(|number| (least..=greatest).contains(&number))
            }
            (Shape::Truth, ..) => value.get_ref().as_bool().is_some(),
            (Shape::Colour, ..) => colour(value).is_some(),
            (Shape::Text(most), ..) => {
                text.is_some_and(|text| text.chars().count() <= most && !text.contains(char::is_control))
            }
            (Shape::OneOf(names), ..) => text.is_some_and(|text| names.contains(&text)),
            (Shape::List(most, _, of), _, Some(list)) if (1..=most).contains(&list.len()) => {
                list.iter().for_each(|element| _ = self.check(path, element, *of, is_new));
                true
            }
            (Shape::Weighted(names), _, Some([name, weight])) => {
                self.check(path, name, Shape::OneOf(names), is_new);
                self.check(path, weight, Shape::WEIGHT, is_new);
                true
            }
            (Shape::Table(table), Some(inner), _) => {
                self.table(table, path, inner, value.span(), is_new);
                true
            }
            (Shape::Choice, Some(inner), _) => {
                self.table(Table::CHOICE, path, inner, value.span(), is_new);
                true
            }
            (Shape::Choice, ..) => text.is_some_and(|text| is_name(text, '_')),
            (Shape::Name(other), ..) => text.is_some_and(|text| is_name(text, other)),
            // Read after everything else.
            (Shape::Named(_), Some(_), _) => true,
            _ => false,
        };
        if !is_right {
            let near = match shape {
                Shape::OneOf(names) => text.and_then(|text| nearest(text, names)),
                _ => None,
            };
            self.error(value.span(), described(path, value), &shape.expected(), near);
        }
        self.unplaced.len() == before
    }

    /// Takes a value, whose shape is right. Entries of a list are taken with it.
    fn take(&mut self, table: Table, key: &Key, path: &str, value: &Value<'i>) {
        let params = match table.kind {
            Some(kind) => slice::from_mut(&mut self.content.params[kind as usize - 1]),
            None => &mut self.content.params[..],
        };
        if let Some(param) = key.param {
            params.iter_mut().for_each(|params| *(param.place)(params) = number(value));
            return;
        }
        match (table.name, key.name) {
            ("", "name") => self.name = text(value).to_owned(),
            ("", "description") => self.description = text(value).to_owned(),
            ("", "tower_vaults") => self.keep_vaults = value.get_ref().as_bool() == Some(true),
            ("", "tower_furniture") => self.keep_furniture = value.get_ref().as_bool() == Some(true),
            ("", "players_see") => {
                let [roles, monsters, items, traps] =
                    Shown::NAMES.map(|name| list(value).any(|seen| text(seen) == name));
                self.content.shown = Shown { roles, monsters, items, traps };
            }
            ("schedule", "first") => self.content.first = Kind::from_name(text(value)),
            ("schedule", "themes") => {
                self.order = list(value).map(|theme| (text(theme).to_owned(), theme.span())).collect();
                self.knows_order = true;
            }
            (group, "forms") => match forms(path, value) {
                Ok(forms) => {
                    params.iter_mut().filter_map(|params| params.forms(group)).for_each(|place| *place = forms);
                }
                Err((span, what)) => self.error(span, what, "each form once", None),
            },
            ("items", "plain") => self.content.plain = self.choices(path, value),
            ("items", "fine") => self.content.fine = self.choices(path, value),
            ("items", "key") => self.content.key = self.name_id(value),
            ("items", "hint") => self.content.hint = self.name_id(value),
            ("items", "blessing") => self.content.blessing = self.name_id(value),
            ("traps", "archetypes") => self.content.traps = self.choices(path, value),
            ("monsters", "guards") => self.content.guards = list(value).map(part).collect(),
            ("monsters", "packs") => self.content.packs = list(value).map(monster_pack).collect(),
            ("story", "beats") => {
                self.content.beats = list(value).map(beat).collect();
                self.check_beats(path, value);
            }
            ("theme", name) => self.take_of_theme(name, path, value),
            ("look", name) => self.take_of_look(name, value),
            ("set", name) => self.take_of_set(name, path, value),
            _ => {}
        }
    }

    fn take_of_theme(&mut self, name: &str, path: &str, value: &Value<'i>) {
        match name {
            "weights" => {
                self.theme.weights = DRAWN.map(|kind| value.get_ref().get(kind.name()).map_or(0, number));
                if self.theme.weights.iter().sum::<u32>() == 0 {
                    self.error(value.span(), format!("all of `{path}` are 0"), "one weight of at least 1", None);
                }
            }
            "deep" => self.theme.ground.deep = Ground::terrain(text(value)),
            "cover" => {
                let cover: Vec<_> = list(value).map(|name| Ground::terrain(text(name))).collect();
                self.theme.ground.cover = [cover[0], cover[cover.len() - 1]];
            }
            // Its keys are taken.
            "look" => {}
            _ => {
                let names = self.choices(path, value);
                if let Some(part) = Part::NAMES.iter().position(|part| *part == name) {
                    self.theme.roster[part] = names;
                }
            }
        }
    }

    fn take_of_set(&mut self, name: &str, path: &str, value: &Value<'i>) {
        let bits = |of: &dyn Fn(&Value<'i>) -> usize| list(value).fold(0, |bits, entry| bits | 1u64 << of(entry));
        match name {
            "pieces" => self.set.pieces = list(value).map(|name| self.name_id(name)).collect(),
            "place" => self.set.layers = list(value).map(|layer| self.layer(path, layer)).collect(),
            "fill" => self.set.fill = self.motif(path, value),
            "roles" => self.set.roles = bits(&|role: &Value<'i>| 1 + position(role, &FurnitureSet::ROLES)) as u16,
            "kinds" => {
                let number = |kind: &Value<'i>| Kind::from_name(text(kind)).map_or(0, |kind| kind as usize);
                self.set.kinds = bits(&number) as u16;
            }
            "themes" => {
                self.set.themes = list(value).map(|theme| self.name_id(theme)).collect();
                let names: Vec<&str> = self.content.themes.iter().map(|theme| &*theme.name).collect();
                let unknown = list(value).find(|theme| !names.contains(&text(theme)));
                if let Some(theme) = unknown.filter(|_| self.knows_order) {
                    let (what, near) = (format!("unknown theme `{}`", text(theme)), nearest(text(theme), &names));
                    let expected = listed(&names);
                    self.error(theme.span(), what, &expected, near);
                }
            }
            "built" => self.set.built = value.get_ref().as_bool(),
            "landmark" => self.set.landmark = value.get_ref().as_bool() == Some(true),
            "least" => self.set.area.0 = number(value),
            "most" => self.set.area.1 = number(value),
            "side" => self.set.side = number(value),
            _ => self.set.weight = number(value),
        }
    }

    fn layer(&mut self, path: &str, value: &Value<'i>) -> Layer {
        let inner = value.get_ref();
        let number = |key: &str, default| inner.get(key).map_or(default, number);
        Layer {
            how: How::ALL[position(&inner["how"], &How::NAMES)],
            motif: self.motif(&format!("{path}.map"), &inner["map"]),
            share: number("share", 100),
            per: number("per", 60),
            inset: number("inset", 0),
            size: number("size", 7),
        }
    }

    /// A small map of the pieces of the set that is being read.
    fn motif(&mut self, path: &str, value: &Value<'i>) -> Motif {
        match Motif::of(list(value).map(text), &self.set.pieces) {
            Ok(motif) if motif.marks.iter().any(|mark| mark.put != Put::Nothing) => motif,
            Ok(_) => {
                self.error(value.span(), format!("`{path}` is empty"), "a map with a piece or with ground", None);
                Motif::default()
            }
            Err(drawn) => {
                let last = char::from(b'a' + self.set.pieces.len().clamp(1, 8) as u8 - 1);
                let (ground, great) = (Motif::GROUND, last.to_ascii_uppercase());
                let expected =
                    format!("{ground}, `A` to `{great}` for a piece that blocks, `a` to `{last}` to walk over it");
                self.error(value.span(), format!("`{path}` has `{drawn}`"), &expected, None);
                Motif::default()
            }
        }
    }

    fn take_of_look(&mut self, name: &str, value: &Value<'i>) {
        if name == "hatch" {
            self.theme.look.hatch = Hatch::ALL[position(value, &Hatch::NAMES)];
        } else if let (Some(paint), Some(colour)) =
            (Paint::NAMES.iter().position(|paint| *paint == name), colour(value))
        {
            self.theme.look.colours[paint] = colour;
        }
    }

    fn check_beats(&mut self, path: &str, value: &Value<'i>) {
        let beats = &self.content.beats;
        let missing = StoryPart::ALL.iter().position(|&part| beats.iter().all(|beat| beat.part != part));
        let (is_turned, fits) = (beats.iter().any(|beat| beat.fill.0 > beat.fill.1), Beat::has_fitting_role);
        if !beats.iter().all(fits) {
            let what = format!("`{path}` has a role that does not fit its part");
            self.error(value.span(), what, "`entry` for each arrival and `exit` for each departure only", None);
        }
        if is_turned {
            let what = format!("`{path}` has a `fill_least` above its `fill_most`");
            self.error(value.span(), what, "no least value above its greatest", None);
        }
        if let Some(part) = missing {
            let what = format!("`{path}` has no beat for `{}`", StoryPart::NAMES[part]);
            self.error(value.span(), what, "a beat for each part", None);
        }
    }

    fn name_id(&mut self, value: &Value<'i>) -> NameId {
        self.name_of(text(value))
    }

    fn name_of(&mut self, name: &str) -> NameId {
        // At most 64 lists for each of six parts of 64 themes, and a few more: fewer than 65,536 names.
        let next = NameId(self.content.names.len() as u16);
        let id = *self.names.entry(name.to_owned()).or_insert(next);
        if id == next {
            self.content.names.push(name.to_owned());
        }
        id
    }

    /// Names with weights: `"gold"`, or `{ name = "gold", weight = 2, from = 10 }`.
    fn choices(&mut self, path: &str, value: &Value<'i>) -> Vec<Choice> {
        let mut choices = Vec::new();
        for element in list(value) {
            let get = |key| element.get_ref().as_table()?.get(key);
            choices.push(Choice {
                name: self.name_id(get("name").unwrap_or(element)),
                weight: get("weight").map_or(1, number),
                from: get("from").map_or(FloorSpec::MIN_NUMBER, number),
            });
        }
        if !choices.iter().any(|choice| choice.from == FloorSpec::MIN_NUMBER) {
            let what = format!("`{path}` has no name for floor 1");
            self.error(value.span(), what, "at least one entry without `from`", None);
        }
        choices
    }

    /// The themes, in the order of the floors: those of the file, and those of the base that it names.
    fn themes(&mut self, own: Option<&Value<'i>>) {
        let mut known = core::mem::take(&mut self.content.themes);
        let own = own.and_then(|own| own.get_ref().as_table());
        if let Some(many) = own.filter(|own| own.len() > MAX_THEMES) {
            let what = format!("the pack has {} themes", many.len());
            return self.fail(MAIN, what, &format!("at most {MAX_THEMES}"));
        }
        for (key, value) in own.into_iter().flatten() {
            let name = key.get_ref().as_ref();
            let base = known.iter().position(|theme| theme.name == name);
            self.theme = Theme { name: name.to_owned(), ..base.map(|i| known.remove(i)).unwrap_or_default() };
            let path = format!("themes.{}", shortened(name));
            if !is_name(name, '_') {
                self.error(key.span(), format!("`{path}` is no name"), &Shape::Name('_').expected(), None);
            } else if self.knows_order && !self.order.iter().any(|(other, _)| other == name) {
                self.error(key.span(), format!("`{path}` is on no floor"), "its name in `schedule.themes`", None);
            }
            self.check(&path, value, Shape::Table(Table::THEME), base.is_none());
            known.push(core::mem::take(&mut self.theme));
        }
        self.content.order.clear();
        for (name, span) in core::mem::take(&mut self.order) {
            let themes = &mut self.content.themes;
            if let Some(i) = themes.iter().position(|theme| theme.name == name) {
                self.content.order.push(i as u8);
            } else if themes.len() == MAX_THEMES {
                return self.error(span, "the pack has too many themes".into(), &format!("at most {MAX_THEMES}"), None);
            } else if let Some(i) = known.iter().position(|theme| theme.name == name) {
                self.content.order.push(themes.len() as u8);
                themes.push(known.remove(i));
            } else {
                let names: Vec<&str> = known.iter().chain(&*themes).map(|theme| &*theme.name).collect();
                let near = nearest(&name, &names);
                self.error(span, format!("unknown theme `{name}`"), &format!("a table `[themes.{name}]`"), near);
            }
        }
    }

    /// The furniture sets of the file, and those of the base whose names it does not have.
    fn furniture(&mut self, own: Option<&Value<'i>>) {
        let own = own.and_then(|own| own.get_ref().as_table());
        if !self.keep_furniture {
            self.content.furniture.clear();
        }
        for (key, value) in own.into_iter().flatten() {
            let path = format!("furniture.{}", shortened(key.get_ref()));
            if !is_name(key.get_ref(), '_') {
                self.error(key.span(), format!("`{path}` is no name"), &Shape::Name('_').expected(), None);
                continue;
            }
            let id = self.name_of(key.get_ref());
            let (roles, kinds, area) = (u16::MAX, u16::MAX, (16, u32::MAX));
            self.set = FurnitureSet { name: id, roles, kinds, area, side: 3, weight: 1, ..FurnitureSet::default() };
            self.check(&path, value, Shape::Table(Table::SET), true);
            let set = core::mem::take(&mut self.set);
            if set.area.0 > set.area.1 {
                let what = format!("`{path}.least` is {} and `{path}.most` is {}", set.area.0, set.area.1);
                self.error(value.span(), what, "no least value above its greatest", None);
            }
            let sets = &mut self.content.furniture;
            sets.retain(|other| other.name != id);
            sets.push(set);
            if sets.len() > MAX_SETS {
                let what = format!("the pack has {} furniture sets", sets.len());
                return self.error(key.span(), what, &format!("at most {MAX_SETS}, with those of tower"), None);
            }
        }
        let Content { furniture, sets_of_role, themes, names, .. } = &mut self.content;
        *sets_of_role = Default::default();
        for (i, set) in furniture.iter_mut().enumerate() {
            for (role, sets) in sets_of_role.iter_mut().enumerate() {
                *sets |= u128::from(set.roles >> role & 1) << i;
            }
            let is_for = |theme: &Theme| set.themes.iter().any(|id| names[usize::from(id.0)] == theme.name);
            let named = themes.iter().enumerate().filter(|(_, theme)| set.themes.is_empty() || is_for(theme));
            set.theme_bits = named.fold(0, |bits, (index, _)| bits | 1 << index);
        }
    }

    /// Checks the numbers of a kind that depend on each other.
    fn check_numbers(&mut self, kind: Kind, file: &DeTable<'i>) {
        let own = file.get("kinds").and_then(|kinds| kinds.get_ref().get(kind.name()));
        let mut params = *self.content.params(kind);
        let schedule = params.schedule;
        for group in groups() {
            let name = group[0].group;
            // The numbers of a kind count on its floors only.
            if Kind::from_name(name).is_some_and(|other| other != kind) {
                continue;
            }
            let mut value = |param: &Param| *(param.place)(&mut params);
            let mut fail = |what: String, expected: &str| {
                // The kind's own words, else those for all kinds.
                let special = own.and_then(|own| own.get_ref().get(name));
                let span = special.or_else(|| file.get(name)).or(own).map_or(0..0, Spanned::span);
                let floors = if special.is_some() { format!(" on {kind} floors") } else { String::new() };
                self.error(span, what + &floors, expected, None);
            };
            for least in group {
                let most = least.name.strip_suffix("least").map(|start| format!("{start}most"));
                let most = most.and_then(|most| group.iter().find(|param| param.name == most));
                if let Some(most) = most.filter(|most| value(most) < value(least)) {
                    let (least, most, low, high) = (least.name, most.name, value(least), value(most));
                    let what = format!("`{name}.{least}` is {low} and `{name}.{most}` is {high}");
                    fail(what, "no least value above its greatest");
                }
            }
            let mut sum = |unit: &str| {
                let params = group.iter().filter(|param| param.unit == unit);
                (params.clone().map(|param| param.name).collect::<Vec<_>>().join(", "), params.map(&mut value).sum())
            };
            let (names, shares): (_, u32) = sum("per cent");
            if name == "scenery" && shares > 100 {
                fail(format!("{names} are {shares} per cent"), "at most 100");
            }
            let (names, weights): (_, u32) = sum("weight");
            if weights == 0 && !names.is_empty() {
                fail(format!("{names} are 0"), "one weight of at least 1");
            }
            if name == "schedule" && (1..=schedule.story_offset).contains(&schedule.story_interval) {
                let what = format!("`schedule.story_offset` is {}", schedule.story_offset);
                fail(what, "less than `schedule.story_interval`");
            }
        }
    }

    /// The vaults of the base and of the pack.
    fn vaults(&mut self, files: &Files) {
        let mut own: Vec<Vault> = Vec::new();
        // Systems that take `Vaults` for `vaults` hide this.
        for (path, _) in files.iter() {
            let lower = path.to_ascii_lowercase();
            if PLACES.into_iter().any(|place| lower.starts_with(place) && !path.starts_with(place)) {
                self.fail(path, "the file is not read".to_owned(), &lower);
            }
        }
        for (path, text) in files.iter().filter(|(path, _)| path.starts_with("vaults/")) {
            if self.errors.len() >= PackErrors::MOST {
                break;
            }
            if !path.ends_with(".txt") || path.matches('/').count() > 1 {
                self.fail(path, "the file is no vault".to_owned(), "vaults/NAME.txt");
                continue;
            }
            match Vault::parse(path, core::str::from_utf8(text).unwrap_or_default()) {
                Ok(vault) => {
                    if own.iter().any(|other| other.name == vault.name) {
                        self.fail(path, format!("two vaults are called `{}`", vault.name), "one name a vault");
                    }
                    let names: Vec<&str> = self.content.themes.iter().map(|theme| &*theme.name).collect();
                    let line = 1 + text.split(|&byte| byte == b'\n').take_while(|l| !l.starts_with(b"themes:")).count();
                    let is_unknown = |theme: &&String| self.knows_order && !names.contains(&theme.as_str());
                    for theme in vault.themes.iter().filter(is_unknown) {
                        self.errors.push(PackError::unknown(path, line, 9, "theme", theme, &names));
                    }
                    own.push(vault);
                }
                Err(errors) => self.errors.extend(errors),
            }
        }
        let vaults = &mut self.content.vaults;
        // A vault of the pack takes the place of the built-in one with its name.
        vaults.retain(|vault| self.keep_vaults && !own.iter().any(|other| other.name == vault.name));
        let inherited = vaults.len();
        vaults.append(&mut own);
        for vault in vaults.iter_mut().filter(|vault| !vault.themes.is_empty()) {
            let themes = self.content.themes.iter().enumerate();
            let named = themes.filter(|(_, theme)| vault.themes.contains(&theme.name));
            vault.theme_bits = named.fold(0, |bits, (i, _)| bits | 1 << i);
        }
        let is_small = |vault: &Vault| vault.kinds.contains(&Kind::Event) && vault.width.max(vault.height) <= 8;
        let (count, has_small) = (vaults.len(), vaults.iter().any(is_small));
        if count > MAX_VAULTS {
            let what = format!("the pack has {count} vaults, {inherited} of them built in");
            self.fail("vaults", what, &format!("at most {MAX_VAULTS}"));
        }
        if !has_small {
            let expected = "a vault of at most 8x8 cells for event floors, so that the smallest floor has one";
            self.fail("vaults", "no vault fits the smallest event floor".to_owned(), expected);
        }
    }
}

impl Shape {
    /// What an error says is right.
    fn expected(self) -> String {
        match self {
            Self::Number(least, greatest, unit) => format!("a whole number from {least} to {greatest} ({unit})"),
            Self::Name(other) => {
                format!("a name: a letter, then up to 31 letters, digits or `{other}`, in lower case")
            }
            Self::Text(most) => format!("a text of at most {most} characters on one line"),
            Self::Truth => "true or false".to_owned(),
            Self::Colour => "a colour such as \"#a39782\"".to_owned(),
            Self::OneOf(names) => listed(names),
            Self::List(most, of, _) => format!("a list of 1 to {most} {of}"),
            Self::Weighted(names) => format!("a pair of a name and its weight, such as [\"{}\", 36]", names[0]),
            Self::Choice => "a name, or { name = \"...\", weight = 1, from = 1 }".to_owned(),
            Self::Table(_) | Self::Named(_) => "a table".to_owned(),
        }
    }
}

// The values of a right shape.

fn whole(value: &Value<'_>) -> Option<u32> {
    let integer = value.get_ref().as_integer()?;
    u32::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn number(value: &Value<'_>) -> u32 {
    whole(value).unwrap_or_default()
}

/// Red, green and blue of `"#rrggbb"`.
fn colour(value: &Value<'_>) -> Option<u32> {
    let digits = text(value).strip_prefix('#').filter(|digits| digits.len() == 6 && !digits.starts_with('+'))?;
    u32::from_str_radix(digits, 16).ok()
}

fn text<'t>(value: &'t Value<'_>) -> &'t str {
    value.get_ref().as_str().unwrap_or_default()
}

fn list<'t, 'i>(value: &'t Value<'i>) -> impl Iterator<Item = &'t Value<'i>> {
    value.get_ref().as_array().into_iter().flat_map(|list| list.iter())
}

fn position(value: &Value<'_>, names: &[&str]) -> usize {
    names.iter().position(|name| *name == text(value)).unwrap_or_default()
}

/// A value with its path, as errors show it.
fn described(path: &str, value: &Value<'_>) -> String {
    match value.get_ref() {
        DeValue::String(text) => format!("`{path}` is \"{}\"", shortened(text)),
        DeValue::Integer(number) => format!("`{path}` is {}", shortened(number.as_str())),
        DeValue::Float(number) => format!("`{path}` is {}", shortened(number.as_str())),
        DeValue::Boolean(truth) => format!("`{path}` is {truth}"),
        DeValue::Array(list) => format!("`{path}` has {} entries", list.len()),
        other => format!("`{path}` is a value of type {}", other.type_str()),
    }
}

/// The forms of rooms with their weights, or the second of two that are the same.
fn forms(path: &str, value: &Value<'_>) -> Result<Forms, (Range<usize>, String)> {
    let mut forms = Forms::NONE;
    for (i, pair) in list(value).enumerate() {
        let (name, weight) = (&pair.get_ref()[0], &pair.get_ref()[1]);
        forms.forms[i] = Form::ALL[position(name, &Form::NAMES)];
        forms.weights[i] = number(weight);
        if forms.forms[..i].contains(&forms.forms[i]) {
            return Err((name.span(), format!("`{path}` lists `{}` twice", text(name))));
        }
    }
    Ok(forms)
}

fn monster_pack(value: &Value<'_>) -> MonsterPack {
    MonsterPack {
        leader: part(&value.get_ref()["leader"]),
        follower: part(&value.get_ref()["follower"]),
        weight: value.get_ref().get("weight").map_or(1, number),
    }
}

fn part(value: &Value<'_>) -> Part {
    Part::ALL[position(value, &Part::NAMES)]
}

fn beat(value: &Value<'_>) -> Beat {
    let value = value.get_ref();
    Beat {
        part: StoryPart::ALL[position(&value["part"], &StoryPart::NAMES)],
        role: Beat::ROLES[position(&value["role"], &Beat::ROLE_NAMES)],
        form: Form::ALL[position(&value["form"], &Form::NAMES)],
        fill: (number(&value["fill_least"]) as i32, number(&value["fill_most"]) as i32),
        weight: value.get("weight").map_or(1, number),
    }
}
