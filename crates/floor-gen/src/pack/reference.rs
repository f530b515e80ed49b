//! What a pack may say, for people and for editors: the table in docs/packs.md, and the JSON Schema of pack.toml.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::Pack;
use super::keys::{Need, Shape, Table, groups};
use super::params::Param;
use crate::spec::Kind;

impl Pack {
    /// The table of all numbers in Markdown, by group, with the values of the built-in pack. Numbers with one meaning are
    /// one row.
    #[must_use]
    pub fn reference() -> String {
        let mut text = String::new();
        for params in groups() {
            let group = params[0].group;
            let table = if Kind::from_name(group).is_some() { format!("kinds.{group}") } else { group.into() };
            text += &format!("\n| `[{table}]` | tower (range) | meaning |\n|---|---|---|\n");
            for row in params.chunk_by(|one, next| one.meaning() == next.meaning()) {
                let names: Vec<_> = row.iter().map(|param| format!("`{}`", param.name)).collect();
                let values: Vec<_> = row.chunk_by(|one, next| range(one) == range(next)).map(values).collect();
                text += &format!("| {} | {} | {} |\n", names.join(", "), values.join(", "), row[0].meaning());
            }
        }
        text
    }

    /// The JSON Schema of pack.toml, by which editors complete and check it.
    #[must_use]
    pub fn schema() -> String {
        let mut tables = BTreeMap::new();
        let file = table(Table::FILE, &mut tables);
        let tables: Vec<String> = tables.iter().map(|(name, table)| format!("\"{name}\": {table}")).collect();
        format!(
            "{{\n\"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n\"title\": \"pack.toml\",\n{},\n\"$defs\": {{\n{}\n}}\n}}\n",
            file.trim_start_matches("{ ").trim_end_matches(" }"),
            tables.join(",\n")
        )
    }
}

/// The schema of a table. Those of the tables in it go to `tables`.
fn table(of: Table, tables: &mut BTreeMap<String, String>) -> String {
    let keys = of.keys();
    let mut properties = Vec::new();
    for key in &keys {
        let note = key.param.map_or_else(String::new, |param| {
            format!(r#", "default": {}, "description": "{} ({})""#, default(param), param.meaning(), param.unit)
        });
        properties.push(format!("\"{}\": {{ {}{note} }}", key.name, shape(key.shape, tables)));
    }
    let needed = keys.iter().filter(|key| key.need == Need::Always).map(|key| key.name);
    format!(
        "{{ \"type\": \"object\", \"required\": [{}], \"additionalProperties\": false, \"properties\": {{\n{}\n}} }}",
        quoted(&needed.collect::<Vec<_>>()),
        properties.join(",\n")
    )
}

/// The members of the schema of a shape.
fn shape(of: Shape, tables: &mut BTreeMap<String, String>) -> String {
    match of {
        Shape::Number(least, greatest, _) => format!(r#""type": "integer", "minimum": {least}, "maximum": {greatest}"#),
        Shape::Name(other) => format!(r#""type": "string", "pattern": "^[a-z][a-z0-9{other}]{{0,31}}$""#),
        Shape::Text(most) => format!(r#""type": "string", "maxLength": {most}"#),
        Shape::Truth => r#""type": "boolean""#.into(),
        Shape::Colour => r##""type": "string", "pattern": "^#[0-9a-fA-F]{6}$""##.into(),
        Shape::OneOf(names) => format!(r#""enum": [{}]"#, quoted(names)),
        Shape::List(most, _, inner) => {
            let items = shape(*inner, tables);
            format!(r#""type": "array", "minItems": 1, "maxItems": {most}, "items": {{ {items} }}"#)
        }
        Shape::Weighted(names) => {
            let [name, weight] = [Shape::OneOf(names), Shape::WEIGHT].map(|inner| shape(inner, tables));
            format!(r#""type": "array", "minItems": 2, "maxItems": 2, "prefixItems": [{{ {name} }}, {{ {weight} }}]"#)
        }
        Shape::Choice => {
            let [name, entry] = [Shape::Name('_'), Shape::Table(Table::CHOICE)].map(|inner| shape(inner, tables));
            format!(r#""anyOf": [{{ {name} }}, {{ {entry} }}]"#)
        }
        Shape::Table(inner) => {
            let is_group_of_a_kind = inner.kind.is_some_and(|kind| kind.name() != inner.name);
            let name = if is_group_of_a_kind { format!("kind_{}", inner.name) } else { inner.name.into() };
            if !tables.contains_key(&name) {
                let schema = table(inner, tables);
                tables.insert(name.clone(), schema);
            }
            format!(r##""$ref": "#/$defs/{name}""##)
        }
        Shape::Named(inner) => {
            format!(r#""type": "object", "additionalProperties": {{ {} }}"#, shape(Shape::Table(inner), tables))
        }
    }
}

/// The values of parameters that have one range, and this range.
fn values(params: &[Param]) -> String {
    let values: Vec<_> = params.iter().map(|param| default(param).to_string()).collect();
    let (least, greatest, unit) = range(&params[0]);
    format!("{} ({least}-{greatest} {})", values.join(", "), unit.replace("per cent", "%"))
}

fn range(param: &Param) -> (u32, u32, &'static str) {
    (param.least, param.greatest, param.unit)
}

/// The value of the built-in pack, for kinds that say nothing of their own.
fn default(param: &Param) -> u32 {
    let kind = Kind::from_name(param.group).unwrap_or(Kind::Keep);
    *(param.place)(&mut Pack::tower().content.params(kind).clone())
}

fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    names.join(", ")
}
