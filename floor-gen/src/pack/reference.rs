//! What a pack may say, for people and for editors: the table in docs/packs.md, and the JSON Schema of pack.toml.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Pack;
use super::content::{DRAWN, Part};
use super::params::{FORMS, PACK_WIDE, PARAMS, Param};
use super::read::{COVER, DEEP, MAX_LIST, MAX_WEIGHT};
use crate::form::Form;
use crate::spec::Kind;

impl Pack {
    /// The table of all numbers in Markdown, by group, with the values of the built-in pack.
    #[must_use]
    pub fn reference() -> String {
        let mut text = String::new();
        for group in groups() {
            let table = if Kind::from_name(group).is_some() { format!("kinds.{group}") } else { group.into() };
            text += &format!("\n| `[{table}]` | tower | range | unit | meaning |\n|---|---|---|---|---|\n");
            for param in of(group) {
                let Param { name, unit, least, greatest, meaning, .. } = param;
                text += &format!("| `{name}` | {} | {least} to {greatest} | {unit} | {meaning} |\n", default(param));
            }
        }
        text
    }

    /// The JSON Schema of pack.toml, by which editors complete and check it.
    #[must_use]
    pub fn schema() -> String {
        const NAME: &str = r#""type": "string", "pattern": "^[a-z][a-z0-9_]{0,31}$""#;
        let one_of = |names: &[&str]| format!(r#""enum": [{}]"#, quoted(names));
        let list = |items: &str, most: usize| {
            format!(r#"{{ "type": "array", "minItems": 1, "maxItems": {most}, "items": {items} }}"#)
        };
        let object = |properties: &[String], required: &str| {
            let properties = properties.join(",\n");
            format!(
                "{{ \"type\": \"object\", \"additionalProperties\": false{required}, \"properties\": {{\n{properties}\n}} }}"
            )
        };
        let weight = format!(r#""weight": {{ "type": "integer", "minimum": 1, "maximum": {MAX_WEIGHT} }}"#);
        let choices = list(r##"{ "$ref": "#/$defs/choice" }"##, MAX_LIST);
        let parts = one_of(&Part::ALL.map(Part::name));
        let terrains = |names: &[(&str, _)]| one_of(&names.iter().map(|(name, _)| *name).collect::<Vec<_>>());

        let extra = |group: &str| -> Vec<String> {
            let kinds = Kind::ALL.map(Kind::name);
            let first: Vec<&str> = kinds.into_iter().chain([""]).collect();
            match group {
                "schedule" => [
                    format!(r#""first": {{ {} }}"#, one_of(&first)),
                    format!(r#""themes": {}"#, list(&format!("{{ {NAME} }}"), 255)),
                ]
                .into(),
                "items" => ["key", "hint", "blessing"]
                    .map(|key| format!(r#""{key}": {{ {NAME} }}"#))
                    .into_iter()
                    .chain(["plain", "fine"].map(|key| format!(r#""{key}": {choices}"#)))
                    .collect(),
                "traps" => [format!(r#""archetypes": {choices}"#)].into(),
                "monsters" => {
                    let members = [
                        format!(r#""leader": {{ {parts} }}"#),
                        format!(r#""follower": {{ {parts} }}"#),
                        weight.clone(),
                    ];
                    let pack = object(&members, r#", "required": ["leader", "follower"]"#);
                    [
                        format!(r#""packs": {}"#, list(&pack, MAX_LIST)),
                        format!(r#""guards": {}"#, list(&format!("{{ {parts} }}"), 8)),
                    ]
                    .into()
                }
                _ => Vec::new(),
            }
        };
        let numbers = |group: &str| -> Vec<String> {
            let numbers = of(group).map(|param| {
                let Param { name, unit, least, greatest, meaning, .. } = param;
                format!(
                    r#""{name}": {{ "type": "integer", "minimum": {least}, "maximum": {greatest}, "default": {}, "description": "{meaning} ({unit})" }}"#,
                    default(param)
                )
            });
            let forms = FORMS.iter().filter(|param| param.group == group);
            numbers.chain(forms.map(|_| r##""forms": { "$ref": "#/$defs/forms" }"##.into())).collect()
        };
        let is_shared = |group: &&&str| Kind::from_name(group).is_none();
        let groups = groups();
        let shared = || groups.iter().filter(is_shared);

        let mut top: Vec<String> = [
            r#""name": { "type": "string", "pattern": "^[a-z][a-z0-9-]{0,31}$" }"#.into(),
            r#""description": { "type": "string", "maxLength": 200 }"#.into(),
            r#""tower_vaults": { "type": "boolean", "default": true, "description": "Whether the pack has the vaults of tower too" }"#.into(),
        ]
        .into();
        top.extend(shared().map(|group| {
            let keys: Vec<String> = numbers(group).into_iter().chain(extra(group)).collect();
            format!("\"{group}\": {}", object(&keys, ""))
        }));
        let kinds: Vec<String> = Kind::ALL
            .iter()
            .map(|kind| {
                let inner = shared().filter(|group| !PACK_WIDE.contains(group));
                let inner = inner.map(|group| format!(r##""{group}": {{ "$ref": "#/$defs/{group}" }}"##));
                format!(
                    "\"{kind}\": {}",
                    object(&numbers(kind.name()).into_iter().chain(inner).collect::<Vec<_>>(), "")
                )
            })
            .collect();
        top.push(format!("\"kinds\": {}", object(&kinds, "")));
        let drawn: Vec<String> = DRAWN
            .iter()
            .map(|kind| format!(r#""{kind}": {{ "type": "integer", "minimum": 0, "maximum": {MAX_WEIGHT} }}"#))
            .collect();
        let mut theme: Vec<String> = [
            format!("\"weights\": {}", object(&drawn, "")),
            format!("\"deep\": {{ {} }}", terrains(&DEEP)),
            format!("\"cover\": {}", list(&format!("{{ {} }}", terrains(&COVER)), 2)),
        ]
        .into();
        theme.extend(Part::ALL.map(|part| format!("\"{}\": {choices}", part.name())));
        let theme = object(&theme, "");
        top.push(format!("\"themes\": {{ \"type\": \"object\", \"additionalProperties\": {theme} }}"));

        let choice = object(
            &[
                format!(r#""name": {{ {NAME} }}"#),
                weight,
                r#""from": { "type": "integer", "minimum": 1, "maximum": 1000000 }"#.into(),
            ],
            r#", "required": ["name"]"#,
        );
        let pair = format!(
            r#"{{ "type": "array", "minItems": 2, "maxItems": 2, "prefixItems": [{{ {} }}, {{ "type": "integer", "minimum": 1, "maximum": {MAX_WEIGHT} }}] }}"#,
            one_of(&Form::ALL.map(Form::name))
        );
        let mut defs: Vec<String> = [
            format!("\"choice\": {{ \"anyOf\": [{{ {NAME} }}, {choice}] }}"),
            format!("\"forms\": {}", list(&pair, Form::ALL.len())),
        ]
        .into();
        let inner = shared().filter(|group| !PACK_WIDE.contains(group));
        defs.extend(inner.map(|group| format!("\"{group}\": {}", object(&numbers(group), ""))));
        format!(
            "{{\n\"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n\"title\": \"pack.toml\",\n\"type\": \"object\",\n\"required\": [\"name\"],\n\"additionalProperties\": false,\n\"properties\": {{\n{}\n}},\n\"$defs\": {{\n{}\n}}\n}}\n",
            top.join(",\n"),
            defs.join(",\n")
        )
    }
}

/// The groups, in the order of the table.
fn groups() -> Vec<&'static str> {
    let mut groups: Vec<&'static str> = PARAMS.iter().map(|param| param.group).collect();
    groups.dedup();
    groups
}

fn of(group: &str) -> impl Iterator<Item = &'static Param> {
    PARAMS.iter().filter(move |param| param.group == group)
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
