//! What the text of a `pack.toml` says: its values by key, and the names that it gives to monsters, items and traps.

use std::collections::{BTreeMap, BTreeSet};

use floor_gen::pack::Files;
use serde::Serialize;
use toml::{Table, Value};

/// The file with all values of a pack.
pub(crate) const MAIN: &str = "pack.toml";

/// What a name of a pack names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Named {
    Theme,
    Monster,
    Item,
    Trap,
    Furniture,
}

impl Named {
    pub(crate) const fn plural(self) -> &'static str {
        match self {
            Self::Theme => "themes",
            Self::Monster => "monsters",
            Self::Item => "items",
            Self::Trap => "traps",
            Self::Furniture => "furniture",
        }
    }
}

/// The parts of monsters in a theme.
const PARTS: [&str; 6] = ["brute", "skirmisher", "archer", "caster", "swarm", "boss"];
/// The lists and the single names of items.
const ITEMS: [&str; 5] = ["plain", "fine", "key", "hint", "blessing"];

/// The table of a pack's `pack.toml`. Empty if it has none.
fn table(files: &Files) -> Table {
    let text = files.get(MAIN).and_then(|content| std::str::from_utf8(content).ok());
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// The values by their keys, such as `kinds.standard.lakes.amount`.
pub(crate) fn values(files: &Files) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    flatten("", &Value::Table(table(files)), &mut values);
    values
}

fn flatten(key: &str, value: &Value, values: &mut BTreeMap<String, String>) {
    match value {
        Value::Table(table) => {
            for (name, value) in table {
                let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                flatten(&key, value, values);
            }
        }
        value => _ = values.insert(key.to_owned(), value.to_string()),
    }
}

/// The names that the file itself gives, without those of the built-in pack that it keeps.
pub(crate) fn names(files: &Files) -> BTreeSet<(Named, String)> {
    let main = table(files);
    let mut names = BTreeSet::new();
    let themes = main.get("themes").and_then(Value::as_table);
    for (theme, content) in themes.into_iter().flatten() {
        names.insert((Named::Theme, theme.clone()));
        add(&mut names, Named::Monster, content, &PARTS);
    }
    for set in main.get("furniture").and_then(Value::as_table).into_iter().flat_map(Table::values) {
        add(&mut names, Named::Furniture, set, &["pieces"]);
    }
    let kinds = main.get("kinds").and_then(Value::as_table);
    let groups = kinds.into_iter().flat_map(Table::values).filter_map(Value::as_table).chain([&main]);
    for group in groups {
        if let Some(items) = group.get("items") {
            add(&mut names, Named::Item, items, &ITEMS);
        }
        if let Some(traps) = group.get("traps") {
            add(&mut names, Named::Trap, traps, &["archetypes"]);
        }
    }
    names
}

/// Adds the names under `keys`: a name, or a list of names and of tables with a `name`.
fn add(names: &mut BTreeSet<(Named, String)>, sort: Named, table: &Value, keys: &[&str]) {
    for value in keys.iter().filter_map(|key| table.get(key)) {
        let entries = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for entry in entries {
            let name = entry.get("name").unwrap_or(entry).as_str();
            names.extend(name.filter(|name| !name.is_empty()).map(|name| (sort, name.to_owned())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(text: &str) -> Files {
        let mut files = Files::new();
        files.insert(MAIN, text.as_bytes()).unwrap();
        files
    }

    #[test]
    fn values_have_their_whole_key() {
        let values = values(&files("name = \"a\"\n[kinds.standard.lakes]\namount = 900\n"));
        assert_eq!(
            values.into_iter().collect::<Vec<_>>(),
            [("kinds.standard.lakes.amount".to_owned(), "900".to_owned()), ("name".to_owned(), "\"a\"".to_owned()),]
        );
    }

    #[test]
    fn names_stand_in_lists_and_alone() {
        let names = names(&files(
            "[themes.cellar]\nbrute = [\"mole\"]\nswarm = [{ name = \"rat\", from = 3 }]\ndeep = \"lava\"\n\
             [items]\nkey = \"crown\"\nhint = \"\"\n[kinds.boss.items]\nfine = [\"orb\"]\n[traps]\narchetypes = [\"pit\"]\n",
        ));
        let names = names.iter().map(|(sort, name)| (*sort, name.as_str())).collect::<Vec<_>>();
        assert_eq!(
            names,
            [
                (Named::Theme, "cellar"),
                (Named::Monster, "mole"),
                (Named::Monster, "rat"),
                (Named::Item, "crown"),
                (Named::Item, "orb"),
                (Named::Trap, "pit"),
            ]
        );
    }
}
